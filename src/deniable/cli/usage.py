"""Words that are no command line, told in the shape of all errors: what, value, allowed, what to do next."""

from __future__ import annotations

from typing import Any

import typer

from deniable.errors import shorten

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
