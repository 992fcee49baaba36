r"""Series of people who seldom change: noise on sums of changes instead of on points, by a tree or by a square root; also as a stream.

A person's number is 0 or 1 at every point and changes at most c times; holding 1 at the first point counts as a change. Then the changes
are +1, -1, +1, .. in turn, and adding or removing the person moves little:

**Tree.** Point t (from 1) is a sum of parts, one for each binary digit of t, and part t is what changed since t - lowbit(t). A part moves
by -1, 0 or 1, and only if a change is in it. The parts of one level have nothing in common, so at most min(c, parts of the level) of
them move::

    Delta_1 = Delta_2^2 = S = sum over levels of min(c, parts of the level)

**Square root.** C has the coefficients c_0 >= c_1 >= .. >= 0 along its diagonals (``central.SquareRootCounter``), x are the changes.

*Lemma.* ||C x||^2 <= c ||C||^2, with ||C||^2 = sum of c_k^2, the largest column, and not c^2 ||C||^2.

*Proof.* Let the changes be at s_1 < .. < s_m, m <= c, and C_i the columns. The product <C_i, C_j> = sum over t of c_t c_(t + |i - j|), as
far as the matrix goes, falls as j > i grows: fewer terms, and smaller ones. ||C x||^2 is the sum of ||C_(s_i)||^2 <= ||C||^2, and twice
the sum over i of  - <C_(s_i), C_(s_(i + 1))> + <C_(s_i), C_(s_(i + 2))> - ..  with falling terms that begin with a minus: none is above 0.

Replacing a person moves twice as much. People who change more often are not protected by this: hold them to it (``limited``), which biases
the sums.

References: Chan, Shi, Song 2011; Fichtenberger, Henzinger, Upadhyay 2023.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isqrt, sqrt

import numpy as np
import scipy

from deniable.accounting.budget import budget_of
from deniable.accounting.event import ADD_REMOVE, positive_integer
from deniable.central.binary_tree import BinaryTreeCounter
from deniable.central.continual_counter import ContinualCounter
from deniable.central.grid import float_below
from deniable.central.rationals import exact_rate
from deniable.central.square_root import GRID, Factors, SquareRootCounter, factors_of
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import Source
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.series.mechanism import SeriesMechanism

LONGEST = 1 << 15
MOST_PEOPLE = 1 << 31
"""Below it, 2^20 times any sum of changes is an integer that floats hold."""


@dataclass(frozen=True, kw_only=True)
class LimitedChanges(SeriesMechanism):
    """A series of ``points`` counts of people who change at most ``changes`` times. See the two ways, below."""

    changes: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_integer("changes", self.changes)
        if self.points > LONGEST:
            raise ParameterError("points", self.points, allowed=f"at most {LONGEST:,}", fix="count over longer periods")

    @property
    def questions(self) -> int:
        return self.points

    @property
    def twice(self) -> int:
        """Replacing a person takes one away and adds another."""
        return 1 if self.neighbors == ADD_REMOVE else 2

    @property
    def guarantee(self) -> Guarantee:
        often = "at most once" if self.changes == 1 else f"at most {self.changes} times"
        return replace(super().guarantee, unit=f"a person's whole series of 0 and 1 that changes {often}, the first 1 included")

    @abstractmethod
    def counter(self, source: Source | None = None) -> ContinualCounter:
        """Return the same guarantee for a stream: feed it one change of the sum at a time, and it releases the sum so far."""


@dataclass(frozen=True, kw_only=True)
class TreeChanges(LimitedChanges):
    """Noise on parts of 1, 2, 4, .. changes (Laplace; Gaussian with delta).

    >>> tree = TreeChanges(points=2000, changes=4, epsilon=1.0)
    >>> tree.parts, round(float(tree.stderr[1023]), 1), round(float(tree.stderr[1022]), 1)
    (39, 55.2, 174.4)
    """

    name = "tree of changes"
    bits = 0

    @property
    def parts(self) -> int:
        """S: how many parts a person moves at most."""
        return sum(min(self.changes, (self.points >> level) + 1 >> 1) for level in range(self.points.bit_length()))

    def ask(self, series: Array) -> Array:
        before = np.concatenate([np.zeros((*np.shape(series)[:-1], 1)), _whole(series)], axis=-1)
        times = np.arange(1, self.points + 1)
        return np.asarray(before[..., times] - before[..., times & times - 1])  # t & (t - 1) is t without its lowest digit

    def reconstruct(self, answers: Array) -> Array:
        padded = np.concatenate([np.zeros((*answers.shape[:-1], 1)), answers], axis=-1)
        times, total = np.arange(1, self.points + 1), np.zeros_like(answers, dtype=float)
        while times.any():
            total += padded[..., times]
            times &= times - 1
        return total

    def sensitivity(self, norm: int) -> float:
        return float(self.twice * self.parts) if norm == 1 else self.twice * sqrt(self.parts) * (1 + 1e-15)

    @property
    def steps(self) -> int:
        """Parts are whole numbers: nothing is rounded."""
        return self.twice * (self.parts if not self.delta else isqrt(self.parts - 1) + 1)

    @cached_property
    def _weights(self) -> tuple[Array, Array, Array]:
        digits = np.bitwise_count(np.arange(1, self.points + 1)).astype(float)
        return digits, digits, digits

    def counter(self, source: Source | None = None) -> BinaryTreeCounter:
        share = Fraction(self.points.bit_length(), self.parts)  # its noise is for one change, which is in a part of every level
        if self.delta:
            rho = float_below(budget_of(self.epsilon, self.delta, "zCDP").rho * share)
            return BinaryTreeCounter(horizon=self.points, rho=rho, sensitivity=self.twice, neighbors=self.neighbors, source=source)
        epsilon = float_below(exact_rate(self.epsilon) * share)
        return BinaryTreeCounter(horizon=self.points, epsilon=epsilon, sensitivity=self.twice, neighbors=self.neighbors, source=source)


@dataclass(frozen=True, kw_only=True)
class RootChanges(LimitedChanges):
    """Gaussian noise between the two factors of the sums of changes: much less than the tree's, and it needs a delta.

    >>> root = RootChanges(points=2000, changes=8, epsilon=1.0, delta=1e-6)
    >>> round(root.sensitivity(2) / sqrt(8), 2), round(float(root.stderr[-1]), 1)
    (1.87, 44.7)
    """

    name = "square root of changes"
    bits = GRID.bit_length() - 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.delta:
            raise ParameterError("delta", self.delta, allowed="above 0: the noise is Gaussian", fix="try 1e-6, or use TreeChanges")

    @property
    def factors(self) -> Factors:
        """Both factors, with whole coefficients in the first."""
        return factors_of(self.points)

    def ask(self, series: Array) -> Array:
        changed = np.diff(_whole(series), axis=-1, prepend=0).astype(np.int64)
        row = self.factors.encode[::-1].astype(np.int64)
        # Sums along the way may wrap around, and wrap back: the result is below 2 GRID 2^31.
        encoded = np.apply_along_axis(lambda one: np.convolve(one, row)[: self.points], -1, changed)
        return np.asarray(encoded / GRID)

    def reconstruct(self, answers: Array) -> Array:
        decode = np.broadcast_to(self.factors.decode[::-1], answers.shape)
        return np.asarray(scipy.signal.fftconvolve(answers, decode, axes=-1)[..., : self.points])

    def sensitivity(self, norm: int) -> float:
        length = self.steps / GRID
        return length if norm == 2 else length * sqrt(self.points) * (1 + 1e-15)

    @property
    def steps(self) -> int:
        """The root of c times the squares, by the lemma; answers are whole steps, so nothing is rounded."""
        return self.twice * (isqrt(self.changes * self.factors.squares - 1) + 1)

    @cached_property
    def _weights(self) -> tuple[Array, Array, Array]:
        squares = self.factors.decode[::-1] ** 2
        return np.cumsum(squares), np.cumsum(squares**2), np.cumsum(np.sqrt(squares))

    def counter(self, source: Source | None = None) -> SquareRootCounter:
        rho = float_below(budget_of(self.epsilon, self.delta, "zCDP").rho / self.changes)
        return SquareRootCounter(horizon=self.points, rho=rho, sensitivity=self.twice, neighbors=self.neighbors, source=source)


@typed
def limited(states: Array, changes: int) -> Array:
    """Return people's ``states`` (series of 0 and 1 along the last axis), frozen after this many changes.

    >>> limited(np.array([1, 1, 0, 1, 0, 0]), 3).tolist()
    [1, 1, 0, 1, 1, 1]
    """
    positive_integer("changes", changes)
    states = np.asarray(states)
    if not np.isin(states, (0, 1)).all():
        raise DomainError(
            "states", "other numbers", allowed="0 and 1", fix="turn numbers into 0 and 1, for example whether they are above a limit"
        )
    moved = np.diff(states.astype(np.int64), axis=-1, prepend=0)
    return np.asarray(np.cumsum(np.where(np.cumsum(moved != 0, axis=-1) <= changes, moved, 0), axis=-1))


def _whole(series: Array) -> Array:
    series = np.asarray(series, dtype=float)
    if np.any(series != np.floor(series)) or np.any(np.abs(series) >= MOST_PEOPLE):
        raise DomainError("series", "a number that is not a count", allowed="whole numbers below 2^31", fix="count people")
    return series
