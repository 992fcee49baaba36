"""What an analyst gets: estimates or changes with everything that they came from, as JSON, Parquet and charts."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deniable import __version__
from deniable.collect.analysis.presentation import charts_of, estimates_in
from deniable.collect.analysis.selection import ReportSelection
from deniable.collect.analysis.shuffled_batches import ShuffledBatches
from deniable.collect.tasks.limits import protocol_of
from deniable.contract.canonical import parse_canonical, to_plain
from deniable.contract.guarantee import Guarantee
from deniable.contract.spec import Spec
from deniable.contract.task import Task
from deniable.core.comparison import Comparison
from deniable.core.estimate import Estimate

if TYPE_CHECKING:
    from deniable.core.chart import Chart

METADATA = b"deniable"
"""Where a Parquet file's schema says what it came from: the JSON without its rows."""
FIXED = ("question", "n")
"""Columns of a Parquet file that say where a row comes from."""
ROWS = ("values", "columns", "order", "law", "parts")
"""What of an estimate's JSON grows with its rows."""


@dataclass(frozen=True)
class Answer:
    """Estimates by question. ``provisional``: some of the periods are open still. ``withheld`` are questions with too few reports.

    ``mixed`` are the shuffled batches behind it, under shuffle trust.
    """

    task: Task
    selection: ReportSelection
    estimates: Mapping[str, Estimate]
    withheld: tuple[str, ...] = ()
    provisional: bool = False
    mixed: ShuffledBatches | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "estimates", {name: each.settled() for name, each in self.estimates.items()})

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data: for each question its estimate, as ``Estimate.to_json`` writes it, and how it was asked.

        By hand: it is put together from a task, its estimates and what they cost, for people to read; nothing makes an answer of it again.
        """
        content = _about(self.task, self.withheld, self.provisional, self.mixed) | {"selection": self.selection.to_json()}
        return content | {"answers": [self.asked[name].answer(each) for name, each in self.estimates.items()]}

    @cached_property
    def asked(self) -> dict[str, AskedQuestion]:
        """How each question was asked."""
        return {name: AskedQuestion.of(self.task, name, each) for name, each in self.estimates.items()}

    def to_parquet(self) -> bytes:
        """The answer as a table with a row for each question and value."""
        return parquet_of(self.to_json())

    def charts(self, k: int = 20) -> dict[str, Chart]:
        """The first k rows of each question, where rows are drawn, and otherwise all."""
        return charts_of(self.to_json(), k)


@dataclass(frozen=True)
class Comparisons:
    """Comparisons by question. The chance of calling anything a change that is none is ``alpha`` at most, all questions together."""

    task: Task
    first: ReportSelection
    second: ReportSelection
    comparisons: Mapping[str, Comparison]
    alpha: float = 0.05
    withheld: tuple[str, ...] = ()
    provisional: bool = False
    mixed: ShuffledBatches | None = None

    def __post_init__(self) -> None:
        shown = {name: replace(each.settled(), level=1 - self.alpha_each) for name, each in self.comparisons.items()}
        object.__setattr__(self, "comparisons", shown)

    @property
    def alpha_each(self) -> float:
        """The share of ``alpha`` for each question."""
        return self.alpha / max(len(self.comparisons), 1)

    def changed(self) -> list[tuple[str, Any]]:
        """The questions and values whose share changed, or whose mean."""
        return [(name, value) for name, found in self.comparisons.items() for value in found.changed(self.alpha_each)]

    def to_json(self) -> dict[str, Any]:
        """The changes as plain data: for each question the comparison, as ``Estimate.to_json`` writes it, and what changed.

        By hand, as an answer is.
        """
        content = _about(self.task, self.withheld, self.provisional, self.mixed)
        content |= {"first": self.first.to_json(), "second": self.second.to_json(), "alpha": self.alpha}
        content["changed"] = [{"question": name, "value": to_plain(value)} for name, value in self.changed()]
        told = [AskedQuestion.of(self.task, name, found.first).answer(found) for name, found in self.comparisons.items()]
        return content | {"answers": told}

    def to_parquet(self) -> bytes:
        """The changes as a table with a row for each question and value."""
        return parquet_of(self.to_json())

    def charts(self, k: int = 20) -> dict[str, Chart]:
        """The k clearest changes of each question."""
        return charts_of(self.to_json(), k)


@dataclass(frozen=True)
class AskedQuestion:
    """How one question was asked, and what the answer cost a person. ``spec`` is None for what a whole protocol has found."""

    question: str
    mechanism: str
    guarantee: Guarantee
    spec: Spec | None = None

    @classmethod
    def of(cls, task: Task, name: str, estimate: Estimate) -> AskedQuestion:
        """The question of a task: of a survey by its name, and otherwise all rounds together."""
        if task.rounds:
            protocol = protocol_of(task)
            return cls(name, protocol.kind, protocol.guarantee)
        return cls.with_spec(name, estimate, next(each.spec for each in task.survey.questions if each.name == name))

    @classmethod
    def with_spec(cls, name: str, estimate: Estimate, spec: Spec) -> AskedQuestion:
        """The question that was answered by a mechanism."""
        return cls(name, spec.mechanism, estimate.guarantee or spec.guarantee, spec)

    def answer(self, estimate: Estimate) -> dict[str, Any]:
        """This question's part of the JSON."""
        epsilon = self.guarantee.epsilon if isfinite(self.guarantee.epsilon) else None  # JSON has no infinity
        told = {"question": self.question, "mechanism": self.mechanism, "epsilon": epsilon}
        about = {"promise": self.guarantee.statement()} if self.spec is None else {"spec": self.spec.digest.hex()}
        return told | about | {"estimate": estimate.to_json()}


