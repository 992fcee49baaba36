"""CONTRIBUTING's walk to a storage backend, walked: the one in memory moves into a copy of the project, and keeps what backends promise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

WALK = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding a storage backend")[2]
MODULE, BACKENDS = "src/deniable/collect/storage/memory.py", "src/deniable/collect/storage/backends.py"
ELSEWHERE = '    monkeypatch.setitem(BACKENDS, "memory", "tests.collect.memory:Memory")\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with both steps done, and with tests that know of no other place of the backend."""
    copy = tmp_path_factory.mktemp("project")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.pyc.*", "*.tmp.*"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    assert f"`{MODULE}`" in WALK
    assert f"`{BACKENDS}`" in WALK
    (line,) = re.findall(r"^```text\n(.*?)^```", WALK, re.MULTILINE | re.DOTALL)
    (copy / "tests/collect/memory.py").rename(copy / MODULE)
    for name, old, new in ((BACKENDS, "BACKENDS = {\n", f"BACKENDS = {{\n    {line}"), ("tests/collect/conftest.py", ELSEWHERE, "")):
        text = (copy / name).read_text()
        assert text.count(old) == 1
        (copy / name).write_text(text.replace(old, new))
    return copy


def run(copy, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_backend_keeps_what_every_backend_promises(project):
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-k", "memory"]
    output = run(project, "-m", "pytest", *options, "tests/collect/test_storage.py")
    assert int(re.search(r"(\d+) passed", output)[1]) >= 14


def test_it_touches_as_many_files_as_it_says(project):
    changed = [
        path.relative_to(project).as_posix()
        for path in (project / "src").rglob("*.py")
        if not (ROOT / path.relative_to(project)).exists() or path.read_bytes() != (ROOT / path.relative_to(project)).read_bytes()
    ]
    assert sorted(changed) == sorted([MODULE, BACKENDS])
    assert "You touch two files: one that you write, and one that gets a line." in WALK
