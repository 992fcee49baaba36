"""What an analyst gets: estimates or changes with everything that they came from, as JSON, Parquet and charts."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deniable import __version__
from deniable.collect.analysis.selection import Selection
from deniable.contract.canonical import from_plain, parse_canonical, to_plain
from deniable.contract.task import Task
from deniable.core.comparison import Comparison
from deniable.core.frequency import FrequencyEstimate

if TYPE_CHECKING:
    from deniable.core.chart import Chart

METADATA = b"deniable"
"""Where a Parquet file's schema says what it came from: the JSON without its rows."""
LEVEL = 0.95


@dataclass(frozen=True)
class Answer:
    """Estimates by question. ``provisional``: some of the periods are open still. ``withheld`` are questions with too few reports."""

    task: Task
    selection: Selection
    estimates: Mapping[str, FrequencyEstimate]
    withheld: tuple[str, ...] = ()
    provisional: bool = False

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data; values as ``canonical.to_plain`` writes them."""
        content = _about(self.task, self.withheld, self.provisional) | {"selection": self.selection.to_json()}
        return content | {"answers": [_estimate_json(name, estimate) for name, estimate in self.estimates.items()]}

    def to_parquet(self) -> bytes:
        """The answer as a table with a row for each question and value."""
        return parquet_of(self.to_json())

    def charts(self, k: int = 20) -> dict[str, Chart]:
        """The k largest counts of each question."""
        return charts_of(self.to_json(), k)


@dataclass(frozen=True)
class Changes:
    """Comparisons by question. The chance of calling anything a change that is none is ``alpha`` at most, all questions together."""

    task: Task
    first: Selection
    second: Selection
    comparisons: Mapping[str, Comparison]
    alpha: float = 0.05
    withheld: tuple[str, ...] = ()
    provisional: bool = False

    @property
    def alpha_each(self) -> float:
        """The share of ``alpha`` for each question."""
        return self.alpha / max(len(self.comparisons), 1)

    def changed(self) -> list[tuple[str, Any]]:
        """The questions and values whose frequency changed."""
        return [(name, value) for name, found in self.comparisons.items() for value in found.changed(self.alpha_each)]

    def to_json(self) -> dict[str, Any]:
        """The changes as plain data; values as ``canonical.to_plain`` writes them."""
        content = _about(self.task, self.withheld, self.provisional)
        content |= {"first": self.first.to_json(), "second": self.second.to_json(), "alpha": self.alpha}
        content["changed"] = [{"question": name, "value": to_plain(value)} for name, value in self.changed()]
        return content | {"answers": [self._comparison_json(name, found) for name, found in self.comparisons.items()]}

    def to_parquet(self) -> bytes:
        """The changes as a table with a row for each question and value."""
        return parquet_of(self.to_json())

    def charts(self, k: int = 20) -> dict[str, Chart]:
        """The k clearest changes of each question."""
        return charts_of(self.to_json(), k)

    def _comparison_json(self, name: str, found: Comparison) -> dict[str, Any]:
        low, high = found.interval(1 - self.alpha_each, simultaneous=True)
        columns = {"before": found.first.frequencies, "after": found.second.frequencies, "change": found.difference}
        columns |= {"low": low, "high": high, "p_adjusted": found.adjusted}
        rows = _rows(found.values, columns)
        named = set(found.changed(self.alpha_each))
        for row, value in zip(rows, found.values, strict=True):
            row["changed"] = value in named
        counted = {"n_before": found.first.n, "n_after": found.second.n, "alpha": self.alpha_each}
        interval = f"{1 - self.alpha_each:.4g}, all {found.first.family_size} values together, noise and sampling"
        return _head(name, found.first) | counted | {"interval": interval, "rows": rows}


def parquet_of(content: Mapping[str, Any]) -> bytes:
    """The table behind the JSON of an answer or of changes. Where questions have values of several kinds, all are written as text."""
    import pyarrow.parquet as pq  # here and below: a collector starts without it

    columns: dict[str, list[Any]] = {"question": [], "value": []}
    for answer in content["answers"]:
        counted = {name: answer[name] for name in ("n", "n_before", "n_after") if name in answer}
        for row in answer["rows"]:
            for name, cell in {"question": answer["question"], **row, "value": from_plain(row["value"]), **counted}.items():
                columns.setdefault(name, []).append(cell)
    values = columns.pop("value")
    if len({type(value) for value in values}) > 1:
        values = [value.hex() if isinstance(value, bytes) else str(value) for value in values]
    table = pa.table({"question": pa.array(columns.pop("question"), pa.string()), "value": _array(values)} | columns)
    about = {**content, "answers": [{k: v for k, v in answer.items() if k != "rows"} for answer in content["answers"]]}
    target = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({METADATA: json.dumps(about, ensure_ascii=False).encode()}), target)
    return target.getvalue()


def picked_rows(answer: Mapping[str, Any], k: int) -> list[dict[str, Any]]:
    """The k rows of one question that say most, values read back: the largest counts, or the clearest changes.

    Where these are some of more, they come with the intervals that hold for all values together.
    """
    compared = "alpha" in answer
    rows = sorted(answer["rows"], key=lambda row: (row["p_adjusted"], -abs(row["change"])) if compared else -row["count"])[:k]
    together = {"low": "low_together", "high": "high_together"} if not compared and len(rows) < answer["values"] else {}
    return [row | {"value": from_plain(row["value"])} | {name: row[other] for name, other in together.items()} for row in rows]


def charts_of(content: Mapping[str, Any], k: int = 20) -> dict[str, Chart]:
    """A chart for each question behind the JSON of an answer or of changes."""
    from deniable.core.chart import bar_chart, point_chart

    charts = {}
    for answer in content["answers"]:
        rows = picked_rows(answer, k)
        columns = [[row[name] for row in rows] for name in ("value", "change" if "alpha" in answer else "count", "low", "high")]
        if "alpha" in answer:
            charts[answer["question"]] = point_chart(*columns, title=headline(answer), level=1 - answer["alpha"])
        else:
            charts[answer["question"]] = bar_chart(*columns, title=headline(answer), together=len(rows) < answer["values"])
    return charts


def headline(answer: Mapping[str, Any]) -> str:
    """What one question's rows are, in a line."""
    n = f"{answer['n']:,}" if "n" in answer else f"{answer['n_before']:,} and {answer['n_after']:,}"
    epsilon = "infinite" if answer["epsilon"] is None else f"{answer['epsilon']:.4g}"
    return f"{answer['question']}: {n} reports, {answer['mechanism']}, epsilon = {epsilon}"


