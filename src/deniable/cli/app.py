"""The command line: one file per command, read when it is asked for; how the help of all looks, and how a run of any ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup, TyperOption

from deniable import __version__
from deniable.cli.commands import COMMANDS, epilog
from deniable.cli.exits import ERROR, STATUSES, STOPPED, plain_end, tell_error
from deniable.cli.usage import USAGE, in_words


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


class CommandLine(TyperGroup):
    """All commands, in one look: paragraphs that fill the screen, flags without a type, examples at the end; and errors in one shape."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, command in self.commands.items():
            polish(command, name)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options before any command, those of shells' completion among them."""
        return _plain(super().get_params(ctx))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command, and end the process with its exit status; typer itself would tell errors in a shape of its own."""
        with plain_end():
            try:
                status = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            except USAGE as error:
                if told := in_words(error):
                    tell_error(told, "UsageError")
                status = ERROR
            except typer.Abort:  # a no to a question, or Ctrl-C instead of an answer
                status = STOPPED
            if status == STOPPED:
                tell_error("stopped")
            sys.stdout.flush()  # here, where a pipe that nobody reads or a full disk can still be told
            sys.exit(status)


def polish(command: Any, path: str) -> None:
    """Give a command and all below it the look of the house; ``path`` is how it is called."""
    command.help = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
    command.epilog = epilog(path)
    _plain(command.get_params(typer.Context(command)))
    for name, below in getattr(command, "commands", {}).items():
        polish(below, f"{path} {name}")


def _plain(parameters: list[Any]) -> list[Any]:
    """A flag takes no value, so that none is named."""
    for option in parameters:
        if isinstance(option, TyperOption) and option.is_flag:
            option.metavar = ""
    return parameters
