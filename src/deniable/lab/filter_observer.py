"""An observer of Chrome's RAPPOR: how often the best guess from so many reports of one device names its value."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from deniable.client.presets import chrome_2014
from deniable.client.rappor import RAPPOR
from deniable.contract.source import ONE, Source
from deniable.core.reports import Reports
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population
from deniable.local.longitudinal.memoized import bulk_of

DEVICES = 100


@dataclass(frozen=True)
class FilterObserver(Method):
    """An observer of Chrome's configuration; bits are independent given the filter, so each counts separately.

    ``forgetful`` devices keep their cohort and draw the permanent noise anew for each report.
    """

    label: str
    forgetful: bool = False

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> RAPPOR:
        parts = {name: getattr(chrome_2014, name) for name in ("bits", "hashes", "cohorts")}
        return RAPPOR.from_probabilities(f="1/2", p="1/4", q="3/4", domain=population.domain, salt=repetition, **parts)

    def run(self, setup: RAPPOR, values: Any, source: Source) -> Outcome:
        keys = np.array([source.below(setup.domain_size) for _ in range(DEVICES)], dtype=np.uint64)
        bulk = bulk_of(setup)
        memos = bulk.kept(keys, None, source)
        ones = np.zeros((DEVICES, setup.bits), dtype=np.int64)
        for _ in range(len(values)):
            batch = bulk.again(bulk.kept(keys, memos, source) if self.forgetful else memos, source)
            ones += _bits(batch, setup.bits)
        weights = self._evidence(setup, ones, len(values))
        scores = np.array([_filters(setup, int(cohort)) @ row for cohort, row in zip(memos.columns["cohort"], weights, strict=True)])
        best = scores >= scores.max(axis=1, keepdims=True) - 1e-9
        return Outcome([], np.empty(0), rate=float(np.mean(best[np.arange(DEVICES), keys.astype(np.int64)] / best.sum(axis=1))))

    def _evidence(self, spec: RAPPOR, ones: Array, reports: int) -> Array:
        """The logarithm of how much likelier a bit's reports are if it is set."""
        if self.forgetful:
            p, q = (float(side) for side in spec.both)
            return np.asarray(ones * np.log(p / q) + (reports - ones) * np.log((1 - p) / (1 - q)))
        keep, rise = spec.coin[1] / ONE, spec.coin[2] / ONE
        ratio = ones * np.log(keep / rise) + (reports - ones) * np.log((1 - keep) / (1 - rise))  # kept as 1 against kept as 0
        p, q = (float(side) for side in spec.kept)
        return np.asarray(np.logaddexp(np.log(p) + ratio, np.log(1 - p)) - np.logaddexp(np.log(q) + ratio, np.log(1 - q)))

    @property
    def gives(self) -> set[str]:
        return {"rate"}

    def identity(self) -> str:
        return repr((self.label, self.forgetful))

    def expected(self, metric: str, outcome: Outcome, population: Population, epsilon: float, n: int) -> float | None:
        """What no observer exceeds, if permanent answers are kept."""
        bound = exp(chrome_2014.epsilon)
        return None if self.forgetful else bound / (bound + population.domain.size - 1)


def _bits(batch: Reports, count: int) -> Array:
    return np.unpackbits(batch.columns["bits"], axis=1, bitorder="little")[:, :count].astype(np.int64)


def _filters(spec: RAPPOR, cohort: int) -> Array:
    """Which bits each value sets, values x bits."""
    filters = [spec.filter(cohort, key).to_bytes(-(-spec.bits // 8), "little") for key in range(spec.domain_size)]
    table = np.frombuffer(b"".join(filters), np.uint8).reshape(spec.domain_size, -1)
    return np.unpackbits(table, axis=1, bitorder="little")[:, : spec.bits].astype(float)
