"""CONTRIBUTING's walk-through, walked: its mechanism is added to a copy of the project, and the conformance tests find it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

EDITS = [
    ("from deniable.client.frequency import", "from deniable.client.urr import URR\nfrom deniable.client.frequency import"),
    ("] = {\n", '] = {\n    "URR": [(URR(domain_size=size, epsilon=1.0), [0, size - 1]) for size in (2, 3, 8)],\n'),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with the walk-through's steps 1 to 3 done."""
    copy = tmp_path_factory.mktemp("project")
    for name in ("src", "tests", "vectors", "scripts"):  # with what is compiled already, but for files that are being written
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.pyc.*", "*.tmp.*"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    blocks = re.findall(r"^```python\n(# (src/\S+)\n.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
    assert [name for _, name in blocks] == ["src/deniable/client/urr.py", "src/deniable/local/frequency/urr.py"]
    for text, name in blocks:
        (copy / name).write_text(text)
    script = copy / "scripts" / "make_vectors.py"
    text = script.read_text()
    for old, new in EDITS:
        assert old in text
        text = text.replace(old, new, 1)
    script.write_text(text)
    run(copy, "scripts/make_vectors.py")
    return copy


def run(copy, *arguments, status=0):
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def conformance(copy, status):
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-k", "URR"]
    places = [
        "tests/laws",
        "tests/exact/test_audit.py",
        "tests/exact/test_mechanism_figures.py",
        "tests/tasks/test_plan.py",
        "src/deniable/client/urr.py",
        "src/deniable/local/frequency/urr.py",
    ]
    output = run(copy, "-m", "pytest", *options, *places, status=status)
    return {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed)", output)}


def test_the_walk_through_works_and_existing_vectors_stay(project):
    assert conformance(project, status=0)["passed"] >= 55
    for path in sorted((ROOT / "vectors").glob("*.json")):
        assert (project / "vectors" / path.name).read_text() == path.read_text()
    assert (
        run(project, "-c", "import deniable; print(deniable.URR(domain_size=4, epsilon=1.0))").strip() == "URR(domain_size=4, epsilon=1.0)"
    )


def test_a_planted_bug_is_found_by_the_same_tests(project):
    """The other answer is drawn from one value too few: the last value can then only be the truth."""
    half = project / "src/deniable/client/urr.py"
    text = half.read_text()
    half.write_text(text.replace("source.below(self.domain_size)", "source.below(self.domain_size - 1)"))
    try:
        assert conformance(project, status=1)["failed"] >= 3
    finally:
        half.write_text(text)
