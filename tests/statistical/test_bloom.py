"""BloomRR: what least squares make of expected counts, and of drawn ones; what decoding finds, and what it does not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from deniable.client import BloomRR
from deniable.client.bloom_rr import fits_by_chance
from deniable.contract.domain import Text
from deniable.core.tally import Tally
from deniable.errors import ParameterError
from deniable.testing import ReplaySource

SIGMAS = 4.892  # two-sided alpha = 1e-6
SIZE = 30
HELD = np.array([3000, 1500, 800, 400, 200, 100] + [0] * 24)
VALUES = np.repeat(np.arange(SIZE), HELD)
OPTIONS = {"domain_size": SIZE, "epsilon": 2.0, "bits": 64, "hashes": 2, "cohorts": 8}


def expected_tally(spec, held):
    """The tally if every report were its own expectation, scaled so that its counters are integers to 1e-12 of their size."""
    scale = 10**12 * spec.cohorts
    ones, sizes = [], []
    for cohort in range(spec.cohorts):
        sizes.append(scale * int(held.sum()) // spec.cohorts)
        for bit in range(spec.bits):
            shares = [(1 - spec.q) if spec.filter(cohort, key) >> bit & 1 else spec.q for key in range(held.size)]
            ones.append(round(scale * sum(int(count) * share for count, share in zip(held, shares, strict=True)) / spec.cohorts))
    return Tally(spec, scale * int(held.sum()), np.array([*ones, *sizes])), scale


@pytest.mark.parametrize("hashes", [1, 2, 3])
def test_least_squares_give_back_the_truth_from_expected_counts(hashes):
    """Unbiased for the very hash functions at hand: no average over them is needed if nobody holds another value."""
    held = np.array([7, 0, 2, 1])
    spec = BloomRR(domain_size=4, epsilon=1.0, bits=12, hashes=hashes, cohorts=3)
    tally, scale = expected_tally(spec, held)
    assert spec.estimate(tally).counts / scale == pytest.approx(held, abs=1e-9)


@cache
def runs(complete):
    """120 salts: their estimates, and the truth."""
    source = ReplaySource.from_key("bloom")
    asked = None if complete else [0, 2, 4, 6, 29]
    specs = [BloomRR(**OPTIONS, salt=salt) for salt in range(120)]
    estimates = [spec.estimate(spec.tally(spec.privatize(VALUES, source=source)), candidates=asked) for spec in specs]
    return estimates, HELD if complete else HELD[asked]


def test_unbiased_with_the_stated_error():
    """Means of z^2 of different salts are independent: 4.89 standard errors of their average, about 7 %."""
    estimates, held = runs(True)
    z = np.array([(estimate.counts - held) / estimate.stderr for estimate in estimates])
    means = (z**2).mean(axis=1)
    assert np.abs(z.mean(axis=0)).max() * np.sqrt(len(z)) < SIGMAS + np.log10(SIZE)
    slack = SIGMAS * means.std(ddof=1) / np.sqrt(len(z))
    assert abs(means.mean() - 1) < slack < 0.15
    assert abs(0.81 * means.mean() - 1) > slack  # a standard error that is a tenth too large is noticed


@pytest.mark.parametrize("complete", [True, False])
def test_intervals_cover(complete):
    """People off the list count as one value, the worst case: then intervals cover more."""
    estimates, held = runs(complete)
    covered = np.array([(low <= held) & (held <= high) for low, high in (estimate.interval(0.95) for estimate in estimates)])
    slack = SIGMAS * np.sqrt(0.05 * 0.95 / covered.size)
    assert covered.mean() > 0.94 - slack
    assert not complete or covered.mean() < 0.96 + slack


def test_more_hashes_cost_accuracy():
    """Without overlap the variance is n q (1 - q) / (h (1 - 2 q)^2); measured, it is that and a little for overlapping filters."""
    spreads = []
    for hashes in (1, 2, 4):
        spec = BloomRR(domain_size=SIZE, epsilon=2.0, bits=256, hashes=hashes, cohorts=8)
        estimate = spec.estimate(spec.tally(spec.privatize(VALUES, source=ReplaySource.from_key("hashes"))))
        spreads.append(spec.variance(VALUES.size) ** 0.5)
        assert 1 < estimate.stderr[-1] / spreads[-1] < 1.1
    assert spreads == sorted(spreads)


def words_in(n):
    candidates = [f"word {i}" for i in range(1500)]
    shares = 1 / np.arange(1, 21)
    counts = (n * shares / shares.sum()).astype(int)
    return candidates, counts, [candidates[7 * i] for i, count in enumerate(counts) for _ in range(count)]


def test_decoding_finds_frequent_strings_in_a_list_longer_than_the_filters():
    candidates, counts, people = words_in(60_000)
    spec = BloomRR(domain=Text(20), epsilon=3.0, bits=128, hashes=2, cohorts=8)
    estimate = spec.estimate(spec.tally(spec.privatize(people, source=ReplaySource.from_key("words"))), candidates=candidates)
    with pytest.raises(ParameterError, match="decode"):
        _ = estimate.counts  # 1500 unknowns, 1024 equations
    found = estimate.decode(0.05)
    truth = {candidates[7 * i]: count for i, count in enumerate(counts)}
    assert set(found.values) <= set(truth)  # at alpha = 0.05 over all candidates; this stream has no false alarm
    clear = [value for value, count in truth.items() if count > len(people) / 12]
    assert len(clear) == 3
    assert set(clear) <= set(found.values)
    z = [(count - truth[value]) / error for value, count, error in zip(found.values, found.counts, found.stderr, strict=True)]
    assert np.abs(z).max() < SIGMAS
    assert np.all(found.details["p"] <= 0.05 / len(candidates))
    assert list(found.counts) == sorted(found.counts, reverse=True)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_frequent_value_that_is_not_on_the_list_names_nobody(share):
    """Its bits are shared by candidates that nobody holds. At alpha = 0.05 ten decodings name at most 5, but once in 10^4."""
    candidates = [f"absent {i}" for i in range(300)]
    alarms = 0
    for salt in range(10):
        spec = BloomRR(domain=Text(20), epsilon=4.0, bits=64, hashes=2, cohorts=16, salt=salt)
        people = ["heavy"] * int(share * 20_000) + [f"other {i % 200}" for i in range(20_000 - int(share * 20_000))]
        estimate = spec.estimate(spec.tally(spec.privatize(people, source=ReplaySource.from_key(f"heavy/{salt}"))), candidates=candidates)
        alarms += bool(estimate.decode(0.05).values)
        low, high = estimate.bound(0.95, simultaneous=True)
        assert np.all((low <= 0) & (high >= 0))
    assert alarms <= 5


def test_incomplete_lists_have_intervals_that_cover_whoever_is_missing():
    """Everyone holds one value that is not on the list, and filters are short: the worst for a regression."""
    asked = [f"c{i}" for i in range(20)]
    missed, together = [], []
    for salt in range(60):
        spec = BloomRR(domain=Text(20), epsilon=4.0, bits=32, hashes=2, cohorts=4, salt=salt)
        estimate = spec.estimate(spec.tally(spec.privatize(["heavy"] * 5000, source=ReplaySource.from_key(f"{salt}"))), candidates=asked)
        low, high = estimate.interval(0.95)
        missed.append(np.mean((low > 0) | (high < 0)))
        low, high = estimate.interval(0.95, simultaneous=True)
        together.append(np.any((low > 0) | (high < 0)))
    assert np.mean(missed) < 0.05
    assert np.mean(together) < 0.05 + SIGMAS * np.sqrt(0.05 * 0.95 / 60)


def test_decoding_noise_finds_nothing():
    """Nobody holds a candidate: at alpha = 0.05 at most one in twenty decodings names any; 30 name at most 7 but once in 10^4."""
    candidates = [f"absent {i}" for i in range(200)]
    alarms = 0
    for salt in range(30):
        spec = BloomRR(domain=Text(20), epsilon=3.0, bits=64, hashes=2, cohorts=8, salt=salt)
        people = [f"other {i}" for i in range(3000)]
        estimate = spec.estimate(spec.tally(spec.privatize(people, source=ReplaySource.from_key(f"nobody/{salt}"))), candidates=candidates)
        alarms += bool(estimate.decode(0.05).values)
    assert alarms <= 7


def test_sizes_have_the_false_positive_rate_that_was_asked_for():
    """Drawn filters: a value's bits fall into another one's as often as stated, and one bit less would be too few."""
    for hashes in (1, 2, 3):
        bits, _ = BloomRR.size_for(false_positive=0.02, hashes=hashes)
        assert fits_by_chance(bits, hashes) <= 0.02 < fits_by_chance(bits - 1, hashes)
        spec = BloomRR(domain_size=2, epsilon=1.0, bits=bits, hashes=hashes, cohorts=20_000)
        inside = sum(spec.filter(cohort, 0) & spec.filter(cohort, 1) == spec.filter(cohort, 1) for cohort in range(20_000))
        expected = 20_000 * fits_by_chance(bits, hashes)
        assert abs(inside - expected) < SIGMAS * np.sqrt(expected)
