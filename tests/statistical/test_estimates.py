"""Bias, variance and coverage of every mechanism through the shipping bulk path, on fixed streams.

**Tolerance.** With z = (estimate - truth) / (theoretical standard deviation), the mean of z^2 over N cells has expectation 1 and standard
deviation sqrt(sum (2 + k)) / N, where k is the excess kurtosis of a cell, known exactly for a sum of independent bits. For a sum of
scores, none further than M from its mean, k is at most M^2 / variance, and that is used. The tests reject at alpha = 1e-6, that is at
4.89 standard deviations; N is chosen so that this is 7.2 %. Cells of one crowd are uncorrelated or nearly so (GRR: -1/(d - 1)); for
RR, where "yes" determines "no", only "yes" is used.

**Power.** Noise times 0.9 or 1.1 has 0.81 or 1.21 of its variance, 12.9 standard deviations away or more, of which 4.89 are accepted: it
is rejected with a probability above 1 - 1e-14. The same statistic must reject such evil twins, and an epsilon 10 % larger than claimed,
whose bias alone is 20 standard deviations for a coin; smaller differences are found by the exact audit.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from deniable.client import GRR, OLH, OUE, RR, SHE, BloomRR, DBitFlip, HadamardResponse
from deniable.client.pure import PureProtocol
from deniable.client.sketch import SketchProtocol
from deniable.core.reports import Reports
from deniable.core.scores import Scores
from deniable.testing import ReplaySource
from tests.conftest import asked_of, candidates_of, frequency_specs, some_values

SIGMAS = 4.892  # two-sided alpha = 1e-6
TOLERANCE = 0.072
SKETCHES = (SketchProtocol, BloomRR)  # unbiased over hash functions: test_sketches and test_bloom draw those too
SPECS = [
    spec
    for spec in frequency_specs()
    if not isinstance(spec, SKETCHES)
    and (spec.mechanism == "RR" or (spec.domain_size > 2 and spec.domain.kind in ("index", "integers")))
    and (spec.domain_size <= 1024 or spec.mechanism == "OLH")
]
"""Labels and coins need many small crowds each, and noise does not depend on them: tests/laws and tests/exact go through all specs."""


def crowd(spec, n):
    """Most people hold the first value, a tenth the second, a fifth the last: heavy, light and empty cells."""
    first, second, *_, last = some_values(spec, 7) if spec.domain_size > 2 else [*some_values(spec, 7)[::6], some_values(spec, 7)[6]]
    return [first] * (n - n // 10 - n // 5) + [second] * (n // 10) + [last] * (n // 5)


def standardized(claimed, shipped, key):
    """z of every cell in every group, the excess kurtosis of the cells, and the cells' true counts."""
    n = 200 if len(asked_of(claimed) or range(claimed.domain_size)) <= 64 else 1000  # rare cells have heavier tails
    values = crowd(shipped, n)
    candidates, asked = candidates_of(claimed), asked_of(claimed)
    only = slice(1, None) if claimed.mechanism == "RR" else slice(None)

    def estimate(rows):
        return claimed.estimate(claimed.tally(Reports.from_rows(claimed, rows.tobytes()), candidates=candidates), candidates=asked)

    first = estimate(shipped.privatize(values, source=ReplaySource.from_key("first")).rows())
    held = np.array([values.count(value) for value in first.values])
    variance, kurtosis = (found[only] for found in theory(first, held, n))
    groups = int(np.ceil((SIGMAS / TOLERANCE) ** 2 * (2 + kurtosis).sum() / kurtosis.size**2))
    rows = shipped.privatize(values * groups, source=ReplaySource.from_key(key)).rows()
    counts = np.array([estimate(rows[group * n : (group + 1) * n]).counts for group in range(groups)])
    return (counts - held)[:, only] / np.sqrt(variance), kurtosis, held[only]


def theory(estimate, held, n):
    """The variance of each count, and its excess kurtosis: exact for supports, at most that for scores."""
    if isinstance(estimate.spec, HadamardResponse):  # what it costs to share a block with others, by the law of the symbols
        spec, blocks = estimate.spec, np.arange(held.size) % estimate.spec.blocks
        near = np.bincount(blocks, held, spec.blocks)[blocks]
        seen = near * float(spec.marked + spec.unmarked) + (n - near) * 2 * float(spec.unmarked)
        variance = seen / float(spec.gap) ** 2 - held
        return variance, (estimate.law.reach + 1) ** 2 / variance
    if isinstance(estimate.law, Scores):
        variance = np.array([estimate.spec.variance(n, f=count / n) for count in held])
        return variance, (estimate.law.reach + 1) ** 2 / variance
    p, q = np.broadcast_to(estimate.law.p, held.shape), np.broadcast_to(estimate.law.q, held.shape)
    variance = held * p * (1 - p) + (n - held) * q * (1 - q)
    fourth = held * p * (1 - p) * (1 - 6 * p * (1 - p)) + (n - held) * q * (1 - q) * (1 - 6 * q * (1 - q))
    return variance / (p - q) ** 2, fourth / variance**2


