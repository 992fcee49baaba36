"""How often intervals cover the truth, summed over the exact law of the supports: no sampling."""

from __future__ import annotations

from math import e

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core import interval
from tests.estimates import of_supports

LAWS = {
    "OUE, epsilon 1": (1 / 2, 1 / (e + 1)),
    "OUE, epsilon 4": (1 / 2, 1 / (e**4 + 1)),
    "GRR, d = 1024": (e / (e + 1023), 1 / (e + 1023)),
    "GRR, d = 128, epsilon 4": (e**4 / (e**4 + 127), 1 / (e**4 + 127)),
    "OLH": (e / (e + 3), 1 / 4),
    "RR": (e / (e + 1), 1 / (e + 1)),
    "rare noise": (0.9, 0.0005),
}
SHARES = (0.0, 0.01, 0.1, 0.97)
each_law = pytest.mark.parametrize(("p", "q"), LAWS.values(), ids=LAWS)


def supports_law(n, count, p, q):
    """The supports that can be seen, and their probabilities: the convolution of two binomials, tails below 1e-14 left out."""
    parts = []
    for law in (stats.binom(count, p), stats.binom(n - count, q)):
        reach = 13 * law.std() + 13
        start = max(0, int(law.mean() - reach))
        parts.append((start, law.pmf(np.arange(start, int(law.mean() + reach) + 1))))
    (first, x), (second, y) = parts
    weights = np.convolve(x, y)
    seen = first + second + np.arange(weights.size)
    return seen[weights > 1e-14].astype(float), weights[weights > 1e-14]


def misses(method, n, count, p, q, alpha):
    """The probability that the interval lies above the truth, and that it lies below."""
    seen, weights = supports_law(n, count, p, q)
    low, high = method(seen, n, np.asarray(p), np.asarray(q), alpha)
    return weights[low > count].sum(), weights[high < count].sum()


def people(variance, q):
    return int(np.ceil(variance / (q * (1 - q))))


def skewed(*arguments):
    return interval.score(*arguments, skewness=True)


@each_law
@pytest.mark.parametrize("variance", [200, 210, 1000, 20_000])
@pytest.mark.parametrize("share", SHARES)
def test_score_covers_94_to_96_percent(p, q, variance, share):
    n = people(variance, q)
    above, below = misses(interval.score, n, int(share * n), p, q, 0.05)
    assert 0.04 <= above + below <= 0.06
    assert max(above, below) <= 0.035  # neither side is given up


@each_law
@pytest.mark.parametrize("variance", [1000, 1100, 20_000])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("values", [2, 1024, 100_000])
def test_simultaneous_intervals_miss_at_most_their_share(p, q, variance, share, values):
    """Bonferroni: each value may miss with probability alpha / d, far out in the tails, so that all hold with 95 %."""
    n = people(variance, q)
    assert sum(misses(skewed, n, int(share * n), p, q, 0.05 / values)) <= 0.05 / values


@each_law
@pytest.mark.parametrize("bound", [interval.hoeffding, interval.bernstein])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 1024])
def test_bounds_hold(p, q, bound, share, alpha):
    for variance in (1, 20, 200, 5000):
        n = people(variance, q)
        assert sum(misses(bound, n, int(share * n), p, q, alpha)) <= alpha


INVERTED = [(*LAWS[name], variance) for name in ("OUE, epsilon 4", "GRR, d = 1024", "OLH") for variance in (1, 10, 190)]
INVERTED += [(*LAWS["rare noise"], variance) for variance in (1, 10, 40)]  # 190 are half a million people, and a minute each


@pytest.mark.parametrize(("p", "q", "variance"), INVERTED)
@pytest.mark.parametrize("alpha", [0.05, 0.0005])
def test_exact_inversion_covers_at_least_the_level(p, q, variance, alpha):
    n = people(variance, q)
    for count in {0, 1, n // 100, n // 2, n}:
        supports, weights = supports_law(n, count, p, q)
        asked = looked_at(supports, weights, alpha)
        low, high = interval.exact(asked, n, np.asarray(p), np.asarray(q), alpha)
        assert np.all(np.diff(low) >= 0)
        assert np.all(np.diff(high) >= 0)  # so the limits of all others lie between these: as bad as can be, they are
        assert weights[low[np.searchsorted(asked, supports)] > count].sum() <= alpha / 2
        assert weights[high[np.searchsorted(asked, supports, side="right") - 1] < count].sum() <= alpha / 2


def looked_at(supports, weights, alpha):
    """Every support around the alpha / 2 quantiles, where intervals begin to miss; every tenth of the others, and the last."""
    place, below = np.arange(supports.size), np.cumsum(weights)
    near = np.abs(place[:, None] - np.searchsorted(below, [alpha / 2, below[-1] - alpha / 2])).min(axis=1) <= 6
    return supports[near | (place % 10 == 0) | (place == place[-1])]


def test_exact_inversion_is_not_needlessly_wide():
    """At n q (1 - q) = 190 it agrees with the normal test to within one support on either side."""
    p, q = LAWS["GRR, d = 1024"]
    n = people(190, q)
    seen = np.arange(150.0, 400.0, 25.0)
    exact, score = (method(seen, n, np.asarray(p), np.asarray(q), 0.05) for method in (interval.exact, interval.score))
    one_support = 1.0 / (p - q)
    assert np.all(np.abs(np.clip(score[0], 0, n) - exact[0]) <= one_support)
    assert np.all(np.abs(np.clip(score[1], 0, n) - exact[1]) <= one_support)


@each_law
@pytest.mark.parametrize("variance", [200, 2000])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5])
def test_sampling_intervals_cover_people_drawn_at_random(p, q, variance, share):
    """With ``population=True`` the people are a sample: the supports are one binomial."""
    n = people(variance, q)
    chance = share * p + (1 - share) * q
    seen = np.arange(*stats.binom(n, chance).ppf([1e-13, 1 - 1e-13]).astype(int))
    weights = stats.binom(n, chance).pmf(seen)
    for method, least, most in ((interval.sampling_score, 0.94, 0.96), (interval.sampling_exact, 0.95, 1.0)):
        low, high = method(seen.astype(float), n, np.asarray(p), np.asarray(q), 0.05)
        assert least <= weights[(low <= share * n) & (share * n <= high)].sum() <= most


