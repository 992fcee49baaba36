"""A session: questions about a table that only its keeper may see, answered with noise until the budget is gone.

**Order.** Every question is checked against the schema alone, then *reserved* in the ledger, then computed, then noise is drawn, then the
answer is kept, then *sending* is recorded, and only then does it leave. BudgetExceeded comes before a row is looked at. What a refusal says
depends on the budget and on the questions, never on the data: refusals do not leak, and no error carries a value.

**Requests.** Each answer has a request id. The same id again gets the same answer, free, after a restart too. A question without an id is
its own id: running a notebook again costs nothing. For fresh noise, give a new one. What was sent and is not among the kept answers is
refused, never drawn again. The table's ``version`` and its public number of rows are part of every question: answers about an older table
are not given for a newer one, as long as the keeper names versions.

**Neighbors.** One row is one person. Under ``"add-remove"`` the number of rows is private. Under ``"replace"`` it is public
(``session.n``), but not how many match a condition, nor how many have a value in a column, unless the keeper lists it as ``complete``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from deniable.accounting.budget import SENT, BudgetFilter, Cost, read_book
from deniable.accounting.event import NEIGHBORS, Event
from deniable.central.answers import Answers
from deniable.central.asking import Asked, ask_count, ask_histogram, ask_mean, ask_quantiles, ask_sum, ask_top
from deniable.central.quantiles import QuantileEstimate
from deniable.central.release import ROW, Question
from deniable.central.table import read_table
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import Source
from deniable.core.frequency import FrequencyEstimate
from deniable.core.number import NumberEstimate
from deniable.errors import ParameterError, ProtocolError


@typed
class Session:
    """A table, a budget, and answers.

    ``data`` is the table: a data frame, or a mapping of columns. ``budget`` is epsilon for everything that is ever answered (with ``delta``
    and ``rule`` as in ``BudgetFilter``), or a BudgetFilter. ``neighbors`` has no default: "add-remove" or "replace". ``ledger`` is the file
    that remembers what was spent; without it, one in a temporary folder, which forgets. ``complete`` names columns that never lack a value;
    that is checked here, for the keeper's eyes. ``version`` names the state of the table; change it whenever rows change, and keep the
    ledger: the budget is for all versions together.

    In every question ``where`` says which rows match, as in ``{"smokes": True}``; ``epsilon`` is what the answer may cost; and ``request``
    is its id: the same id again gets the same answer, free.

    >>> from deniable.testing import ReplaySource
    >>> people = {"age": [34, 51, 29, 62] * 250, "smokes": [True, False, False, True] * 250}
    >>> session = Session(people, budget=1.0, neighbors="add-remove", source=ReplaySource.from_key("session"))
    >>> session.count(where={"smokes": True}, epsilon=0.2)
    count: Laplace, epsilon = 0.2, add-remove; low and high: 95 %, noise only
    value  count  stderr  low  high
    count    500    7.06  485   515
    >>> session.count(where={"smokes": True}, epsilon=0.2).value, session.spent.epsilon  # the same request
    (500, Fraction(1, 5))
    >>> session.mean("age", low=0, high=100, epsilon=0.9)
    Traceback (most recent call last):
    deniable.errors.BudgetExceeded: epsilon: got '1.1'; allowed: 1, of which 0.8 is left; nothing was released: ask less, or stop
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
                fix = "add-remove hides that a person is in the table, replace what the person's row says"
                raise ParameterError("neighbors", neighbors, allowed="'add-remove' or 'replace'", fix=fix)
            path = Path(ledger) if ledger is not None else _temporary(self) / "budget.ledger"
            self.book = BudgetFilter(path, epsilon=budget, delta=delta, neighbors=neighbors, rule=rule)
        self._answers = Answers(self.book.path)

    # --- questions ---

    def count(self, *, where: Any = None, epsilon: float, request: str | None = None) -> NumberEstimate:
        """How many rows match."""
        return ask_count(Asked(self, where, epsilon, request))

    def sum(
        self,
        column: str,
        *,
        low: float,
        high: float,
        grid: float | None = None,
        where: Any = None,
        epsilon: float,
        request: str | None = None,
    ) -> NumberEstimate:
        """The sum of a column among the matching rows, each value clipped to the range from low to high and rounded to the grid."""
        return ask_sum(Asked(self, where, epsilon, request), column, low, high, grid)

    def mean(
        self,
        column: str,
        *,
        low: float,
        high: float,
        grid: float | None = None,
        where: Any = None,
        epsilon: float,
        request: str | None = None,
    ) -> NumberEstimate:
        """The mean of a column among the matching rows, clipped and rounded to the grid as in ``sum``.

        Epsilon pays for a sum and, if it is private, a count.
        """
        return ask_mean(Asked(self, where, epsilon, request), column, low, high, grid)

    def histogram(
        self, column: str, *, values: Sequence[Any], where: Any = None, epsilon: float, request: str | None = None
    ) -> FrequencyEstimate:
        """How many matching rows hold each of the listed values; rows with others are not counted."""
        return ask_histogram(Asked(self, where, epsilon, request), column, values)

    def quantiles(
        self,
        column: str,
        q: Any = 0.5,
        *,
        low: float,
        high: float,
        steps: int = 100,
        where: Any = None,
        epsilon: float,
        level: float = 0.95,
        request: str | None = None,
    ) -> QuantileEstimate:
        """Quantiles of a column, at the shares ``q``, on a grid of so many steps from low to high, with limits at the level."""
        return ask_quantiles(Asked(self, where, epsilon, request), column, q, (low, high, steps), level)

    def top(
        self, column: str, k: int, *, values: Sequence[Any], where: Any = None, epsilon: float, request: str | None = None
    ) -> FrequencyEstimate:
        """The k most frequent of the listed values, with their counts. A column of lists is searched by peeling; see ``asking``."""
        return ask_top(Asked(self, where, epsilon, request), column, k, values)

    # --- what is public ---

    @property
    def n(self) -> int | None:
        """The number of rows, under "replace"; None under "add-remove", where it is private."""
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
        """What is gone of the budget."""
        return self.book.spent()

    @property
    def left(self) -> Cost:
        """What is left of the budget, in the currency of its rule."""
        return Cost(*(cap - gone for cap, gone in zip(self.book.budget, self.spent, strict=True)))

    @property
    def guarantee(self) -> Guarantee:
        """The promise that all answers together keep, however many are asked for and whatever they ask."""
        head, _, _ = read_book(self.book.path)
        return Guarantee(
            epsilon=float(head["epsilon"]),
            delta=float(head["delta"]),
            model="central",
            unit=f"all answers of the ledger together, for {ROW}",
            neighbors=NEIGHBORS[self.neighbors],
            honest="whoever keeps the table",
            certificate=f"{self.book.rule} composition",
        )

    def __repr__(self) -> str:
        left = ", ".join(f"{name} {float(value):.4g}" for name, value in self.left._asdict().items() if value)
        return f"<Session of {list(self._table.columns)}, {self.neighbors}; left: {left or 'nothing'}>"

    # --- how an answer leaves ---

    def answer(
        self, question: Question, event: Event, request: str | None, draw: Callable[[pl.DataFrame, Source | None], Sequence[int]]
    ) -> tuple[str, tuple[int, ...]]:
        """The request id and what was released for it: once reserved, drawn, kept and sent; from then on, what was kept.

        ``event`` is what the ``question`` costs, and ``draw`` computes the answer from the table, noise included.
        """
        name = question.request if request is None else request
        if isinstance(name, str) and any("\ud800" <= each <= "\udfff" for each in name):
            raise ParameterError("request", name, allowed="a text that can be written in UTF-8", fix="leave out lone surrogates")
        booked = self.book.reserve(name, event, label=question.ask)
        found = self._answers.find(name, question)
        if found is None and (booked.state == SENT or booked.label != question.ask):
            fix = "its noise may have been seen, and is not drawn again: take a new id"
            raise ProtocolError(
                "request", name, allowed="an id that was not used elsewhere, nor sent without its answer being kept", fix=fix
            )
        if found is None:
            found = self._answers.keep(name, question, tuple(int(each) for each in draw(self._table, self._source)))
        self.book.sending(name)
        return name, found


def _temporary(session: Session) -> Path:
    folder = tempfile.mkdtemp(prefix="deniable-")
    weakref.finalize(session, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
