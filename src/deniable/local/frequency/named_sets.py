"""Vectorized mechanisms whose reports name a set of values by a few numbers: these are matched with candidates in blocks."""

from __future__ import annotations

import numpy as np

from deniable.client.blh import BLH
from deniable.client.olh import OLH
from deniable.client.rws import RWS
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.hashing import perturb_hashed, support_of_keys, support_of_range
from deniable.kernels.progressions import (
    fractions_of_steps,
    perturb_progression,
    support_by_fractions,
    support_by_steps,
    support_by_walking,
)
from deniable.local.frequency.oracle import PureOracle

_BLOCK = 1 << 12
"""Counters that stay in the fastest cache while the reports go by."""


@bulk_half(OLH)
@bulk_half(BLH)
class BulkOLH(PureOracle[OLH]):
    """A report supports the candidates that its seed hashes to its symbol."""

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        seeds, symbols = reports.columns["seed"][part], reports.columns["symbol"][part]
        return perturb_hashed(keys, np.uint64(self.spec.hash_range), np.uint64(self.spec.keep), seeds, symbols, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        columns = reports.columns["seed"][part], reports.columns["symbol"][part], np.uint64(self.spec.hash_range)
        size = self.spec.domain_size if candidates is None else candidates.keys.size
        supports = np.zeros(size, dtype=np.uint32)  # a chunk of people cannot overflow 32 bits
        for start in range(0, size, _BLOCK):
            block = supports[start : start + _BLOCK]
            if candidates is not None:
                support_of_keys(*columns, candidates.keys[start : start + _BLOCK], block)
            elif self.spec.seed_words == 2:
                support_of_range(*columns, np.uint64(start), block)
            else:
                support_of_keys(*columns, np.arange(start, start + block.size, dtype=np.uint64), block)
        return supports


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
            support_by_fractions(fractions, shifts, np.uint64(modulus), width, candidates.keys[block], supports[block])
        return supports
