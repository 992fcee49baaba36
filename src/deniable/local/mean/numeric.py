"""The vectorized half that all mechanisms for numbers share: values in, reports and tally out.

A mechanism adds the kernel that makes its reports, and the kernel that counts them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np

from deniable.client.numeric import NumericSpec
from deniable.contract.numbers import round_at_random
from deniable.contract.source import Source
from deniable.core.number_column import NumberColumn, number_column
from deniable.core.reports import Reports
from deniable.core.stream import CHUNK, ArraySource, cores, in_parallel, serve_everyone
from deniable.core.tally import WHOLE_DOMAIN, Tally, require_same_spec
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.numbers import Served

SpecType = TypeVar("SpecType", bound=NumericSpec)
Grid = tuple[float, float, float, float]


class NumericOracle(ABC, Generic[SpecType]):
    """The vectorized half of a mechanism of ``client.numeric``."""

    def __init__(self, spec: SpecType) -> None:
        self.spec = spec

    @abstractmethod
    def perturb(self, numbers: Array, grid: Grid, reports: Reports, part: slice, words: Array) -> Served:
        """Write the reports of the people in ``part``; return how many people and words were used, and whether a doubt stopped it.

        ``grid`` is ``NumberColumn.grid``.
        """

    @abstractmethod
    def count(self, reports: Reports, part: slice) -> Array:
        """Counters for the reports in ``part``."""

    @property
    @abstractmethod
    def tally_counters(self) -> int:
        """How many counters a tally has."""

    def privatize(self, values: Any, source: Source | None) -> Reports:
        column = self.column(values)
        reports = Reports.empty(self.spec, column.given.size)
        grid = column.grid()
        serve_everyone(reports.n, lambda part, words: self._serve(column, grid, reports, part, words), source)
        return reports

    def column(self, values: Any) -> NumberColumn:
        """People's numbers, all of them allowed."""
        return number_column(self.spec.domain, values)

    def _serve(self, column: NumberColumn, grid: Grid, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        served, used, doubtful = self.perturb(column.nearly[part], grid, reports, part, words)
        if doubtful:
            person, source = part.start + served, ArraySource(words[used:])
            try:
                key = round_at_random(column.exact_place(person), source)
                write_report(reports, person, self.spec.perturb(key, source))
            except EOFError:  # the words have run out: this person is served again, from the same words and more
                return served, used
            served, used = served + 1, used + source.consumed
        return served, used

    def tally(self, reports: Any, candidates: Any) -> Tally:
        self.refuse_candidates(candidates)
        if not isinstance(reports, Reports):
            reports = Reports.collect(self.spec, reports)
        require_same_spec(self.spec, reports.spec)
        reports.check_shapes()  # kernels trust what they are given
        share = CHUNK * max(1, -(-reports.n // (CHUNK * cores())))  # one set of counters for each core, however many reports
        parts = [slice(start, min(start + share, reports.n)) for start in range(0, reports.n, share)]
        counters: Array = sum(in_parallel(lambda part: self.count(reports, part), parts), np.zeros(self.tally_counters, dtype=np.int64))
        return Tally(self.spec, reports.n, counters)

    def check_tally(self, tally: Any, candidates: Any) -> None:
        """Raise unless this is a tally of this spec."""
        self.refuse_candidates(candidates)
        if not isinstance(tally, Tally):
            raise ParameterError("tally", type(tally).__name__, allowed="a Tally", fix="write estimate(oracle.tally(reports))")
        require_same_spec(self.spec, tally.spec)
        if tally.digest != WHOLE_DOMAIN or tally.counters.size != self.tally_counters:
            raise MergeError(
                "counters", tally.counters.size, allowed=f"{self.tally_counters} for {self.spec!r}", fix="tally the reports again"
            )

    def refuse_candidates(self, candidates: Any) -> None:
        """Numbers have no candidates."""
        if candidates is not None:
            raise ParameterError(
                "candidates", candidates, allowed=f"none for {self.spec.mechanism}: it counts no values", fix="leave them out"
            )


def write_report(reports: Reports, person: int, report: Any) -> None:
    """One report into its place; what is there is zero. Columns are single numbers, or one bit a person."""
    fields = (report,) if len(reports.spec.layout) == 1 else report
    for column, item in zip(reports.spec.layout, fields, strict=True):
        if column.packed:
            reports.columns[column.name][person >> 3] |= np.uint8(item << (person & 7))
        else:
            reports.columns[column.name][person] = item
