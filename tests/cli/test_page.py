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

REFERENCE = ROOT / "docs" / "reference"
PAGE = (REFERENCE / "command-line.md").read_text()
SETTINGS = (REFERENCE / "collector-settings.md").read_text()
"""The page that this one refers to for the settings of a collector: each can be given in the environment."""
VARIABLE = re.compile(r"\bDENIABLE_[A-Z_]*[A-Z]\b")


def test_every_command_has_its_line_under_its_heading():
    sections = dict(part.split("\n", 1) for part in PAGE.split("\n## ")[1:])
    rows = set()
    for panel, text in sections.items():
        for cell in re.findall(r"^\| `deniable (.*?)` \|", text, re.MULTILINE):
            first, *others = (re.sub(r" [A-Z]+", "", each) for each in cell.split("`, `"))
            above = first.rpartition(" ")[0]  # of several commands in one row only the first is written out
            rows |= {(panel, first), *((panel, f"{above} {other}") for other in others)}
    assert rows == {(COMMANDS[path.split()[0]].panel, path) for path in LEAVES}


def test_exit_statuses_are_those_of_the_code():
    found = re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert {int(status): meaning.replace("`", "") for status, meaning in found} == STATUSES


def test_variables_are_those_of_the_code():
    read = {name for path in (ROOT / "src").rglob("*.py") for name in VARIABLE.findall(path.read_text())}
    settings = {f"DENIABLE_{field.name.upper()}" for field in fields(Settings)} - {"DENIABLE_LIMITS"}
    listed = {
        f"DENIABLE_{name.upper()}"
        for cell in re.findall(r"^\| (`.*?`) \|", SETTINGS, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", cell)
    }
    assert settings <= listed
    assert set(VARIABLE.findall(PAGE)) | settings == (read | settings) - {TESTING, OFFSET_FILE, FAULT}


def test_errors_look_as_shown(tmp_path):
    for command, line in re.findall(r"^\$ deniable (.*)\n(error: .*)$", PAGE, re.MULTILINE):
        assert run(*command.split(), cwd=tmp_path, status=2).stderr == f"{line}\n"