def statistics_of(z, kurtosis):
    """How far the pooled bias and variance are from theory, in standard deviations, and 4.89 of them for the variance."""
    bias = abs(z.mean(axis=0)) * np.sqrt(z.shape[0])
    spread = np.sqrt(z.shape[0] * (2 + kurtosis).sum()) / z.size
    return bias.max(), abs((z**2).mean() - 1) / spread, SIGMAS * spread


def people_for(spec, enough):
    """How many people make so much noise (``FrequencyEstimate.enough``) that normal tests are used."""
    if isinstance(spec, PureProtocol):
        return int(enough / float(spec.q * (1 - spec.q)))
    return int(enough * (spec.kurtosis if isinstance(spec, SHE) else spec.influence**2 / spec.variance(n=1)))


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_unbiased_with_the_stated_variance(spec):
    z, kurtosis, held = standardized(spec, spec, key="pooled")
    bias, deviation, tolerance = statistics_of(z, kurtosis)
    assert bias < SIGMAS + np.log10(len(held))  # the largest of many cells may stray a little further
    assert deviation < SIGMAS
    assert tolerance < 0.1


@pytest.mark.parametrize(
    "spec",
    [
        RR(epsilon=1.0),
        GRR(domain_size=16, epsilon=1.0),
        OUE(domain_size=16, epsilon=1.0),
        OLH(domain_size=16, epsilon=1.0),
        SHE(domain_size=16, epsilon=1.0),
        DBitFlip(domain_size=16, epsilon=1.0, bits=8),
    ],
    ids=repr,
)
def test_evil_twins_are_rejected(spec):
    bolder = dataclasses.replace(spec, epsilon=1.1, **({"coin": None} if spec.mechanism == "RR" else {}))
    z, kurtosis, _ = standardized(spec, bolder, key="twin")
    bias, deviation, _ = statistics_of(z, kurtosis)
    assert max(bias, deviation) > SIGMAS
    honest, kurtosis, _ = standardized(spec, spec, key="twin")
    assert statistics_of(honest, kurtosis)[1] < SIGMAS
    for scale in (0.9, 1.1):
        assert statistics_of(honest * scale, kurtosis)[1] > SIGMAS


@pytest.mark.parametrize(
    "spec",
    [
        GRR(domain_size=64, epsilon=1.0),
        OUE(domain_size=64, epsilon=1.0),
        OLH(domain_size=64, epsilon=1.0),
        DBitFlip(domain_size=64, epsilon=1.0, bits=32),
        SHE(domain_size=16, epsilon=1.0),
        RR(epsilon=0.5),
    ],
    ids=repr,
)
@pytest.mark.parametrize("population", [False, True])
def test_intervals_cover_about_95_percent_through_the_public_interface(spec, population):
    """Where noise is enough for normal tests: 94 to 96 %, plus 4.89 standard deviations of what 120 repetitions show.

    Rare and empty cells are included.

    With fixed people, population intervals are wider than needed, so they may only cover more.
    """
    n = people_for(spec, 220)
    values, repetitions = crowd(spec, n), 120
    rows = spec.privatize(values * repetitions, source=ReplaySource.from_key("coverage")).rows()
    held = np.array([values.count(key) for key in range(spec.domain_size)])
    covered = together = 0
    for group in range(repetitions):
        estimate = spec.estimate(spec.tally(Reports.from_rows(spec, rows[group * n : (group + 1) * n].tobytes())))
        low, high = estimate.interval(0.95, population=population)
        covered += np.sum((low <= held) & (held <= high))
        low, high = estimate.bound(0.95, "bernstein", simultaneous=True)
        together += np.all((low <= held) & (held <= high))
    cells = repetitions * (1 if spec.mechanism == "RR" else spec.domain_size)
    share = covered / (repetitions * spec.domain_size)
    slack = SIGMAS * np.sqrt(0.05 * 0.95 / cells)
    assert 0.94 - slack < share
    assert population or share < 0.96 + slack
    assert together / repetitions > 0.95 - SIGMAS * np.sqrt(0.05 * 0.95 / repetitions)


@pytest.mark.parametrize("spec", [GRR(domain_size=256, epsilon=1.0), OUE(domain_size=20, epsilon=5.0)])
def test_rare_supports_get_conservative_intervals(spec):
    """Below n q (1 - q) = 200 exact tests are inverted: at least 95 % for each cell, and for all cells at once."""
    n, repetitions = 2000, 60
    values = crowd(spec, n)
    assert n * float(spec.q * (1 - spec.q)) < 200
    rows = spec.privatize(values * repetitions, source=ReplaySource.from_key("rare")).rows()
    held = np.array([values.count(key) for key in range(spec.domain_size)])
    covered, together = 0, 0
    for group in range(repetitions):
        estimate = spec.estimate(spec.tally(Reports.from_rows(spec, rows[group * n : (group + 1) * n].tobytes())))
        low, high = estimate.interval(0.95)
        covered += np.sum((low <= held) & (held <= high))
        low, high = estimate.interval(0.95, simultaneous=True)
        together += np.all((low <= held) & (held <= high))
    cells = repetitions * spec.domain_size
    assert covered / cells > 0.95 - SIGMAS * np.sqrt(0.05 * 0.95 / cells)
    assert together / repetitions > 0.95 - SIGMAS * np.sqrt(0.05 * 0.95 / repetitions)
