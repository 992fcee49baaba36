"""A party's numbers from its file, each where the agreement has it: nothing is guessed, and no number is shown in an error.

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

from deniable.collect.summing.agreement import Agreement
from deniable.errors import DomainError, ParameterError

LARGEST_FILE = 1 << 28


def read_numbers(path: Path, agreement: Agreement) -> list[float]:
    """The numbers in the agreement's order; DomainError or ParameterError if they are not all there, once each."""
    readers = {".json": _from_json, ".csv": _from_csv}
    if path.suffix not in readers:
        raise ParameterError("--numbers", path.name, allowed="a file that ends in .json or .csv", fix="name it after what it is")
    if path.stat().st_size > LARGEST_FILE:
        raise ParameterError("--numbers", "a file that is too large", allowed=f"{LARGEST_FILE} bytes", fix="check the file")
    rows = readers[path.suffix](path, bool(agreement.values))
    if not agreement.values:
        numbers = [_number(f"row {at + 1}", number) for at, (_, number) in enumerate(rows)]
        if len(numbers) != agreement.length:
            raise DomainError("numbers", f"{len(numbers)} of them", allowed=f"{agreement.length}", fix="as many as the sum has")
        return numbers
    found: dict[str, float] = {}
    for value, number in rows:
        if value not in agreement.values:
            raise DomainError("numbers", value, allowed=f"values of this sum, as {agreement.values[0]!r}", fix="check the spelling")
        if value in found:
            raise DomainError("numbers", f"{value} twice", allowed="each value once", fix="add them up first")
        found[value] = _number(value, number)
    missing = [value for value in agreement.values if value not in found]
    if missing:
        raise DomainError("numbers", f"nothing for {missing[0]}", allowed="all values of this sum", fix="write 0 if there is none")
    return [found[value] for value in agreement.values]


def _from_json(path: Path, named: bool) -> Iterable[tuple[str, Any]]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a name stands there twice")
        return dict(pairs)

    try:
        content = json.loads(path.read_bytes(), object_pairs_hook=once, parse_int=float)
    except (ValueError, RecursionError) as error:
        raise DomainError("numbers", path.name, allowed="JSON in UTF-8, each name once", fix="check the file") from error
    if not isinstance(content, dict if named else list):
        allowed = "an object of values and numbers" if named else "a list of numbers"
        raise DomainError("numbers", type(content).__name__, allowed=allowed, fix="see the terms of the sum")
    return list(content.items()) if isinstance(content, dict) else [("", number) for number in content]


def _from_csv(path: Path, named: bool) -> Iterable[tuple[str, Any]]:
    header = ["value", "number"] if named else ["number"]
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file, strict=True) if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise DomainError("numbers", path.name, allowed="CSV in UTF-8", fix="check the file") from error
    if not rows or [cell.strip() for cell in rows[0]] != header:
        raise DomainError("numbers", "no header" if not rows else rows[0], allowed=f"the header {','.join(header)}", fix="add it")
    if any(len(row) != len(header) for row in rows):
        raise DomainError("numbers", "a row of another length", allowed=f"{len(header)} columns", fix="check the file")
    return [(row[0] if named else "", row[-1]) for row in rows[1:]]


def _number(place: str, text: Any) -> float:
    try:
        number = float(text) if isinstance(text, str | float) else float("nan")
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise DomainError("numbers", f"something else for {place}", allowed="a finite number", fix="check the file")
    return number
