"""Means and distributions of numbers as plain data, in the units of the answers.

Points in time are ``{"time": ISO 8601}``, and distances between them, such as errors and changes, are seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from deniable.collect.analysis.manner import LEVEL, Manner, head, headline
from deniable.contract.canonical import from_plain, to_plain
from deniable.core.distribution import QUANTILES, DistributionEstimate
from deniable.core.mean import MeanEstimate
from deniable.core.mean_comparison import MeanComparison
from deniable.core.rounding import below

if TYPE_CHECKING:
    from deniable.core.chart import Chart

MOST_POINTS = 64
"""So many points of a distribution are told: single points of a fine grid are hardly ever known well."""


class Means(Manner):
    """One row: the mean."""

    def estimate_json(self, name: str, estimate: Any) -> dict[str, Any]:
        rows = [_mean_row(estimate, population=False)]
        return _head(name, estimate, "mean") | {"n": estimate.n, "interval": f"{LEVEL:g}, noise only", "rows": rows}

    def comparison_json(self, name: str, found: MeanComparison, alpha: float) -> dict[str, Any]:
        low, high = found.interval(1 - alpha)
        ends = {"before": found.first.value, "after": found.second.value, "change": found.difference, "low": low, "high": high}
        row = {"value": found.first.name} | {name: plain(cell) for name, cell in ends.items()}
        row |= {"p_adjusted": found.p_value, "changed": bool(found.changed(alpha))}
        counted = {"n_before": found.first.n, "n_after": found.second.n, "alpha": alpha}
        return _head(name, found.first, "mean") | counted | {"interval": f"{below(1 - alpha, 1, 4)}, noise and sampling", "rows": [row]}

    def picked(self, answer: Mapping[str, Any], k: int) -> list[dict[str, Any]]:
        return [{name: read(cell) for name, cell in row.items()} for row in answer["rows"]]  # few, and all are wanted

    def chart(self, answer: Mapping[str, Any], k: int) -> Chart:
        from deniable.core.number_chart import number_chart

        compared = "alpha" in answer
        names = ("value", "change", "low", "high") if compared else ("value", "estimate", "low", "high")
        rows = self.picked(answer, k)
        level = 1 - answer["alpha"] if compared else LEVEL
        return number_chart(*([row[name] for row in rows] for name in names), title=headline(answer), level=level)

    def scale(self, estimate: MeanEstimate | DistributionEstimate) -> float:
        return float(estimate.domain.width)


class Distributions(Means):
    """The mean, and some quantiles; ``curve`` has the cumulative shares at some points."""

    def ready(self, estimate: DistributionEstimate) -> DistributionEstimate:
        return estimate.replayed()  # whoever counts the same reports gets the same limits

    def estimate_json(self, name: str, estimate: Any) -> dict[str, Any]:
        rows = [_mean_row(estimate.mean, population=True)]
        rows += [_row(f"{q:.0%} at most".replace("%", " %"), estimate.quantile(q), None, estimate.quantile_interval(q)) for q in QUANTILES]
        told = {"n": estimate.n, "interval": f"{LEVEL:g}, noise and sampling", "rows": rows, "curve": _curve(estimate)}
        return _head(name, estimate, "distribution") | told


KINDS: dict[str, Manner] = {"mean": Means(), "distribution": Distributions()}


def plain(cell: Any) -> Any:
    """A number, a point in time or a distance as JSON carries it."""
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    return to_plain(cell) if isinstance(cell, datetime) else None if cell is None else float(cell)


def read(cell: Any) -> Any:
    """The same read back; distances stay seconds."""
    return from_plain(cell) if isinstance(cell, dict) else cell


def biased_in_words(estimate: MeanEstimate | DistributionEstimate) -> str | None:
    """Why the numbers of an estimate are biased, the mean's own reasons included; None if they are not."""
    mean = estimate.mean if isinstance(estimate, DistributionEstimate) else estimate
    return "; ".join(dict.fromkeys(each for each in (estimate.biased, mean.biased) if each)) or None


def _head(name: str, estimate: MeanEstimate | DistributionEstimate, kind: str) -> dict[str, Any]:
    content = head(name, estimate.spec) | {"kind": kind, "domain": estimate.domain.describe(), "seconds": estimate.domain.times}
    biased = biased_in_words(estimate)
    return content | ({"biased": biased} if biased else {})


def _mean_row(mean: MeanEstimate, *, population: bool) -> dict[str, Any]:
    return _row(mean.name, mean.value, mean.stderr, mean.interval(LEVEL, population=population))


def _row(name: str, value: Any, stderr: Any, limits: Iterable[Any]) -> dict[str, Any]:
    low, high = limits
    return {"value": name, "estimate": plain(value), "stderr": plain(stderr), "low": plain(low), "high": plain(high)}


def _curve(estimate: DistributionEstimate) -> list[dict[str, Any]]:
    """At the ends of equal parts of the range, the share of people at or below."""
    rows, size = estimate.rows(), estimate.domain.size
    places = sorted({round(i * (size - 1) / MOST_POINTS) for i in range(MOST_POINTS + 1)})
    return [
        {"value": plain(rows["value"][i]), "cdf": float(rows["cdf"][i]), "low": float(rows["low"][i]), "high": float(rows["high"][i])}
        for i in places
    ]
