"""RAPPOR's estimate over the choice of hash functions: unbiased, with intervals that cover, for symmetric coins and for the paper's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deniable.client import RAPPOR, BloomRR
from deniable.core.reports import Reports
from deniable.testing import ReplaySource

SIGMAS = 4.892  # two-sided alpha = 1e-6
VALUES, PEOPLE, REPETITIONS = 12, 4000, 120
HELD = np.array([1800, 900, 600, 400, 200, 100, 0, 0, 0, 0, 0, 0])
SHAPE = {"domain_size": VALUES, "bits": 24, "hashes": 2, "cohorts": 8}
SPECS = [
    RAPPOR(epsilon=4.0, first_epsilon=2.0, **SHAPE),
    RAPPOR.from_probabilities(f="1/2", p="1/2", q="3/4", **SHAPE),
    RAPPOR.from_probabilities(f="1/4", p="1/10", q="4/10", **SHAPE),
]


def run(spec, claimed=None):
    """Estimates of one crowd under many choices of functions, read with the claimed spec."""
    values, source = np.repeat(np.arange(VALUES), HELD), ReplaySource.from_key("rappor")
    found = []
    for salt in range(REPETITIONS):
        reports = replace(spec, salt=salt).privatize(values, source=source)
        reader = replace(claimed or spec, salt=salt)
        found.append(reader.estimate(reader.tally(Reports(reader, reports.n, reports.columns))))
    return found


def standardized(estimates):
    return np.array([(estimate.counts - HELD) / np.sqrt(estimate.law.variance(HELD.astype(float))) for estimate in estimates])


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_unbiased_and_covering(spec):
    """Where the coin is not symmetric the larger variance of a set bit and another counts for all: intervals may only be wider."""
    estimates = run(spec)
    z = standardized(estimates)
    assert np.max(np.abs(z.mean(axis=0))) * REPETITIONS**0.5 < SIGMAS + 0.5
    spread = SIGMAS * (3 / z.size) ** 0.5
    assert np.mean(z**2) < 1 + spread
    assert np.mean(z**2) > 0.8 - spread
    limits = [estimate.interval(0.95) for estimate in estimates]
    covered = np.mean([(low <= HELD) & (high >= HELD) for low, high in limits])
    assert covered > 0.94 - SIGMAS * (0.05 * 0.95 / z.size) ** 0.5


def test_the_twin_that_forgets_the_second_step_is_rejected():
    """Read as a filter with the permanent noise alone, the counts shrink: the largest is far off."""
    spec = SPECS[0]
    twin = BloomRR(epsilon=spec.epsilon, **SHAPE)
    z = standardized(run(spec, twin))
    assert np.max(np.abs(z.mean(axis=0))) * REPETITIONS**0.5 > 4 * SIGMAS
