"""Random wheel spinner in bulk: steps and shifts, walked around the wheel or matched against candidates."""

from __future__ import annotations

import numpy as np

from deniable.client.rws import RWS
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.progressions import fractions_of_steps, perturb_progression, support_by_steps, support_by_walking, support_of_keys
from deniable.local.frequency.oracle import PureOracle

_BLOCK = 1 << 12
"""Counters that stay in the fastest cache while the reports go by."""


@bulk_half(RWS)
class BulkRWS(PureOracle[RWS]):
    """A report supports its members."""

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        numbers = np.uint64(self.spec.modulus), np.uint64(self.spec.size), np.uint64(self.spec.keep)
        return perturb_progression(keys, *numbers, reports.columns["step"][part], reports.columns["shift"][part], words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        steps, shifts = reports.columns["step"][part], reports.columns["shift"][part]
        modulus, size = self.spec.modulus, self.spec.size
        if candidates is None:
            supports = np.zeros(modulus, dtype=np.int64)
            once_around = steps.size * size > 2 * modulus * modulus  # a place on a walk costs about as much as two members
            (support_by_steps if once_around else support_by_walking)(steps, shifts, np.uint64(modulus), size, supports)
            return supports[: self.spec.domain_size]
        fractions = fractions_of_steps(steps, np.uint64(modulus))
        width = np.uint64(-(-(size << 64) // modulus))
        supports = np.zeros(candidates.keys.size, dtype=np.uint32)  # a chunk of people cannot overflow 32 bits
        for start in range(0, supports.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            support_of_keys(fractions, shifts, np.uint64(modulus), width, candidates.keys[block], supports[block])
        return supports
