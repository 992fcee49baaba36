"""Microsoft's counters in bulk: one report of each of many devices that have nothing yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.client.one_bit_mean_pm import OneBitMeanPM
from deniable.contract.source import Source
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.memoized import counter_bits
from deniable.local.mean.one_bit import BulkOneBit


@bulk_half(OneBitMeanPM)
class BulkOneBitMeanPM(BulkOneBit):
    """A report adds its bit."""

    def privatize(self, values: Any, source: Source | None) -> Reports:
        if not isinstance(self.spec, OneBitMeanPM):
            raise ParameterError("spec", self.spec, allowed="OneBitMeanPM", fix="use its own bulk half")
        spec, counters = self.spec, self._counters(values)
        law = np.uint64(spec.cell), np.uint64(spec.first), np.uint64(spec.step), np.uint64(spec.flip_again)
        reports = Reports.empty(spec, counters.size)
        bits = reports.columns["bit"]
        serve_everyone(counters.size, lambda part, words: counter_bits(counters[part], *law, bits, part.start, words), source)
        return reports

    def _counters(self, values: Any) -> Array:
        """How far each counter is above low; DomainError unless all are whole."""
        column = self.column(values)
        counters = column.nearly - float(self.spec.domain.start)
        whole = counters == np.floor(counters)
        if not whole.all():
            person = int(whole.argmin())
            received = float(column.nearly[person])
            raise DomainError(f"values[{person}]", received, allowed="whole numbers", fix="count in smaller units; no report was made")
        return counters.astype(np.uint64)
