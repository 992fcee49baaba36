"""LOLOHA in bulk: seeds and symbols, matched against candidates."""

from __future__ import annotations

import numpy as np

from deniable.client.loloha import LOLOHA
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.kernels.compiled import Array
from deniable.kernels.longitudinal import hashed_twice, symbols_of
from deniable.local.frequency.olh import BulkOLH
from deniable.local.longitudinal.steps import Batches, Steps


@bulk_half(LOLOHA)
class BulkLOLOHA(Steps, BulkOLH):
    """A report supports the candidates that its seed hashes to its symbol."""

    def draw(self, steps: int, keys: Array, batches: Batches, part: slice, words: Array) -> tuple[int, int]:
        memos, out = batches
        thresholds = np.uint64(self.spec.hash_range), np.uint64(self.spec.keep), np.uint64(self.spec.keep_again)
        columns = memos.columns["seed"][part], memos.columns["symbol"][part], out.columns["symbol"][part]
        return hashed_twice(keys, *thresholds, steps, *columns, words)

    def classes(self, keys: Array, memos: Reports) -> Array:
        symbols = np.empty(keys.size, dtype=np.uint64)
        symbols_of(keys, np.uint64(self.spec.hash_range), memos.columns["seed"], symbols)
        return symbols
