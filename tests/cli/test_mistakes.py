"""Mistakes of a new user (``mistakes.txt``), each with the whole line that the command prints: what is wrong, what to do."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deniable.cli.app import command_line
from deniable.cli.exits import ERROR

TASK = """\
name = "drink"
question = "What do you drink?"
owner = "me"
epsilon = 1.0
start = 2095-01-01
end = 2096-01-01
[domain]
categories = ["tea", "coffee"]
"""
FILES = {
    "good.toml": TASK,
    "key.toml": TASK.replace("epsilon", "epsilom"),
    "zero.toml": TASK.replace("1.0", "0"),
    "text.toml": TASK.replace("1.0", '"one"'),
    "one.toml": TASK.replace('["tea", "coffee"]', '["tea"]'),
    "over.toml": TASK.replace("2095-01-01", "2097-01-01"),
    "past.toml": TASK.replace("2095", "2020").replace("2096", "2021"),
    "weak.toml": TASK.replace("1.0", "12.0"),
    "answer.toml": TASK.replace("categories", "categorys"),
    "range.toml": TASK.replace('categories = ["tea", "coffee"]', "integers = [10, 0]"),
    "default.toml": TASK.replace("[domain]", 'default = "milk"\n[domain]'),
    "span.toml": TASK.replace("[domain]", 'period = "1 fortnight"\n[domain]'),
    "broken.toml": 'name = "a\nb',
    "events.toml": '[[event]]\nkind = "Pure"\nepsilom = 1.0\n',
    "serve.toml": "prot = 80\n",
    "data.csv": "x,y,w\na,1,c\n,2,c\nb,3,c\n",
    "empty.csv": "",
    "notes.txt": "x",
    "x.tally": "hello",
    "token.txt": "two words",
}
MISTAKES = re.findall(r"^\$ deniable (.*)\n(error: .*\n)", (Path(__file__).parent / "mistakes.txt").read_text(), re.MULTILINE)
"""What is typed, and the whole line that follows."""


@pytest.fixture(scope="module")
def app():
    return command_line()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file for each mistake, and nothing of this machine's settings."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("DENIABLE_URL", "DENIABLE_TOKEN", "DENIABLE_STORE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("typed", "line"), MISTAKES, ids=[typed for typed, _ in MISTAKES])
def test_the_whole_line(app, typed, line):
    done = CliRunner().invoke(app, shlex.split(typed))
    assert (done.exit_code, done.stdout, done.stderr) == (ERROR, "", line)


def test_there_are_sixty_mistakes():
    assert len(MISTAKES) >= 60
