"""How often intervals for means cover the truth.

For a single bit the law of the tally is summed up exactly. For points of a lattice the tally is drawn from its exact law, 5,000 times: a
coverage of 95 % is then seen outside of 94 to 96 % with probability 0.001, and one of 92 % inside with 1e-7.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core.tally import Tally
from tests.estimates import with_law

DRAWS = 5_000
BITS = {
    "OneBitMean, epsilon 1": dn.OneBitMean(low=0, high=1, epsilon=1.0),
    "Duchi, epsilon 3": dn.Duchi(low=-5, high=5, epsilon=3.0),
    "SignRR, epsilon 1": dn.SignRR(low=0, high=1, epsilon=1.0),
    "SignRR, epsilon 4": dn.SignRR(low=0, high=1, epsilon=4.0),
}
LATTICES = {
    "Piecewise, epsilon 1": dn.Piecewise(low=0, high=1, steps=16, epsilon=1.0),
    "Piecewise, epsilon 5": dn.Piecewise(low=0, high=1, steps=40, epsilon=5.0),
    "Hybrid, epsilon 1": dn.Hybrid(low=0, high=1, steps=16, epsilon=1.0),
    "Hybrid, epsilon 4": dn.Hybrid(low=0, high=1, steps=40, epsilon=4.0),
    "DiscreteLaplace, epsilon 2": dn.DiscreteLaplace(low=0, high=1, steps=8, epsilon=2.0),
}


def bits_law(spec, crowd):
    """The numbers of ones that can be seen, and their probabilities, for a crowd of (grid point, people)."""
    weights = np.ones(1)
    for point, people in crowd:
        weights = np.convolve(weights, stats.binom.pmf(np.arange(people + 1), people, float(spec.output_law(point)[1])))
    seen = np.flatnonzero(weights > 1e-13)
    return seen, weights[seen]


def covered(spec, crowd, method, **changes):
    """The exact probability that limits cover the crowd's mean."""
    n = sum(people for _, people in crowd)
    truth = float(spec.domain.start + spec.unit * sum(point * people for point, people in crowd) / n)
    seen, weights = bits_law(spec, crowd)
    total = 0.0
    for ones, weight in zip(seen, weights, strict=True):
        estimate = spec.estimate(Tally(spec, n, np.array([ones])))
        low, high = method(with_law(estimate, **{name: change(estimate) for name, change in changes.items()}))
        total += weight * (low <= truth <= high)
    return total


def interval(estimate):
    return estimate.interval(0.95)


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_bits_cover_94_to_96_percent_where_the_noise_is_known(name, share):
    """All people alike, or, for signs, any mixture of low and high: then nothing about the noise is guessed."""
    spec, n = BITS[name], 1100 if "epsilon 1" in name else 12_000
    if spec.mechanism == "SignRR":
        crowd = [(0, round(n * (1 - share))), (1, n - round(n * (1 - share)))]
    else:
        crowd = [(round(spec.steps * share), n)]
    assert 0.94 <= covered(spec, crowd, interval) <= 0.96


@pytest.mark.parametrize("name", ["OneBitMean, epsilon 1", "Duchi, epsilon 3"])
def test_bits_about_a_mixture_cover_at_least_the_level(name):
    """One bit does not show how values are spread. The worst spread is assumed, and more is covered where it is another."""
    spec, n = BITS[name], 1400 if "epsilon 1" in name else 5_000
    assert covered(spec, [(0, n // 2), (spec.steps, n // 2)], interval) >= 0.95


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("n", [1, 10, 150])
def test_few_bits_cover_at_least_the_level(name, n):
    spec = BITS[name]
    for crowd in ([(0, n)], [(spec.steps, n)], [(0, n // 2), (spec.steps, n - n // 2)]):
        assert covered(spec, crowd, interval) >= 0.95
        for method in ("hoeffding", "bernstein"):
            assert covered(spec, crowd, lambda estimate, method=method: estimate.bound(0.95, method)) >= 0.95


@pytest.mark.parametrize("name", ["OneBitMean, epsilon 1", "SignRR, epsilon 4"])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_sample_of_bits_covers_its_population(name, share):
    """People drawn at random: the ones are one binomial, whatever the values are."""
    spec, n = BITS[name], 12_000
    chance = float((1 - share) * spec.output_law(0)[1]) + float(share * spec.output_law(spec.steps)[1])
    seen = np.arange(*stats.binom(n, chance).ppf([1e-12, 1 - 1e-12]).astype(int))
    hits = []
    for ones in seen:
        low, high = spec.estimate(Tally(spec, n, np.array([ones]))).interval(0.95, population=True)
        hits.append(low <= share <= high)
    assert 0.94 <= stats.binom.pmf(seen, n, chance)[hits].sum() <= 0.96


def lattice_coverage(spec, crowd, *, population=False, scale=1.0):
    """How often limits cover, over tallies drawn from their exact law; ``scale`` is an evil factor on the limits."""
    draw = np.random.default_rng(17)
    n = sum(people for _, people in crowd)
    reports = list(range(spec.outputs))
    features = np.array([spec.features(report) for report in reports])
    tables = [spec.output_law(point) for point, _ in crowd]
    laws = np.array([[float(table[report]) for report in reports] for table in tables])
    laws /= laws.sum(axis=1, keepdims=True)
    shares = np.array([people for _, people in crowd]) / n
    mean = float(spec.domain.start) + float(spec.unit) * sum(point * share for (point, _), share in zip(crowd, shares, strict=True))
    hits = 0
    for _ in range(DRAWS):
        people = draw.multinomial(n, shares) if population else [people for _, people in crowd]
        counters = sum(draw.multinomial(count, law) for count, law in zip(people, laws, strict=True)) @ features
        estimate = spec.estimate(Tally(spec, n, counters))
        low, high = estimate.interval(0.95, population=population)
        middle, reach = (low + high) / 2, scale * (high - low) / 2
        hits += middle - reach <= mean <= middle + reach
    return hits / DRAWS


@pytest.mark.parametrize(
    ("name", "population"), [*((name, False) for name in LATTICES), ("Piecewise, epsilon 1", True), ("Hybrid, epsilon 4", True)]
)
def test_points_cover_94_to_96_percent(name, population):
    """Most people at one end, some in the middle, few at the other: the spread is estimated, too."""
    spec = LATTICES[name]
    n = 8_000 if spec.epsilon < 3 else 60_000
    crowd = [(0, 6 * n // 10), (spec.steps // 2, 3 * n // 10), (spec.steps, n // 10)]
    covers = lattice_coverage(spec, crowd, population=population)
    assert 0.94 <= covers <= 0.96


def test_evil_twins_of_the_intervals_are_rejected():
    """Limits of nine tenths of their width."""
    spec, n = LATTICES["Hybrid, epsilon 1"], 8_000
    assert lattice_coverage(spec, [(0, n // 2), (spec.steps, n // 2)], scale=0.9) < 0.94
    sign = BITS["SignRR, epsilon 1"]
    assert covered(sign, [(0, 1000), (1, 1000)], interval, noise=lambda estimate: 0.81 * estimate.law.noise) < 0.94


@pytest.mark.parametrize("name", ["Piecewise, epsilon 1", "Hybrid, epsilon 4"])
def test_few_points_cover_at_least_the_level(name):
    spec = LATTICES[name]
    assert lattice_coverage(spec, [(0, 20), (spec.steps, 20)]) >= 0.95
