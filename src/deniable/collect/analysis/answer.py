"""What an analyst gets: estimates or changes with everything that they came from, as JSON, Parquet and charts."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deniable import __version__
from deniable.collect.analysis.manner import Manner
from deniable.collect.analysis.mixed import Mixed
from deniable.collect.analysis.numbers import KINDS, read
from deniable.collect.analysis.selection import Selection
from deniable.collect.analysis.shares import Shares
from deniable.collect.analysis.tables import TABLE, Tables, promise_of, unfolded
from deniable.contract.canonical import from_plain, parse_canonical, to_plain
from deniable.contract.task import Task

if TYPE_CHECKING:
    from deniable.core.chart import Chart

METADATA = b"deniable"
"""Where a Parquet file's schema says what it came from: the JSON without its rows."""
MANNERS: dict[str, Manner] = {"frequency": Shares(), **KINDS, TABLE: Tables()}
"""By the ``kind`` of an estimate, and of one question's part of the JSON; that of counts does not say it. Others are tables."""
FIXED = ("question", "n")
"""Columns of a Parquet file that say where a row comes from."""


@dataclass(frozen=True)
class Answer:
    """Estimates by question. ``provisional``: some of the periods are open still. ``withheld`` are questions with too few reports.

    ``mixed`` are the shuffled batches behind it, under shuffle trust.
    """

    task: Task
    selection: Selection
    estimates: Mapping[str, Any]
    withheld: tuple[str, ...] = ()
    provisional: bool = False
    mixed: Mixed | None = None

    def __post_init__(self) -> None:
        ready = {name: manner_for(each).ready(each) for name, each in unfolded(self.estimates).items()}
        object.__setattr__(self, "estimates", ready)

    @cached_property
    def tables(self) -> dict[str, dict[str, Any]]:
        """The parts of the JSON that are tables, by question: made once, for all who look."""
        shown = {name: each for name, each in self.estimates.items() if isinstance(manner_for(each), Tables)}
        promise = promise_of(self.task) if shown else {}
        return {name: MANNERS[TABLE].estimate_json(name, each) | promise for name, each in shown.items()}

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data; values as ``canonical.to_plain`` writes them."""
        content = _about(self.task, self.withheld, self.provisional, self.mixed) | {"selection": self.selection.to_json()}
        answers = [self.tables.get(name) or manner_for(each).estimate_json(name, each) for name, each in self.estimates.items()]
        return content | {"answers": answers}

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
    comparisons: Mapping[str, Any]
    alpha: float = 0.05
    withheld: tuple[str, ...] = ()
    provisional: bool = False
    mixed: Mixed | None = None

    @property
    def alpha_each(self) -> float:
        """The share of ``alpha`` for each question."""
        return self.alpha / max(len(self.comparisons), 1)

    def changed(self) -> list[tuple[str, Any]]:
        """The questions and values whose share changed, or whose mean."""
        return [(name, value) for name, found in self.comparisons.items() for value in found.changed(self.alpha_each)]

    def to_json(self) -> dict[str, Any]:
        """The changes as plain data; values as ``canonical.to_plain`` writes them."""
        content = _about(self.task, self.withheld, self.provisional, self.mixed)
        content |= {"first": self.first.to_json(), "second": self.second.to_json(), "alpha": self.alpha}
        content["changed"] = [{"question": name, "value": to_plain(value)} for name, value in self.changed()]
        told = [MANNERS[found.first.kind].comparison_json(name, found, self.alpha_each) for name, found in self.comparisons.items()]
        return content | {"answers": told}

    def to_parquet(self) -> bytes:
        """The changes as a table with a row for each question and value."""
        return parquet_of(self.to_json())

    def charts(self, k: int = 20) -> dict[str, Chart]:
        """The k clearest changes of each question."""
        return charts_of(self.to_json(), k)


def parquet_of(content: Mapping[str, Any]) -> bytes:
    """The table behind the JSON of an answer or of changes; columns that a question does not have are empty.

    Where questions have values of several kinds, all are written as text.
    """
    import pyarrow.parquet as pq  # here and below: a collector starts without it

    rows: list[dict[str, Any]] = []
    for answer in content["answers"]:
        counted = {name: answer[name] for name in ("n", "n_before", "n_after") if name in answer}
        for row in answer["rows"]:
            cells = {f"{name}_" if name in FIXED else name: read(cell) for name, cell in row.items()}
            cells |= {"value": from_plain(row["value"])} if row.get("value") is not None else {}
            rows.append({"question": answer["question"], "value": None} | cells | counted)
    names = list(dict.fromkeys(["question", "value", *(name for row in rows for name in row)]))
    table = pa.table({name: _array([row.get(name) for row in rows]) for name in names})
    about = {**content, "answers": [{k: v for k, v in answer.items() if k != "rows"} for answer in content["answers"]]}
    target = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({METADATA: json.dumps(about, ensure_ascii=False).encode()}), target)
    return target.getvalue()


def picked_rows(answer: Mapping[str, Any], k: int) -> list[dict[str, Any]]:
    """The k rows of one question that say most, values read back."""
    return manner_of(answer).picked(answer, k)


def charts_of(content: Mapping[str, Any], k: int = 20) -> dict[str, Chart]:
    """A chart for each question behind the JSON of an answer or of changes, but for tables without one."""
    drawn = {answer["question"]: manner_of(answer).chart(answer, k) for answer in content["answers"]}
    return {name: chart for name, chart in drawn.items() if chart is not None}


def manner_of(answer: Mapping[str, Any]) -> Manner:
    """How one question's part of the JSON is read."""
    return MANNERS[answer.get("kind", "frequency")]


def manner_for(estimate: Any) -> Manner:
    """How an estimate is told: by its kind, or as the table that it makes of itself."""
    manner = MANNERS.get(getattr(estimate, "kind", TABLE))
    return manner if manner is not None and manner.tells(estimate) else MANNERS[TABLE]


def _about(task: Task, withheld: tuple[str, ...], provisional: bool, mixed: Mixed | None) -> dict[str, Any]:
    """Where an answer comes from; under shuffle trust, from which batches, and what they are worth."""
    shuffled = {} if mixed is None else {"shuffle": mixed.to_json()}
    return shuffled | {
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


def _array(values: list[Any]) -> Any:
    """A column of cells; integers that no Arrow integer holds are written as decimals, and cells of several kinds as text."""
    cells = [value for value in values if value is not None]
    if not cells:
        return pa.array(values, pa.string())
    if len({type(cell) for cell in cells}) > 1:
        return pa.array([None if value is None else value.hex() if isinstance(value, bytes) else str(value) for value in values])
    if all(isinstance(cell, int) for cell in cells) and max(cells) >= 1 << 63:
        return pa.array(values, pa.uint64() if min(cells) >= 0 else pa.decimal128(20))
    return pa.array(values)
