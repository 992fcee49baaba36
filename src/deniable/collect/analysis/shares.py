"""Counts and shares of values as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deniable.collect.analysis.manner import LEVEL, Manner, head, headline
from deniable.contract.canonical import from_plain, to_plain
from deniable.core.comparison import Comparison
from deniable.core.frequency import FrequencyEstimate
from deniable.core.regression import RegressionEstimate
from deniable.core.rounding import below

if TYPE_CHECKING:
    from deniable.core.chart import Chart


class Shares(Manner):
    """A row for each value, with its count."""

    def tells(self, estimate: FrequencyEstimate) -> bool:
        """Values of several parts, such as cells of a table, have columns of their own."""
        return not len(estimate.values) or not isinstance(estimate.values[0], tuple)

    def ready(self, estimate: FrequencyEstimate) -> FrequencyEstimate:
        """The solution of a regression, in place of its table of all bits and values."""
        return estimate.scores if isinstance(estimate, RegressionEstimate) else estimate

    def estimate_json(self, name: str, estimate: FrequencyEstimate) -> dict[str, Any]:
        """Each value with its own interval, and with one that holds for all values together: for readers who pick some of them.

        ``significant`` marks the values whose second interval excludes 0. Of a search, ``notes`` say what was dropped.
        """
        low, high = estimate.interval(LEVEL, simultaneous=estimate.picked)
        low_together, high_together = estimate.interval(LEVEL, simultaneous=True)
        columns = {"count": estimate.counts, "stderr": estimate.stderr, "frequency": estimate.frequencies, "low": low, "high": high}
        columns |= {"low_together": low_together, "high_together": high_together, "significant": estimate.significant()}
        reach = f"all {estimate.family_size} values together" if estimate.picked else "each value on its own"
        interval = f"{LEVEL:g}, {reach}, {getattr(estimate, 'covers', 'noise only')}"
        told = {"n": estimate.n, "interval": interval, "rows": _rows(estimate.values, columns)}
        return _head(name, estimate) | told | ({"notes": estimate.notes()} if estimate.notes() else {})

    def comparison_json(self, name: str, found: Comparison, alpha: float) -> dict[str, Any]:
        low, high = found.interval(1 - alpha, simultaneous=True)
        columns = {"before": found.first.frequencies, "after": found.second.frequencies, "change": found.difference}
        columns |= {"low": low, "high": high, "p_adjusted": found.adjusted}
        rows = _rows(found.values, columns)
        named = set(found.changed(alpha))
        for row, value in zip(rows, found.values, strict=True):
            row["changed"] = value in named
        counted = {"n_before": found.first.n, "n_after": found.second.n, "alpha": alpha}
        interval = f"{below(1 - alpha, 1, 4)}, all {found.first.family_size} values together, noise and sampling"
        return _head(name, found.first) | counted | {"interval": interval, "rows": rows}

    def picked(self, answer: Mapping[str, Any], k: int) -> list[dict[str, Any]]:
        """The largest counts, or the clearest changes. Some of more come with the intervals that hold for all values together."""
        compared = "alpha" in answer
        rows = sorted(answer["rows"], key=lambda row: (row["p_adjusted"], -abs(row["change"])) if compared else -row["count"])[:k]
        together = {"low": "low_together", "high": "high_together"} if not compared and len(rows) < answer["values"] else {}
        return [row | {"value": from_plain(row["value"])} | {name: row[other] for name, other in together.items()} for row in rows]

    def chart(self, answer: Mapping[str, Any], k: int) -> Chart:
        from deniable.core.chart import bar_chart, point_chart

        rows = self.picked(answer, k)
        columns = [[row[name] for row in rows] for name in ("value", "change" if "alpha" in answer else "count", "low", "high")]
        if "alpha" in answer:
            return point_chart(*columns, title=headline(answer), level=1 - answer["alpha"])
        return bar_chart(*columns, title=headline(answer), together=len(rows) < answer["values"])

    def scale(self, estimate: FrequencyEstimate) -> float:
        return float(estimate.n)


def _head(name: str, estimate: FrequencyEstimate) -> dict[str, Any]:
    told = head(name, estimate.spec) | {"values": estimate.family_size}
    return told | {"epsilon": estimate.epsilon} if estimate.epsilon < estimate.spec.epsilon else told  # behind a sample it costs less


def _rows(values: Any, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    lists = [column.tolist() for column in columns.values()]
    return [{"value": to_plain(value), **dict(zip(columns, cells, strict=True))} for value, *cells in zip(values, *lists, strict=True)]
