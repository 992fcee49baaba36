"""Vectorized randomized response on Bloom filters: packed rows of bits, added up cohort by cohort, and regressed on the candidates."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from deniable.client.bloom_rr import BloomRR
from deniable.contract.spec import bulk_half
from deniable.core.frequency import FrequencyEstimate
from deniable.core.regression import Regression
from deniable.core.reports import Reports
from deniable.core.tally import Candidates, Tally
from deniable.kernels.compiled import Array
from deniable.kernels.sketches import mark_filters, perturb_filter
from deniable.kernels.symbols import count_symbols
from deniable.local.frequency.oracle import FrequencyOracle
from deniable.local.frequency.sketch import public_functions, sums_by_function


@bulk_half(BloomRR)
class BulkBloomRR(FrequencyOracle[BloomRR]):
    """The tally: for each cohort how many reports set each bit, and for each cohort how many reports there are."""

    @property
    def tally_counters(self) -> int:
        return self.spec.cohorts * (self.spec.bits + 1)

    def check_countable(self, candidates: Any) -> None:
        pass  # filters are tallied without looking at values

    @cached_property
    def functions(self) -> Array:
        """The seeds of all public functions, cohort by cohort."""
        return public_functions(self.spec.salt, self.spec.cohorts * self.spec.hashes)

    @property
    def long(self) -> bool:
        """Whether keys have more than 32 bits."""
        return self.spec.domain.key_bits > self.spec.family.half

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        spec, columns = self.spec, (reports.columns["cohort"][part], reports.columns["bits"][part])
        return perturb_filter(keys, self.functions, spec.hashes, self.long, np.uint64(spec.flip), np.uint64(spec.bits), *columns, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        cohorts = reports.columns["cohort"][part]
        ones = sums_by_function(cohorts, reports.columns["bits"][part], self.spec.cohorts, self.spec.bits)
        sizes = np.zeros(self.spec.cohorts, dtype=np.int64)
        count_symbols(cohorts, sizes)
        return np.concatenate([ones.ravel(), sizes])

    def estimated(self, tally: Tally, candidates: Any) -> FrequencyEstimate:
        if candidates is None:
            super().check_countable(None)
        spec, (p, q) = self.spec, map(float, self.spec.both)
        chosen = Candidates.everything(spec.domain) if candidates is None else Candidates.of(spec.domain, candidates)
        marked = np.zeros((spec.cohorts, spec.bits, chosen.keys.size))
        mark_filters(self.functions, spec.hashes, self.long, chosen.keys, marked)
        size = spec.cohorts * spec.bits
        ones, sizes = tally.counters[:size].reshape(spec.cohorts, spec.bits), tally.counters[size:, None]
        filled = 1 - (1 - 1 / spec.bits) ** spec.hashes  # how often a bit belongs to a value, over the hash functions
        law = Regression(
            tally.n,
            marked - filled,
            (ones - q * sizes) / (p - q) - filled * sizes,
            noise=spec.bit_variance,
            largest=spec.influence,
            filled=filled,
            complete=chosen.keys.size == spec.domain_size,
        )
        return FrequencyEstimate.of(spec, chosen.values, law)
