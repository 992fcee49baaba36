"""Long vectors in short reports: ProjUnit is unbiased with the stated error, and a few coordinates each are exact."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import deniable as dn
from deniable.contract.spec import spec_from_json
from deniable.core.reports import Reports
from deniable.errors import DomainError, ParameterError
from deniable.kernels.projections import project, unfold
from deniable.local.vector.coordinates import CoordinateSampling
from deniable.testing import ReplaySource

SIGMAS = 4.892  # two-sided alpha = 1e-6


def test_a_seed_stands_for_normal_numbers_and_the_same_both_ways():
    """Projecting the unit vectors shows the matrix up to the length of each projection; unfolding shows its entries."""
    seeds, dimension, projected = np.arange(2000, dtype=np.uint64) * np.uint64(2**40 + 1), 3, 4
    shown = np.empty((dimension, 2000, projected))
    for axis in range(dimension):
        project(np.tile(np.eye(dimension)[axis], (2000, 1)), seeds, shown[axis])
    entries = np.empty((2000, dimension, projected))
    for person in range(2000):
        for k in range(projected):
            sums, points = np.zeros(2 * dimension, dtype=np.int64), np.zeros((1, projected), dtype=np.uint16)
            points[0, k] = 1
            unfold(seeds[person : person + 1], points, 0.0, 1e6, 0, sums)
            entries[person, :, k] = sums[:dimension] / 1e6
    lengths = np.sqrt((entries**2).sum(axis=2, keepdims=True))
    assert np.moveaxis(shown, 0, 1) == pytest.approx(entries / lengths, abs=1e-5)
    flat = entries.reshape(2000, -1)
    assert np.abs(flat.mean(axis=0)).max() < SIGMAS / sqrt(2000)
    assert np.abs(flat.T @ flat / 2000 - np.eye(12)).max() < (SIGMAS + 0.5) * sqrt(2 / 2000)


@pytest.mark.parametrize(("dimension", "projected", "epsilon"), [(3, 8, 2.0), (40, 10, 6.0)])
def test_unbiased_with_the_stated_error(dimension, projected, epsilon):
    """Vectors on the ball and at its center, each a crowd of its own. A twin of a larger epsilon is rejected: it lengthens the estimate."""
    spec, n = dn.ProjUnit(dimension=dimension, projected=projected, epsilon=epsilon, radius=2.0), 20_000
    bolder = dn.ProjUnit(dimension=dimension, projected=projected, epsilon=1.3 * epsilon, radius=2.0)
    x = 2 * np.ones(dimension) / sqrt(dimension)
    for vector in (x, 0 * x):
        people = np.tile(vector, (n, 1))
        sent = spec.privatize(people, source=ReplaySource.from_key("honest"))
        found = spec.estimate(spec.tally(sent))
        z = (found.point - vector) / found.stderr
        assert np.abs(z).max() < SIGMAS + 1
        assert (found.stderr**2).sum() * n == pytest.approx(spec.variance(n=1), rel=0.06)
    other = bolder.privatize(np.tile(x, (n, 1)), source=ReplaySource.from_key("bolder"))
    found = spec.estimate(spec.tally(Reports(spec, n, other.columns)))
    assert ((found.point - x) @ x) / 2 / found.stderr[0] > SIGMAS


def test_scalar_and_bulk_agree_word_by_word_and_specs_travel():
    spec = dn.ProjUnit(dimension=12, projected=6, epsilon=3.0)
    people = np.tile(np.linspace(-0.3, 0.3, 12), (50, 1))
    source, bulk = (ReplaySource.from_key("both") for _ in range(2))
    reports = spec.privatize(people, source=bulk)
    one_by_one = [spec.randomize(person, source) for person in people]
    assert [reports[i] for i in range(50)] == one_by_one
    assert bulk.consumed == source.consumed == 50 * 10
    assert spec.tally(one_by_one) == spec.tally(reports)
    assert spec_from_json(spec.canonical) == spec != dn.ProjUnit(dimension=12, projected=7, epsilon=3.0)
    assert "floating point" in spec.guarantee.certificate
    assert spec.effective_epsilon <= 3.0
    with pytest.raises(ParameterError, match="projected"):
        dn.ProjUnit(dimension=12, projected=1, epsilon=3.0)
    with pytest.raises(DomainError):
        spec.privatize([[1.0] * 12])


@pytest.mark.parametrize(("epsilon", "asked"), [(1.0, 1), (7.4, 2), (7.5, 3), (30.0, 4)])
def test_as_many_coordinates_are_asked_for_as_epsilon_bears(epsilon, asked):
    sampling = CoordinateSampling(dimension=4, low=-1, high=1, epsilon=epsilon)
    assert sampling.asked == asked
    assert sampling.asked * Fraction(repr(sampling.spec.epsilon)) <= Fraction(repr(epsilon))
    report = sampling.randomize([0.1, 0.2, -0.3, 1.0], ReplaySource.from_key("device"))
    assert len({place for place, _ in report}) == asked


def test_a_few_coordinates_each_are_unbiased_with_the_stated_error():
    """200 crowds; a twin whose people all answer for one coordinate at the whole epsilon errs more."""
    sampling = CoordinateSampling(dimension=5, low=-1, high=1, epsilon=8.0)
    people = np.clip(np.random.default_rng(3).normal(0.2, 0.5, (1000, 5)), -1, 1)
    found = [sampling.run(people, source=ReplaySource.from_key(f"run {run}")) for run in range(200)]
    z = np.array([(estimate.point - people.mean(axis=0)) / estimate.stderr for estimate in found])
    assert np.abs(z.mean(axis=0)).max() * sqrt(200) < SIGMAS
    assert 0.6 < (z**2).mean() < 1 + SIGMAS * sqrt(2 / z.size)
    assert found[0].n == 3000
    squared = np.mean([((estimate.point - people.mean(axis=0)) ** 2).sum() for estimate in found])
    assert squared < sampling.variance(1000) < CoordinateSampling(dimension=5, low=-1, high=1, epsilon=8.0, asked=1).variance(1000)
    with pytest.raises(DomainError):
        sampling.run(people + 9)
    with pytest.raises(ParameterError, match="asked"):
        CoordinateSampling(dimension=5, low=-1, high=1, epsilon=8.0, asked=6)
