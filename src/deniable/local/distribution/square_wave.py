"""The square wave mechanism in bulk: cells, counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.client.square_wave import SquareWave
from deniable.contract.spec import bulk_half
from deniable.core.distribution import DistributionEstimate
from deniable.core.reports import Reports
from deniable.core.tally import Tally
from deniable.core.wave import Wave
from deniable.errors import MergeError
from deniable.kernels.compiled import Array
from deniable.kernels.numbers import Served, round_to_window
from deniable.kernels.symbols import count_symbols
from deniable.local.mean.numeric import Grid, NumericOracle


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
                "counters", int(tally.counters.sum()), allowed=f"a sum of {tally.n}, the reports", fix="the tally was damaged or made up"
            )
        return DistributionEstimate.of(self.spec, tally.n, Wave.of(self.spec, tally))
