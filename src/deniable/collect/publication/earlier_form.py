"""Estimates as collectors published them before estimates had JSON of their own: written again, to be compared with what was published.

Each question had rows: counts with two kinds of limits, a mean, or a mean with quantiles and a curve. Results of other protocols carried a
chart in the looks of their release; these need that release to be verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

from deniable.collect.analysis.answer import Answer
from deniable.contract.canonical import to_plain
from deniable.core.distribution import QUANTILES
from deniable.errors import WireError

LEVEL = 0.95
MOST_POINTS = 64
"""The number of points of a distribution."""


def is_earlier(published: Any) -> bool:
    """Whether an answer was written in the earlier form: no question has an estimate of its own."""
    told = published.get("answers") if isinstance(published, dict) else None
    return isinstance(told, list) and bool(told) and not any(isinstance(each, dict) and "estimate" in each for each in told)


def earlier_json(answer: Answer, published: Mapping[str, Any]) -> dict[str, Any]:
    """The same answer in the earlier form; WireError where that cannot be written any more."""
    found, fix = _questions(answer), "verify it with the release that published it, which estimates.json names as its version"
    for name, each in found.items():
        if each.kind not in KINDS or isinstance(next(iter(each.values), None), tuple):
            received = f"the form of version {published.get('version')}"
            raise WireError(f"the result {name!r}", received, allowed="counts, means and distributions", fix=fix)
    return answer.to_json() | {"answers": [KINDS[each.kind](name, each) for name, each in found.items()]}


def earlier_scales(answer: Answer) -> list[float]:
    """How large the numbers of each question can be."""
    return [float(each.n) if each.kind == "frequency" else float(each.domain.width) for each in _questions(answer).values()]


def _questions(answer: Answer) -> dict[str, Any]:
    """The parts that were listed alone: the questions of a survey, and all results of another protocol."""
    if not answer.task.rounds:
        return dict(answer.estimates)
    return {name: each for main, first in answer.estimates.items() for name, each in ({main: first} | dict(first.parts)).items()}


def _counts(name: str, estimate: Any) -> dict[str, Any]:
    low, high = estimate.interval(LEVEL, simultaneous=estimate.picked)
    low_together, high_together = estimate.interval(LEVEL, simultaneous=True)
    columns = {"count": estimate.counts, "stderr": estimate.stderr, "frequency": estimate.frequencies, "low": low, "high": high}
    columns |= {"low_together": low_together, "high_together": high_together, "significant": estimate.significant()}
    lists = [column.tolist() for column in columns.values()]
    rows = [
        {"value": to_plain(value), **dict(zip(columns, cells, strict=True))} for value, *cells in zip(estimate.values, *lists, strict=True)
    ]
    reach = f"all {estimate.family_size} values together" if estimate.picked else "each value on its own"
    told = _head(name, estimate) | {"values": estimate.family_size, "n": estimate.n, "interval": f"{LEVEL:g}, {reach}, {estimate.covers}"}
    told |= {"rows": rows} | ({"notes": estimate.notes()} if estimate.notes() else {})
    return told | {"epsilon": estimate.epsilon} if estimate.epsilon < estimate.spec.epsilon else told  # behind a sample it costs less


def _mean(name: str, estimate: Any) -> dict[str, Any]:
    rows = [_row(estimate.name, estimate.value, estimate.stderr, estimate.interval(LEVEL))]
    return _number_head(name, estimate, [estimate.bias]) | {"interval": f"{LEVEL:g}, noise only", "rows": rows}


def _distribution(name: str, estimate: Any) -> dict[str, Any]:
    mean, columns, size = estimate.mean, estimate.rows(), estimate.domain.size
    rows = [_row(mean.name, mean.value, mean.stderr, mean.interval(LEVEL, population=True))]
    rows += [_row(f"{q:.0%} at most".replace("%", " %"), estimate.quantile(q), None, estimate.quantile_interval(q)) for q in QUANTILES]
    places = sorted({round(i * (size - 1) / MOST_POINTS) for i in range(MOST_POINTS + 1)})
    curve = [{"value": _plain(columns["value"][i]), **{each: float(columns[each][i]) for each in ("cdf", "low", "high")}} for i in places]
    return _number_head(name, estimate, [estimate.bias, mean.bias]) | {
        "interval": f"{LEVEL:g}, noise and sampling",
        "rows": rows,
        "curve": curve,
    }


KINDS: dict[str, Callable[[str, Any], dict[str, Any]]] = {"frequency": _counts, "mean": _mean, "distribution": _distribution}


def _head(name: str, estimate: Any) -> dict[str, Any]:
    epsilon = estimate.spec.epsilon if isfinite(estimate.spec.epsilon) else None
    return {"question": name, "mechanism": estimate.spec.mechanism, "epsilon": epsilon, "spec": estimate.spec.digest.hex()}


def _number_head(name: str, estimate: Any, reasons: Iterable[str | None]) -> dict[str, Any]:
    told = {"kind": estimate.kind, "domain": estimate.domain.describe(), "seconds": estimate.domain.times, "n": estimate.n}
    biased = "; ".join(dict.fromkeys(reason for reason in reasons if reason))
    return _head(name, estimate) | told | ({"biased": biased} if biased else {})


def _row(name: str, value: Any, stderr: Any, limits: Iterable[Any]) -> dict[str, Any]:
    low, high = limits
    return {"value": name, "estimate": _plain(value), "stderr": _plain(stderr), "low": _plain(low), "high": _plain(high)}


def _plain(cell: Any) -> Any:
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    return to_plain(cell) if isinstance(cell, datetime) else None if cell is None else float(cell)
