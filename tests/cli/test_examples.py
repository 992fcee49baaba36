"""The examples in the commands' help are commands: every word that is no value is known where it stands."""

from __future__ import annotations

import shlex

import pytest
import typer

from deniable.cli.app import COMMANDS, command_line
from deniable.cli.examples import EXAMPLES
from tests.cli.running import run

WHOLE = typer.main.get_command(command_line())


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


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_parse_and_end_the_help(name):
    assert [complaint(line) for line in EXAMPLES[name]] == [""] * len(EXAMPLES[name])
    told = " ".join(run(name, "--help", COLUMNS="200").stdout.split())
    assert all(line in told for line in EXAMPLES[name])
