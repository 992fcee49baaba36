"""Sketches over draws of their public functions: unbiased, with the stated variance, collisions included, and intervals that cover.

One spec is one draw of the functions; its salt names the draw. Each salt gives one mean of z^2 over all cells; means of different salts are
independent, so their spread is measured and the test rejects at alpha = 1e-6, that is 4.89 standard errors of their average.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from deniable.client import CMS, FLH, HCMS
from deniable.contract.domain import Integers, Text
from deniable.local.frequency import sketch
from deniable.testing import ReplaySource

SIGMAS = 4.892
SALTS = 150
SIZE = 60
HELD = np.array([6000, 3000, 1500, 700, 300] + [20] * 25 + [0] * 30)
VALUES = np.repeat(np.arange(SIZE), HELD)
EVEN = np.full(SIZE, 200)
SKETCHES = [
    (CMS, {"epsilon": 3.0, "hashes": 8, "width": 32}),
    (CMS, {"epsilon": 1.0, "hashes": 100, "width": 100}),
    (HCMS, {"epsilon": 2.0, "hashes": 8, "width": 32}),
    (FLH, {"epsilon": 2.0, "hashes": 40}),
]
each_sketch = pytest.mark.parametrize("number", range(len(SKETCHES)), ids=lambda number: str(SKETCHES[number]))


def estimates(make, options, held=HELD):
    source = ReplaySource.from_key("sketches")
    for salt in range(SALTS):
        spec = make(domain_size=SIZE, salt=salt, **options)
        tally = spec.tally(spec.privatize(np.repeat(np.arange(SIZE), held), source=source))
        yield spec, tally, spec.estimate(tally)


@cache
def drawn(number):
    """The estimates of one of the sketches, which several tests look at."""
    return list(estimates(*SKETCHES[number]))


def standardized(found, held=HELD):
    """Z of every cell for every salt, by the variance of the theory with the true counts: noise, and collisions with all others."""
    n = int(held.sum())
    rows = []
    for spec, _, estimate in found:
        noise = np.array([spec.variance(n, count / n) for count in held])
        collisions = spec.collisions * (np.sum(held * (held - 1.0)) - held * (held - 1.0))
        rows.append((estimate.counts - held) / np.sqrt(noise + collisions))
    return np.array(rows)


def deviation(z, honest=None):
    """How far the mean of z^2 is from one, in standard errors of the salts' means; a twin's in those that honest functions have."""
    spread = (z if honest is None else honest) ** 2
    return ((z**2).mean() - 1) / (spread.mean(axis=1).std(ddof=1) / np.sqrt(z.shape[0]))


@each_sketch
def test_unbiased_with_the_stated_variance_over_hash_functions(number):
    z = standardized(drawn(number))
    assert np.abs(z.mean(axis=0)).max() * np.sqrt(SALTS) < SIGMAS + np.log10(SIZE)
    assert abs(deviation(z)) < SIGMAS


def test_functions_that_hash_only_pairs_independently_are_rejected(monkeypatch):
    """The evil twin: u = c x + b. Collisions with different values then come together: four times the stated variance on even data."""
    make, options = CMS, {"epsilon": 6.0, "hashes": 16, "width": 16}
    honest = standardized(estimates(make, options, EVEN), EVEN)
    assert abs(deviation(honest)) < SIGMAS
    functions_of = sketch.public_functions

    def only_pairs(salt, count):
        functions = functions_of(salt, count)
        functions[:, 0] = 0
        return functions

    monkeypatch.setattr(sketch, "public_functions", only_pairs)
    assert deviation(standardized(estimates(make, options, EVEN), EVEN), honest) > 2 * SIGMAS


@pytest.mark.parametrize("low", [0, 2**40, 2**63])
def test_long_integers_in_a_row_are_hashed_like_any_others(low):
    """Keys of 64 bits that differ in their last bits only, or in steps of 2^50: a pattern that the pair form alone would keep."""
    for step in (1, 2**50 if low == 0 else 3):
        rows = []
        for salt in range(SALTS):
            spec = CMS(domain=Integers(0, 2**64 - 1), epsilon=6.0, hashes=16, width=16, salt=salt)
            values = [low + step * i for i in range(SIZE)]
            tally = spec.tally(spec.privatize(np.repeat(np.array(values, dtype=np.uint64), EVEN), source=ReplaySource.from_key(f"{salt}")))
            counts = spec.estimate(tally, candidates=values).counts
            n = int(EVEN.sum())
            variance = spec.variance(n, 1 / SIZE) + spec.collisions * (SIZE - 1) * 200 * 199
            rows.append((counts - EVEN) / variance**0.5)
        assert abs(deviation(np.array(rows))) < SIGMAS


def test_an_error_that_forgets_collisions_is_rejected():
    n = VALUES.size
    z = [(estimate.counts - HELD) / np.sqrt([spec.variance(n, c / n) for c in HELD]) for spec, _, estimate in drawn(0)[:50]]
    assert deviation(np.array(z)) > SIGMAS


@each_sketch
def test_intervals_cover(number):
    """94 to 96 % over cells and salts, with 4.89 standard errors of the salts' shares; all cells at once and short lists: at least 95 %."""
    shares, together, short = [], [], []
    asked = [0, 1, 40]
    for spec, tally, estimate in drawn(number):
        low, high = estimate.interval(0.95)
        shares.append(np.mean((low <= HELD) & (high >= HELD)))
        low, high = estimate.interval(0.95, simultaneous=True)
        together.append(np.all((low <= HELD) & (high >= HELD)))
        low, high = spec.estimate(tally, candidates=asked).interval(0.95)
        short.append(np.mean((low <= HELD[asked]) & (high >= HELD[asked])))
    slack = SIGMAS * np.std(shares, ddof=1) / np.sqrt(SALTS)
    assert 0.94 - slack < np.mean(shares) < 0.96 + slack
    assert np.mean(together) > 0.95 - SIGMAS * np.sqrt(0.05 * 0.95 / SALTS)
    assert np.mean(short) > 0.95 - SIGMAS * np.sqrt(0.05 * 0.95 / (SALTS * len(asked)))


