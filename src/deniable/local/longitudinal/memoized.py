"""The vectorized half that all longitudinal mechanisms share: the same steps as one device, for many devices at once.

``privatize`` is one report of each of many devices that have nothing yet. ``kept`` makes their permanent answers, and ``again`` reports
from these; both are batches with the columns of reports, so that what devices keep can be stored and merged like reports. ``Crowd`` uses
them to follow the same devices over many rounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from hashlib import sha256
from typing import Any

import numpy as np

from deniable.client.loloha import LOLOHA
from deniable.client.longitudinal import LongitudinalSpec
from deniable.client.longitudinal_grr import LongitudinalGRR
from deniable.client.longitudinal_unary import LongitudinalUnary
from deniable.client.rappor import RAPPOR
from deniable.contract.source import Source
from deniable.contract.spec import Spec, bulk_half
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.core.tally import Candidates, require_same_spec
from deniable.core.values import keys_of
from deniable.kernels.compiled import Array
from deniable.kernels.longitudinal import (
    AGAIN,
    ALL,
    PERMANENT,
    PERSONAL,
    bits_twice,
    filters_twice,
    hashed_twice,
    symbols_of,
    symbols_twice,
)
from deniable.kernels.symbols import count_symbols
from deniable.local.frequency.bloom_rr import BulkBloomRR
from deniable.local.frequency.named_sets import BulkOLH
from deniable.local.frequency.oracle import PureOracle
from deniable.local.frequency.unary import BulkUnary

Batches = tuple[Reports, Reports]
"""What devices keep, and what they send; may be the same batch where all steps are done at once."""


class MemoizedOracle(ABC):
    """The vectorized half of a mechanism of ``client.longitudinal``, on top of its one-step relative."""

    spec: Any

    @abstractmethod
    def draw(self, steps: int, keys: Array, batches: Batches, part: slice, words: Array) -> tuple[int, int]:
        """Do the steps for the people in ``part``; return how many people and words were used."""

    def classes(self, keys: Array, memos: Reports) -> Array:
        """A number for the class of each value, given the personal part of each device: equal for equal classes of one device."""
        return keys

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        return self.draw(ALL, keys, (reports, reports), part, words)

    def kept(self, keys: Array, personal: Reports | None, source: Source | None) -> Reports:
        """The permanent answers of many devices, with their personal parts: new ones, or those of an earlier batch."""
        memos = Reports.empty(self.spec, keys.size)
        steps = PERMANENT if personal is not None else PERSONAL | PERMANENT
        if personal is not None:
            for column in self.spec.personal_layout:
                memos.columns[column.name][...] = personal.columns[column.name]
        serve_everyone(keys.size, lambda part, words: self.draw(steps, keys[part], (memos, memos), part, words), source)
        return memos

    def again(self, memos: Reports, source: Source | None) -> Reports:
        """One report of each device, from what it keeps."""
        require_same_spec(self.spec, memos.spec)
        memos = Reports(self.spec, memos.n, {name: np.require(column, requirements="W") for name, column in memos.columns.items()})
        out = Reports.empty(self.spec, memos.n)
        for column in self.spec.personal_layout:
            out.columns[column.name][...] = memos.columns[column.name]
        nothing = np.empty(0, dtype=np.uint64)
        serve_everyone(memos.n, lambda part, words: self.draw(AGAIN, nothing, (memos, out), part, words), source)
        return out


def permanent_answers(spec: LongitudinalSpec, values: Any, *, source: Source | None = None) -> Reports:
    """What many devices keep, each for its own value: a batch with the columns of reports.

    >>> from deniable.client import LongitudinalGRR
    >>> spec = LongitudinalGRR(domain_size=4, epsilon=2.0)
    >>> kept = permanent_answers(spec, [0, 1, 2, 3] * 100)
    >>> len(instantaneous_answers(spec, kept))
    400
    """
    return bulk_of(spec).kept(keys_of(spec.domain, values), None, source)


def instantaneous_answers(spec: LongitudinalSpec, kept: Reports, *, source: Source | None = None) -> Reports:
    """One report of each device, from what it keeps. ``source`` is for replaying fixed words in tests."""
    return bulk_of(spec).again(kept, source)


def bulk_of(spec: Spec) -> MemoizedOracle:
    """The vectorized half of a longitudinal mechanism."""
    return spec._bulk  # type: ignore[return-value]  # every longitudinal mechanism's is one


@bulk_half(LongitudinalGRR)
class BulkLongitudinalGRR(MemoizedOracle, PureOracle[LongitudinalGRR]):
    """A symbol supports itself."""

    @property
    def report_sum(self) -> int:
        return 1

    def draw(self, steps: int, keys: Array, batches: Batches, part: slice, words: Array) -> tuple[int, int]:
        memos, out = batches
        thresholds = np.uint64(self.spec.keep), np.uint64(self.spec.keep_again)
        columns = memos.columns["symbol"][part], out.columns["symbol"][part]
        return symbols_twice(keys, self.spec.domain_size, *thresholds, steps, *columns, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        counts = np.zeros(self.spec.domain_size, dtype=np.int64)
        count_symbols(reports.columns["symbol"][part], counts)
        return counts


@bulk_half(LongitudinalUnary)
class BulkLongitudinalUnary(MemoizedOracle, BulkUnary):
    """A report supports the values whose bits are set."""

    def draw(self, steps: int, keys: Array, batches: Batches, part: slice, words: Array) -> tuple[int, int]:
        memos, out = batches
        spec = self.spec
        thresholds = np.uint64(spec.raise_other), np.uint64(spec.keep), np.uint64(spec.keep_again), np.uint64(spec.raise_again)
        columns = memos.columns["bits"][part], out.columns["bits"][part]
        return bits_twice(keys, spec.domain_size, *thresholds, steps, *columns, words)


@bulk_half(LOLOHA)
class BulkLOLOHA(MemoizedOracle, BulkOLH):
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


@bulk_half(RAPPOR)
class BulkRAPPOR(MemoizedOracle, BulkBloomRR):
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
