"""Intervals against their own definitions, scipy's, and sums over the exact law: a limit is where its test stops rejecting."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, log

import numpy as np
import pytest
from scipy import stats

from deniable.core import interval
from deniable.errors import ParameterError

LAWS = [(0.75, 0.25), (0.5, 0.1), (0.9, 0.6), (0.97, 0.5), (0.3, 0.001)]
"""Pairs (p, q): the variance grows with the count in the second and the last one, and falls in the third and fourth."""
N = 4000


def mean(count, p, q, n=N):
    return n * q + count * (p - q)


def variance(count, p, q, n=N):
    """Of Bin(count, p) + Bin(n - count, q); fewer people than none change it no more."""
    count = np.clip(count, 0, None)
    return count * p * (1 - p) + (n - count) * q * (1 - q)


def supports(p, q):
    """From far fewer than nobody's holding a value explains to everyone's holding it."""
    return np.array([mean(share * N, p, q) - fewer for share, fewer in product((0, 0.01, 0.3, 1), (0, 1, 40, -40))])


@pytest.mark.parametrize(("p", "q"), LAWS)
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_the_normal_test_just_accepts_its_limits(p, q, alpha):
    seen, z = supports(p, q), stats.norm.ppf(1 - alpha / 2)
    low, high = interval.score(seen, N, np.array(p), np.array(q), alpha)
    assert seen - mean(low, p, q) == pytest.approx(z * np.sqrt(variance(low, p, q)))
    assert mean(high, p, q) - seen == pytest.approx(z * np.sqrt(variance(high, p, q)))


@pytest.mark.parametrize(("p", "q"), LAWS)
def test_bernsteins_inequality_just_accepts_its_limits(p, q):
    """2 exp(-x^2 / (2 (Var + x / 3))) is alpha at either limit."""
    seen, alpha = supports(p, q), 0.02
    for limit, sign in zip(interval.bernstein(seen, N, np.array(p), np.array(q), alpha), (1, -1), strict=True):
        x = sign * (seen - mean(limit, p, q))
        assert np.all(x > 0)
        assert 2 * np.exp(-(x**2) / (2 * (variance(limit, p, q) + x / 3))) == pytest.approx(alpha)


@pytest.mark.parametrize(("p", "q"), LAWS)
def test_hoeffdings_inequality_just_accepts_its_limits(p, q):
    seen, alpha = supports(p, q), 0.02
    for limit, sign in zip(interval.hoeffding(seen, N, np.array(p), np.array(q), alpha), (1, -1), strict=True):
        x = sign * (seen - mean(limit, p, q))
        assert np.all(x > 0)
        assert 2 * np.exp(-2 * x**2 / N) == pytest.approx(alpha)


@pytest.mark.parametrize("jump", [0.0, 0.5, 30.0])
def test_a_few_large_parts_stray_as_far_as_bernstein_says(jump):
    variance, alpha = np.array([0.5, 9.0, 400.0]), 0.02
    x = interval.few_large(variance, jump, alpha)
    assert np.all(x > 0)
    assert np.exp(-(x**2) / (2 * (variance + jump * x / 3))) == pytest.approx(alpha / 2)


@pytest.mark.parametrize(("p", "q"), LAWS)
def test_far_tails_are_corrected_by_the_third_moment(p, q):
    """Cornish and Fisher: the quantile of a law with skewness g is z + g (z^2 - 1) / 6; the skewness is that of scipy's binomials."""
    alpha = 1e-5
    for holders, seen in ((1200, mean(1200, p, q)), (0, mean(0, p, q) - 1), (N, mean(N, p, q) + 1)):
        laws = stats.binom(holders, p), stats.binom(N - holders, q)
        third = sum(float(law.stats("s")) * law.var() ** 1.5 for law in laws if law.var())
        z = stats.norm.isf(0.95 * alpha / 2)
        bend = third / sum(law.var() for law in laws) ** 1.5 * (z**2 - 1) / 6
        low, high = interval.score(np.array([seen]), N, np.array(p), np.array(q), alpha, skewness=True)
        assert seen - 0.5 - mean(low, p, q) == pytest.approx((z + bend) * np.sqrt(variance(low, p, q)))
        assert mean(high, p, q) - seen - 0.5 == pytest.approx((z - bend) * np.sqrt(variance(high, p, q)))