def _about(task: Task, withheld: tuple[str, ...], provisional: bool) -> dict[str, Any]:
    """Where an answer comes from."""
    return {
        "task": task.id.hex(),
        "name": task.name,
        "question": task.question,
        "version": __version__,
        "protocol": parse_canonical(task.protocol)["protocol"],
        "model": task.model,
        "minimum_batch": task.minimum_batch,
        "withheld": list(withheld),
        "provisional": provisional,
        "statement": task.statement,
    }


def _head(name: str, estimate: FrequencyEstimate) -> dict[str, Any]:
    """How one question was answered."""
    spec = estimate.spec
    epsilon = spec.epsilon if isfinite(spec.epsilon) else None  # JSON has no infinity
    return {"question": name, "mechanism": spec.mechanism, "epsilon": epsilon, "spec": spec.digest.hex(), "values": estimate.family_size}


def _estimate_json(name: str, estimate: FrequencyEstimate) -> dict[str, Any]:
    """Each value with its own interval, and with one that holds for all values together: for whoever picks some of them."""
    low, high = estimate.interval(LEVEL, simultaneous=estimate.picked)
    low_together, high_together = estimate.interval(LEVEL, simultaneous=True)
    columns = {"count": estimate.counts, "stderr": estimate.stderr, "frequency": estimate.frequencies, "low": low, "high": high}
    columns |= {"low_together": low_together, "high_together": high_together}
    reach = f"all {estimate.family_size} values together" if estimate.picked else "each value on its own"
    interval = f"{LEVEL:g}, {reach}, noise only"
    return _head(name, estimate) | {"n": estimate.n, "interval": interval, "rows": _rows(estimate.values, columns)}


def _rows(values: Any, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    lists = [column.tolist() for column in columns.values()]
    return [{"value": to_plain(value), **dict(zip(columns, cells, strict=True))} for value, *cells in zip(values, *lists, strict=True)]


def _array(values: list[Any]) -> Any:
    """A column of values; integers that no Arrow integer holds are written as decimals."""
    if values and all(isinstance(value, int) for value in values) and max(values) >= 1 << 63:
        return pa.array(values, pa.uint64() if min(values) >= 0 else pa.decimal128(20))
    return pa.array(values) if values else pa.array([], pa.string())
