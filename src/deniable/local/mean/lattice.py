"""Vectorized mechanisms on a lattice of points: sums of points and squares, or, for a distribution, how often each point came."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from deniable.client.discrete_laplace import DiscreteLaplace
from deniable.client.hybrid import Hybrid
from deniable.client.piecewise import Piecewise
from deniable.client.square_wave import SquareWave
from deniable.contract.spec import bulk_half
from deniable.core.distribution import DistributionEstimate
from deniable.core.reports import Reports
from deniable.core.tally import Tally
from deniable.core.wave import Wave
from deniable.errors import MergeError
from deniable.kernels.compiled import Array
from deniable.kernels.inversion import guide_table
from deniable.kernels.numbers import Served, round_and_add, round_to_either, round_to_window, sum_and_squares
from deniable.kernels.symbols import count_symbols
from deniable.local.mean.numeric import Grid, NumericOracle
from deniable.local.mean.oracle import MeanOracle, SpecType


class LatticeOracle(MeanOracle[SpecType]):
    """A report adds its point and the square of it."""

    @property
    def cells(self) -> int:
        """The number of points that are added up; those behind them are counted, each on its own."""
        return self.spec.outputs

    def count(self, reports: Reports, part: slice) -> Array:
        sums = np.zeros(self.tally_counters, dtype=np.int64)
        sum_and_squares(reports.columns["point"][part], self.cells, sums)
        return sums

    def check_tally(self, tally: Any, candidates: Any) -> None:
        super().check_tally(tally, candidates)
        total, squares, *others = (int(counter) for counter in tally.counters)
        if not total <= squares <= (self.cells - 1) * total or sum(others) > tally.n:
            allowed = f"sums of points below {self.cells} and of their squares"
            raise MergeError("counters", [total, squares, *others], allowed=allowed, fix="discard this tally: it is damaged or false")


@bulk_half(Piecewise)
class BulkPiecewise(LatticeOracle[Piecewise]):
    """A cell each."""

    def perturb(self, numbers: Array, grid: Grid, reports: Reports, part: slice, words: Array) -> Served:
        law = np.uint64(self.spec.window), np.uint64(self.spec.keep)
        return round_to_window(numbers, *grid, *law, reports.columns["point"][part], words)


@bulk_half(Hybrid)
class BulkHybrid(LatticeOracle[Hybrid]):
    """A cell, or one of the two bits behind the cells."""

    @property
    def cells(self) -> int:
        return self.spec.cells

    def perturb(self, numbers: Array, grid: Grid, reports: Reports, part: slice, words: Array) -> Served:
        spec = self.spec
        law = np.array([spec.mix, spec.window, spec.keep, spec.first, spec.step, spec.cells], dtype=np.uint64)
        return round_to_either(numbers, *grid, law, reports.columns["point"][part], words)


@bulk_half(DiscreteLaplace)
class BulkDiscreteLaplace(LatticeOracle[DiscreteLaplace]):
    """A noisy point each."""

    @cached_property
    def tables(self) -> tuple[Array, Array]:
        cumulative = np.array(self.spec.cumulative, dtype=np.uint64)
        return cumulative, guide_table(cumulative)

    def perturb(self, numbers: Array, grid: Grid, reports: Reports, part: slice, words: Array) -> Served:
        return round_and_add(numbers, *grid, *self.tables, np.uint64(self.spec.points), reports.columns["point"][part], words)


@bulk_half(SquareWave)
class BulkSquareWave(NumericOracle[SquareWave]):
    """A cell each, drawn as ``Piecewise`` draws it; the tally keeps how often each cell came."""

    @property
    def tally_counters(self) -> int:
        return self.spec.outputs

    def perturb(self, numbers: Array, grid: Grid, reports: Reports, part: slice, words: Array) -> Served:
        law = np.uint64(self.spec.window), np.uint64(self.spec.keep)
        return round_to_window(numbers, *grid, *law, reports.columns["point"][part], words)

    def count(self, reports: Reports, part: slice) -> Array:
        counts = np.zeros(self.tally_counters, dtype=np.int64)
        count_symbols(reports.columns["point"][part], counts)
        return counts

    def estimate(self, tally: Tally, candidates: Any) -> DistributionEstimate:
        self.check_tally(tally, candidates)
        if int(tally.counters.sum()) != tally.n:
            raise MergeError(
                "counters",
                int(tally.counters.sum()),
                allowed=f"a sum of {tally.n}, the reports",
                fix="discard this tally: it is damaged or false",
            )
        return DistributionEstimate.of(self.spec, tally.n, Wave.of(self.spec, tally))
