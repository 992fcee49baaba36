"""Longitudinal unary encoding in bulk: packed rows of bits, added up column by column."""

from __future__ import annotations

import numpy as np

from deniable.client.longitudinal_unary import LongitudinalUnary
from deniable.contract.spec import bulk_half
from deniable.kernels.compiled import Array
from deniable.kernels.longitudinal import bits_twice
from deniable.local.frequency.unary import BulkUnary
from deniable.local.longitudinal.steps import Batches, Steps


@bulk_half(LongitudinalUnary)
class BulkLongitudinalUnary(Steps, BulkUnary):
    """A report supports the values whose bits are set."""

    def draw(self, steps: int, keys: Array, batches: Batches, part: slice, words: Array) -> tuple[int, int]:
        memos, out = batches
        spec = self.spec
        thresholds = np.uint64(spec.raise_other), np.uint64(spec.keep), np.uint64(spec.keep_again), np.uint64(spec.raise_again)
        columns = memos.columns["bits"][part], out.columns["bits"][part]
        return bits_twice(keys, spec.domain_size, *thresholds, steps, *columns, words)
