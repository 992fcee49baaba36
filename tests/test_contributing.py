"""CONTRIBUTING's walk-through, walked: its mechanism is added to a copy of the project, and the conformance tests find it.

That is every figure: of plans, choices, audits, integrity checks and the browser client, which all ask the mechanism.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.services import needed

PAGE = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding a protocol")[0]  # which test_contributing_protocol.py walks

WRITTEN = ["src/deniable/client/urr.py", "src/deniable/local/frequency/urr.py", "clients/js/src/mechanisms/urr.js"]
EDITS = {
    "scripts/vectors/make_vectors.py": [
        ("from deniable.client.frequency import", "from deniable.client.urr import URR\nfrom deniable.client.frequency import"),
        ("] = {\n", '] = {\n    "URR": [(URR(domain_size=size, epsilon=1.0), [0, size - 1]) for size in (2, 3, 8)],\n'),
    ],
    "clients/js/src/mechanisms/index.js": [("export { OUE, ", 'export { URR } from "./urr.js";\nexport { OUE, ')],
}
CONFORMANCE = ["tests/laws", *(f"tests/{name}.py" for name in ("exact/test_audit", "exact/test_mechanism_figures", "tasks/test_plan"))]
MADE = ["vectors/URR.json"]
FOLDERS = ("src", "tests", "vectors", "scripts", "clients")


def files(copy):
    """What is written by people, and the vectors: contents by path."""
    paths = [path for name in FOLDERS for path in (copy / name).rglob("*") if path.suffix in (".py", ".js", ".json", ".ts")]
    return {path.relative_to(copy).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A copy of the project, and the files in it."""
    copy = tmp_path_factory.mktemp("project")
    for name in FOLDERS:  # with what is compiled already, but for files that are being written
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.pyc.*", "*.tmp.*", "node_modules"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy, files(copy)


@pytest.fixture(scope="module")
def project(before):
    """The copy with the walk-through's steps 1 to 4 done."""
    copy, _ = before
    blocks = re.findall(r"^```(?:python|js)\n((?:#|//) (\S+/\S+)\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert [name for _, name in blocks] == WRITTEN
    for text, name in blocks:
        (copy / name).write_text(text)
    for name, edits in EDITS.items():
        text = (copy / name).read_text()
        for old, new in edits:
            assert old in text
            text = text.replace(old, new, 1)
        (copy / name).write_text(text)
    run(copy, "scripts/vectors/make_vectors.py")
    return copy


def run(copy, *arguments, status=0):
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def conformance(copy, *places, status=0):
    """How many tests passed, and how many of at most three failed."""
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "--maxfail=3", "-k", "URR or client_laws"]
    output = run(copy, "-m", "pytest", *options, *places, status=status)
    return {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed)", output)}


def test_the_walk_through_works_and_existing_vectors_stay(project):
    assert conformance(project, *CONFORMANCE, "src/deniable/client/urr.py", "src/deniable/local/frequency/urr.py")["passed"] >= 90
    for path in sorted((ROOT / "vectors").glob("*.json")):
        assert (project / "vectors" / path.name).read_text() == path.read_text()
    assert (
        run(project, "-c", "import deniable; print(deniable.URR(domain_size=4, epsilon=1.0))").strip() == "URR(domain_size=4, epsilon=1.0)"
    )


def test_it_touches_as_many_files_as_it_says(before, project):
    touched = [place for place, content in files(project).items() if before[1].get(place) != content]
    assert sorted(touched) == sorted([*WRITTEN, *EDITS, *MADE])
    assert "You touch six files: three that you write, one that\n`make vectors` writes, and two that get a line." in PAGE
    assert (len(touched), len(WRITTEN), len(MADE), len(EDITS)) == (6, 3, 1, 2)


def test_the_browser_client_replays_its_vectors(project):
    node = shutil.which("node")
    needed(node, "node is not installed (on Debian: apt-get install nodejs npm)")
    command = [node, "--test", "--test-name-pattern=URR|every mechanism", "test/mechanisms.test.js"]
    done = subprocess.run(command, cwd=project / "clients" / "js", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "URR replays" in done.stdout


def test_a_law_that_the_browser_gets_wrong_is_found(project):
    """It says of another answer what holds of the own one."""
    half = project / "clients/js/src/mechanisms/urr.js"
    text = half.read_text()
    half.write_text(text.replace("Number(key) === symbol ? own : other", "Number(key) === symbol ? other : own"))
    try:
        assert conformance(project, "tests/laws/test_client_laws.py", status=1)["failed"] >= 1
    finally:
        half.write_text(text)


def test_a_planted_bug_is_found_by_the_same_tests(project):
    """The other answer is drawn from one value too few: the last value can then only be the truth."""
    half = project / "src/deniable/client/urr.py"
    text = half.read_text()
    half.write_text(text.replace("source.below(self.domain_size)", "source.below(self.domain_size - 1)"))
    try:
        assert conformance(project, "tests/laws/test_specs.py", "tests/exact/test_audit.py", status=1)["failed"] == 3
    finally:
        half.write_text(text)
