"""Continual counting by the square root of the matrix of ones: a quarter of the tree's error, for noise that is correlated over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from deniable.accounting import ZCDP, Event
from deniable.accounting.event import float_above
from deniable.central.continual_counter import ContinualCounter
from deniable.central.exact_noise import ExactNoise
from deniable.core.normal import Normal
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array

GRID = 1 << 20
"""The coefficients are whole multiples of 1 / GRID; that costs less than 1e-6 of the error."""


_DRAWN = 1024


class Factors(NamedTuple):
    """The two factors of the matrix of ones. Both are constant along diagonals, and stand here with the last coefficient first."""

    encode: Array
    """The c_k: GRID f_k, rounded. Integers below 2^53, so floats hold them."""
    squares: int
    """The sum of all c_k^2, exactly."""
    decode: Array
    """The b_k with b c = ones."""


@dataclass
class _Stream:
    """All that came, all that was noised, and noise that was drawn but not used yet."""

    entries: Array
    noisy: Array
    noise: Iterator[int]
    steps: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class SquareRootCounter(ContinualCounter):
    """Running sums of a stream with Gaussian noise whose error is close to the smallest that any factorization has.

    **How.** The sums are A x, with A the matrix of ones on and below the diagonal. A = B C, where both factors are near the square root of
    A, with f_0 = 1 and f_k = f_(k-1) (1 - 1 / (2 k)) along the diagonals. What is noised is C x, and B is applied afterwards.

    **Exactness.** The coefficients of C are rounded to integers c_k over GRID, so C x is a vector of integers, computed without rounding,
    and gets integer noise with the exact discrete Gaussian law. B is defined by B C = A for the *rounded* C. Its floats come after the
    noise, so they cost accuracy (1e-12 of a sum) and no privacy.

    **Guarantee.** One event moves entry s of x by at most the sensitivity, and so entry t of GRID C x by c_(t-s) times that: rho =
    sensitivity^2 (sum of c_k^2) / (2 sigma^2) in zCDP, and sigma^2 is this rational number for the rho that was asked for. Entries of C x
    are released one after the other, each with fresh noise, so entries of x may depend on what was released.

    **Estimator and variance.** Unbiased; sigma^2 (sum of b_k^2, k < t) / GRID^2. Its root times sqrt(2 rho) / sensitivity is the sum of
    f_k^2 at the end: 4.60 for 2^16 entries, where the tree has up to 16.5.

    **Cost.** The whole stream is kept, and step t takes t multiplications; beyond 2^17 entries the tree is the one to take.

    >>> from deniable.testing import ReplaySource
    >>> words = ReplaySource.from_key("root")
    >>> visits = SquareRootCounter(horizon=7, rho=0.5, sensitivity=1, neighbors="add-remove", source=words)
    >>> series = visits.run([10, 12, 9, 11])
    >>> series.point.round(2).tolist(), series.stderr.round(2).tolist()
    ([9.22, 20.31, 31.51, 44.29], [1.29, 1.45, 1.53, 1.58])

    References: Fichtenberger, Henzinger, Upadhyay 2023; Henzinger, Upadhyay, Upadhyay 2023; Denisov et al. 2022 (adaptive streams).
    """

    _stream: _Stream = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rho is None and not self.delta:
            raise ParameterError(
                "delta", self.delta, allowed="above 0: the noise is Gaussian", fix="use 1e-6, or the binary tree, which needs no delta"
            )
        self.noise  # noqa: B018  # refuses parameters that no noise has
        object.__setattr__(self, "_stream", _Stream(np.zeros(self.horizon), np.zeros(self.horizon), self._noise()))

    @cached_property
    def factors(self) -> Factors:
        """Both factors for this horizon."""
        return factors_of(self.horizon)

    @cached_property
    def noise(self) -> ExactNoise:
        """The noise of each entry of GRID C x: 1 / (2 sigma^2) = rho / (sensitivity^2 times the sum of squares)."""
        return ExactNoise(quadratic=self.exact_rho / (self.sensitivity**2 * self.factors.squares))

    @property
    def event(self) -> Event:
        return ZCDP(rho=float_above(self.exact_rho), neighbors=self.neighbors)

    @property
    def steps(self) -> int:
        return self._stream.steps

    @cached_property
    def largest(self) -> int:
        """The largest entry with which all sums stay below 2^53: as long as they do, floats add integers without rounding."""
        return ((1 << 53) - 1) // int(self.factors.encode.sum())

    def _check(self, value: int) -> None:
        if abs(value) > self.largest:
            raise DomainError("value", value, allowed=f"from {-self.largest} to {self.largest}", fix="count in coarser units")

    def _step(self, value: int) -> float:
        stream, t = self._stream, self._stream.steps + 1
        stream.entries[t - 1] = value
        encoded = int(_dot(self.factors.encode[-t:], stream.entries[:t]))  # exact: see ``largest``
        stream.noisy[t - 1] = encoded + next(stream.noise)
        stream.steps = t
        return _dot(self.factors.decode[-t:], stream.noisy[:t]) / GRID

    def _noise(self) -> Iterator[int]:
        for start in range(0, self.horizon, _DRAWN):  # in batches: one by one it takes longer than the sums
            yield from self.noise.draws(min(_DRAWN, self.horizon - start), self.source).tolist()

    def law(self, times: Array, counts: Array) -> Normal:
        sums = np.concatenate([[0.0], np.cumsum(self.factors.decode[::-1] ** 2)])
        noise = np.asarray(sums[times] * float(1 / (2 * self.noise.quadratic)) / GRID**2)
        return Normal(None, counts, noise, noise)  # sigma is hundreds of thousands of steps


@lru_cache(maxsize=8)
def factors_of(horizon: int) -> Factors:
    """The factors for a horizon.

    >>> encode, squares, decode = factors_of(1 << 16)
    >>> round((squares / GRID**2 * float(decode @ decode)) ** 0.5, 2)
    4.6
    """
    k = np.arange(1, horizon)
    encode = np.rint(np.concatenate([[1.0], np.cumprod(1 - 1 / (2 * k))]) * GRID)
    decode = np.cumsum(_inverse(encode / GRID))  # 1 / ((1 - z) c(z)): the sums of the inverse series
    return Factors(encode[::-1].copy(), sum(int(c) ** 2 for c in encode.tolist()), decode[::-1].copy())


def _dot(one: Array, other: Array) -> float:
    return float(np.einsum("i,i->", one, other))  # not np.dot: its threads cost more than they save


def _inverse(series: Array) -> Array:
    """The inverse of a power series that begins with 1, by Newton's iteration: each step doubles the known coefficients."""
    known = np.ones(1)
    while known.size < series.size:
        size = min(2 * known.size, series.size)
        circle = 1 << (2 * size - 1).bit_length()
        spectrum = np.fft.rfft(known, circle)
        error = np.fft.irfft(np.fft.rfft(series[:size], circle) * spectrum, circle)[:size]
        error[0] -= 1
        step = np.fft.irfft(np.fft.rfft(error, circle) * spectrum, circle)[:size]
        known = np.concatenate([known, np.zeros(size - known.size)]) - step
    return known
