"""CONTRIBUTING's walk to a new protocol, walked in a copy of the project: every law holds for it, files and tasks can ask it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

WALK = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding a protocol")[2].partition("\n## ")[0]
NAMES, CROWDS = "src/deniable/tasks/heavy_hitters/__init__.py", "tests/documents.py"
TASK = """
name = "drink"
question = "What do you drink?"
owner = "a club"
protocol = "RunOff"
epsilon = 2
people = 1000
lasts = "1 day"

[domain]
categories = ["tea", "mate", "kefir"]
"""
EXPERIMENT = """
import json, pathlib, sys
from deniable.lab.declared import experiment_from
content = {"name": "run-off", "epsilons": [4], "people": [2000], "repetitions": 1, "metrics": ["mse"],
           "populations": [{"kind": "Multinomial", "weights": [5, 3, 2], "labels": ["tea", "mate", "kefir"]}],
           "mechanisms": [{"name": "RunOff"}]}
experiment = experiment_from(content, pathlib.Path())
print(experiment.measure(experiment.cells[0])[0]["value"])
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with all three steps done."""
    copy = tmp_path_factory.mktemp("project")
    for name in ("src", "tests", "vectors"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.pyc.*", "*.tmp.*"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    ((text, name),) = re.findall(r"^```python\n(# (src/\S+)\n.*?)^```", WALK, re.MULTILINE | re.DOTALL)
    (copy / name).write_text(text)
    imported, crowd = re.findall(r"^```diff\n\+(.*?)^```", WALK, re.MULTILINE | re.DOTALL)
    assert f"`{NAMES}`" in WALK
    assert f"`{CROWDS}`" in WALK
    before = {NAMES: (imported, "from deniable.tasks.heavy_hitters.segment_pairs"), CROWDS: (crowd, "    for name, settings in searches")}
    for file, (line, place) in before.items():
        content = (copy / file).read_text()
        assert content.count(place) == 1
        (copy / file).write_text(content.replace(place, line + place))
    return copy


def run(copy, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_law_holds_for_it(project):
    run(project, "-m", "tests.documents")
    laws = ("tests/laws/test_protocols.py", "tests/contract/test_golden_documents.py")
    asked = (*laws, "--doctest-modules", "src/deniable/tasks/heavy_hitters/run_off.py")
    told = run(project, "-m", "pytest", "-p", "no:cacheprovider", *asked, "-k", "RunOff or example or among")
    assert int(re.search(r"(\d+) passed", told)[1]) >= 12, told


def test_a_task_file_and_a_lab_file_can_name_it(project, tmp_path):
    (tmp_path / "drink.toml").write_text(TASK)
    told = run(project, "-c", "from deniable.cli import main; main()", "task", "check", str(tmp_path / "drink.toml"))
    assert "RunOff" in told
    assert float(run(project, "-c", EXPERIMENT)) >= 0
