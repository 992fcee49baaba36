"""Microsoft's counters in bulk: one report of each of many devices that have nothing yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.client.one_bit_mean_pm import OneBitMeanPM
from deniable.contract.source import Source
from deniable.contract.spec import bulk_half
from deniable.core.number_column import NumberColumn, number_column
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.single_bits import counter_bits, first_broken
from deniable.local.mean.one_bit import BulkOneBit


@bulk_half(OneBitMeanPM)
class BulkOneBitMeanPM(BulkOneBit):
    """A report adds its bit."""

    def privatize(self, values: Any, source: Source | None) -> Reports:
        if not isinstance(self.spec, OneBitMeanPM):
            raise ParameterError("spec", self.spec, allowed="OneBitMeanPM", fix="use its own bulk half")
        spec, column = self.spec, _whole(self.spec, values)
        cell, steps, first, step, flip = (np.uint64(number) for number in (spec.cell, spec.steps, spec.first, spec.step, spec.flip_again))
        reports = Reports.empty(spec, column.given.size)
        bits = reports.columns["bit"]

        def serve(part: slice, words: Array) -> tuple[int, int]:
            return counter_bits(column.given[part], column.start, cell, steps, first, step, flip, bits, part.start, words)

        serve_everyone(reports.n, serve, source)
        return reports


def _whole(spec: OneBitMeanPM, values: Any) -> NumberColumn:
    """People's counters; DomainError unless all are whole numbers."""
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