def test_one_public_function_is_biased_and_cohorts_help_as_stated():
    """The CS208 notes: (m f - n) / (m - 1) is right only over the function. One function leaves an error that no n removes."""
    n, m = VALUES.size, 16
    errors = {}
    for cohorts in (1, 16):
        squares = []
        for salt in range(60):
            spec = CMS(domain_size=SIZE, epsilon=8.0, hashes=cohorts, width=m, salt=salt)
            counts = spec.estimate(spec.tally(spec.privatize(VALUES, source=ReplaySource.from_key(f"{cohorts}/{salt}")))).counts
            squares.append((counts[40] - HELD[40]) ** 2)
        errors[cohorts] = np.mean(squares)
    largest_noise = CMS(domain_size=SIZE, epsilon=8.0, hashes=1, width=m).variance(n)
    expected = np.sum(HELD * (HELD - 1.0)) / (m - 1)  # with one function; with k cohorts a k-th of it
    assert errors[1] > 20 * largest_noise
    assert 0.2 < errors[1] / expected < 3  # 60 draws of a law where one in 16 collides with the largest value
    assert 0.2 < 16 * (errors[16] - largest_noise) / expected < 3


def test_strings_are_asked_about_after_the_tally():
    words = ["tea", "coffee", "water", "日本茶", ""]
    people = words[:1] * 3000 + words[1:2] * 1000 + words[3:4] * 500
    for make in (CMS, HCMS, FLH):
        spec = make(domain=Text(32), epsilon=4.0)
        estimate = spec.estimate(spec.tally(spec.privatize(people, source=ReplaySource.from_key("words"))), candidates=words)
        held = np.array([3000, 1000, 0, 500, 0])
        low, high = estimate.interval(1 - 1e-6)
        assert np.all((low <= held) & (held <= high))
        assert estimate.values == words