def parquet_of(content: Mapping[str, Any]) -> bytes:
    """The table behind the JSON of an answer or of changes; columns that a question does not have are empty.

    Where questions have values of several kinds, all are written as text.
    """
    import pyarrow.parquet as pq  # here: a collector starts without it

    changed = {(entry["question"], json.dumps(entry["value"])) for entry in content.get("changed", ())}
    columns: dict[str, list[Any]] = {"question": [], "value": []}
    for answer in content["answers"]:
        for name, estimate in estimates_in(answer).items():
            rows = {f"{column}_" if column in FIXED else column: _cells(cells) for column, cells in estimate.rows().items()}
            size = len(estimate.values)
            if "value" in rows and not any(isinstance(value, tuple) for value in estimate.values):
                rows["value"] = list(estimate.values)  # as they are: in the column they are as people read them
            rows |= {"question": [name] * size, **_counted(estimate.n, size)}
            if "changed" in content:
                rows["changed"] = [(name, json.dumps(to_plain(value))) in changed for value in estimate.values]
            before = len(columns["question"])
            for column in [*columns, *(column for column in rows if column not in columns)]:
                columns.setdefault(column, [None] * before).extend(rows.get(column, [None] * size))
    table = pa.table({name: _array(cells) for name, cells in columns.items()})
    about = {**content, "answers": [_without_rows(answer) for answer in content["answers"]]}
    target = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({METADATA: json.dumps(about, ensure_ascii=False).encode()}), target)
    return target.getvalue()


def _cells(column: Any) -> list[Any]:
    return [None if isinstance(cell, float) and not isfinite(cell) else cell for cell in getattr(column, "tolist", lambda: column)()]


def _counted(n: Any, size: int) -> dict[str, list[Any]]:
    """How many reports each row rests on: all on the same, on two crowds, or each on its own."""
    if isinstance(n, tuple):
        return {"n_before": [n[0]] * size, "n_after": [n[1]] * size}
    each = getattr(n, "tolist", lambda: n)()
    return {"n": each if isinstance(each, list) else [each] * size}


def _without_rows(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {**answer, "estimate": {name: each for name, each in answer["estimate"].items() if name not in ROWS}}


def _about(task: Task, withheld: tuple[str, ...], provisional: bool, mixed: ShuffledBatches | None) -> dict[str, Any]:
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
