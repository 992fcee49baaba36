"""The group of all commands: how their help looks, and how they end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup, TyperOption

from deniable.cli.ending import plain_end, tell_error
from deniable.cli.examples import epilog
from deniable.cli.statuses import ERROR, STOPPED
from deniable.cli.usage import USAGE, in_words


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
