"""dBitFlip with permanent memoization in bulk: for each value, how often it was drawn, and how often its bit was 1 then."""

from __future__ import annotations

import numpy as np

from deniable.client.dbit_flip_pm import DBitFlipPM
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.kernels.compiled import Array
from deniable.kernels.memoized import buckets_twice
from deniable.local.frequency.dbitflip import BulkDBitFlip
from deniable.local.longitudinal.steps import Batches, Steps


@bulk_half(DBitFlipPM)
class BulkDBitFlipPM(Steps, BulkDBitFlip):
    """The tally and the estimate of dBitFlip; the bits may be flipped twice."""

    def draw(self, steps: int, keys: Array, batches: Batches, part: slice, words: Array) -> tuple[int, int]:
        memos, out = batches
        spec = self.spec
        thresholds = np.uint64(spec.raise_other), np.uint64(spec.keep), np.uint64(spec.flip_again)
        buckets, kept, first, stride = self._columns(memos, part)
        bits = self._columns(out, part)[1]
        return buckets_twice(keys, spec.domain_size, *thresholds, steps, buckets, kept, bits, first, stride, words)

    def classes(self, keys: Array, memos: Reports) -> Array:
        """The value itself where it was drawn; one number for all that were not."""
        buckets = memos.columns["buckets"].reshape(keys.size, -1)
        drawn = (buckets == keys[:, None]).any(axis=1)
        return np.where(drawn, keys.astype(np.uint64), np.uint64(self.spec.domain_size))