@pytest.mark.parametrize(("n", "p", "q"), [(9, "3/4", "1/4"), (12, "1/2", "1/1000"), (7, "9/10", "3/5")])
def test_exact_limits_are_those_of_every_count_tried_in_fractions(n, p, q):
    p, q = Fraction(p), Fraction(q)

    def law(trials, chance):
        return [comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]

    at_least = []
    for count in range(n + 1):
        ours, others = law(count, p), law(n - count, q)
        exactly = [sum(ours[j] * others[i - j] for j in range(i + 1) if j <= count and i - j <= n - count) for i in range(n + 1)]
        at_least.append([sum(exactly[i:]) for i in range(n + 2)])
    for alpha in (Fraction(1, 20), Fraction(1, 3), Fraction(9, 10)):
        low, high = interval.exact(np.arange(n + 1.0), n, np.array(float(p)), np.array(float(q)), float(alpha))
        for seen in range(n + 1):
            enough = [count for count in range(n + 1) if at_least[count][seen] > alpha / 2]
            few = [count for count in range(n + 1) if 1 - at_least[count][seen + 1] > alpha / 2]
            assert low[seen] == min(enough, default=n)
            assert high[seen] == max(few, default=0)


def test_exact_limits_of_a_crowd():
    """At the limit the exact tail, summed over all splits, is above alpha / 2, and one count further it is not."""
    n, p, q, alpha = 3000, 0.5, 0.4, 0.05
    seen = np.array([1150.0, 1200.0, 1265.0, 1200.0])

    def tail(i, count):
        noise = np.arange(n - int(count) + 1)
        return float(stats.binom.pmf(noise, n - count, q) @ stats.binom.sf(i - noise - 1, count, p))

    low, high = interval.exact(seen, n, np.array(p), np.array(q), alpha)
    assert low[1] == low[3]
    for i, least, most in zip(seen, low, high, strict=True):
        assert tail(i, least) > alpha / 2
        assert least == 0 or tail(i, least - 1) <= alpha / 2
        assert 1 - tail(i + 1, most) > alpha / 2 or most == 0
        assert 1 - tail(i + 1, most + 1) <= alpha / 2


@pytest.mark.parametrize(("p", "q"), LAWS)
def test_people_drawn_at_random_get_the_limits_of_a_proportion(p, q):
    """Wilson's, and Clopper and Pearson's, as scipy has them, carried over by f = (chance - q) / (p - q)."""
    seen, n = np.array([0, 1, 137, 399, 400]), 400
    for ours, theirs in ((interval.sampling_score, "wilson"), (interval.sampling_exact, "exact")):
        low, high = ours(seen.astype(float), n, np.array(p), np.array(q), 0.03)
        found = [stats.binomtest(int(k), n).proportion_ci(0.97, method=theirs) for k in seen]
        assert low == pytest.approx([n * (chance.low - q) / (p - q) for chance in found], abs=1e-9)
        assert high == pytest.approx([n * (chance.high - q) / (p - q) for chance in found], abs=1e-9)


def test_a_level_is_a_probability():
    for level in (1e-9, 0.5, np.float64(0.95)):
        interval.check_level("level", level)
    for wrong in (0, 1, True, False, -0.1, 95, "0.95", None, float("nan")):
        with pytest.raises(ParameterError, match="level"):
            interval.check_level("level", wrong)
    assert log(2 / 0.05) == pytest.approx(float(interval.few_large(np.zeros(1), 1.5, 0.05)[0]))
