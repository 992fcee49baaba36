"""The transform of PGR against every inner product, its geometries against every prime, its points against their coordinates."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

import deniable as dn
from deniable.client.geometries import LARGEST_GEOMETRY, best_geometry, is_prime, next_prime, points_in
from deniable.errors import ParameterError
from deniable.kernels.projective import supports_of_values, table_of_coordinates
from deniable.testing import ReplaySource

GEOMETRIES = [(2, 2), (2, 3), (2, 6), (3, 2), (3, 3), (3, 4), (3, 5), (5, 2), (5, 3), (5, 4), (7, 3), (7, 4), (11, 3), (31, 2), (23, 3)]


@pytest.mark.parametrize(("order", "dimension"), GEOMETRIES)
def test_the_transform_equals_all_inner_products(order, dimension):
    points = points_in(order, dimension)
    table = table_of_coordinates(points, order, dimension)
    orthogonal = table @ table[:, ::-1].T % order == 0
    assert set(orthogonal.sum(axis=0)) == {points_in(order, dimension - 1)}
    both = orthogonal.T.astype(int) @ orthogonal
    assert set(both[~np.eye(points, dtype=bool)]) == {points_in(order, dimension - 2)}
    reports = np.array([pow(7, i, 1009) for i in range(points)])
    for size in sorted({1, 2, points // 2, points - 1, points}):
        supports = np.zeros(size, dtype=np.int64)
        supports_of_values(reports.copy(), order, dimension, supports)
        assert supports.tolist() == (reports @ orthogonal)[:size].tolist()


@pytest.mark.parametrize(("order", "dimension"), GEOMETRIES)
def test_points_and_coordinates_name_each_other(order, dimension):
    spec = dn.PGR(domain_size=2, epsilon=1.0, order=order, dimension=dimension)
    table = table_of_coordinates(spec.points, order, dimension)
    assert len(np.unique(table, axis=0)) == spec.points
    for index in range(spec.points):
        coordinates = spec.coordinates(index)
        assert coordinates == table[index].tolist()
        assert spec.index([x * (order - 1) % order for x in coordinates]) == index
        assert (coordinates[0] == 0) == (index < spec.orthogonal)


@pytest.mark.parametrize("size", [2, 3, 8, 14, 32, 100, 1000, 1094, 10_007])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.5, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0])
def test_no_prime_does_better_than_the_default(size, epsilon):
    default = dn.PGR(domain_size=size, epsilon=epsilon)
    least = default.variance(n=1, f=1 / size)
    for order in filter(is_prime, range(2, 2 * size)):
        dimension = next(t for t in count(2) if points_in(order, t) >= size)
        for t in (dimension, dimension + 1):
            if points_in(order, t) < 1 << 24:
                spec = dn.PGR(domain_size=size, epsilon=epsilon, order=order, dimension=t)
                assert spec.variance(n=1, f=1 / size) >= least * (1 - 1e-9)


@pytest.mark.parametrize(("size", "epsilon", "expected"), [(2**26, 1.0, (3, 18)), (2**26, 8.0, (8209, 3)), (10**4, 7.0, (1039, 3))])
def test_geometries_of_large_domains(size, epsilon, expected):
    assert best_geometry(size, epsilon) == expected
    assert size <= points_in(*expected) <= LARGEST_GEOMETRY


@pytest.mark.parametrize(
    "given",
    [
        {"order": 4},
        {"order": 1},
        {"order": 3.0},
        {"order": "3"},
        {"order": 2**61 - 1},
        {"dimension": 1},
        {"dimension": 40},
        {"order": 3, "dimension": 2},
        {"order": 3, "dimension": 10**9},
        {"order": 2**28 - 57, "dimension": 3},
    ],
    ids=repr,
)
def test_bad_geometries_are_refused(given):
    with pytest.raises(ParameterError, match=r"order|dimension"):
        dn.PGR(domain_size=10, epsilon=1.0, **given)


def test_what_is_given_is_kept_and_the_rest_is_found():
    assert dn.PGR(domain_size=10, epsilon=1.0, order=5).dimension == 3
    assert dn.PGR(domain_size=10, epsilon=1.0, dimension=2).order == 11
    assert dn.PGR(domain_size=10, epsilon=1.0, dimension=5).order == 3


def test_in_two_dimensions_it_is_grr_with_other_names():
    oracle, grr = dn.PGR(domain_size=8, epsilon=1.0, order=7, dimension=2), dn.GRR(domain_size=8, epsilon=1.0)
    assert (oracle.p, oracle.q) == (grr.p, grr.q)
    assert all([oracle.supports(report, key) for report in range(8)].count(True) == 1 for key in range(8))


@pytest.mark.parametrize(("size", "dimension"), [(2, 2), (4, 2), (4, 3), (9, 3), (3, 4)])
def test_the_best_guess_is_right_as_often_as_the_law_says(size, dimension):
    spec = dn.PGR(domain_size=size, epsilon=1.0, dimension=dimension)
    laws = [spec.law(key) for key in range(size)]
    expected = sum(max(law[report] for law in laws) for report in range(spec.points)) / size
    assert spec.best_guess == pytest.approx(float(expected), rel=1e-12)


def test_coordinates_are_looked_up_or_computed_alike(monkeypatch):
    values = np.arange(3000) % 1000
    reports = []
    for largest in (0, 1 << 22):
        monkeypatch.setattr("deniable.local.frequency.transforms._LARGEST_TABLE", largest)
        spec = dn.PGR(domain_size=1000, epsilon=1.0)
        reports.append(spec.privatize(values, source=ReplaySource.from_key("table")))
    assert reports[0] == reports[1]


def test_primes():
    sieve = [n for n in range(2, 5000) if all(n % k for k in range(2, int(n**0.5) + 1))]
    assert [n for n in range(5000) if is_prime(n)] == sieve
    assert not any(is_prime(n) for n in (2047, 3_215_031_751, 4_294_967_297, 2**32 - 1))  # strong pseudoprimes to some bases
    assert not any(is_prime(n) for n in (2_284_453, 916_327, 79_381))  # to two of ours: only 61, only 7, only 2 finds them
    assert (next_prime(2**32 - 300), next_prime(128), next_prime(2)) == (4_294_966_997, 131, 2)
