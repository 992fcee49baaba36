"""The page about the command line has every command, every exit status and every variable, and none that there are not."""

from __future__ import annotations

import re
from dataclasses import fields

from deniable.cli.commands import COMMANDS
from deniable.cli.exits import STATUSES
from deniable.collect.clock import FAULT, OFFSET_FILE, TESTING
from deniable.collect.settings import Settings
from tests.cli.running import run
from tests.cli.tree import LEAVES
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "reference" / "command-line.md").read_text()
VARIABLE = re.compile(r"\bDENIABLE_[A-Z_]*[A-Z]\b")


def test_every_command_has_its_line_under_its_heading():
    sections = dict(part.split("\n", 1) for part in PAGE.split("\n## ")[1:])
    rows = {
        (panel, re.sub(r" [A-Z]+", "", command))
        for panel, text in sections.items()
        for command in re.findall(r"^\| `deniable (.*?)` \|", text, re.MULTILINE)
    }
    assert rows == {(COMMANDS[path.split()[0]].panel, path) for path in LEAVES}


def test_exit_statuses_are_those_of_the_code():
    found = re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert {int(status): meaning for status, meaning in found} == STATUSES


def test_variables_are_those_of_the_code():
    read = {name for path in (ROOT / "src").rglob("*.py") for name in VARIABLE.findall(path.read_text())}
    settings = {f"DENIABLE_{field.name.upper()}" for field in fields(Settings)} - {"DENIABLE_LIMITS"}
    assert set(VARIABLE.findall(PAGE)) == (read | settings) - {TESTING, OFFSET_FILE, FAULT}


def test_errors_look_as_shown(tmp_path):
    for command, line in re.findall(r"^\$ deniable (.*)\n(\w+Error: .*)$", PAGE, re.MULTILINE):
        assert run(*command.split(), cwd=tmp_path, status=2).stderr == f"{line}\n"
