"""Sketches in bulk: a table of supports by function and cell, asked about any candidates afterwards."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from deniable.client.sketch import SketchProtocol
from deniable.contract.domain import IndexRange
from deniable.contract.hashing import public_function
from deniable.core.stream import in_parallel
from deniable.core.supports import SupportEstimate
from deniable.core.tally import Candidates, Tally
from deniable.kernels.compiled import Array
from deniable.kernels.sketches import supports_of_cells
from deniable.local.frequency.oracle import FrequencyOracle

SketchType = TypeVar("SketchType", bound=SketchProtocol)
_BLOCK = 1 << 12
"""Candidates whose supports stay in the fastest cache while the functions go by."""


class SketchOracle(FrequencyOracle[SketchType]):
    """The bulk half of a mechanism in the frame of ``client.sketch``: its counters are a table, functions times cells."""

    @property
    def tally_counters(self) -> int:
        return self.spec.hashes * self.spec.cells

    def check_countable(self, candidates: Any) -> None:
        pass  # a sketch is tallied without looking at values

    @cached_property
    def functions(self) -> Array:
        """The seeds of all public functions, and ``long`` keys need the pair form of them."""
        return np.array([public_function(self.spec.salt, j) for j in range(self.spec.hashes)], dtype=np.uint64)

    @property
    def long(self) -> bool:
        """Whether keys have more than 32 bits."""
        return self.spec.domain.key_bits > self.spec.family.half

    def of_whole(self, tally: Tally, candidates: Any) -> SupportEstimate:
        domain = self.spec.domain
        if candidates is None:
            super().check_countable(None)
            keys = np.arange(domain.size, dtype=np.uint64)
            values: Any = range(domain.size) if isinstance(domain, IndexRange) else [domain.value(key) for key in range(domain.size)]
        else:
            chosen = Candidates.of(domain, candidates)
            keys, values = chosen.keys, chosen.values
        return self.estimated(values, tally.n, self.supports(tally.counters, keys), whole=candidates is None)

    def supports(self, counters: Array, keys: Array) -> Array:
        """How many reports support each key."""
        table = counters.reshape(self.spec.hashes, self.spec.cells)
        supports = np.zeros(keys.size, dtype=np.int64)
        blocks = [slice(start, start + _BLOCK) for start in range(0, keys.size, _BLOCK)]
        in_parallel(lambda block: supports_of_cells(self.functions, self.long, table, keys[block], supports[block]), blocks)
        return supports

    def estimated(self, values: Any, n: int, counters: Array, *, whole: bool = False) -> SupportEstimate:
        p, q = np.asarray(float(self.spec.p)), np.asarray(float(self.spec.q))
        plain = SupportEstimate(self.spec, values, n, counters, p, q)
        # The sum of the squared counts, without the noise in it. People whose values were not asked about may all hold the same one.
        known = float(np.sum(plain.counts**2 - plain.variance(np.clip(plain.counts, 0, n))))
        rest = 0.0 if whole else float(np.clip(n - plain.counts.sum(), 0, n))
        least = n * n / max(self.spec.domain_size, 1) if whole else 0.0
        squares = float(np.clip(known + rest**2, least, float(n) ** 2))
        return SupportEstimate(self.spec, values, n, counters, p, q, collisions=self.spec.collisions, squares=squares)
