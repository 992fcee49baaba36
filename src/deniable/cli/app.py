"""The command line: one file per command, read when it is asked for."""

from __future__ import annotations

from importlib import import_module

import typer

from deniable import __version__

COMMANDS = {
    "demo": "demo",
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
    app = typer.Typer(
        name="deniable",
        help="Learn what a crowd knows without learning about anyone in it.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for name in names or COMMANDS:
        command = getattr(import_module(f"deniable.cli.{COMMANDS[name]}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command()(command)
    app.callback()(options)
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"deniable {__version__}")
        raise typer.Exit


def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version and exit."),
) -> None:
    """Learn what a crowd knows without learning about anyone in it."""
