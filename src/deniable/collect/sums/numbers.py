"""A party's numbers from its file, each where the agreement has it: nothing is guessed, and nothing of the file is shown in an error.

Errors name the row and what is wrong there, never what stands in it: with a header left out, or columns the wrong way round, a number is
where a name should be.

==========  ===========================================  ==================================
file        if the sum names its values                  if it does not
==========  ===========================================  ==================================
JSON        an object: ``{"flu": 318, "rsv": 12}``       a list: ``[318, 12]``
CSV         a header ``value,number``, then the rows     a header ``number``, then the rows
==========  ===========================================  ==================================
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any

from deniable.collect.sums.agreement import Agreement
from deniable.errors import DomainError, ParameterError

LARGEST_FILE = 1 << 28
Row = tuple[str, str, Any]
"""Where it stands in the file, the value, and its number."""


def read_numbers(path: Path, agreement: Agreement) -> list[float]:
    """The numbers in the agreement's order; DomainError or ParameterError if they are not all there, once each."""
    readers = {".json": _from_json, ".csv": _from_csv}
    if path.suffix not in readers:
        raise ParameterError("--numbers", path.name, allowed="a file that ends in .json or .csv", fix="name it after what it is")
    if path.stat().st_size > LARGEST_FILE:
        raise ParameterError("--numbers", "a file that is too large", allowed=f"{LARGEST_FILE} bytes", fix="check the file")
    rows = readers[path.suffix](path, bool(agreement.values))
    if not agreement.values:
        numbers = [_number(place, number) for place, _, number in rows]
        if len(numbers) != agreement.length:
            raise DomainError("numbers", f"{len(numbers)} of them", allowed=f"{agreement.length}", fix="as many as the sum has")
        return numbers
    found: dict[str, float] = {}
    for place, value, number in rows:
        if value not in agreement.values:
            allowed = f"values of this sum, as {agreement.values[0]!r}"
            raise DomainError(
                "numbers", f"none of its values in {place}", allowed=allowed, fix="check the spelling, and which column is which"
            )
        if value in found:
            raise DomainError("numbers", f"{value} twice", allowed="each value once", fix="add them up first")
        found[value] = _number(f"{value} in {place}", number)
    missing = [value for value in agreement.values if value not in found]
    if missing:
        raise DomainError("numbers", f"nothing for {missing[0]}", allowed="all values of this sum", fix="write 0 if there is none")
    return [found[value] for value in agreement.values]


def _from_json(path: Path, named: bool) -> Iterable[Row]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a name stands there twice")
        return dict(pairs)

    try:
        content = json.loads(path.read_bytes(), object_pairs_hook=once, parse_int=float)
    except (ValueError, RecursionError):  # which may show what could not be read
        raise DomainError("numbers", path.name, allowed="JSON in UTF-8, each name once", fix="check the file") from None
    if not isinstance(content, dict if named else list):
        allowed = "an object of values and numbers" if named else "a list of numbers"
        raise DomainError("numbers", type(content).__name__, allowed=allowed, fix="see the terms of the sum")
    pairs = content.items() if isinstance(content, dict) else (("", number) for number in content)
    return [(f"entry {at}", value, number) for at, (value, number) in enumerate(pairs, 1)]


def _from_csv(path: Path, named: bool) -> Iterable[Row]:
    header = ["value", "number"] if named else ["number"]
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            rows = [(f"row {reader.line_num}", row) for row in reader if row]
    except (csv.Error, UnicodeDecodeError):
        raise DomainError("numbers", path.name, allowed="CSV in UTF-8", fix="check the file") from None
    if not rows or [cell.strip() for cell in rows[0][1]] != header:
        wanted = f"the header {','.join(header)}"
        raise DomainError("numbers", f"something else in {rows[0][0]}" if rows else "no row", allowed=wanted, fix="add it")
    for place, row in rows:
        if len(row) != len(header):
            raise DomainError("numbers", f"{len(row)} columns in {place}", allowed=f"{len(header)} columns", fix="check the file")
    return [(place, row[0] if named else "", row[-1]) for place, row in rows[1:]]


def _number(place: str, text: Any) -> float:
    try:
        number = float(text) if isinstance(text, str | float) else float("nan")
    except ValueError:  # it would show the text
        number = float("nan")
    if not isfinite(number):
        raise DomainError("numbers", f"something else for {place}", allowed="a finite number", fix="check the file")
    return number
