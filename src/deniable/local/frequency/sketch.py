"""Sketches in bulk: a table of supports by function and cell, asked about any candidates afterwards."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from deniable.client.sketch import SketchProtocol
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
        """The seeds of all public functions."""
        return public_functions(self.spec.salt, self.spec.hashes)

    @property
    def long(self) -> bool:
        """Whether keys have more than 32 bits."""
        return self.spec.domain.key_bits > self.spec.family.half

    def estimated(self, tally: Tally, candidates: Any) -> SupportEstimate:
        if candidates is None:
            super().check_countable(None)
        domain = self.spec.domain
        chosen = Candidates.everything(domain) if candidates is None else Candidates.of(domain, candidates)
        p, q, n = np.asarray(float(self.spec.p)), np.asarray(float(self.spec.q)), tally.n
        estimate = SupportEstimate(self.spec, chosen.values, n, self.supports(tally.counters, chosen.keys), p, q)
        squares, jump = self._squares(estimate)
        return replace(estimate, collisions=self.spec.collisions, squares=squares, jump=jump)

    def _squares(self, estimate: SupportEstimate) -> tuple[float, float]:
        """What the counts say about the sum of all squared counts, and about what one collision with the largest adds."""
        counts, n, collisions = estimate.counts, estimate.n, self.spec.collisions
        complete = counts.size == self.spec.domain_size
        rest = 0.0 if complete else float(np.clip(n - counts.sum(), 0, n))  # these people may all hold the same value
        # The squares of the estimates exceed the true ones by the noise and by the collisions themselves.
        seen = float(np.sum(counts**2 - estimate.variance(np.clip(counts, 0, n)))) - collisions * counts.size * rest**2
        known = seen / (1 + collisions * (counts.size - 1)) if self.spec.hashes > 1 else seen  # a single function averages nothing
        squares = float(np.clip(known + rest**2, n * n / self.spec.domain_size, float(n) ** 2))
        largest = max(float(np.clip(counts, 0, n).max(initial=0.0)), rest)
        return squares, largest / (self.spec.hashes * (1 - float(self.spec.family.collision)))

    def supports(self, counters: Array, keys: Array) -> Array:
        """How many reports support each key."""
        table = counters.reshape(self.spec.hashes, self.spec.cells)
        supports = np.zeros(keys.size, dtype=np.int64)
        blocks = [slice(start, start + _BLOCK) for start in range(0, keys.size, _BLOCK)]
        in_parallel(lambda block: supports_of_cells(self.functions, self.long, table, keys[block], supports[block]), blocks)
        return supports


def public_functions(salt: int, count: int) -> Array:
    """The seeds of the first functions of a salt, one in a row."""
    return np.array([public_function(salt, j) for j in range(count)], dtype=np.uint64)
