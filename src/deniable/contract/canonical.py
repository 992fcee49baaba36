"""Canonical JSON: one byte string for one meaning.

Objects with sorted keys, arrays, strings, ``true``/``false`` and integers of at most 53 bits (what JavaScript reads
exactly); larger integers and decimals travel as strings. No floats, no null, no white space, UTF-8. A device hashes the
bytes that it received and never writes them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from operator import index
from typing import Any

from deniable.errors import WireError

EXACT_IN_JAVASCRIPT = 1 << 53


def canonical_json(value: object) -> bytes:
    r"""Return the canonical bytes of a JSON value.

    >>> canonical_json({"size": 4, "keep": number(2**64), "labels": ["é"]})
    b'{"keep":"18446744073709551616","labels":["\xc3\xa9"],"size":4}'
    """
    _check(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def parse_canonical(data: bytes) -> Any:
    """Read canonical JSON; anything else, an equal value in another spelling included, is refused."""
    try:
        value = json.loads(data.decode())
        same = canonical_json(value) == data
    except (UnicodeError, ValueError, RecursionError) as error:
        raise WireError("json", data, allowed="canonical JSON in UTF-8", fix=f"send it unchanged ({error})") from error
    if not same:
        raise WireError("json", data, allowed="sorted keys, no white space", fix="send the bytes as they were published")
    return value


def number(value: int) -> int | str:
    """Return an integer as JSON carries it: a decimal string if JavaScript could not read it exactly."""
    return value if abs(value) < EXACT_IN_JAVASCRIPT else str(value)


def read_number(parameter: str, value: object) -> int:
    """Return the integer behind ``number``, spelled the one way that ``number`` spells it."""
    try:
        result = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
    except ValueError:
        result = None
    if result is None or number(result) != value:
        raise WireError(parameter, value, allowed="an integer, as a decimal string from 2^53 on", fix="write it canonically")
    return result


def read_object(parameter: str, value: object, required: set[str], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return a JSON object with exactly the names it should have."""
    names = set(value) if isinstance(value, Mapping) else None
    if names is None or not required <= names <= required | optional:
        known = sorted(required | optional)
        unknown, missing = sorted(map(str, (names or set()) - set(known))), sorted(required - (names or set()))
        steps = [f"remove {unknown[0]!r}" if unknown else "", f"add {missing[0]!r}" if missing else "", "check the version"]
        raise WireError(parameter, value, allowed=f"an object with {known}", fix=", ".join(filter(None, steps)))
    return dict(value)  # type: ignore[call-overload,no-any-return]  # a Mapping, as just checked


def to_plain(value: Any) -> Any:
    """Return a value as canonical JSON carries it: text as it is, integers tagged from 2^53 on, bytes in hex, floats and times as text.

    >>> to_plain("tea"), to_plain(7), to_plain(2**63), to_plain(b"tea"), to_plain(0.1)
    ('tea', 7, {'integer': '9223372036854775808'}, {'bytes': '746561'}, {'float': '0.1'})
    """
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, float):
        return {"float": repr(float(value))}  # the shortest decimal that reads back as the same float
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, str):
        return value
    plain = number(index(value))
    return {"integer": plain} if isinstance(plain, str) else plain


def from_plain(plain: Any) -> Any:
    """Return the value behind ``to_plain``; WireError if there is none."""
    if not isinstance(plain, dict):
        return plain if isinstance(plain, str) else read_number("value", plain)
    if set(plain) == {"integer"}:
        return read_number("value", plain["integer"])
    readers: dict[frozenset[str], Callable[[str], Any]] = {frozenset({"float"}): float, frozenset({"time"}): datetime.fromisoformat}
    read = readers.get(frozenset(plain))
    try:
        if read is not None:
            (text,) = plain.values()
            return read(text)
        return bytes.fromhex(read_object("value", plain, {"bytes"})["bytes"])
    except (TypeError, ValueError) as error:
        raise WireError("value", plain, allowed="bytes in hex, a float or a time as text", fix="write it with to_plain") from error


def _check(value: object) -> None:
    if isinstance(value, str | bool):
        return
    if isinstance(value, int) and abs(value) < EXACT_IN_JAVASCRIPT:
        return
    if isinstance(value, list):
        for item in value if set(map(type, value)) != {str} else ():  # the prefixes of a search are many thousands
            _check(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise ValueError(f"the name {name!r} is not a string")
            _check(item)
    else:
        raise ValueError(f"{value!r} has no canonical form")
