"""All commands with their subcommands, by how they are called."""

from __future__ import annotations

import typer

from deniable.cli.app import command_line

WHOLE = typer.main.get_command(command_line())


def below(command, path):
    for name, each in getattr(command, "commands", {}).items():
        called = f"{path} {name}".strip()
        yield called, each
        yield from below(each, called)


TREE = dict(below(WHOLE, ""))
LEAVES = {path: command for path, command in TREE.items() if not command.no_args_is_help}
"""Those that do something themselves; some have others below them."""
