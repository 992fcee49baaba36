"""Settings in TOML files: every name is checked, and nothing is executed.

``read_settings`` reads a table by the fields of a dataclass: lists, shares such as "1/3", bytes in hex, and tables in it for dataclasses
and mappings.

>>> from deniable.tasks.places.box import Box
>>> from deniable.tasks.places.grid import Grid
>>> table = {"box": {"west": 0, "south": 0, "east": 8, "north": 4}, "columns": 8, "rows": 4}
>>> read_settings(Grid, table, path="grid")["box"]
Box(west=0.0, south=0.0, east=8.0, north=4.0, plane=False)
>>> read_settings(Grid, table | {"box": 3}, path="grid")
Traceback (most recent call last):
    ...
deniable.errors.ParameterError: box: got 3; allowed: a table with ['west', 'south', 'east', 'north', 'plane'];
begin it with [grid.box]
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from deniable.contract.arguments import fits, spoken
from deniable.contract.question import read_share
from deniable.errors import DeniableError, ParameterError, one_of

Readers = Mapping[Any, Callable[[str, Any], Any]]
"""By type, a reader that gets the name of a setting and what the file says."""
USUAL: Readers = {Fraction: lambda _, value: read_share(value)}
"""What files write in one way, whatever they are about."""
WRITTEN = {
    str: "put it in quotation marks",
    bool: "write true or false",
    **dict.fromkeys((int, float), "write it without quotation marks"),
}
"""How a file writes values of plain types."""


def read_toml(data: bytes, name: str) -> dict[str, Any]:
    """Return the content of a TOML file; ParameterError if it is not TOML."""
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ParameterError("file", name, allowed="TOML in UTF-8", fix=f"fix the file: {error}") from error


def check_names(where: str, content: Mapping[str, Any], required: Iterable[str], optional: Iterable[str]) -> None:
    """Raise if names are missing or unknown: a misspelled one would silently do nothing.

    >>> check_names("task", {"epsilom": 1.0}, [], ["epsilon", "answers"])
    Traceback (most recent call last):
        ...
    deniable.errors.ParameterError: task: got 'epsilom'; allowed: the keys 'epsilon', 'answers'; check the
    spelling: did you mean epsilon?
    """
    needed = list(required)
    known = list(dict.fromkeys([*needed, *optional]))
    for name in content:  # before those that are missing: a misspelled one is both
        if name not in known:
            raise ParameterError(where, name, allowed=one_of(known).replace("one of", "the keys"), fix=did_you_mean(name, known))
    for name in needed:
        if name not in content:
            raise ParameterError(where, sorted(content), allowed=f"a table with the key {name!r}", fix=f"add {name} = ...")


def settings_of(made: type, elsewhere: Collection[str] = ()) -> list[str]:
    """Return the fields of a dataclass that a file may set, except those set ``elsewhere``."""
    written = (field.name for field in fields(made) if field.init and field.metadata.get("setting", True))
    return [name for name in written if name not in elsewhere]


def read_settings(
    made: type, table: Mapping[str, Any], *, path: str = "", where: str = "", readers: Readers = USUAL, elsewhere: Collection[str] = ()
) -> dict[str, Any]:
    """Return a dataclass's settings from a table, by the types of its fields; ParameterError names what is missing or unknown.

    ``path`` is the name of the table in the file, empty for the whole file, and ``where`` what errors call it. ``readers`` read what files
    write in another way.
    """
    known = settings_of(made, elsewhere)
    needed = [each.name for each in fields(made) if each.name in known and each.default is MISSING is each.default_factory]
    check_names(where or path, table, needed, known)
    hints = get_type_hints(made)
    return {name: _read(name, hints[name], value, f"{path}.{name}".lstrip("."), {**USUAL, **readers}) for name, value in table.items()}


def _read(name: str, hint: Any, value: Any, path: str, readers: Readers) -> Any:
    for kind, read in readers.items():
        if hint == kind or (isinstance(hint, type) and isinstance(kind, type) and issubclass(hint, kind)):
            return read(name, value)
    origin, parts = get_origin(hint), [part for part in get_args(hint) if part is not NoneType]
    share = Fraction in parts and isinstance(value, str)  # a number, or text such as "1/3"
    if origin in (Union, UnionType) and (share or len(parts) == 1):
        return _read(name, Fraction if share else parts[0], value, path, readers)
    if origin is tuple and is_dataclass(parts[0]) and not isinstance(value, list):
        raise ParameterError(name, value, allowed="a list of tables", fix=f"begin each with [[{path}]]")
    if origin in (tuple, Sequence) and isinstance(value, list):
        found = (_read(name, parts[0], each, path, readers) for each in value)
        return tuple(found) if origin is tuple else list(found)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise ParameterError(name, value, allowed="a table", fix=f"begin it with [{path}]")
        return {key: _read(f"{name}.{key}", parts[1], each, f"{path}.{key}", readers) for key, each in value.items()}
    if isinstance(hint, type) and is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ParameterError(name, value, allowed=f"a table with {settings_of(hint)}", fix=f"begin it with [{path}]")
        with explained(hint.__name__, value):
            return hint(**read_settings(hint, value, path=path, where=name, readers=readers))
    if hint in WRITTEN and not fits(value, hint):
        raise ParameterError(name, value, allowed=spoken(hint), fix=WRITTEN[hint])
    return value


@contextmanager
def explained(name: str, settings: Mapping[str, Any]) -> Iterator[None]:
    """Convert type errors from bad settings to ParameterError."""
    try:
        yield
    except DeniableError:
        raise
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
        raise ParameterError(name, dict(settings), allowed="a value of the right type for each setting", fix=str(error)) from error


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The nearest of the known names, as a question, if any is near."""
    folded = {other.lower(): other for other in known}
    near = get_close_matches(str(name).lower(), folded, n=1, cutoff=0.6)
    return f"check the spelling: did you mean {folded[near[0]]}?" if near else "check the spelling"
