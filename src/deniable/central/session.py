"""A session: questions about a private table, answered with noise until the privacy budget is spent.

**Requests.** Each answer has a request id. The same id again gets the same answer, free, after a restart too. A question without an id is
its own id: running a notebook again costs nothing. For fresh noise, give a new one. What was sent and is not among the kept answers is
refused, never drawn again. The table's ``version`` and its public number of rows are part of every question: answers about an older table
are not given for a newer one, as long as the keeper names versions.

**Neighbors.** One row is one person. Under ``"add-remove"`` the number of rows is private. Under ``"replace"`` it is public
(``session.n``), but not how many match a condition, nor how many have a value in a column, unless the keeper lists it as ``complete``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deniable.central.curator import Curator
from deniable.central.questions import PendingQuestion, ask_count, ask_histogram, ask_mean, ask_quantiles, ask_sum, ask_top
from deniable.core.estimate import Estimate, NumberEstimate
from deniable.core.frequency import FrequencyEstimate


class Session(Curator):
    """A session that answers questions about a table as long as the privacy budget lasts.

    It is made as its ``Curator`` is, which explains the parameters and has what is public: ``n``, ``schema``, ``spent``, ``left``.

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
    deniable.errors.BudgetExceeded: epsilon: got '1.1'; allowed: 1, of which 0.8 is left; spend less on this
    question, or stop: nothing was released
    """

    def count(self, *, where: Any = None, epsilon: float, request: str | None = None) -> NumberEstimate:
        """Return the number of rows that match."""
        return ask_count(PendingQuestion(self, where, epsilon, request))

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
        """Return the sum of a column over the matching rows, each value clipped to the range from low to high and rounded to the grid."""
        return ask_sum(PendingQuestion(self, where, epsilon, request), column, low, high, grid)

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
        """Return the mean of a column over the matching rows, clipped and rounded to the grid as in ``sum``.

        Epsilon pays for a sum and, if it is private, a count.
        """
        return ask_mean(PendingQuestion(self, where, epsilon, request), column, low, high, grid)

    def histogram(
        self, column: str, *, values: Sequence[Any], where: Any = None, epsilon: float, request: str | None = None
    ) -> FrequencyEstimate:
        """Return how many matching rows hold each of the listed values; rows with other values are not counted."""
        return ask_histogram(PendingQuestion(self, where, epsilon, request), column, values)

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
    ) -> Estimate:
        """Return quantiles of a column at the shares ``q``, on a grid of ``steps`` from low to high, with limits at the level."""
        return ask_quantiles(PendingQuestion(self, where, epsilon, request), column, q, (low, high, steps), level)

    def top(
        self, column: str, k: int, *, values: Sequence[Any], where: Any = None, epsilon: float, request: str | None = None
    ) -> FrequencyEstimate:
        """Return the k most frequent of the listed values, with their counts. A column of lists is peeled; see ``questions``."""
        return ask_top(PendingQuestion(self, where, epsilon, request), column, k, values)
