"""RAPPOR in bulk: packed rows of bits, added up cohort by cohort, and regressed on the candidates."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from deniable.client.rappor import RAPPOR
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.kernels.compiled import Array
from deniable.kernels.longitudinal import filters_twice
from deniable.local.frequency.bloom_rr import BulkBloomRR
from deniable.local.longitudinal.steps import Batches, Steps


@bulk_half(RAPPOR)
class BulkRAPPOR(Steps, BulkBloomRR):
    """The tally and the estimate of Bloom filters; the bits are noisy twice."""

    def draw(self, steps: int, keys: Array, batches: Batches, part: slice, words: Array) -> tuple[int, int]:
        memos, out = batches
        spec = self.spec
        flip, keep, rise = spec.coin
        thresholds = np.uint64(flip), np.uint64(keep), np.uint64(rise), np.uint64(spec.bits)
        columns = memos.columns["cohort"][part], memos.columns["bits"][part], out.columns["bits"][part]
        return filters_twice(keys, self.functions, spec.hashes, self.long, *thresholds, steps, *columns, words)

    def classes(self, keys: Array, memos: Reports) -> Array:
        """Equal filters are one class, and have one number: 64 bits of a digest."""
        cohorts = memos.columns["cohort"].astype(np.uint64)
        pairs, places = np.unique(np.stack([cohorts, keys.astype(np.uint64)]), axis=1, return_inverse=True)
        filters = [self.spec.filter(cohort, key).to_bytes(-(-self.spec.bits // 8), "little") for cohort, key in pairs.T.tolist()]
        numbers = [int.from_bytes(sha256(content).digest()[:8], "big") for content in filters]
        return np.array(numbers, dtype=np.uint64)[places.ravel()]
