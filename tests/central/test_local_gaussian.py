"""The local Gaussian histogram: delta against the exact law of whole reports, twins, the way of a report, and what intervals cover."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest

import deniable as dn
from deniable.accounting import DiscreteGaussianEvent, Repeated, account
from deniable.accounting.event import REPLACE
from deniable.central import ExactNoise, LocalGaussianHistogram
from deniable.central.local_gaussian import delta_of
from deniable.errors import DomainError, MergeError, ParameterError
from deniable.testing import ReplaySource
from tests.central.laws import divergence

PROMISES = [(1.0, 1e-2), (1.0, 1e-4), (3.0, 1e-4), (6.0, 1e-6)]


def exact_delta(noise, epsilon, moved=2):
    """Bounds of delta from the law of all entries that change between two true answers, product by product, in fractions."""
    reach = ceil(9 / float(2 * noise.quadratic) ** 0.5) + 2
    laws = {z: noise.probability(z, 64) for z in range(-reach - 1, reach + 2)}
    inside = range(-reach, reach + 1)
    if moved == 1:
        return divergence([laws[z] for z in inside], [laws[z - 1] for z in inside], epsilon)
    pairs = [(y, z) for y in inside for z in inside]
    one = [(laws[y][0] * laws[z][0], laws[y][1] * laws[z][1]) for y, z in pairs]
    other = [(laws[y - 1][0] * laws[z + 1][0], laws[y - 1][1] * laws[z + 1][1]) for y, z in pairs]
    return divergence(one, other, epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_a_report_keeps_epsilon_and_delta_exactly_and_wastes_none(epsilon, delta):
    oracle = LocalGaussianHistogram(domain_size=3, epsilon=epsilon, delta=delta)
    low, high = exact_delta(oracle.noise, epsilon)
    assert high <= delta * (1 + 1e-9)  # what is left out, beyond nine sigmas, is below 1e-18
    assert low >= Fraction(delta) * Fraction(999, 1000)
    assert float(low) <= delta_of(oracle.sigma, epsilon) <= delta
    event = Repeated(event=DiscreteGaussianEvent(sigma=oracle.sigma, sensitivity=1, neighbors=REPLACE), times=2)
    assert account(event, delta=delta, rules=("PLD",)).epsilon == pytest.approx(epsilon, rel=2e-3)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES[:2])
def test_too_little_noise_is_found(epsilon, delta):
    sigma = LocalGaussianHistogram(domain_size=3, epsilon=epsilon, delta=delta).sigma
    assert exact_delta(ExactNoise(quadratic=1 / (2 * Fraction(0.9 * sigma) ** 2)), epsilon)[0] > delta
    forgetful = sigma / 2**0.5  # calibrated as if only one entry changed
    assert exact_delta(ExactNoise(quadratic=1 / (2 * Fraction(forgetful) ** 2)), epsilon, moved=1)[1] < 2 * delta
    assert exact_delta(ExactNoise(quadratic=1 / (2 * Fraction(forgetful) ** 2)), epsilon)[0] > 2 * delta


def test_the_promise_is_labelled():
    promise = LocalGaussianHistogram(domain_size=3, epsilon=1.0, delta=1e-6).guarantee
    assert (promise.delta, promise.model) == (1e-6, "local")
    assert "divergence" in promise.certificate
    assert "except with probability 1e-06 (epsilon = 1, delta = 1e-06, local model)" in promise.statement()
    assert "deltas add up" in promise.statement()


def test_one_by_one_and_in_bulk_the_same_words_make_the_same_reports():
    oracle = LocalGaussianHistogram(domain=dn.Categories("red", "green", "blue"), epsilon=1.0, delta=1e-3)
    people = ["red", "blue", "blue", "green"] * 50
    bulk, one_by_one = ReplaySource.from_key("reports"), ReplaySource.from_key("reports")
    reports = oracle.privatize(people, source=bulk)
    single = [oracle.randomize(person, one_by_one) for person in people]
    assert [reports[i] for i in range(len(people))] == single
    assert [oracle.decode(oracle.encode(report)) for report in single[:3]] == single[:3]
    tally = oracle.tally(reports)
    assert tally == oracle.tally(single) == oracle.tally(single[:7]) + oracle.tally(single[7:])
    estimate = oracle.estimate(tally)
    ran = oracle.run(people, source=ReplaySource.from_key("reports"))
    assert ran.counts.tolist() == estimate.counts.tolist()
    assert estimate.values == ["red", "green", "blue"]
    assert oracle.estimate(tally, candidates=["blue"]).counts.tolist() == [estimate.counts[2]]
    assert "delta = 0.001" in repr(estimate)
    assert estimate.top(1).values == [estimate.values[int(np.argmax(estimate.counts))]]
    assert estimate.postprocess("norm-sub").counts.sum() == pytest.approx(200)
    assert estimate.compare(oracle.run(["red"] * 200)).p_values.shape == (3,)
    assert estimate.to_polars().shape == (3, 6)
    wider = estimate.interval(0.95, population=True)
    assert np.any(wider[1] > estimate.interval(0.95)[1])
    assert np.all(wider[1] >= estimate.interval(0.95)[1])


def coverage(widen=1.0, *, simultaneous=False, n=40, d=400, runs=25):
    """The share of intervals at 95 % that hold the truth, or of whole runs; with intervals ``widen`` times as wide."""
    oracle = LocalGaussianHistogram(domain_size=d, epsilon=2.0, delta=1e-4)
    people = np.arange(n) % 7
    truth = np.bincount(people, minlength=d)
    hits = []
    for _ in range(runs):
        estimate = oracle.run(people)
        low, high = estimate.interval(0.95, simultaneous=simultaneous)
        inside = np.abs(truth - estimate.counts) <= widen * (high - low) / 2
        hits.append(inside.all() if simultaneous else inside.mean())
    return float(np.mean(hits))


def test_intervals_cover_what_they_say():
    """10,000 intervals: 95 % within 4.9 standard deviations, 1.07 %, has alpha = 1e-6; intervals a tenth too narrow cover 92.2 %."""
    assert abs(coverage() - 0.95) < 0.0107
    assert coverage(0.9) < 0.95 - 0.0107
    assert coverage(simultaneous=True) >= 0.7  # 25 runs at 95 %: 17 or fewer have probability 1e-7
    assert coverage(n=2) >= 0.95 - 0.0107  # few people: by an inequality, at least 95 %


def test_bounds_hold_and_variance_is_as_stated():
    oracle = LocalGaussianHistogram(domain_size=20_000, epsilon=2.0, delta=1e-3)
    estimate = oracle.run(np.zeros(30, dtype=int))
    errors = estimate.counts - 30 * (np.arange(20_000) == 0)
    assert np.mean(errors**2) == pytest.approx(oracle.variance(n=30), rel=4.9 * (2 / 20_000) ** 0.5)
    assert np.mean(np.abs(errors) <= estimate.bound(0.95)[1] - estimate.counts) > 0.95
    assert np.all(estimate.stderr == oracle.variance(n=30) ** 0.5)


def test_what_does_not_fit_is_refused():
    oracle = LocalGaussianHistogram(domain_size=3, epsilon=1.0, delta=1e-3)
    with pytest.raises(DomainError):
        oracle.run([3])
    with pytest.raises(MergeError):
        oracle.estimate(LocalGaussianHistogram(domain_size=3, epsilon=1.0, delta=1e-4).tally([(1, 2, 3)]))
    with pytest.raises(ParameterError):
        oracle.law(0)
    for bad in (
        {"delta": 0},
        {"delta": 1.0},
        {"epsilon": 1e-4, "delta": 1e-6},
        {"domain_size": None},
        {"domain_size": 1 << 20},
        {"domain": dn.Text(8)},
    ):
        with pytest.raises(ParameterError, match="allowed"):
            LocalGaussianHistogram(**{"domain_size": 3, "epsilon": 1.0, "delta": 1e-3, **bad})
