"""What people write in files: TOML whose every name is known. Nothing in it is executed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from deniable.errors import ParameterError


def read_toml(data: bytes, name: str) -> dict[str, Any]:
    """The content of a TOML file; ParameterError if it is none."""
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ParameterError("file", name, allowed="TOML in UTF-8", fix=str(error)) from error


def check_names(where: str, content: Mapping[str, Any], required: Iterable[str], optional: Iterable[str]) -> None:
    """Refuse names that are missing or unknown: a misspelled one would silently do nothing.

    >>> check_names("task", {"epsilom": 1.0}, [], ["epsilon", "answers"])
    Traceback (most recent call last):
        ...
    deniable.errors.ParameterError: task: got 'epsilom'; allowed: some of ['epsilon', 'answers']; check the
    spelling: did you mean epsilon?
    """
    needed = list(required)
    known = list(dict.fromkeys([*needed, *optional]))
    for name in content:  # before those that are missing: a misspelled one is both
        if name not in known:
            raise ParameterError(where, name, allowed=f"some of {known}", fix=did_you_mean(name, known))
    for name in needed:
        if name not in content:
            raise ParameterError(where, sorted(content), allowed=f"a table with {name!r}", fix=f"add {name}")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The nearest of the known names, as a question, if any is near."""
    folded = {other.lower(): other for other in known}
    near = get_close_matches(str(name).lower(), folded, n=1, cutoff=0.6)
    return f"check the spelling: did you mean {folded[near[0]]}?" if near else "check the spelling"
