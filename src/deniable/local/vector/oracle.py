"""The vectorized half that all mechanisms for vectors share: sums of numbers and of their squares, and the mean behind them.

A mechanism adds the kernel that makes its reports, the kernel that adds them up, and the units of what it added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np

from deniable.contract.source import Source
from deniable.core.estimate import Estimate
from deniable.core.reports import Reports
from deniable.core.stream import cores, in_parallel
from deniable.core.tally import WHOLE_DOMAIN, Tally, require_same_spec
from deniable.core.vector import mean_vector
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array
from deniable.local.vector.priv_unit import PrivUnit

SpecType = TypeVar("SpecType", bound=PrivUnit)


class VectorOracle(ABC, Generic[SpecType]):
    """The vectorized half of a mechanism that sends noisy directions."""

    def __init__(self, spec: SpecType) -> None:
        self.spec = spec

    @abstractmethod
    def privatize(self, values: Any, source: Source | None) -> Reports:
        """The reports of people who hold one row of a matrix each."""

    @abstractmethod
    def add(self, reports: Reports, part: slice, counters: Array) -> None:
        """Add the numbers of the reports in ``part`` to the first half of the counters, their squares to the other."""

    @abstractmethod
    def moments(self, number: Array, square: Array) -> tuple[Array, Array]:
        """The same in units of noise: means of numbers and of squares, each coordinate alone."""

    @abstractmethod
    def estimated(self, n: int, mean: Array, spread: Array) -> Estimate:
        """What n reports say, with this mean and this variance, in units of noise."""

    def tally(self, reports: Any, candidates: Any) -> Tally:
        _refuse(candidates)
        if not isinstance(reports, Reports):
            reports = Reports.collect(self.spec, reports)
        require_same_spec(self.spec, reports.spec)
        reports.check_shapes()  # kernels trust what they are given
        share = -(-reports.n // cores()) or 1
        parts = [slice(start, start + share) for start in range(0, reports.n, share)]
        return Tally(self.spec, reports.n, sum(in_parallel(lambda part: self._sums(reports, part), parts), self._zeros()))

    def _zeros(self) -> Array:
        return np.zeros(2 * self.spec.dimension, dtype=np.int64)

    def _sums(self, reports: Reports, part: slice) -> Array:
        counters = self._zeros()
        self.add(reports, part, counters)
        return counters

    def estimate(self, tally: Any, candidates: Any) -> Estimate:
        _refuse(candidates)
        if not isinstance(tally, Tally):
            raise ParameterError("tally", type(tally).__name__, allowed="a Tally", fix="write estimate(oracle.tally(reports))")
        require_same_spec(self.spec, tally.spec)
        spec, n, size = self.spec, tally.n, self.spec.dimension
        if tally.digest != WHOLE_DOMAIN or tally.counters.size != 2 * size:
            raise MergeError("counters", tally.counters.size, allowed=f"{2 * size} for {spec!r}", fix="tally the reports again")
        if not n:
            return mean_vector(spec, 0, np.zeros(size), np.full(size, np.inf), np.full(size, np.inf))
        mean, square = self.moments(tally.counters[:size] / n, tally.counters[size:] / n)
        if np.any(square < mean**2 - 1e-6):
            raise MergeError(
                "counters", "sums", allowed="sums of numbers and of their squares", fix="discard this tally: it is damaged or false"
            )
        return self.estimated(n, mean, np.maximum(square - mean**2, 0.0))


def _refuse(candidates: Any) -> None:
    if candidates is not None:
        raise ParameterError("candidates", candidates, allowed="none for vectors", fix="leave them out")
