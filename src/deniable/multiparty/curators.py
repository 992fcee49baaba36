"""A few curators, each with the data of many people: joint statistics without a pool, though all but one of them collude.

**Definition** (the notes' 6.1, with what it leaves out). A protocol among k curators is (epsilon, delta)-private if for every curator j,
every two data sets of j that differ in one person, and every adversary A in polynomial time who plays all the *other* curators and sees the
whole transcript::

    Pr[A(view with D_j) = 1] <= e^epsilon Pr[A(view with D'_j) = 1] + delta + something negligible in the length of the keys

Curator j is honest here; which one it is nobody needs to know. The guarantee is computational: masks are pseudorandom.

**How.** Every curator adds *all* of the noise, since the others may leave theirs out, and the noisy vectors are added up under pairwise
masks. The sum has k times the variance that one trusted curator would need, which is the price of trusting none of the others (the noise
could be drawn inside of a multiparty computation, at once the variance and a thousand times the cost).

References: Beimel, Nissim, Omri 2008; Mironov, Pandey, Reingold, Vadhan 2009 (computational privacy); McGregor et al. 2010 (why not less).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite
from typing import Any

import numpy as np

from deniable.accounting.event import ADD_REMOVE, NEIGHBORS, check_neighbors
from deniable.central.laplace import Laplace
from deniable.contract.domain import Categories
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import SYSTEM, Source
from deniable.core.estimate import Estimate, NumberEstimate
from deniable.core.values import keys_of
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.multiparty.estimate import Quotient, sum_estimate
from deniable.multiparty.pairwise import PairwiseAggregator, PairwiseParty
from deniable.multiparty.roles import run_sum
from deniable.multiparty.terms import SumTerms
from deniable.sealing.identity import new_identity, public_key


@dataclass(frozen=True)
class Curators:
    """``count`` curators, of whom all but one may collude; the roles run in memory, see ``pairwise`` for the messages.

    ``data`` has what each curator holds: a column of people's values for each, in one order.

    >>> from deniable.testing import ReplaySource
    >>> hospitals = Curators(3)
    >>> data = [["flu"] * 400 + ["cold"] * 600, ["flu"] * 100 + ["cold"] * 900, ["cold"] * 500]
    >>> hospitals.histogram(data, values=["flu", "cold"], epsilon=1.0, source=ReplaySource.from_key("hospitals"))
    3 curators, discrete Laplace noise of each, epsilon = 1; low and high: 95 %, noise only
    value    sum  stderr    low   high
    flu      502    2.35    496    508
    cold   1,996    2.35  1,990  2,002
    """

    count: int

    def __post_init__(self) -> None:
        if type(self.count) is not int or not 2 <= self.count <= 1000:
            raise ParameterError(
                "count",
                self.count,
                allowed="an integer from 2 to 1000",
                fix="use a Session for one curator alone: that is the central model",
            )

    def guarantee(self, epsilon: float, neighbors: str = ADD_REMOVE) -> Guarantee:
        """The guarantee of each person."""
        return Guarantee(
            epsilon=epsilon,
            model="multiparty",
            unit="one person's data at one curator",
            neighbors=NEIGHBORS[check_neighbors(neighbors)],
            honest=f"the person's own curator, whatever the other {self.count - 1} do together (computationally)",
        )

    def histogram(
        self,
        data: Sequence[Sequence[Any]],
        *,
        values: Sequence[Any],
        epsilon: float,
        neighbors: str = ADD_REMOVE,
        source: Source | None = None,
    ) -> Estimate:
        """Return how many people of all curators together hold each value; DomainError if somebody holds one that is not listed."""
        domain = Categories(*values)
        vectors = [np.bincount(keys_of(domain, column), minlength=domain.size) for column in self._each(data)]
        noise = Laplace(epsilon=epsilon, sensitivity=1 if neighbors == ADD_REMOVE else 2, neighbors=neighbors)
        return self._summed(vectors, noise, labels=values, source=source)

    def total(
        self,
        data: Sequence[Any],
        *,
        low: float,
        high: float,
        epsilon: float,
        neighbors: str = ADD_REMOVE,
        steps: int = 1 << 16,
        source: Source | None = None,
    ) -> Estimate:
        """Return the sum of all people's numbers, each of which lies from low to high, on a grid of so many steps between them."""
        grid = _grid(low, high, steps)
        change = ceil(max(abs(low), abs(high)) / grid) + 1 if check_neighbors(neighbors) == ADD_REMOVE else steps + 1
        noise = Laplace(epsilon=epsilon, sensitivity=change, neighbors=neighbors)
        sums = [np.array([_steps(column, low, high, grid, number).sum()]) for number, column in enumerate(self._each(data))]
        return self._summed(sums, noise, labels=("sum",), source=source).combined(np.array([[grid]]), labels=("sum",))

    def mean(
        self, data: Sequence[Any], *, low: float, high: float, epsilon: float, steps: int = 1 << 16, source: Source | None = None
    ) -> NumberEstimate:
        """Return the mean of all people's numbers, in the range and on the grid of ``steps`` as for ``total``.

        How many they are is private too: half of epsilon counts them, under add-remove.
        """
        middle, grid = (low + high) / 2, _grid(low, high, steps)
        columns = [_steps(column, low, high, grid, number) for number, column in enumerate(self._each(data))]
        center = floor(middle / grid + 0.5)
        change = ceil((high - low) / 2 / grid) + 2  # half a step of a number, and of the middle
        around = Laplace(epsilon=epsilon / 2, sensitivity=change, neighbors=ADD_REMOVE)
        counted = Laplace(epsilon=epsilon / 2, sensitivity=1, neighbors=ADD_REMOVE)
        sums = [np.array([int((column - center).sum())]) for column in columns]
        total = self._summed(sums, around, labels=("sum",), source=source).combined(np.array([[grid]]), labels=("sum",))
        people = self._summed([np.array([column.size]) for column in columns], counted, labels=("people",), source=source)
        return NumberEstimate(
            values=["mean"],
            law=Quotient(total.law, people.law, center * grid, (float(low), float(high))),  # type: ignore[arg-type]  # sums are tailed
            about=f"{total.about} for the sum and again for the people",
            guarantee=self.guarantee(epsilon),
            quantity="mean",
        )

    def _each(self, data: Sequence[Any]) -> Sequence[Any]:
        if len(data) != self.count:
            raise ParameterError(
                "data", len(data), allowed=f"one column of each of {self.count} curators", fix="write [] for a curator without data"
            )
        return data

    def _summed(self, vectors: list[Array], noise: Laplace, *, labels: Sequence[Any], source: Source | None) -> Estimate:
        """Every curator adds its noise and masks the vector; all are added up."""
        drawn = source or SYSTEM
        identities = [new_identity(drawn) for _ in vectors]
        terms = SumTerms(
            label="curators",
            parties=tuple(map(public_key, identities)),
            length=len(vectors[0]),
            word_bits=64,
            corrupt=f"{self.count - 1}/{self.count}",
            lost="0",
            honest=f"1/{self.count}",
        )
        noisy = [np.asarray(noise.release(vector, source=source)) for vector in vectors]
        parties = {
            number: PairwiseParty(terms, number, identity, vector, drawn)
            for number, (identity, vector) in enumerate(zip(identities, noisy, strict=True))
        }
        total = run_sum(parties, PairwiseAggregator(terms))
        return sum_estimate(
            labels,
            total.astype(float),
            np.full(len(total), self.count * noise.variance),
            self.guarantee(noise.epsilon, noise.neighbors),
            n=None,  # how many people there are is private
            step=1.0,
            who=f"{self.count} curators",
            how=f"discrete Laplace noise of each, epsilon = {noise.epsilon:g}",
        )


def _grid(low: float, high: float, steps: int) -> float:
    good = all(isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end) for end in (low, high))
    if not good or not low < high or type(steps) is not int or not 1 <= steps <= 1 << 24:
        raise ParameterError("low, high, steps", (low, high, steps), allowed="low < high, 1 to 2^24 steps", fix="write low=0, high=100")
    if max(abs(low), abs(high)) / ((high - low) / steps) >= 2.0**40:
        raise ParameterError(
            "low, high", (low, high), allowed="a range that is not tiny compared with its ends", fix="subtract a common offset"
        )
    return (high - low) / steps


def _steps(column: Any, low: float, high: float, grid: float, number: int) -> Array:
    """People's numbers as whole steps from 0."""
    array = np.asarray(column, dtype=float)
    if array.size and not (np.all(array >= low) and np.all(array <= high)):
        raise DomainError(f"data[{number}]", "a number out of range", allowed=f"from {low} to {high}", fix="clip it first")
    return np.floor(array / grid + 0.5).astype(np.int64)
