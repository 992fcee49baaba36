"""Tests of whether honest devices could have sent a batch of reports.

Anyone who makes reports up has to know how honest ones scatter. Where a law is the same whatever people hold, it can be tested
without knowing anything about them:

========  ===========================================================================================================================
popcount  how many bits of a report are set: one coin of the true value and many coins of all others, in OUE, SUE, THE, CMS, DBitFlip
          and, up to hash functions that meet in one bit, BloomRR
pairs     bits that are set together more often than the two of them explain: ``core.set_bits``
draws     what a device draws without looking at its value, seeds, functions, cohorts, rows, steps and buckets: each equally often
========  ===========================================================================================================================

Every p-value is a bound that holds for any number of reports and anything that people hold: no test is asymptotic. Single values (GRR, RR)
and points show nothing, because an honest person may send any of them. Nor does any test see a person who lies and then randomizes
honestly, or who draws reports of the honest law and keeps those that help. ``manipulation_budget`` says what a few of those can do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import scipy

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import typed
from deniable.contract.readable import percent
from deniable.contract.spec import Spec
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import check_level
from deniable.core.reports import Reports
from deniable.core.set_bits import chance_of, popcount_range, popcounts, strongest_pair
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

DRAWN = ("seed", "function", "cohort", "row", "step", "buckets")
"""Columns that do not depend on the value, and are uniform."""


class Finding(NamedTuple):
    """One test: the most suspicious number of reports that it saw, what it would expect there, and the chance of as clear a thing.

    That chance is about honest people, and about everything that the test has looked at.
    """

    test: str
    seen: float
    expected: float
    p_value: float
    what: str


@dataclass(frozen=True, eq=False, repr=False)
class IntegrityReport(Table):
    """The results of integrity tests on n reports under a ``spec``: one of the ``findings`` for each test.

    ``suspicious`` names those that honest reports pass with probability 1 - alpha at least, all tests together.

    >>> from deniable.client import OUE
    >>> from deniable.testing import ReplaySource
    >>> spec = OUE(domain_size=1024, epsilon=1.0)
    >>> honest = spec.privatize(np.zeros(9_900, dtype=int), source=ReplaySource.from_key("honest"))
    >>> check_reports(honest).suspicious
    []
    >>> bits = np.zeros((100, 128), dtype=np.uint8)
    >>> bits[:, 0] = 0b11111  # five values, and nothing else
    >>> check_reports(Reports(spec, 10_000, {"bits": np.vstack([honest.columns["bits"], bits])})).suspicious
    ['popcount']
    """

    spec: Spec
    n: int
    alpha: float
    findings: tuple[Finding, ...]

    @property
    def suspicious(self) -> list[str]:
        """The tests that are significant at alpha."""
        return [finding.test for finding, p in zip(self.findings, self.p_values, strict=True) if p <= self.alpha]

    @property
    def p_values(self) -> list[float]:
        """The p-value of each test, corrected for all tests (Bonferroni)."""
        return [min(1.0, finding.p_value * len(self.findings)) for finding in self.findings]

    def rows(self) -> dict[str, Any]:
        tests, seen, expected, _, what = zip(*self.findings, strict=True) if self.findings else ((),) * 5
        return {
            "value": list(tests),
            "seen": np.array(seen, dtype=float),
            "expected": np.array(expected, dtype=float),
            "p": np.array(self.p_values),
            "what": list(what),
        }

    def headline(self) -> str:
        if not self.findings:
            return f"{self.n:,} reports, {self.spec.mechanism}: nothing to test: honest devices send every possible report"
        verdict = "some reports are false" if self.suspicious else "no sign of tampering"
        return f"{self.n:,} reports, {self.spec.mechanism}: {verdict}; false-positive rate at most {percent(self.alpha)}"

    def order(self) -> Array:
        return np.argsort(self.p_values, kind="stable")


def check_reports(reports: Reports, alpha: float = 0.01) -> IntegrityReport:
    """Test a batch with one report of each person; the false-positive rate is at most alpha."""
    check_level("alpha", alpha)
    if not isinstance(reports, Reports):
        raise ParameterError("reports", type(reports).__name__, allowed="Reports", fix="pass Reports.collect(spec, reports)")
    findings = [*_popcounts(reports), *_pairs(reports), *_draws(reports)] if reports.n else []
    return IntegrityReport(reports.spec, reports.n, alpha, tuple(findings))


@typed
def manipulation_budget(estimate: FrequencyEstimate, level: float = 0.95) -> int:
    """Return how many false reports move the largest count of an ``estimate`` by the width of its interval.

    >>> from deniable.client import GRR
    >>> from deniable.core.tally import Tally
    >>> spec = GRR(domain_size=4, epsilon=1.0)
    >>> estimate = spec.estimate(Tally(spec, 10_000, np.array([4_000, 2_000, 2_000, 2_000])))
    >>> round(spec.influence, 2), manipulation_budget(estimate)
    (2.75, 225)
    """
    spec = estimate.spec
    if not isinstance(spec, FrequencySpec):
        raise ParameterError("estimate", spec.mechanism, allowed="an estimate of a frequency oracle", fix="pass an estimate of counts")
    if not len(estimate.values):
        return 0
    low, high = estimate.interval(level, simultaneous=estimate.picked)
    first = int(np.argmax(estimate.counts))
    return ceil(float(high[first] - low[first]) / spec.influence)


# --- the tests ---


def _popcounts(reports: Reports) -> Iterator[Finding]:
    """For every k: too many reports with at most k bits, at least k, exactly k, or too few with exactly k. Each number is binomial."""
    laws, n = reports.spec.popcount_laws, reports.n
    if not laws:
        return
    seen = np.sort(popcounts(reports))
    bits = laws[0][0].own + laws[0][0].others
    counts = np.arange(*popcount_range(laws, bits))
    below, until = np.searchsorted(seen, counts, "left"), np.searchsorted(seen, counts, "right")
    # Where the law depends on the value a little, every report's chance lies between the smallest and the largest.
    at_most, at_least, most, least = (
        bound([chance_of(law, counts, kind) for law in laws], axis=0)
        for kind, bound in (("cdf", np.max), ("sf", np.max), ("pmf", np.max), ("pmf", np.min))
    )
    tests = [
        ("at most", until, at_most, scipy.stats.binom.sf(until - 1, n, at_most)),
        ("at least", n - below, at_least, scipy.stats.binom.sf(n - below - 1, n, at_least)),
        ("exactly", until - below, most, scipy.stats.binom.sf(until - below - 1, n, most)),
        ("exactly", until - below, least, scipy.stats.binom.cdf(until - below, n, least)),
    ]
    words, found, chance, p_values = min(tests, key=lambda test: float(test[3].min()))
    k = int(p_values.argmin())
    told = f"{found[k]:,} reports have {words} {counts[k]:,} of {bits:,} bits set"
    yield Finding("popcount", float(found[k]), float(n * chance[k]), min(1.0, len(tests) * counts.size * float(p_values[k])), told)


def _pairs(reports: Reports) -> Iterator[Finding]:
    pair = strongest_pair(reports)
    if pair is not None:
        first, second = (reports.spec.domain.value(key) for key in (pair.first, pair.second))
        yield Finding("pairs", pair.seen, pair.expected, pair.p_value, f"{pair.seen:,.0f} reports support both {first!r} and {second!r}")


def _draws(reports: Reports) -> Iterator[Finding]:
    """Test whether any draw is too frequent."""
    for column in reports.spec.layout:
        if column.name not in DRAWN:
            continue
        items = np.ascontiguousarray(reports.columns[column.name])
        each = column.count if column.increasing else 1  # of a set every member was drawn
        cells = float(column.limit) ** (1 if column.increasing else column.count)
        drawn = items.ravel() if column.increasing or column.count == 1 else items.view(f"S{column.row_bytes}").ravel()
        most = int(np.unique(drawn, return_counts=True)[1].max())
        p_value = cells * float(scipy.stats.binom.sf(most - 1, reports.n, each / cells))
        told = f"one of {cells:.4g} possible draws of the {column.name} occurs {most:,} times"
        yield Finding(f"draws of {column.name}", float(most), reports.n * each / cells, min(1.0, p_value), told)
