"""The classical ways to release a series: every point, every n-th point, or a few coefficients.

Mean absolute error of the noise at a point, for epsilon and K kept coefficients, before what is lost by keeping few:

======================  =====================================================
``LPA``                 n / epsilon
``Decimation``          about K / epsilon
``FPA``, add-remove     (K + sqrt(K)) / (sqrt(pi) epsilon)
``FPA``, Gaussian       sqrt(2 / pi) sigma sqrt(K), with sigma of epsilon, delta
======================  =====================================================

The gain comes from asking few questions instead of n, and is paid for in reconstruction error: at many people a fixed k is *worse* than
noise on every point, since the noise does not grow with them and what is lost does. ``EFPA`` chooses k by the data, privately.

References: Rastogi, Nath 2010 (LPA, FPA; their unnormalized transform needs sqrt(n) times the noise they state).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np

from deniable.contract.arguments import typed
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.series.basis import Basis, Cosine, Fourier
from deniable.tasks.series.mechanism import SeriesMechanism
from deniable.tasks.series.sensitivity import coefficient_sensitivity, sequence_sensitivity

BASES: dict[str, type[Basis]] = {"fourier": Fourier, "cosine": Cosine}


@dataclass(frozen=True, kw_only=True)
class LPA(SeriesMechanism):
    """Noise on every point (Laplace perturbation; Gaussian with delta).

    >>> from deniable.testing import ReplaySource
    >>> found = LPA(points=12, epsilon=1.0).release(np.full(12, 500.0), source=ReplaySource.from_key("months"))
    >>> found.stderr[0].round(2), len(found.values)
    (np.float64(16.97), 12)
    """

    name = "LPA"
    bits = 0

    @property
    def questions(self) -> int:
        return self.points

    def ask(self, series: Array) -> Array:
        return series

    def reconstruct(self, answers: Array) -> Array:
        return answers

    def sensitivity(self, norm: int) -> float:
        return sequence_sensitivity(self.points, norm=norm, neighbors=self.neighbors)

    @property
    def steps(self) -> int:
        """Whole numbers that change by 1 at most still do when they are rounded."""
        return _whole_steps(self)


@dataclass(frozen=True, kw_only=True)
class Decimation(SeriesMechanism):
    """Noise on every ``every``-th point and on the last, and straight lines in between: the baseline that every transform has to beat.

    >>> Decimation(points=2000, every=100, epsilon=1.0).questions
    21
    """

    every: int

    name = "decimation"
    bits = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("every", self.every, 1, self.points, fix="try every=points // 20")

    @cached_property
    def places(self) -> Array:
        """The points that are asked."""
        return np.unique(np.append(np.arange(0, self.points, self.every), self.points - 1))

    @property
    def questions(self) -> int:
        return len(self.places)

    def ask(self, series: Array) -> Array:
        return np.asarray(series[..., self.places])

    def reconstruct(self, answers: Array) -> Array:
        right = np.clip(np.searchsorted(self.places, np.arange(self.points)), 1, max(self.questions - 1, 1))
        if self.questions == 1:
            return np.repeat(answers, self.points, axis=-1)
        left = right - 1
        share = (np.arange(self.points) - self.places[left]) / (self.places[right] - self.places[left])
        return np.asarray(answers[..., left] * (1 - share) + answers[..., right] * share)

    def sensitivity(self, norm: int) -> float:
        return sequence_sensitivity(self.questions, norm=norm, neighbors=self.neighbors)

    @property
    def steps(self) -> int:
        """As for LPA."""
        return _whole_steps(self)


@typed
@dataclass(frozen=True, kw_only=True)
class FPA(SeriesMechanism):
    """Noise on the coefficients of the ``k`` lowest frequencies, in the basis "fourier" (2 k - 1 real numbers) or "cosine" (k).

    >>> FPA(points=2000, k=20, epsilon=1.0).questions, FPA(points=2000, k=20, epsilon=1.0, basis="cosine").questions
    (39, 20)
    """

    k: int
    basis: str = "fourier"

    name = "FPA"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.basis not in BASES:
            raise ParameterError("basis", self.basis, allowed=f"one of {sorted(BASES)}", fix="use fourier for seasons, cosine for trends")
        check_whole("k", self.k, 1, self.points, fix="try 20, or use EFPA, which chooses k privately")

    @property
    def _functions(self) -> Basis:
        return BASES[self.basis](self.points)

    @property
    def questions(self) -> int:
        return self._functions.count(self.k)

    def ask(self, series: Array) -> Array:
        return self._functions.coefficients(series, self.questions)

    def reconstruct(self, answers: Array) -> Array:
        return self._functions.series(answers)

    def sensitivity(self, norm: int) -> float:
        return coefficient_sensitivity(self.points, self.questions, norm=norm, neighbors=self.neighbors)


def _whole_steps(mechanism: SeriesMechanism) -> int:
    """Points change by at most 1, and so do whole numbers near them: rounding adds nothing to either norm."""
    return mechanism.questions if not mechanism.delta else isqrt(mechanism.questions - 1) + 1
