"""Bias and variance of every mechanism for a mean through the shipping bulk path, on a fixed stream.

With z = (estimate - truth) / (theoretical standard deviation), over N groups of n people the mean of z^2 has expectation 1 and standard
deviation sqrt((2 + k) / N), where k, the excess kurtosis of a group, is at most M^2 / (n variance) for scores no further than M apart.
The tests reject at alpha = 1e-6, that is at 4.89 standard deviations, which is 11 to 13 %.

**Power.** The same statistics must reject evil twins: noise with 0.9 of its standard deviation (z^2 of 0.81, beyond 7 standard deviations),
values cut to the grid point below, and an estimate that is not debiased.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.core.reports import Reports
from deniable.testing import ReplaySource

SIGMAS = 4.892
GROUPS, SIZE = 4_000, 100
SPECS = [
    dn.OneBitMean(low=0, high=1, epsilon=1.0),
    dn.OneBitMean(low=-40, high=60, steps=3, epsilon=0.3),
    dn.Duchi(low=-1, high=1, epsilon=4.0),
    dn.SignRR(epsilon=0.5),
    dn.Piecewise(low=0, high=1, epsilon=1.0),
    dn.Piecewise(low=0, high=10, steps=4, epsilon=3.0),
    dn.Hybrid(low=-1, high=1, epsilon=2.0),
    dn.Hybrid(low=0, high=10, steps=5, epsilon=1.0),
    dn.DiscreteLaplace(low=-1, high=1, epsilon=1.0),
    dn.DiscreteLaplace(low=0, high=1, steps=3, epsilon=2.0),
]


def crowd(spec):
    """Off the grid, on it, and at both ends; for signs, the ends."""
    low, width = float(spec.domain.start), float(spec.domain.width)
    shares = [0.0] * 70 + [1.0] * 30 if spec.mechanism == "SignRR" else [0.0] * 30 + [1.0] * 10 + [0.137] * 40 + [0.5] * 20
    return np.array([low + width * share for share in shares])


def statistics_of(claimed, rows, shipped=None):
    """How far bias and variance are from what is claimed, in standard deviations; the estimator is that of the code that shipped."""
    shipped = shipped or claimed
    groups = (rows[i * SIZE : (i + 1) * SIZE].tobytes() for i in range(GROUPS))
    found = np.array([shipped.estimate(shipped.tally(Reports.from_rows(shipped, group))).value for group in groups])
    values = crowd(claimed)
    places = [claimed.domain.position(value) for value in values.tolist()]
    sigma = float(sum(claimed.score_variance(place) for place in places) * claimed.unit**2) ** 0.5 / SIZE
    z = (found - values.mean()) / sigma
    low, high = claimed.score_range
    kurtosis = min(float((high - low) * claimed.unit / SIZE / sigma) ** 2, 3.0) if claimed.kurtosis is None else claimed.kurtosis / SIZE
    return abs(z.mean()) * np.sqrt(GROUPS), abs((z**2).mean() - 1) / np.sqrt((2 + kurtosis) / GROUPS)


def rows_of(spec, values=None, key="statistical"):
    return spec.privatize(np.tile(crowd(spec) if values is None else values, GROUPS), source=ReplaySource.from_key(key)).rows()


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_bias_and_variance(spec):
    bias, variance = statistics_of(spec, rows_of(spec))
    assert bias < SIGMAS
    assert variance < SIGMAS


@pytest.mark.parametrize("spec", [SPECS[0], SPECS[4], SPECS[6], SPECS[8]], ids=repr)
def test_a_twin_with_less_noise_is_rejected(spec):
    """It ships the larger epsilon that has nine tenths of the noise, with the right estimator: only the variance gives it away."""
    low, high = spec.epsilon, 2 * spec.epsilon
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if like(spec, middle).variance(1) < 0.81 * spec.variance(1) else (middle, high)
    twin = like(spec, high)
    bias, variance = statistics_of(spec, rows_of(twin), shipped=twin)
    assert bias < SIGMAS < variance


def like(spec, epsilon):
    return type(spec)(low=spec.domain.low, high=spec.domain.high, steps=spec.steps, epsilon=epsilon)


def test_a_twin_that_cuts_to_the_grid_is_rejected():
    spec = dn.OneBitMean(low=-40, high=60, steps=3, epsilon=3.0)
    values = crowd(spec)
    cut = [float(spec.domain.value(int(spec.domain.position(value)))) for value in values.tolist()]
    bias, _ = statistics_of(spec, rows_of(spec, np.array(cut)))
    assert bias > SIGMAS
    assert statistics_of(spec, rows_of(spec))[0] < SIGMAS


def test_a_twin_that_is_not_debiased_is_rejected():
    """The lecture notes' mean of noisy signs."""
    spec = dn.SignRR(epsilon=0.5)
    rows = rows_of(spec).reshape(GROUPS, SIZE)
    plain = (2.0 * rows - 1).mean(axis=1)
    debiased = plain / (2 * float(spec.law(1)[1]) - 1)
    noise = spec.variance(SIZE) ** 0.5
    assert abs(debiased.mean() - crowd(spec).mean()) * np.sqrt(GROUPS) / noise < SIGMAS
    assert abs(plain.mean() - crowd(spec).mean()) * np.sqrt(GROUPS) / noise > SIGMAS
    assert Fraction(1, 2) < spec.law(1)[1] < 1
