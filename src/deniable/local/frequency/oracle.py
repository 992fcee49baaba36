"""The vectorized half that all mechanisms for counting answers share: values in, reports, tally, estimate out.

A mechanism adds the kernel that makes its reports, the kernel that counts them, and what the counters say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.client.pure import PureProtocol
from deniable.contract.source import Source
from deniable.core.frequency import FrequencyEstimate
from deniable.core.law import CountLaw
from deniable.core.reports import Reports
from deniable.core.stream import CHUNK, cores, in_parallel, serve_everyone
from deniable.core.supports import Supports
from deniable.core.tally import WHOLE_DOMAIN, Candidates, Tally, require_same_spec
from deniable.core.values import keys_of
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array

SpecType = TypeVar("SpecType", bound=FrequencySpec)
LARGEST_LISTING = 1 << 26
"""The most values that are counted without being named."""


class FrequencyOracle(ABC, Generic[SpecType]):
    """The vectorized half of a mechanism of ``client.frequency``."""

    def __init__(self, spec: SpecType) -> None:
        self.spec = spec

    @abstractmethod
    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        """Write the reports of the people in ``part``, from the words; return how many people and words were used."""

    @abstractmethod
    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        """Counters for the reports in ``part``: how many support each candidate or each value, in most mechanisms."""

    @abstractmethod
    def estimated(self, tally: Tally, candidates: Any) -> FrequencyEstimate:
        """What a tally of this spec says about the candidates, or about all values."""

    @property
    def raw_counters(self) -> int:
        """How many integers ``count`` returns when no candidates are named."""
        return self.tally_counters

    @property
    def tally_counters(self) -> int:
        """How many counters a tally has when no candidates are named."""
        return self.spec.domain_size

    @property
    def report_sum(self) -> int | None:
        """What one report adds to all counters together, where that is fixed: a tally of other sums was made up."""
        return None

    def finish(self, sums: Array, n: int) -> Array:
        """Turn the sums of ``count`` over all parts into the tally's counters; where they are that already, nothing is left to do."""
        return sums

    def privatize(self, values: Any, source: Source | None) -> Reports:
        keys = keys_of(self.spec.domain, values)
        reports = Reports.empty(self.spec, keys.size)
        serve_everyone(keys.size, lambda part, words: self.perturb(keys[part], reports, part, words), source)
        return reports

    def tally(self, reports: Any, candidates: Any) -> Tally:
        if not isinstance(reports, Reports):
            reports = Reports.collect(self.spec, reports)
        require_same_spec(self.spec, reports.spec)
        reports.check_shapes()  # kernels trust what they are given
        self.check_countable(candidates)
        if candidates is not None and not self.spec.candidates_at_tally:
            raise ParameterError(
                "candidates", candidates, allowed=f"none for {self.spec.mechanism}, which counts every value", fix="pass them to estimate"
            )
        chosen = None if candidates is None else Candidates.of(self.spec.domain, candidates)
        share = CHUNK * max(1, -(-reports.n // (CHUNK * cores())))  # one set of counters for each core, however many reports
        parts = [slice(start, min(start + share, reports.n)) for start in range(0, reports.n, share)]
        size = self.raw_counters if chosen is None else chosen.keys.size
        sums = np.zeros(size, dtype=np.int64)
        for counted in in_parallel(lambda part: self.count(reports, part, chosen), parts):
            sums += counted
        counters = self.finish(sums, reports.n) if chosen is None else sums
        return Tally(self.spec, reports.n, counters, WHOLE_DOMAIN if chosen is None else chosen.digest, chosen)

    def estimate(self, tally: Tally, candidates: Any) -> FrequencyEstimate:
        if not isinstance(tally, Tally):
            raise ParameterError("tally", type(tally).__name__, allowed="a Tally", fix="write estimate(oracle.tally(reports))")
        require_same_spec(self.spec, tally.spec)
        if tally.digest == WHOLE_DOMAIN and tally.counters.size != self.tally_counters:
            raise MergeError(
                "counters", tally.counters.size, allowed=f"{self.tally_counters} for {self.spec!r}", fix="tally the reports again"
            )
        if tally.digest != WHOLE_DOMAIN and not self.spec.candidates_at_tally:
            raise MergeError(
                "candidates", tally.digest.hex(), allowed=f"none in a tally of {self.spec.mechanism}", fix="tally the reports again"
            )
        if tally.digest == WHOLE_DOMAIN and self.report_sum is not None and int(tally.counters.sum()) != tally.n * self.report_sum:
            allowed = f"a sum of {tally.n * self.report_sum} for {tally.n} reports"
            raise MergeError("counters", int(tally.counters.sum()), allowed=allowed, fix="discard this tally: it is damaged or false")
        return self.estimated(tally, candidates)

    def check_countable(self, candidates: Any) -> None:
        """Refuse to count a domain that is too large to list, unless candidates are named."""
        if candidates is None and not (self.spec.domain.listed and self.spec.domain_size <= LARGEST_LISTING):
            raise ParameterError(
                "candidates",
                None,
                allowed=f"a list of values; only domains of at most {LARGEST_LISTING} are counted whole",
                fix="name candidates=[...]",
            )


class ListedOracle(FrequencyOracle[SpecType]):
    """A vectorized half that estimates everything it has counted, and then selects what was asked about."""

    @abstractmethod
    def count_law(self, n: int, counters: Array) -> CountLaw:
        """What the counters say about all values, or all candidates that were tallied."""

    def estimated(self, tally: Tally, candidates: Any) -> FrequencyEstimate:
        domain = self.spec.domain
        if tally.digest == WHOLE_DOMAIN:
            estimate = FrequencyEstimate.of(self.spec, Candidates.everything(domain).values, self.count_law(tally.n, tally.counters))
            if candidates is None:
                return estimate
            named = estimate.select(Candidates.of(domain, candidates).keys.astype(np.int64))
            return replace(named, family_size=len(named.values))  # named before looking: statements are about these alone
        chosen = tally.candidates if candidates is None else Candidates.of(domain, candidates)
        if chosen is None or chosen.digest != tally.digest or chosen.keys.size != tally.counters.size:
            raise MergeError(
                "candidates",
                None if chosen is None else chosen.digest.hex(),
                allowed=f"the list with digest {tally.digest.hex()}, which was tallied",
                fix="pass estimate(tally, candidates=...) the same values in the same order",
            )
        return FrequencyEstimate.of(self.spec, chosen.values, self.count_law(tally.n, tally.counters))


PureType = TypeVar("PureType", bound=PureProtocol)


class PureOracle(ListedOracle[PureType]):
    """The vectorized half of a mechanism of ``client.pure``: its counters are supports."""

    def count_law(self, n: int, counters: Array) -> Supports:
        return Supports(n, counters, *self.probabilities())

    def probabilities(self) -> tuple[Array, Array]:
        """P and q as floats, one each or one per value."""
        return np.asarray(float(self.spec.p)), np.asarray(float(self.spec.q))
