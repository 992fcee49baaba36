"""A crowd of devices that report a counter again and again: each keeps its alpha and its bits, for experiments and simulations."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.client.one_bit_mean_pm import OneBitMeanPM
from deniable.contract.source import Source
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import fill_below
from deniable.kernels.single_bits import perturb_bit
from deniable.local.longitudinal.one_bit_mean_pm import whole_counters

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
            raise ParameterError("spec", spec, allowed="OneBitMeanPM", fix="for mechanisms that count values, use Crowd")
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
        """How many bits each device keeps: times epsilon, what it has told so far."""
        return np.asarray((self._kept != _NONE).sum(axis=1))

    def report(self, values: Any) -> Reports:
        """One report of every device, each from the bit kept for the grid point of its counter."""
        spec, counters = self.spec, whole_counters(self.spec, values)
        if self._alphas is None:
            if counters.size * spec.classes > _MOST_BITS:
                raise ParameterError("values", counters.size, allowed=f"at most {_MOST_BITS // spec.classes}", fix="follow fewer devices")
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
