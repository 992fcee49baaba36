"""The command line: one file per command, read when it is asked for; the look of all help, usage errors, and how a run of any ends."""

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
from deniable.errors import shorten


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


USAGE: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for them; its own name for it is not public."""


def in_words(error: Any) -> str:
    """One line; empty where the help is on the screen already."""
    kind = type(error).__name__
    if kind == "NoArgsIsHelpError":
        return ""
    told = error.format_message().rstrip(".?")
    if kind == "MissingParameter" and error.param is not None:
        told = f"{_name(error.param)}: got nothing; allowed: {_allowed(error.param)}"
    elif kind == "BadParameter" and error.param is not None:
        told = f"{_name(error.param)}: {_received(error)}{_reason(error.message.rstrip('.'))}"
    elif kind == "NoSuchOption":
        near = f"; did you mean {' or '.join(sorted(error.possibilities))}" if error.possibilities else ""
        told = f"{error.option_name}: no such option{near}"
    path = "deniable" if error.ctx is None else error.ctx.command_path
    return f"{told.replace('. Did', '; did')}; see: {path} --help"


def _name(parameter: Any) -> str:
    """As it stands in the help: an option with its dashes, an argument in capitals."""
    return str(parameter.opts[-1] if parameter.param_type_name == "option" else parameter.metavar or parameter.name)


def _allowed(parameter: Any) -> str:
    """What the help says of it."""
    text = (parameter.help or "a value").rstrip(".")
    return text[:1].lower() + text[1:]


def _received(error: Any) -> str:
    """What was typed, where the reason comes from a check of one value."""
    checked = getattr(error.__cause__, "errors", None)
    return f"got {shorten(checked()[0]['input'])}; " if checked else ""


def _reason(text: str) -> str:
    received, sign, choices = text.partition(" is not one of ")
    if sign:
        from deniable.core.declared import did_you_mean  # here, since few runs end like this

        near = did_you_mean(received.rpartition(", '")[2].strip("'"), choices.strip("'").split("', '"))
        return f"allowed: one of {choices}; {near.rstrip('?')}"
    return text.replace("Input should be", "allowed:").partition(", unable to parse")[0]
