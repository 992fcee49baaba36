"""Estimates as JSON: the columns as they are shown, and the law, so that a reader can ask for other levels, compare and draw.

::

    {"format": "deniable estimate", "version": 1, "kind": "frequency", "about": "100 reports, RR, epsilon = 1.1", "quantity": "count",
     "n": 100, "guarantee": {"epsilon": 1.1, ...}, "family_size": 2, "covers": "noise only", "bias": null, "headline": "...", "notes": [],
     "values": ["no", "yes"], "columns": {"value": ["no", "yes"], "count": [20.0, 80.0], ...}, "order": [1, 0],
     "figures": [{"mark": "bars", "number": "count", ...}], "law": {"law": "Supports", "n": 100, "supports": [35, 65], ...}, "parts": {}}

Numbers are JSON numbers; what is unknown or infinite is null in columns. Points in time are ``{"time": ISO 8601}``, distances between them
``{"seconds": 5.0}``. A law is written by the types of its fields, in its settled form:
no reports, no designs, no code. Reading makes laws of known classes only, and refuses everything else with ``WireError``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import inf, nan
from typing import Any, Self

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.guarantee import Guarantee
from deniable.contract.numbers import Numbers
from deniable.contract.readable import confidence
from deniable.core.comparison import Comparison
from deniable.core.estimate import Estimate
from deniable.core.figure import Figure
from deniable.core.saved_parts import (
    read_cell,
    read_figure,
    read_law,
    read_value,
    write_cell,
    write_law,
    write_people,
    write_row,
    write_value,
)
from deniable.core.table import row_numbers
from deniable.errors import DeniableError, WireError
from deniable.kernels.compiled import Array

FORMAT, VERSION = "deniable estimate", 1
NAMES = {
    *("format", "version", "kind", "about", "title", "quantity", "n", "guarantee", "family_size", "covers", "bias", "single", "falling"),
    *("level", "together", "out_of", "unit", "headline", "notes", "values", "columns", "brief", "order", "figures", "law", "parts"),
}
"""What an estimate is written with."""


# --- writing ---


def write_estimate(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as plain data."""
    settled = estimate.settled()
    rows, brief, unit, promise = settled.rows(), settled.brief(), settled.unit, settled.guarantee
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": settled.kind,
        "about": settled.about,
        "title": settled.title,
        "quantity": settled.quantity,
        "n": write_people(settled.n),
        "guarantee": promise and {each.name: write_cell(getattr(promise, each.name)) for each in fields(Guarantee)},
        "family_size": settled.family_size,
        "covers": settled.covers,
        "bias": settled.bias,
        "single": settled.single,
        "falling": settled.falling,
        "level": settled.shown_level,
        "together": settled.together,
        "out_of": settled.out_of,
        "unit": None if unit is None else unit.to_json(),
        "headline": settled.headline(),
        "notes": settled.notes(),
        "values": [write_value(value) for value in settled.values],
        "columns": {name: [write_cell(cell) for cell in column] for name, column in rows.items()},
        "brief": brief,
        "order": [int(place) for place in settled.order()],
        "figures": [{name: write_row(each) for name, each in asdict(figure).items()} for figure in settled.figures()],
        "law": write_law(settled.law.settled()),
        "parts": {name: write_estimate(part) for name, part in settled.parts.items()},
    }


# --- reading ---


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SavedEstimate(Estimate):
    """An estimate read from JSON: intervals, tests, tables and charts as before, without the verbs of its own kind."""

    shown_level: float | None = None
    together: bool = False
    out_of: float | None = None
    columns: Mapping[str, list[Any]] = field(default_factory=dict)
    """The columns as they were shown."""
    drawn: tuple[Figure, ...] = ()
    """The figures as they were declared."""
    shown_order: tuple[int, ...] | None = None
    shown_brief: dict[str, list[str]] | None = None
    shown_headline: str = ""
    shown_notes: tuple[str, ...] = ()

    @property
    def labels(self) -> list[Any]:
        return list(self.columns["value"]) if "value" in self.columns else list(self.values)

    def rows(self) -> dict[str, Any]:
        return {name: np.asarray(column) if column and isinstance(column[0], float) else column for name, column in self.columns.items()}

    def brief(self) -> dict[str, list[str]] | None:
        return self.shown_brief

    def headline(self) -> str:
        return self.shown_headline or super().headline()

    def notes(self) -> list[str]:
        return list(self.shown_notes)

    def order(self) -> Array:
        return super().order() if self.shown_order is None else np.array(self.shown_order, dtype=np.int64)

    def figures(self) -> tuple[Figure, ...]:
        if not self.together or self.shown_level is None:
            return self.drawn
        words = f"{confidence(self.shown_level)} intervals that hold together"
        return tuple(replace(figure, interval=words) if figure.interval else figure for figure in self.drawn)

    def settled(self) -> Self:
        return self

    def compare(self, other: Estimate) -> Comparison:
        if self.kind == "distribution" == getattr(other, "kind", None):  # by their means, as when they were made
            return self.parts["mean"].compare(other.parts["mean"])
        return super().compare(other)

    def select(self, positions: Any) -> Self:
        at = row_numbers(positions, len(self.values))
        some = replace(
            self,
            values=[self.values[i] for i in at],
            law=self.law.select(at),
            columns={name: [column[i] for i in at] for name, column in self.columns.items()},
            shown_order=None,
            shown_brief=None,
            shown_headline="",
        )
        return some.jointly() if some.picked else some

    def jointly(self) -> Self:
        """Return this estimate with limits that hold for all values together and a mark at significant values."""
        if self.together or self.shown_level is None:
            return self
        low, high = self.interval(self.shown_level, simultaneous=True)
        limits = {"low": list(low), "high": list(high), "significant": self.significant().tolist()}
        return replace(self, columns={**self.columns, **limits}, together=True, shown_headline="")


