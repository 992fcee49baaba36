"""The curator behind a session: the private table, its budget, and the steps from question to answer.

**Order.** Every question is checked against the schema alone, then *reserved* in the ledger, then computed, then noise is drawn, then the
answer is kept, then *sending* is recorded, and only then does it leave. BudgetExceeded comes before a row is looked at. What a refusal says
depends on the budget and on the questions, never on the data: refusals do not leak, and no error carries a value.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from deniable.accounting.budget import SENT, BudgetFilter, Cost, read_book
from deniable.accounting.event import NEIGHBORS, Event
from deniable.central.release import ROW, AnswerJournal, TableQuestion
from deniable.central.rows import MOST_ROWS
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import Source
from deniable.errors import ParameterError, ProtocolError


@typed
class Curator:
    """A table with one row for each person, its budget, and the answers that were given. ``Session`` has the questions.

    ``data`` is the table: a data frame, or a mapping of columns. ``budget`` is epsilon for everything that is ever answered (with ``delta``
    and ``rule`` as in ``BudgetFilter``), or a BudgetFilter. ``neighbors`` has no default: "add-remove" or "replace". ``ledger`` is the file
    that remembers what was spent; without it, one in a temporary folder, which forgets. ``complete`` names columns that never lack a value;
    that is checked here, for the keeper's eyes. ``version`` names the state of the table; change it whenever rows change, and keep the
    ledger: the budget is for all versions together.

    >>> Curator({"age": [34, 51, 29, 62]}, budget=1.0, neighbors="replace").n
    4
    """

    def __init__(
        self,
        data: Any,
        *,
        budget: float | BudgetFilter,
        delta: float = 0.0,
        rule: str = "basic",
        neighbors: str | None = None,
        ledger: str | os.PathLike[str] | None = None,
        complete: Sequence[str] = (),
        version: str | None = None,
        source: Source | None = None,
    ) -> None:
        self._table = read_table(data, complete)
        self.empty = self._table.clear()  # what questions are checked against: columns without any row
        self.complete, self._source, self.version = tuple(complete), source, version
        if version is not None and (not isinstance(version, str) or not version):
            raise ParameterError("version", version, allowed="a text", fix="name the state of the table, as in version='2026-05'")
        if isinstance(budget, BudgetFilter):
            if neighbors not in (None, budget.neighbors) or ledger is not None:
                allowed = f"neighbors={budget.neighbors!r} and no ledger, as the budget has both"
                raise ParameterError("budget", (neighbors, ledger), allowed=allowed, fix="leave them out")
            self.book = budget
        else:
            if neighbors is None:
                fix = "choose add-remove to hide that a person is in the table, replace to hide what the person's row says"
                raise ParameterError("neighbors", neighbors, allowed="'add-remove' or 'replace'", fix=fix)
            path = Path(ledger) if ledger is not None else _temporary(self) / "budget.ledger"
            self.book = BudgetFilter(path, epsilon=budget, delta=delta, neighbors=neighbors, rule=rule)
        self._answers = AnswerJournal(self.book.path)

    @property
    def n(self) -> int | None:
        """The number of rows under "replace"; None under "add-remove", where it is private."""
        return self._table.height if self.neighbors == "replace" else None

    @property
    def neighbors(self) -> str:
        """The relation that the promise holds for."""
        return self.book.neighbors

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns and their types."""
        return dict(self._table.schema)

    @property
    def spent(self) -> Cost:
        """The budget spent so far."""
        return self.book.spent()

    @property
    def left(self) -> Cost:
        """The budget left, in the currency of its rule."""
        return Cost(*(cap - gone for cap, gone in zip(self.book.budget, self.spent, strict=True)))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all answers together, however many there are and whatever they ask."""
        head, _, _ = read_book(self.book.path)
        return Guarantee(
            epsilon=float(head["epsilon"]),
            delta=float(head["delta"]),
            model="central",
            unit=f"all answers of the ledger together, for {ROW}",
            neighbors=NEIGHBORS[self.neighbors],
            honest="the curator",
            certificate=f"{self.book.rule} composition",
        )

    def __repr__(self) -> str:
        left = ", ".join(f"{name} {float(value):.4g}" for name, value in self.left._asdict().items() if value)
        return f"<{type(self).__name__} of {list(self._table.columns)}, {self.neighbors}; left: {left or 'nothing'}>"

    def answer(
        self, question: TableQuestion, event: Event, request: str | None, draw: Callable[[pl.DataFrame, Source | None], Sequence[int]]
    ) -> tuple[str, tuple[int, ...]]:
        """The request id and what was released for it: once reserved, drawn, kept and sent; from then on, what was kept.

        ``event`` is what the ``question`` costs, and ``draw`` computes the answer from the table, noise included.
        """
        name = question.request if request is None else request
        if isinstance(name, str) and any("\ud800" <= each <= "\udfff" for each in name):
            raise ParameterError("request", name, allowed="a text that can be written in UTF-8", fix="remove lone surrogates")
        booked = self.book.reserve(name, event, label=question.ask)
        found = self._answers.find(name, question)
        if found is None and (booked.state == SENT or booked.label != question.ask):
            fix = "take a new id: the noise of this request may have been seen, and is not drawn again"
            raise ProtocolError("request", name, allowed="an id that is new in the ledger, or whose answer is kept", fix=fix)
        if found is None:
            found = self._answers.keep(name, question, tuple(int(each) for each in draw(self._table, self._source)))
        self.book.sending(name)
        return name, found


def _temporary(curator: Curator) -> Path:
    folder = tempfile.mkdtemp(prefix="deniable-")
    weakref.finalize(curator, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def read_table(data: Any, complete: Sequence[str]) -> pl.DataFrame:
    """The table behind ``data=``: an Arrow table or batch, a Polars frame, or a dict of columns.

    Errors here are for the keeper, who sees the table anyway; afterwards nothing depends on what is in it but answers.
    """
    if isinstance(data, pl.DataFrame):
        table = data
    elif isinstance(data, pa.Table | pa.RecordBatch):
        table = pl.DataFrame(pl.from_arrow(data))
    elif isinstance(data, Mapping):
        try:
            table = pl.DataFrame(dict(data))
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            told = str(error).partition("\n")[0]
            raise ParameterError("data", list(data), allowed="columns of one length, each of one type", fix=told) from error
    else:
        allowed = "an Arrow table, a Polars DataFrame or a dict of columns"
        raise ParameterError("data", type(data).__name__, allowed=allowed, fix="collect() a lazy frame first")
    if not table.width or table.height > MOST_ROWS:
        allowed = f"at least one column, and at most {MOST_ROWS:,} rows"
        raise ParameterError("data", f"{table.width} columns, {table.height} rows", allowed=allowed, fix="split the table")
    for name, kind in table.schema.items():
        if _opaque(kind):
            allowed = "columns of numbers, texts, booleans, times, or lists of these"
            raise ParameterError("data", f"{name!r} of type {kind}", allowed=allowed, fix="give it a type, or leave it out")
    for name in complete:
        if (
            isinstance(complete, str)
            or name not in table.columns
            or table[name].null_count()
            or (table[name].dtype.is_float() and table[name].is_nan().any())
        ):
            allowed = "columns in which every row has a value"
            raise ParameterError("complete", name, allowed=allowed, fix="fill in the missing values, or leave the column out of complete=")
    coded = [name for name, kind in table.schema.items() if kind in (pl.Categorical, pl.Enum)]
    return table.with_columns(pl.col(coded).cast(pl.String)) if coded else table


def _opaque(kind: pl.DataType | pl.datatypes.DataTypeClass) -> bool:
    """Whether a type holds Python's own objects, which may fail on anything, or none: the type would reveal that nobody has a value."""
    if isinstance(kind, pl.List | pl.Array):
        return _opaque(kind.inner)
    if isinstance(kind, pl.Struct):
        return any(_opaque(field.dtype) for field in kind.fields)
    return kind in (pl.Object, pl.Null)
