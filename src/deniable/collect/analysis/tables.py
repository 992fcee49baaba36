"""Results of every other kind as plain data: the table that a result makes of itself, its own line about it, and its own chart.

Nothing here knows what a result is about. It needs ``to_arrow()``; a ``headline()``, an ``order()`` of its rows, the most interesting
first, a ``chart()`` and further ``tables()`` inside of it are used where a result has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.collect.analysis.manner import Manner
from deniable.collect.analysis.numbers import read
from deniable.contract.canonical import to_plain
from deniable.contract.protocol import protocol_from_json
from deniable.contract.task import Task
from deniable.errors import ParameterError, ProtocolError, WireError

if TYPE_CHECKING:
    from deniable.core.chart import Chart

TABLE = "table"
LOOKS = ("config", "$schema", "datasets")
"""What a chart says beside what is drawn: the page has looks of its own."""
LARGEST_CHART = 1 << 20
"""A chart of more bytes is left out: the table says the same."""


class Tables(Manner):
    """A row for each of the result's own, with its own columns."""

    def estimate_json(self, name: str, estimate: Any) -> dict[str, Any]:
        if not hasattr(estimate, "to_arrow"):
            fix = "read it in Python, by collector.outcome(task, round)"
            raise ProtocolError("result", type(estimate).__name__, allowed="results that make a table, by to_arrow()", fix=fix)
        table = estimate.to_arrow()
        order = [int(place) for place in estimate.order()] if hasattr(estimate, "order") else range(table.num_rows)
        columns = [[_plain(cell) for cell in column.to_pylist()] for column in table.columns]
        rows = [dict(zip(table.column_names, (column[place] for column in columns), strict=True)) for place in order]
        told = {"question": name, "kind": TABLE, "n": reports_behind(estimate), "columns": table.column_names, "rows": rows}
        about = estimate.headline().splitlines() if hasattr(estimate, "headline") else []
        about += estimate.notes() if hasattr(estimate, "notes") else []
        return told | {"about": about} | _chart(estimate)

    def comparison_json(self, name: str, found: Any, alpha: float) -> dict[str, Any]:
        raise ProtocolError("result", name, allowed="estimates of one round", fix="compare two results in Python")

    def picked(self, answer: Mapping[str, Any], k: int) -> list[dict[str, Any]]:
        return [{name: read(cell) for name, cell in row.items()} for row in answer["rows"][:k]]

    def chart(self, answer: Mapping[str, Any], k: int) -> Chart | None:
        if "chart" not in answer:
            return None
        import altair as alt

        from deniable.core.chart import Chart

        _check_own(answer["chart"])
        return Chart(alt.Chart.from_dict(answer["chart"]))

    def scale(self, estimate: Any) -> float:
        """The largest number in the table."""
        cells = [
            cell for column in estimate.to_arrow().columns for cell in column.to_pylist() if isinstance(cell, float) and isfinite(cell)
        ]
        return max(map(abs, cells), default=1.0)


def reports_behind(estimate: Any) -> int:
    """How many reports every part of a result rests on, at least; none where it does not say."""
    counted = np.asarray(getattr(estimate, "n", 0))
    if counted.size:
        return int(counted.min())
    tested = getattr(estimate, "screening", None)
    return tested.people if tested is not None else 0  # a search that named nothing


def unfolded(estimates: Mapping[str, Any]) -> dict[str, Any]:
    """Results, each followed by the tables inside of it."""
    found: dict[str, Any] = {}
    for name, each in estimates.items():
        found |= {name: each, **{f"{name}: {part}": inner for part, inner in getattr(each, "tables", dict)().items()}}
    return found


def promise_of(task: Task) -> dict[str, Any]:
    """What a whole protocol costs a person who takes part, as data and in plain words."""
    protocol = protocol_from_json(task.protocol)
    promise = protocol.guarantee
    told = {"unit": promise.unit, "neighbors": promise.neighbors, "delta": promise.delta, "statement": promise.statement()}
    return {"mechanism": protocol.kind, "epsilon": promise.epsilon, "guarantee": told}


def _plain(cell: Any) -> Any:
    """A cell as JSON carries it, which has neither infinity nor what is no number."""
    if isinstance(cell, float):
        return cell if isfinite(cell) else None
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, Decimal):
        return to_plain(int(cell))
    return to_plain(cell) if isinstance(cell, str | int | bytes | datetime) else cell.isoformat() if isinstance(cell, date) else str(cell)


def _chart(estimate: Any) -> dict[str, Any]:
    """The result's own chart as Vega-Lite, if it has one that is not too large to be sent; without the looks, which are the page's."""
    if not hasattr(estimate, "chart"):
        return {}
    try:
        drawn = estimate.chart().altair.to_dict()
    except ParameterError:  # too much to be drawn, it says
        return {}
    drawn = _inlined({name: part for name, part in drawn.items() if name not in LOOKS}, drawn.get("datasets", {}))
    return {"chart": drawn} if len(json.dumps(drawn)) <= LARGEST_CHART else {}


def _check_own(part: Any) -> None:
    """Refuse a chart that would fetch anything when it is drawn: those of a collector carry their data."""
    if isinstance(part, dict):
        if {"url", "href"} & part.keys():
            raise WireError("chart", "an address", allowed="a chart that carries its data", fix="do not trust this collector")
        for name, each in part.items():
            _check_own(each if name != "values" else None)  # data may have columns of any name
    for each in part if isinstance(part, list) else ():
        _check_own(each)


def _inlined(part: Any, data: Mapping[str, Any]) -> Any:
    """A part of a chart with its data where it is used: charts are put below one another, and names of data would then be lost."""
    if isinstance(part, list):
        return [_inlined(each, data) for each in part]
    if not isinstance(part, dict):
        return None if isinstance(part, float) and not isfinite(part) else part  # as in the table
    if set(part) == {"name"} and part["name"] in data:
        return {"values": data[part["name"]]}
    return {name: _inlined(each, data) for name, each in part.items()}
