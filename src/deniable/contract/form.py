"""Forms: how values of plain types are written as JSON, and read back."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from deniable.contract.canonical import canonical_json, from_plain, number, parse_canonical, read_number, to_plain
from deniable.errors import WireError

_FRACTION = re.compile(r"0|[1-9][0-9]{0,9}(/[1-9][0-9]{0,9})?", re.ASCII)


class Form(NamedTuple):
    """How a value is written as plain data, and read back; ``read`` also gets the name of what it reads, for its errors."""

    write: Callable[[Any], Any]
    read: Callable[[str, Any], Any]


def _typed(kind: type) -> Form:
    def read(noun: str, data: object) -> object:
        if type(data) is not kind:
            raise WireError(noun, data, allowed=f"a {kind.__name__}", fix="publish it again")
        return data

    return Form(lambda value: value, read)


def _text(noun: str, data: object, make: Callable[[str], Any], allowed: str) -> Any:
    try:
        if isinstance(data, str):
            return make(data)
    except (ValueError, ArithmeticError):
        pass  # reported below
    raise WireError(noun, data, allowed=allowed, fix="publish it again")


def _number(text: str) -> float:
    if (found := float(text)) != found:
        raise ValueError("nan")  # it equals nothing, not even itself
    return found


def read_fraction(noun: str, data: object) -> Fraction:
    """Return a fraction behind its text: short integers, and no exponents, which could be as long as the memory.

    >>> read_fraction("share", "2/3"), read_fraction("share", "0")
    (Fraction(2, 3), Fraction(0, 1))
    """
    if not isinstance(data, str) or not _FRACTION.fullmatch(data):
        raise WireError(noun, data, allowed='a fraction of short integers, such as "1/3"', fix="write it as one integer over another")
    fraction: Fraction = _text(noun, data, Fraction, 'a fraction of short integers, such as "1/3"')
    return fraction


def written_only(write: Callable[[Any], Any]) -> Form:
    """Return the form of what identifies a value, or shows it to people, and does not lead back to it."""

    def read(noun: str, data: object) -> object:
        raise WireError(noun, data, allowed="nothing: it is written and never read", fix="make the record from its parts")

    return Form(write, read)


def tuple_of(form: Form) -> Form:
    """Return the form of a tuple of values of one form."""

    def read(noun: str, data: object) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise WireError(noun, data, allowed="a list", fix="publish it again")
        return tuple(form.read(noun, item) for item in data)

    return Form(lambda values: [form.write(value) for value in values], read)


def mapping_of(form: Form) -> Form:
    """Return the form of values of one form by their names."""

    def read(noun: str, data: object) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise WireError(noun, data, allowed="an object", fix="publish it again")
        return {name: form.read(name, value) for name, value in data.items()}

    return Form(lambda values: {name: form.write(value) for name, value in values.items()}, read)


HEXADECIMAL = Form(lambda value: f"{value:x}", lambda noun, data: _text(noun, data, lambda text: int(text, 16), "an integer in hex"))
"""An integer by its hexadecimal digits."""
TABLE = Form(dict, lambda noun, data: _typed(dict).read(noun, data))
"""A table of plain values."""
OPAQUE = Form(parse_canonical, lambda _, data: canonical_json(data))
"""The canonical JSON of something that need not be known to be passed on."""
TEXT = Form(bytes.decode, lambda noun, data: _text(noun, data, str.encode, "text"))
"""Bytes that are text in UTF-8."""
TAGGED = Form(to_plain, lambda _, data: from_plain(data))
"""A value of any type that people may hold."""
HEXADECIMALS = tuple_of(HEXADECIMAL)
"""Prefixes, cells and masks: a tuple of integers by their hexadecimal digits."""
FORMS: dict[Any, Form] = {
    bool: _typed(bool),
    str: _typed(str),
    int: Form(number, read_number),
    float: Form(lambda value: repr(float(value) + 0.0), lambda noun, data: _text(noun, data, _number, 'a decimal such as "1.0"')),
    Fraction: Form(str, read_fraction),
    bytes: Form(lambda value: value.hex(), lambda noun, data: _text(noun, data, bytes.fromhex, "bytes in hex")),
}
"""By type."""


def _read_either(noun: str, data: object) -> object:
    """Return a number as a file or as ``number`` writes it; an integer stays one."""
    if isinstance(data, str):
        return int(data) if data.lstrip("-").isdigit() else FORMS[float].read(noun, data)
    if type(data) not in (int, float):
        raise WireError(noun, data, allowed="a number", fix="write it as in 1.0")
    return data


def _read_whole(noun: str, data: object) -> object:
    if type(found := _read_either(noun, data)) is not int:
        raise WireError(noun, data, allowed="an integer", fix="write it as in 12")
    return found


HANDWRITTEN = {
    **FORMS,
    int: Form(number, _read_whole),
    float: Form(lambda value: repr(float(value)) if isinstance(value, float) else number(value), _read_either),
}
"""By type, in records that people write in files, too."""


def row_of(forms: tuple[Form, ...]) -> Form:
    """Return the form of a tuple with a form for each place."""

    def read(noun: str, data: object) -> tuple[Any, ...]:
        if not isinstance(data, list) or len(data) != len(forms):
            raise WireError(noun, data, allowed=f"a list of {len(forms)}", fix="publish it again")
        return tuple(form.read(noun, item) for form, item in zip(forms, data, strict=True))

    return Form(lambda values: [form.write(value) for form, value in zip(forms, values, strict=True)], read)