@typed
def estimate_from_json(data: bytes | str | dict[str, Any]) -> Estimate:
    """Return the estimate behind ``data``, its JSON from ``to_json``, as text or as plain data; WireError if there is none.

    >>> from deniable.client import GRR
    >>> spec = GRR(domain_size=3, epsilon=1.0)
    >>> estimate = spec.estimate(spec.tally([spec.randomize(1) for _ in range(300)]))
    >>> read = estimate_from_json(json.dumps(estimate.to_json()))
    >>> [bool(np.allclose(a, b)) for a, b in zip(read.interval(0.9), estimate.interval(0.9))], repr(read) == repr(estimate)
    ([True, True], True)
    """
    try:
        plain = json.loads(data) if isinstance(data, bytes | str) else data
    except (ValueError, RecursionError) as error:
        raise WireError("estimate", data, allowed="JSON", fix="pass what to_json() returned, as text or as plain data") from error
    try:
        return _read(plain)
    except DeniableError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        allowed = "an estimate from to_json()"
        raise WireError("estimate", type(plain).__name__, allowed=allowed, fix=f"save it again ({error!r})") from error


def _read(plain: Any) -> SavedEstimate:
    if not isinstance(plain, dict) or plain.get("format") != FORMAT or plain.get("version") != VERSION:
        raise WireError("estimate", type(plain).__name__, allowed=f"format {FORMAT!r}, version {VERSION}", fix="upgrade, or save it again")
    if set(plain) != NAMES:
        raise WireError("estimate", sorted(set(plain) ^ NAMES), allowed=f"exactly {sorted(NAMES)}", fix="save it again")
    values, law = [read_value(value) for value in plain["values"]], read_law(plain["law"])
    columns = {str(name): list(column) for name, column in plain["columns"].items()}
    with np.errstate(all="ignore"):  # numbers that make no sense are no reason to warn
        sizes = {len(values), len(law.point), *map(len, columns.values())}
    if len(sizes) != 1 or sorted(plain["order"]) != list(range(len(values))):
        raise WireError("estimate", sorted(sizes), allowed="values, law, columns and order of one length", fix="save it again")
    unit = None if plain["unit"] is None else Domain.from_json(plain["unit"])
    if unit is not None and not isinstance(unit, Numbers):
        raise WireError("unit", plain["unit"], allowed="a range of numbers", fix="save it again")
    words: dict[str, Any] = {name: _text(name, plain[name]) for name in ("kind", "about", "title", "quantity", "covers")}
    return SavedEstimate(
        **words,
        values=values,
        law=law,
        guarantee=None if plain["guarantee"] is None else Guarantee(**{**plain["guarantee"], "epsilon": _epsilon(plain["guarantee"])}),
        family_size=int(plain["family_size"]),
        bias=None if plain["bias"] is None else _text("bias", plain["bias"]),
        single=plain["single"] is True,
        falling=plain["falling"] is True,
        shown_level=None if plain["level"] is None else float(plain["level"]),
        together=plain["together"] is True,
        out_of=None if plain["out_of"] is None else float(plain["out_of"]),
        unit=unit,
        columns={
            name: [nan if cell is None and name != "value" else read_cell(cell) for cell in column] for name, column in columns.items()
        },
        drawn=tuple(read_figure(figure) for figure in plain["figures"]),
        shown_order=tuple(plain["order"]),
        shown_brief=plain["brief"],
        shown_headline=_text("headline", plain["headline"]),
        shown_notes=tuple(_text("notes", note) for note in plain["notes"]),
        parts={str(name): _read(part) for name, part in plain["parts"].items()},
    )


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise WireError(name, value, allowed="text", fix="save the estimate again")
    return value


def _epsilon(guarantee: Mapping[str, Any]) -> float:
    return inf if guarantee["epsilon"] is None else float(guarantee["epsilon"])
