"""CONTRIBUTING's other walk, walked: a kind of result is added to a copy of the project, and is shown everywhere by declaring itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html import escape

import pytest

from tests.conftest import ROOT

WALK = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding a kind of result")[2]
ODDS = "src/deniable/core/odds.py"
MAKE = """
import json, sys
import deniable as dn
from deniable.collect.analysis.answer import AskedQuestion
from deniable.core.odds import OddsEstimate
from deniable.testing import ReplaySource
spec = dn.GRR(domain=dn.Categories("tea", "coffee", "<b>"), epsilon=2.0)
reports = spec.privatize(["tea"] * 2000 + ["coffee"] * 500 + ["<b>"] * 100, source=ReplaySource.from_key("a new kind"))
odds = OddsEstimate.of(spec.estimate(spec.tally(reports)))
print(json.dumps({"repr": repr(odds), "html": odds._repr_html_(), "chart": odds.chart().to_dict(), "favorites": odds.favorites(),
                  "cells": odds.cells(), "answer": AskedQuestion.with_spec("drink", odds, spec).answer(odds)}))
"""
PRINT = """
import json, sys
from deniable.cli.answer_tables import print_answer
from deniable.collect.analysis.presentation import charts_of
from deniable.core.saved import estimate_from_json
answer = json.loads(sys.stdin.read())
content = {"name": "new", "question": "?", "answers": [answer], "withheld": [], "provisional": False}
print_answer(content, 10)
read = estimate_from_json(answer["estimate"])
print("AGAIN", json.dumps({"repr": repr(read), "level": [limits.tolist() for limits in read.interval(0.8)],
                           "chart": charts_of(content)["drink"].to_dict()}))
"""
SHOW = """
import json, sys
from deniable.collect.analysis.answer import AskedQuestion
from deniable.collect.dashboard.question_view import tell
from deniable.core.saved import estimate_from_json
found = estimate_from_json(json.loads(sys.stdin.read())["estimate"])
told = tell(AskedQuestion("drink", "GRR", found.guarantee), found, 0, picture="/chart.svg?question=0", titled=True)
print(json.dumps({"page": str(told.section), "charts": told.charts}))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with all steps done."""
    copy = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.pyc.*", "*.tmp.*"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    ((text, name),) = re.findall(r"^```python\n(# (src/\S+)\n.*?)^```", WALK, re.MULTILINE | re.DOTALL)
    assert name == ODDS
    (copy / name).write_text(text)
    homes = copy / "src/deniable/core/saved_parts.py"
    assert '"average", ' in homes.read_text()
    homes.write_text(homes.read_text().replace('"average", ', '"average", "odds", ', 1))
    ((maker, made),) = re.findall(r"^```python\n# (tests/\S+)\n(.*?)^```", WALK, re.MULTILINE | re.DOTALL)
    for name in ("__init__.py", "laws/__init__.py", "laws/estimates.py", "laws/test_estimates.py"):
        (copy / "tests" / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests" / name, copy / "tests" / name)
    (copy / maker).write_text(f"{(copy / maker).read_text()}\n\n{made}")
    return copy


def run(copy, *arguments, text=None):
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "COLUMNS": "200"}
    done = subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_kind_of_result_is_shown_everywhere_by_declaring_itself(project):
    """Made in one process, and read from its JSON by two others: the same table in Python, notebook, terminal and page, the same chart."""
    run(project, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", ODDS)
    made = json.loads(run(project, "-c", MAKE))
    names, lines = made["cells"]
    assert names == ["value", "odds", "stderr", "low", "high"]
    assert made["favorites"] == ["tea"]
    cells = [cell for line in (names, *lines) for cell in line]
    assert [cell for cell in cells if cell not in made["repr"]] == []
    assert [cell for cell in cells if escape(cell) not in made["html"]] == []
    shown, _, again = run(project, "-c", PRINT, text=json.dumps(made["answer"])).partition("AGAIN")
    assert [cell for cell in cells if cell not in shown] == []
    read = json.loads(again)
    assert read["repr"] == made["repr"]
    assert all(low < high for low, high in zip(*read["level"], strict=True))
    assert read["chart"]["data"] == made["chart"]["data"]
    page = json.loads(run(project, "-c", SHOW, text=json.dumps(made["answer"])))
    assert 'class="headline"' in page["page"]
    assert "people who hold it for each who does not" in page["page"].lower()
    plain = {"low", "high"}  # on a page those of the largest hold together
    columns = [place for place, name in enumerate(names) if name not in plain]
    assert [line[place] for line in lines for place in columns if escape(line[place]) not in page["page"]] == []
    (chart,) = page["charts"]
    assert [point["odds"] for point in chart["data"]["values"]] == [point["odds"] for point in made["chart"]["data"]["values"]]


def test_a_new_kind_of_result_keeps_what_all_of_them_keep(project):
    checked = run(project, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-q", "tests/laws/test_estimates.py", "-k", "odds")
    assert checked.count(".") > 10, checked


def test_the_walk_touches_two_files():
    """What the second step names is one line of one file."""
    assert re.findall(r"^# (src/\S+)$", WALK, re.MULTILINE) == [ODDS]
    assert re.findall(r"`(\S+\.py)`, so that", WALK) == ["core/saved_parts.py"]
