"""Orthonormal bases of a time series: a few low frequencies carry its trend, and a sum over people is a sum of their coefficients.

A basis of real functions keeps lengths, so a person who changes a series by Q in the Euclidean norm changes its coefficients by Q at most.
That is false for the unnormalized transform of most libraries, which stretches lengths by the root of n: noise that was scaled for the one
and added to the other is too small by that factor.

=============  ===========================================================================================================
``Fourier``    1/sqrt(n), then sqrt(2/n) cos and sqrt(2/n) sin of 1, 2, ... turns: 2 k - 1 real coefficients up to frequency k - 1
``Cosine``     1/sqrt(n), then sqrt(2/n) cos of 1/2, 1, 3/2, ... turns, without a jump where the series ends and begins again
=============  ===========================================================================================================

References: Rastogi, Nath 2010; Ahmed, Natarajan, Rao 1974 (the cosine transform).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole

LONGEST = 1 << 24


@dataclass(frozen=True)
class Basis(ABC):
    """``coefficients`` of the lowest frequencies of series of ``length`` points, and the series behind them.

    The first function is the constant one.
    """

    length: int

    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_whole("length", self.length, 1, LONGEST, fix="pass the number of points of the series")

    @abstractmethod
    def count(self, frequencies: int) -> int:
        """How many real coefficients so many of the lowest frequencies have."""

    @abstractmethod
    def all_coefficients(self, series: Array) -> Array:
        """All coefficients along the last axis, the lowest frequency first."""

    @abstractmethod
    def series(self, coefficients: Array) -> Array:
        """The series of the first coefficients, the others being 0."""

    def coefficients(self, series: Array, count: int) -> Array:
        """The first coefficients of a series, or of several along the last axis."""
        series = np.asarray(series, dtype=float)
        if series.shape[-1:] != (self.length,):
            allowed = f"series of {self.length} points"
            raise ParameterError("series", series.shape, allowed=allowed, fix="pass one number for each point in time")
        return self.all_coefficients(series)[..., : self.check_count(count)]

    def check_count(self, count: int) -> int:
        """The number of coefficients, if there are so many."""
        check_whole("coefficients", count, 1, self.length, fix="use at most as many as the series has points")
        return count

    def _padded(self, coefficients: Array) -> Array:
        coefficients = np.asarray(coefficients, dtype=float)
        self.check_count(coefficients.shape[-1])
        padding = [(0, 0)] * (coefficients.ndim - 1) + [(0, self.length - coefficients.shape[-1])]
        return np.pad(coefficients, padding)


class Fourier(Basis):
    """Cosines and sines of whole turns.

    >>> basis = Fourier(8)
    >>> np.abs(basis.coefficients(np.ones(8), 3)).round(6).tolist()
    [2.828427, 0.0, 0.0]
    >>> wave = 3 + np.cos(2 * np.pi * np.arange(8) / 8)
    >>> np.allclose(basis.series(basis.coefficients(wave, 3)), wave)
    True
    """

    name = "Fourier"

    def count(self, frequencies: int) -> int:
        """One real coefficient for the constant, two for every other frequency but the last of an even length, which has one."""
        return self.check_count(min(2 * frequencies - 1, self.length) if frequencies >= 1 else 0)

    def all_coefficients(self, series: Array) -> Array:
        found = scipy.fft.rfft(series, axis=-1, norm="ortho")
        out = np.empty(series.shape)
        out[..., 0] = found[..., 0].real
        pairs = (self.length - 1) // 2
        out[..., 1 : 2 * pairs + 1 : 2] = np.sqrt(2) * found[..., 1 : pairs + 1].real
        out[..., 2 : 2 * pairs + 1 : 2] = -np.sqrt(2) * found[..., 1 : pairs + 1].imag
        if self.length % 2 == 0:
            out[..., -1] = found[..., -1].real  # half the length is a cosine alone, its own mirror image
        return out

    def series(self, coefficients: Array) -> Array:
        padded = self._padded(coefficients)
        found = np.zeros((*padded.shape[:-1], self.length // 2 + 1), dtype=complex)
        found[..., 0] = padded[..., 0]
        pairs = (self.length - 1) // 2
        found[..., 1 : pairs + 1] = (padded[..., 1 : 2 * pairs + 1 : 2] - 1j * padded[..., 2 : 2 * pairs + 1 : 2]) / np.sqrt(2)
        if self.length % 2 == 0:
            found[..., -1] = padded[..., -1]
        return np.asarray(scipy.fft.irfft(found, n=self.length, axis=-1, norm="ortho"))


class Cosine(Basis):
    """Cosines of half turns.

    >>> basis = Cosine(5)
    >>> line = np.arange(5.0)
    >>> np.allclose(basis.series(basis.coefficients(line, 5)), line)
    True
    """

    name = "cosine"

    def count(self, frequencies: int) -> int:
        """One real coefficient for each."""
        return self.check_count(frequencies)

    def all_coefficients(self, series: Array) -> Array:
        return np.asarray(scipy.fft.dct(series, axis=-1, norm="ortho"))

    def series(self, coefficients: Array) -> Array:
        return np.asarray(scipy.fft.idct(self._padded(coefficients), axis=-1, norm="ortho"))
