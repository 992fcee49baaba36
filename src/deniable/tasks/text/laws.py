"""Laws of word statistics: shares of people's words, one drawn by each device, and how likely one word follows another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from deniable.core.interval import NORMAL_TAILS_FROM, Limits
from deniable.core.law import CountLaw, Crossed, Law
from deniable.core.postprocess import norm_sub
from deniable.core.supports import Supports
from deniable.kernels.compiled import Array

COVERS = "noise, draws and sampling"
"""What the intervals of both laws cover."""


@dataclass(frozen=True, eq=False)
class DrawnShares(Law):
    """The mean over people of a share of their own, from ``counts`` of what each device drew.

    Errors always include the draws. These make people a sample of what they wrote, so errors are those of a sample.
    """

    counts: CountLaw

    @property
    def n(self) -> int:
        """The number of people who reported."""
        return self.counts.n

    @property
    def point(self) -> Array:
        return np.asarray(self.counts.point / max(self.n, 1))

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.asarray(self.counts.variance(np.clip(at * self.n, 0, self.n), population=True) / max(self.n, 1) ** 2)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        low, high = self.counts.limits(alpha, family=family, population=True)
        return low / max(self.n, 1), high / max(self.n, 1)

    def change(self, other: Law) -> Law:
        return self.counts.change(other.counts) if isinstance(other, DrawnShares) else Crossed(self, other)

    def select(self, positions: Array) -> DrawnShares:
        return DrawnShares(self.counts.select(positions))  # type: ignore[arg-type]  # parts of counts are counts

    def settled(self) -> DrawnShares:
        return DrawnShares(self.counts.settled())  # type: ignore[arg-type]  # so are settled ones


class _Terms(NamedTuple):
    """What the variance of x - r S is made of, for each pair that a law is about."""

    x: Array
    sums: Array
    """The sum of each pair's row, S."""
    whole: Array
    """The variance of the row's sum, but for its draws."""
    squared: Array
    linear: Array
    constant: Array


@dataclass(frozen=True, eq=False)
class Following(Law):
    """How likely each of V words is after another one, from ``counts`` of all V^2 pairs, row by row, and of "none of them" at last.

    With x the share of a pair and S the sum of its row of V pairs, r = x / S. The limits are those r for which x - r S is not too far from
    0 (Fieller 1954). For one person's report its variance is, with v the noise of each pair and f the pairs' shares::

        (1 - 2 r) v_x + r^2 sum v  +  c0 (V - 1) (V r^2 - 2 r) - 2 (c1 - c0) ((1 - 2 r) x + r^2 S)  +  S r (1 - r)

    c0 and c1 are the ``covariances`` of the oracle's scores of two pairs, if its sender holds neither and one of them: an oracle that names
    one value makes them negative. The last part is for the draws of pairs and people. All of it is quadratic in r, so the limits are roots.

    *Too far* is z standard errors; for many probabilities at once, and where few reports support a pair by chance, what Bernstein's
    inequality allows. A pair that two people wrote is then no proof that it is frequent: the normal law is much too sure of it so far out.

    The estimated probabilities are made of shares that are projected to what shares can be; after a word that was not seen, words are as
    likely as they follow any. Limits do not rest on them.
    """

    counts: CountLaw
    size: int
    """How many words there are, V."""
    covariances: tuple[float, float]
    at: Array
    """Which pairs this is about, as places among all V^2."""

    @property
    def n(self) -> int:
        """The number of people who reported."""
        return self.counts.n

    @cached_property
    def shares(self) -> Array:
        """The unbiased share of each pair, V x V."""
        return self._square(self.counts.point / max(self.n, 1))

    @cached_property
    def matrix(self) -> Array:
        """The probability of each word after each other one, V x V, in rows that add up to one."""
        total = float(np.clip(self.shares.sum(), 0.0, 1.0))
        likely = norm_sub(self.shares.ravel(), total).reshape(self.shares.shape) if total > 0 else np.zeros(self.shares.shape)
        seen, anywhere = likely.sum(axis=1, keepdims=True), likely.sum(axis=0)
        usual = anywhere / anywhere.sum() if anywhere.sum() > 0 else np.full(anywhere.size, 1 / anywhere.size)
        return np.where(seen > 0, likely / np.where(seen > 0, seen, 1.0), usual)

    @property
    def point(self) -> Array:
        return np.asarray(self.matrix.ravel()[self.at])

    @cached_property
    def _terms(self) -> _Terms:
        people, (c0, c1), size = max(self.n, 1), self.covariances, self.size
        x = self.shares
        v = self._square(self.counts.variance(np.clip(self.counts.point, 0, self.n)) / people)
        sums, rows, share = x.sum(axis=1, keepdims=True), v.sum(axis=1, keepdims=True), np.clip(x, 0.0, 1.0)
        drawn, more = np.maximum(sums, 0.0), 2 * (c1 - c0)
        whole = np.maximum(rows + c0 * size * (size - 1) - more * share.sum(axis=1, keepdims=True), 0.0)
        linear = drawn - 2 * v - 2 * c0 * (size - 1) + 2 * more * share
        terms = x, sums, whole, whole - drawn, linear, v - more * share
        return _Terms(*(np.broadcast_to(term, x.shape).ravel()[self.at] for term in terms))

    def variance(self, at: Array, *, population: bool = False) -> Array:
        """Return the variance of x / S to first order, if ``at`` were the true probabilities; nan where the row was not seen."""
        of = self._terms
        square = np.maximum(of.constant + of.linear * at + of.squared * at**2, 0.0) / max(self.n, 1)
        return np.where(of.sums > 0, square / np.where(of.sums > 0, of.sums, 1.0) ** 2, np.nan)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        """Return limits of the probabilities: 0 and 1 where a row does not stand out of its noise."""
        of, people = self._terms, max(self.n, 1)
        few = family > 0 and self.counts.enough < NORMAL_TAILS_FROM
        far, jump = (2 * np.log(2 / alpha), self._jump) if few else (scipy.stats.norm.isf(alpha / 2) ** 2, 0.0)
        known = (of.sums > 0) & (of.sums**2 > far * (of.whole + jump * of.sums / 3) / people)
        ends = []
        for sign in (-1, 1):  # x - r S is above 0 at the lower end, below it at the upper one
            a, b = of.sums**2 - far * of.squared / people, -2 * of.x * of.sums - far * (of.linear + sign * jump * of.sums / 3) / people
            c = of.x**2 - far * (of.constant - sign * jump * of.x / 3) / people
            inside, twice = b**2 - 4 * a * c, np.where(known, 2 * a, 1.0)
            found = (-b + sign * np.sqrt(np.maximum(inside, 0.0))) / twice
            ends.append(np.where(known & (inside >= 0), np.clip(found, 0.0, 1.0), max(sign, 0)))
        return ends[0], ends[1]

    @property
    def _jump(self) -> float:
        """What one report, or one of its parts that are independent, adds to a score at most."""
        if isinstance(self.counts, Supports):
            return float(1 / np.min(self.counts.p - self.counts.q))
        return float(
            np.sqrt(self.counts.variance(np.zeros(1))[0] / max(self.n, 1))
        )  # scores of two values, as far from 0 as their noise is

    def select(self, positions: Array) -> Following:
        return replace(self, at=self.at[positions])

    def settled(self) -> Following:
        return replace(self, counts=self.counts.settled())  # type: ignore[arg-type]  # settled counts are counts

    def _square(self, numbers: Array) -> Array:
        return np.asarray(numbers[: self.size**2]).reshape(self.size, self.size)
