"""The examples in the commands' help are commands: every word that is no value is known where it stands."""

from __future__ import annotations

import shlex

import pytest
import typer

from deniable.cli.commands import EXAMPLES, examples_of
from tests.cli.running import run
from tests.cli.tree import LEAVES, TREE, WHOLE


def parsed(words):
    """The command that words lead to, and what is left of them: its arguments and options."""
    command = WHOLE
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, words


def complaint(line):
    """What a command says of its arguments and options; files that have to be there are not."""
    program, *words = shlex.split(line)
    command, rest = parsed(words)
    assert (program, command is WHOLE) == ("deniable", False)
    try:
        command.make_context(command.name, list(rest))
    except typer._click.exceptions.UsageError as error:
        return "" if "does not exist" in str(error) else str(error)
    return ""


def test_every_command_has_examples_that_parse():
    assert set(EXAMPLES) == set(TREE)
    assert [told for path in TREE for line in examples_of(path) if (told := complaint(line))] == []
    assert [path for path in LEAVES if not any(line.startswith(f"deniable {path}") for line in examples_of(path))] == []


@pytest.mark.parametrize("path", ["audit", "task", "shuffle keys rotate"])
def test_examples_end_the_help(path):
    told = run(*path.split(), "--help", COLUMNS="200").stdout
    lines = [line.strip() for line in told.partition("Examples:")[2].strip().splitlines()]
    assert lines == list(examples_of(path))
