"""The command line: one file per command, read when it is asked for."""

from __future__ import annotations

from importlib import import_module

import typer

from deniable import __version__
from deniable.cli.commands import COMMANDS
from deniable.cli.group import CommandLine
from deniable.cli.statuses import STATUSES


def command_line(*names: str) -> typer.Typer:
    """The command line with some commands, or with all: a process that is to be up at once does not read what only others need."""
    app = _empty()
    for name in names or COMMANDS:
        command = getattr(import_module(f"deniable.cli.{COMMANDS[name].module}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def outline() -> typer.Typer:
    """The command line with names and promises alone, for whoever asks which commands there are: reading them all would take seconds."""
    app = _empty()
    for name, command in COMMANDS.items():
        app.command(name, help=command.promise, rich_help_panel=command.panel)(options)
    return app


def _empty() -> typer.Typer:
    told = ["Exit status:", *(f"{status:>3}  {meaning}" for status, meaning in STATUSES.items())]
    app = typer.Typer(name="deniable", cls=CommandLine, epilog="\n".join(told), no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(options)
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"deniable {__version__}")
        raise typer.Exit


def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version and exit."),
) -> None:
    """Learn what a crowd knows without learning about anyone in it.

    Every command has --help, with examples. Most have --json.
    """