def test_evil_twins_of_the_intervals_are_rejected():
    """A standard error that forgets the holders' own noise, or takes 90 % of it, must fail the test above."""
    p, q = LAWS["GRR, d = 128, epsilon 4"]
    n = people(1000, q)

    def forgets_the_holders(seen, n, p, q, alpha):
        reach = stats.norm.isf(alpha / 2) * np.sqrt(n * q * (1 - q)) / (p - q)
        return (seen - n * q) / (p - q) - reach, (seen - n * q) / (p - q) + reach

    def nine_tenths(seen, n, p, q, alpha):
        low, high = interval.score(seen, n, p, q, alpha)
        return (low + high) / 2 - 0.45 * (high - low), (low + high) / 2 + 0.45 * (high - low)

    assert sum(misses(forgets_the_holders, n, n // 2, p, q, 0.05)) > 0.06
    assert sum(misses(nine_tenths, n, n // 10, p, q, 0.05)) > 0.06


def public_interval(spec, n, supports, *, simultaneous=False):
    estimate = of_supports(spec, range(len(supports)), n, np.asarray(supports), np.asarray(float(spec.p)), np.asarray(float(spec.q)))
    return estimate.interval(0.95, simultaneous=simultaneous)


@pytest.mark.parametrize(
    ("spec", "n"),
    [
        (dn.OLH(domain_size=100, epsilon=9.0, hash_range=2), 1200),
        (dn.OLH(domain_size=100, epsilon=4.0, hash_range=2), 1200),
        (dn.RR.from_probabilities("0.9999", "0.5"), 1200),
        (dn.OUE(domain_size=100, epsilon=1.0), 1200),
        (dn.GRR(domain_size=100, epsilon=2.0), 3000),
    ],
    ids=repr,
)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99, 1.0])
def test_the_method_is_chosen_so_that_the_public_interval_covers(spec, n, share):
    """Where nearly everyone's report is certain, the normal test is as wrong as where nearly nobody's supports by chance."""
    p, q, count = float(spec.p), float(spec.q), int(share * n)
    seen, weights = supports_law(n, count, p, q)
    low, high = public_interval(spec, n, seen.astype(int))
    assert weights[(low <= count) & (count <= high)].sum() >= 0.94


def test_simultaneous_intervals_choose_their_method_by_the_far_tails():
    """n q (1 - q) = 300: enough for one interval, not for the tails of a thousand."""
    spec = dn.GRR(domain_size=1000, epsilon=4.0)
    p, q = float(spec.p), float(spec.q)
    n = people(300, q)
    seen, weights = supports_law(n, n // 100, p, q)
    estimate = of_supports(spec, range(len(seen)), n, seen.astype(int), np.asarray(p), np.asarray(q), family_size=1000)
    low, high = estimate.interval(0.95, simultaneous=True)
    assert weights[(low > n // 100) | (high < n // 100)].sum() <= 0.05 / 1000


@pytest.mark.parametrize("times", [1, 3, 10])
@pytest.mark.parametrize("alpha", [0.05, 0.005, 0.00005])
def test_the_normal_test_of_a_change_gives_false_alarms_as_often_as_it_may(times, alpha):
    """Two crowds of which 1 % hold a value, near the fewest reports that the test serves: all pairs of supports, by their exact laws."""
    spec, n, share = dn.OUE(domain_size=8, epsilon=4.0), 57_000, 0.01
    p, q = float(spec.p), float(spec.q)
    chance, sizes = q + share * (p - q), (n, times * n)
    assert 1000 <= n * q * (1 - q) < 1010
    first, second = (np.arange(*stats.binom.ppf([1e-13, 1 - 1e-13], size, chance)) for size in sizes)
    pooled = np.clip((first[:, None] + second) / sum(sizes), q, p)
    z = np.abs(first[:, None] / n - second / sizes[1]) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / sizes[1]))
    law = stats.binom.pmf(first, n, chance)[:, None] * stats.binom.pmf(second, sizes[1], chance)
    assert 0.985 <= law[z >= stats.norm.isf(alpha / 2)].sum() / alpha <= 1.025
