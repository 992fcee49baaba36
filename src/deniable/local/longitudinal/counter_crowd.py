"""A crowd of devices that report a counter again and again: each keeps its alpha and its bits, for experiments and simulations."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.client.dbit_flip_pm import DBitFlipPM
from deniable.client.one_bit_mean_pm import OneBitMeanPM
from deniable.contract.source import Source
from deniable.contract.spec import bulk_half
from deniable.core.number_column import NumberColumn, number_column
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.memoized import buckets_twice
from deniable.kernels.sampling import fill_below
from deniable.kernels.single_bits import counter_bits, first_broken, perturb_bit
from deniable.local.frequency.entries import BulkDBitFlip
from deniable.local.longitudinal.memoized import Batches, MemoizedOracle
from deniable.local.mean.one_bit import BulkOneBit

_MOST_BITS = 1 << 31
_NONE = 2


class CounterCrowd:
    """Devices in the order of their counters: the same place is the same device, round after round.

    A device whose counter is rounded to a grid point that it has reported before draws no bit anew; each report flips the bit it keeps
    with probability gamma. The law is that of devices; the order of words is its own. ``source`` is for replaying fixed words in tests.

    >>> from deniable.client import OneBitMeanPM
    >>> crowd = CounterCrowd(OneBitMeanPM.with_gamma("1/5", low=0, high=100, epsilon=1.0))
    >>> rounds = [crowd.report([0, 100] * 50) for _ in range(3)]
    >>> crowd.permanent_answers, len(rounds[2])
    (100, 100)
    >>> _ = crowd.report([100, 100] * 50)
    >>> crowd.permanent_answers
    150
    """

    def __init__(self, spec: OneBitMeanPM, *, source: Source | None = None) -> None:
        if not isinstance(spec, OneBitMeanPM):
            raise ParameterError("spec", spec, allowed="OneBitMeanPM", fix="use Crowd for mechanisms that count values")
        self.spec = spec
        self.source = source
        self._alphas: Array | None = None
        self._kept: Array = np.empty((0, spec.classes), dtype=np.uint8)

    @property
    def permanent_answers(self) -> int:
        """How many bits all devices keep together."""
        return int(np.count_nonzero(self._kept != _NONE))

    @property
    def answers_of(self) -> Array:
        """How many bits each device keeps: times epsilon, the privacy that it has spent."""
        return np.asarray((self._kept != _NONE).sum(axis=1))

    def report(self, values: Any) -> Reports:
        """One report of every device, each from the bit kept for the grid point of its counter."""
        spec, counters = self.spec, whole_counters(self.spec, values)
        if self._alphas is None:
            if counters.size * spec.classes > _MOST_BITS:
                raise ParameterError("values", counters.size, allowed=f"at most {_MOST_BITS // spec.classes}", fix="simulate fewer devices")
            self._alphas = alphas = np.empty(counters.size, dtype=np.uint64)
            serve_everyone(counters.size, lambda part, words: fill_below(np.uint64(spec.cell), alphas[part], words), self.source)
            self._kept = np.full((counters.size, spec.classes), _NONE, dtype=np.uint8)
        if counters.size != self._alphas.size:
            allowed = f"one for each of {self._alphas.size} devices"
            raise DomainError("values", f"{counters.size} of them", allowed=allowed, fix="keep the order")
        people, points = np.arange(counters.size), (counters + self._alphas) // np.uint64(spec.cell)
        new = np.flatnonzero(self._kept[people, points] == _NONE)
        for point in np.unique(points[new]).tolist():
            some = new[points[new] == point]
            self._kept[some, point] = self._coins(spec.first + point * spec.step, some.size)
        flips = self._coins(spec.flip_again, counters.size)
        reports = Reports.empty(spec, counters.size)
        packed = np.packbits(self._kept[people, points] ^ flips, bitorder="little")
        reports.columns["bit"][: packed.size] = packed
        return reports

    def _coins(self, threshold: int, count: int) -> Array:
        """So many bits that are 1 with a threshold."""
        bits, both = np.zeros(count // 8 + 1, dtype=np.uint8), (np.uint64(threshold), np.uint64(0))
        yes = np.ones(count, dtype=bool)
        serve_everyone(count, lambda part, words: perturb_bit(yes[part], *both, bits, part.start, words), self.source)
        return np.unpackbits(bits, count=count, bitorder="little")


@bulk_half(OneBitMeanPM)
class BulkOneBitMeanPM(BulkOneBit):
    """A report adds its bit."""

    def privatize(self, values: Any, source: Source | None) -> Reports:
        if not isinstance(self.spec, OneBitMeanPM):
            raise ParameterError("spec", self.spec, allowed="OneBitMeanPM", fix="use the class that this mechanism registered")
        spec, column = self.spec, _whole(self.spec, values)
        cell, steps, first, step, flip = (np.uint64(number) for number in (spec.cell, spec.steps, spec.first, spec.step, spec.flip_again))
        reports = Reports.empty(spec, column.given.size)
        bits = reports.columns["bit"]

        def serve(part: slice, words: Array) -> tuple[int, int]:
            return counter_bits(column.given[part], column.start, cell, steps, first, step, flip, bits, part.start, words)

        serve_everyone(reports.n, serve, source)
        return reports


def _whole(spec: OneBitMeanPM, values: Any) -> NumberColumn:
    """Return people's counters; DomainError unless all are whole numbers."""
    column = number_column(spec.domain, values)
    whole = column.given.dtype.kind == "i"
    person = column.given.size if whole else first_broken(column.given, column.start, float(spec.domain.width))
    if person == column.given.size and not column.exact and not whole:
        person = next((i for i in range(person) if (column.exact_place(i) * spec.cell).denominator != 1), person)
    if person < column.given.size:
        received = float(column.given[person])
        raise DomainError(f"values[{person}]", received, allowed="whole numbers", fix="count in smaller units; no report was made")
    return column


def whole_counters(spec: OneBitMeanPM, values: Any) -> Array:
    """How far each counter is above low; DomainError unless all are whole numbers in the range."""
    column = _whole(spec, values)
    return np.clip(column.nearly - column.start, 0.0, float(spec.domain.width)).astype(np.uint64)


@bulk_half(DBitFlipPM)
class BulkDBitFlipPM(MemoizedOracle, BulkDBitFlip):
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
