"""The command line: one file per command, imported when it is needed; how help looks, how usage errors read, how a run ends."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup, TyperOption

from deniable import __version__
from deniable.cli.commands import COMMANDS, epilog
from deniable.cli.exits import ERROR, STATUSES, STOPPED, plain_end, print_error
from deniable.errors import DeniableError, one_of, shorten


def command_line(*names: str) -> typer.Typer:
    """Return the command line with some commands, or with all: importing only what a command needs saves seconds."""
    app = _empty()
    for name in names or COMMANDS:
        command = getattr(import_module(f"deniable.cli.{COMMANDS[name].module}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def outline() -> typer.Typer:
    """Return the command line with names and promises alone, for the list of commands: importing them all would take seconds."""
    app = _empty()
    for name, command in COMMANDS.items():
        app.command(name, help=command.promise, rich_help_panel=command.panel)(options)
    return app


def _empty() -> typer.Typer:
    lines = ["Exit status:", *(f"{status:>3}  {meaning}" for status, meaning in STATUSES.items())]
    app = typer.Typer(name="deniable", cls=CommandLine, epilog="\n".join(lines), no_args_is_help=True, pretty_exceptions_enable=False)
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
    """All commands with one look: paragraphs that fill the screen, flags without a type, examples at the end, errors in one shape."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, command in self.commands.items():
            polish(command, name)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options before any command, including those for shell completion."""
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
        """Run a command, and exit with its status; typer would print errors in a shape of its own."""
        with plain_end():
            try:
                status = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            except USAGE as error:
                if text := in_words(error):
                    print_error(text)
                status = ERROR
            except typer.Abort:  # a no to a question, or Ctrl-C instead of an answer
                status = STOPPED
            if status == STOPPED:
                print_error("stopped", "")
            sys.stdout.flush()  # here, where a closed pipe or a full disk can still be reported
            sys.exit(status)


def polish(command: Any, path: str) -> None:
    """Give a command and all its subcommands the common look; ``path`` is what people type to call it."""
    command.help = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
    command.epilog = epilog(path)
    _plain(command.get_params(typer.Context(command)))
    if command.callback is not None:
        command.callback = _naming_options(command.callback, command.params)
    for name, below in getattr(command, "commands", {}).items():
        polish(below, f"{path} {name}")


def _plain(parameters: list[Any]) -> list[Any]:
    """Show no type for flags, which take no value."""
    for option in parameters:
        if isinstance(option, TyperOption) and option.is_flag:
            option.metavar = ""
    return parameters


ELSEWHERE = {"n": "people", "oracles": "mechanism", "address": "url", "path": "chart", "task": "which", "dataset": "reports"}
"""Parameters of the library that options have another name for."""


def _naming_options(callback: Any, parameters: Sequence[Any]) -> Any:
    """Return a command that names its options in errors, where the library names parameters."""
    names = {each.name: _name(each) for each in parameters}

    @wraps(callback)
    def run(**given: Any) -> Any:
        try:
            return callback(**given)
        except DeniableError as error:
            error.args = (in_options(error, names, given),)
            raise

    return run


def in_options(error: DeniableError, names: Mapping[str, str], given: Mapping[str, Any]) -> str:
    """Return the text of an error with the options that set its parameters; what came from a file or the environment keeps its name."""
    text = str(error)
    parts = [part if part in names else ELSEWHERE.get(part, part) for part in error.parameter.split(", ")]
    if text.startswith(f"{error.parameter}: got ") and set(parts) <= names.keys() and any(given.get(part) is not None for part in parts):
        text = text.replace(error.parameter, ", ".join(names[part] for part in parts), 1)
        if len(parts) > 1:  # as they were typed
            typed = ", ".join("nothing" if given[part] is None else str(given[part]) for part in parts)
            text = text.replace(f"got {shorten(error.received)}", f"got {typed}", 1)
    if error.received in (None, ""):
        text = re.sub(r": got (None|'');", ": got nothing;", text, count=1)
    options = {name: option for name, option in names.items() if option.startswith("-")}
    if "/" not in error.parameter:  # in errors about a file, period=0 is a folder's name
        text = re.sub(r"(?<!/)\b([a-z_]+)=(True\b)?", lambda found: _option(options, found, "" if found[2] else " "), text)
    return re.sub(r"(?<!['\w.])([a-z]+(?:_[a-z]+)+)\b", lambda found: _option(options, found), text)


def _option(options: Mapping[str, str], found: re.Match[str], after: str = "") -> str:
    return options[found[1]] + after if found[1] in options else found[0]


USAGE: type[Exception] = typer.BadParameter.__mro__[1]
"""The base of typer's usage errors; its own name is not public."""
PATHS = {"does not exist": "a file that exists", "is a directory": "a file, not a folder", "is a file": "a folder, not a file"}


def in_words(error: Any) -> str:
    """Return a usage error in one line; empty if the help is on the screen already."""
    kind = type(error).__name__
    if kind == "NoArgsIsHelpError":
        return ""
    text = error.format_message().rstrip(".?")
    if kind == "MissingParameter" and error.param is not None:
        text = f"{_name(error.param)}: missing; expected: {_expected(error.param)}"
    elif kind == "BadParameter" and error.param is not None:
        text = f"{_name(error.param)}: {_received(error)}{_reason(error.message.rstrip('.'))}"
    elif kind == "NoSuchOption":
        near = f"; did you mean {' or '.join(sorted(error.possibilities))}" if error.possibilities else ""
        text = f"{error.option_name}: no such option{near}"
    elif kind == "BadOptionUsage":
        text = f"{error.option_name}: missing its value"
    path = "deniable" if error.ctx is None else error.ctx.command_path
    text = text[:1].lower() + text[1:] if text[1:2].islower() else text
    return f"{text.replace('. Did', '; did')}; see: {path} --help"


def _name(parameter: Any) -> str:
    """Return the name as help shows it: an option with its dashes, an argument in capitals."""
    return str(parameter.opts[-1] if parameter.param_type_name == "option" else parameter.metavar or parameter.name)


def _expected(parameter: Any) -> str:
    """Return what the help says about a parameter."""
    text = (parameter.help or "a value").rstrip(".")
    return text[:1].lower() + text[1:]


def _received(error: Any) -> str:
    """Return what was typed, if one value was checked."""
    checked = getattr(error.__cause__, "errors", None)
    return f"got {shorten(checked()[0]['input'])}; " if checked else ""


def _reason(text: str) -> str:
    received, sign, choices = text.partition(" is not one of ")
    if sign:
        from deniable.core.declared import did_you_mean  # here, since few runs end like this

        known = choices.strip("'").split("', '")
        near = did_you_mean(received.rpartition(", '")[2].strip("'"), known)
        return f"allowed: {one_of(known)}; {near.rstrip('?')}"
    if path := re.fullmatch(r"(?:File|Path|Directory) ('.*') (does not exist|is a directory|is a file)", text, re.IGNORECASE):
        return f"got {path[1]}; allowed: {PATHS[path[2]]}; check the path"
    text = text.replace("Input should be", "allowed:").partition(", unable to parse")[0]
    text = re.sub("greater than or equal to ([0-9.]+)", r"\1 or more", text)
    return text.replace("a valid integer", "an integer").replace("a valid number", "a number")
