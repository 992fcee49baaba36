"""What an answer may be, as files say it: a domain, and values of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from deniable.contract.domain import Bytes, Categories, Domain, IndexRange, Integers, Text
from deniable.contract.numbers import Numbers
from deniable.contract.subsets import Subsets
from deniable.core.declared import check_names
from deniable.errors import ParameterError, one_of

KINDS = ("categories", "range", "integers", "text", "bytes", "yes_no", "numbers", "sets")
FIXES = {
    "categories": 'list different labels, as in categories = ["tea", "coffee"]',
    "integers": "write the lowest number first, as in integers = [0, 100]",
    "numbers": "write the range of the answers, as in numbers = { low = 0, high = 100 }",
}
"""What to do about what a key says, in the words of a file."""


def read_domain(content: object, parameter: str = "domain") -> tuple[Domain, tuple[Any, ...] | None]:
    """A domain, and the candidates that are named for it.

    >>> read_domain({"text": 8, "candidates": ["tea", "mate"]})
    (Text(max_length=8), ('tea', 'mate'))
    >>> read_domain({"sets": {"categories": ["tea", "mate"]}})[0]
    Subsets(items=Categories('tea', 'mate'))
    """
    if not isinstance(content, Mapping):
        raise ParameterError(parameter, content, allowed="a table", fix='write [domain] and then categories = ["tea", "coffee"]')
    check_names(parameter, content, [], [*KINDS, "candidates"])
    kinds = [kind for kind in KINDS if kind in content]
    if len(kinds) != 1:
        raise ParameterError(parameter, kinds, allowed=one_of(KINDS), fix="keep one of them")
    domain = _declared(kinds[0], content[kinds[0]])
    if "candidates" not in content:
        return domain, None
    if isinstance(domain, Numbers | Subsets):
        raise ParameterError("candidates", content["candidates"], allowed=f"none for {kinds[0]}", fix="list what is counted in [domain]")
    named = listed("candidates", content["candidates"], 'write candidates = ["tea", "mate"]')
    return domain, tuple(read_value("candidates", domain, value) for value in named)


def _declared(kind: str, value: Any) -> Domain:
    """Return the domain of one key of a file; errors name the key."""
    try:
        return _domain(kind, value)
    except ParameterError as error:
        if error.parameter in KINDS:
            raise
        raise ParameterError(kind, value, allowed=error.allowed, fix=FIXES.get(kind, "write another value")) from error


def _domain(kind: str, value: Any) -> Domain:
    if kind == "categories":
        return Categories(*listed(kind, value, 'write categories = ["tea", "coffee"]'))
    if kind == "integers":
        bounds = listed(kind, value, "write integers = [0, 100]")
        if len(bounds) != 2:
            raise ParameterError(kind, value, allowed="the lowest and the highest value", fix="write integers = [0, 100]")
        return Integers(*bounds)
    if kind == "yes_no":
        if value is not True:
            raise ParameterError(kind, value, allowed="true", fix="leave it out where the question takes none")
        return IndexRange(2)
    if kind == "numbers":
        return read_numbers(value)
    if kind == "sets":
        items, candidates = read_domain(value, "sets")
        if candidates is not None or isinstance(items, Subsets):
            raise ParameterError("sets", value, allowed="the domain of a set's items", fix='write sets = { categories = ["tea", "milk"] }')
        return Subsets(items)
    made: Any = {"range": IndexRange, "text": Text, "bytes": Bytes}[kind]
    found: Domain = made(value)
    return found


def read_value(parameter: str, domain: Domain, value: Any) -> Any:
    """A value as files write it: bytes are written in hex, yes and no as true and false, points in time as TOML does."""
    if isinstance(domain, Bytes) and not isinstance(domain, Text):
        try:
            value = bytes.fromhex(value)
        except (TypeError, ValueError) as error:
            raise ParameterError(parameter, value, allowed="bytes in hex", fix='write "00ff"') from error
    value = point_in_time(value) if isinstance(domain, Numbers) else value
    domain.key(value)  # DomainError if it is not allowed
    return int(value) if isinstance(value, bool) else value


def listed(parameter: str, value: object, fix: str) -> list[Any]:
    """A list, and nothing else."""
    if not isinstance(value, list):
        raise ParameterError(parameter, value, allowed="a list", fix=fix)
    return value


def read_numbers(content: object) -> Numbers:
    """The range behind ``numbers = { low = 0, high = 120 }``; ends may be points in time.

    >>> read_numbers({"low": 0, "high": 120, "clip": True})
    Numbers(0, 120, steps=32760, clip=True)
    """
    if not isinstance(content, Mapping):
        raise ParameterError("numbers", content, allowed="a table", fix="write numbers = { low = 0, high = 120 }")
    check_names("numbers", content, ["low", "high"], ["steps", "clip"])
    return Numbers(**{name: point_in_time(value) for name, value in content.items()})


def point_in_time(value: Any) -> Any:
    """A date is its first moment, by the clock on the wall; everything else is what it is."""
    return datetime(value.year, value.month, value.day) if isinstance(value, date) and not isinstance(value, datetime) else value
