"""The command line: one file per command, read when it is asked for."""

from __future__ import annotations

from importlib import import_module

import typer

from deniable import __version__
from deniable.cli.examples import epilog

COMMANDS = {
    "demo": "demo",
    "doctor": "doctor",
    "audit": "audit",
    "account": "account",
    "simulate": "simulate",
    "estimate": "estimate",
    "plan": "plan_mean",
    "lab": "lab",
    "task": "task",
    "serve": "serve",
    "shuffle": "shuffle",
    "aggregate": "aggregate",
    "party": "party",
    "deal": "deal",
    "token": "token",
    "enrol": "enrol",
    "rebuild": "rebuild",
    "export": "export",
    "verify": "export",
    "tally": "tally",
}
"""Every command, in the order of the help, and its file."""


def command_line(*names: str) -> typer.Typer:
    """The command line with some commands, or with all: a process that is to be up at once does not read what only others need."""
    app = _empty()
    for name in names or COMMANDS:
        module = import_module(f"deniable.cli.{COMMANDS[name]}")
        command = getattr(module, name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, epilog=epilog(name))
        else:
            app.command(epilog=epilog(name))(command)
    app.callback()(options)
    return app


def completion_line() -> typer.Typer:
    """The command line with the commands' names alone, for a shell that asks which there are: reading them all would take seconds."""
    app = _empty()
    for name in COMMANDS:
        app.command(name)(options)
    return app


def _empty() -> typer.Typer:
    promise = "Learn what a crowd knows without learning about anyone in it."
    return typer.Typer(name="deniable", help=promise, no_args_is_help=True, pretty_exceptions_enable=False)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"deniable {__version__}")
        raise typer.Exit


def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version and exit."),
) -> None:
    """Learn what a crowd knows without learning about anyone in it."""
