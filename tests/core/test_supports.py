"""Counts from supports and from scores: variances against sums over the law, limits against the inequality or test that they promise."""

from __future__ import annotations

from dataclasses import fields
from inspect import Parameter, signature

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core import interval
from tests.estimates import of_scores, of_supports, with_law

SPEC = dn.GRR(domain_size=4, epsilon=1.0)
P, Q = np.array(0.75), np.array(0.25)


def supported(n=400, supports=(100, 150, 300, 90), p=P, q=Q, **options):
    return of_supports(SPEC, range(len(supports)), n, np.array(supports), p, q, **options)


def scored(n=400, sums=(-5.0, 40.0, 300.0), spread=(900.0, 800.0, 700.0), **options):
    options = {"slope": 0.5, "reach": 3.0, "worst": 4.0} | options
    return of_scores(SPEC, range(len(sums)), n, np.array(sums), np.array(spread), **options)


def same(found, expected):
    assert [limit.tolist() for limit in found] == [pytest.approx(np.asarray(limit).tolist()) for limit in expected]


def test_options_are_named_where_an_estimate_is_made():
    """Two floats in the wrong order would be two wrong errors: nothing but what was counted is taken by its place."""
    for law, names in ((supported().law, "n supports p q"), (scored().law, "n sums spread")):
        given = {each.name: getattr(law, each.name) for each in fields(law)}
        by_place = [given.pop(name) for name in names.split()]
        assert repr(type(law)(*by_place, **given)) == repr(law)
        kinds = {each.name: each.kind for each in signature(type(law)).parameters.values()}
        assert {kinds[name] for name in given} == {Parameter.KEYWORD_ONLY}


# --- supports ---


@pytest.mark.parametrize(("p", "q"), [(0.75, 0.25), (0.5, 0.1), (0.9, 0.6)])
def test_the_variance_of_a_count_is_that_of_its_supports(p, q):
    """By scipy's binomials: of fixed people, and of people drawn at random, each a holder with probability c / n."""
    estimate = supported(p=np.array(p), q=np.array(q))
    for count in (0, 1, 130, 400):
        fixed = (stats.binom.var(count, p) + stats.binom.var(400 - count, q)) / (p - q) ** 2
        drawn = stats.binom.var(400, (count * p + (400 - count) * q) / 400) / (p - q) ** 2
        assert estimate.law.variance(np.array([float(count)]))[0] == pytest.approx(fixed)
        assert estimate.law.variance(np.array([float(count)]), population=True)[0] == pytest.approx(drawn)
    assert estimate.law.variance(np.array([-9.0]), population=True)[0] == pytest.approx(stats.binom.var(400, q) / (p - q) ** 2)
    single = of_supports(SPEC, ["a"], 1, np.array([1]), np.array(p), np.array(q))
    assert single.law.variance(np.ones(1), population=True)[0] == pytest.approx(p * (1 - p) / (p - q) ** 2)
    assert estimate.law.enough == pytest.approx(min(stats.binom.var(400, p), stats.binom.var(400, q)))
    assert estimate.counts.tolist() == pytest.approx([(seen - 400 * q) / (p - q) for seen in (100, 150, 300, 90)])


def test_collisions_add_their_share_of_what_others_hold():
    """A hundredth of the squares of all other values; a count below zero leaves all of them."""
    estimate = supported(collisions=0.01, squares=50_000.0)  # counts: 0, 100, 400, -20
    assert estimate.law.shared.tolist() == pytest.approx([500.0, 400.0, 0.0, 500.0])
    for some in (False, True):
        plain = supported().law.variance(np.array([0.0, 9, 9, 9]), population=some)
        assert (estimate.law.variance(np.array([0.0, 9, 9, 9]), population=some) - plain).tolist() == pytest.approx(
            [500.0, 400.0, 0.0, 500.0]
        )


@pytest.mark.parametrize(
    ("n", "simultaneous", "population", "method"),
    [
        (400, False, False, interval.exact),
        (400, False, True, interval.sampling_exact),
        (1067, False, False, interval.score),
        (1067, False, True, interval.sampling_score),
        (1067, True, False, interval.exact),
        (1067, True, True, interval.sampling_exact),
        (5334, True, False, lambda *given: interval.score(*given, skewness=True)),
        (5334, True, True, interval.sampling_exact),
    ],
)
def test_the_method_follows_from_how_much_noise_there_is(n, simultaneous, population, method):
    """n q (1 - q) passes 200 at 1,067 people and 1,000 at 5,334; Bonferroni divides by the four values."""
    estimate = supported(n)
    expected = method(estimate.law.supports.astype(float), n, P, Q, 0.04 / (4 if simultaneous else 1))
    same(estimate.interval(0.96, simultaneous=simultaneous, population=population), expected)


def test_just_enough_noise_is_enough(monkeypatch):
    estimate = supported()
    monkeypatch.setattr(interval, "NORMAL_FROM", estimate.law.enough)
    same(estimate.interval(0.96), interval.score(estimate.law.supports.astype(float), 400, P, Q, 0.04))
    sums = scored()
    monkeypatch.setattr(interval, "NORMAL_FROM", sums.law.enough)
    assert sums.interval(0.96)[1][0] == pytest.approx(-5 + stats.norm.isf(0.02) * 30)


def test_limits_with_collisions():
    """One by one the errors add in squares. All together, half of the error goes to each of noise and collisions."""
    plain = supported(9000, (2250, 3000, 6000, 2300))
    estimate = with_law(plain, collisions=0.01, squares=1e7, jump=20.0)
    (low, high), (least, most) = plain.interval(0.96), estimate.interval(0.96)
    z = stats.norm.isf(0.02)
    assert plain.counts - least == pytest.approx(np.sqrt((plain.counts - low) ** 2 + z**2 * estimate.law.shared))
    assert most - plain.counts == pytest.approx(np.sqrt((high - plain.counts) ** 2 + z**2 * estimate.law.shared))
    (low, high), (least, most) = plain.interval(0.98, simultaneous=True), estimate.interval(0.96, simultaneous=True)
    for x in (low - least, most - high):
        assert 2 * np.exp(-(x**2) / (2 * (estimate.law.shared + 20 * x / 3))) == pytest.approx(0.04 / 4 / 2)
    for name in ("hoeffding", "bernstein"):
        (low, high), (least, most) = plain.bound(0.98, name), estimate.bound(0.96, name)
        for x in (low - least, most - high):
            assert np.all(x > 0)
            assert 0.01 * 9000**2 / x**2 == pytest.approx(0.02)  # Chebyshev, if one value were everybody's
        same(plain.bound(0.98, name), getattr(interval, name)(plain.law.supports.astype(float), 9000, P, Q, 0.02))


def test_few_reports_are_compared_as_fisher_did():
    first, second = supported(30, (3, 8, 20, 0)), supported(50, (20, 15, 30, 0))
    tables = [[[a, 30 - a], [b, 50 - b]] for a, b in zip(first.law.supports, second.law.supports, strict=True)]
    one_sided = [[stats.fisher_exact(table, side).pvalue for side in ("less", "greater")] for table in tables]
    assert first.law.exact_test(second.law).tolist() == pytest.approx([min(1.0, 2 * min(sides)) for sides in one_sided])
    assert first.compare(second).p_values.tolist() == first.law.exact_test(second.law).tolist()
    for other in (scored(), with_law(second, collisions=0.1), with_law(second, p=np.array(0.7)), with_law(second, q=np.array(0.2))):
        assert first.law.exact_test(other.law) is None
    assert with_law(first, collisions=0.1).law.exact_test(second.law) is None


def test_selected_values_keep_what_belongs_to_them():
    estimate = supported(p=np.array([0.7, 0.8, 0.75, 0.9]), q=np.array([0.1, 0.2, 0.25, 0.3]))
    picked = estimate.select([2, 0])
    assert (list(picked.values), picked.law.p.tolist(), picked.law.q.tolist(), picked.law.supports.tolist()) == (
        [2, 0],
        [0.75, 0.7],
        [0.25, 0.1],
        [300, 100],
    )
    assert (picked.family_size, picked.picked, estimate.picked) == (4, True, False)
    sums = scored(least=0.5, shared=np.array([1.0, 2.0, 3.0]), most_shared=9.0).select([2, 1])
    assert (sums.law.sums.tolist(), sums.law.spread.tolist(), sums.law.least.tolist()) == ([300, 40], [700, 800], [0.5, 0.5])
    assert (sums.law.shared.tolist(), sums.law.most_shared.tolist()) == ([3, 2], [9, 9])


# --- scores ---


def test_the_variance_of_a_sum_of_scores():
    """spread + slope c, and c (1 - c / n) more if the people are drawn; never below what n scores have at least."""
    counts = np.array([0.0, 100.0, 400.0])
    assert scored().law.variance(counts).tolist() == [900, 850, 900]
    assert scored().law.variance(counts, population=True).tolist() == [900, 925, 900]
    assert scored(least=2.2, shared=7.0).law.variance(counts).tolist() == pytest.approx([907, 887, 907])
    assert with_law(scored(), n=0).law.variance(np.zeros(3), population=True).tolist() == [900, 800, 700]
    assert scored().law.enough == pytest.approx(min(900, 800 + 20, 700 + 150) / 9)
    assert scored(kurtosis=0.004).law.enough == pytest.approx(250)
    assert scored(sums=(999.0, 1.0, 1.0), spread=(100.0, 800.0, 800.0)).law.enough == pytest.approx(300 / 9)  # nobody is more than all


def test_normal_limits_of_scores():
    z = stats.norm.isf(0.02)
    estimate = scored(spread=(90_000.0, 80_000.0, 70_000.0))
    assert estimate.law.enough > 1000
    for population, drawn in ((False, np.zeros(3)), (True, np.array([0, 36, 75]))):
        variance = np.array([90_000, 80_020, 70_150]) + drawn
        low, high = estimate.interval(0.96, population=population)
        assert high - estimate.counts == pytest.approx(z * np.sqrt(variance))
        assert estimate.counts - low == pytest.approx(z * np.sqrt(variance))
    z = stats.norm.isf(0.02 / 3)  # the third moment is at most reach times the variance
    bent = z + (z**2 - 1) / 6 / np.sqrt(estimate.law.enough)
    assert estimate.interval(0.96, simultaneous=True)[1] - estimate.counts == pytest.approx(bent * np.sqrt([90_000, 80_020, 70_150]))
    between = scored(spread=(9000.0, 8000.0, 7000.0))  # enough for one interval, not for all of them
    assert between.interval(0.96)[1][0] + 5 == pytest.approx(stats.norm.isf(0.02) * np.sqrt(9000))
    assert bernstein(between.interval(0.96, simultaneous=True)[1][0] + 5, 400 * 4.0, 3.0) == pytest.approx(0.04 / 3)


def bernstein(x, variance, reach):
    return 2 * np.exp(-(x**2) / (2 * (variance + reach * x / 3)))


def test_bounds_of_scores():
    """One score moves from -reach to reach at most (Hoeffding), and has the variance ``worst`` at most (Bernstein)."""
    estimate = scored()
    for limits, chance in (
        (estimate.bound(0.96, "bernstein"), lambda x: bernstein(x, 400 * 4.0, 3.0)),
        (estimate.bound(0.96, "hoeffding"), lambda x: 2 * np.exp(-2 * x**2 / (400 * 6.0**2))),
        (estimate.interval(0.96), lambda x: bernstein(x, 400 * 4.0, 3.0)),  # too few: its variance is not known well
        (estimate.interval(0.96, population=True), lambda x: bernstein(x, 400 * 4.0 + 100, 3.0)),
    ):
        for x in (estimate.counts - limits[0], limits[1] - estimate.counts):
            assert np.all(x > 0)
            assert chance(x) == pytest.approx(0.04)


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("slope", [0.5, -0.5])
def test_limits_of_few_scores_with_a_known_variance(slope, population):
    """Bernstein with the variance at the limit itself, which lies further up or down the slope."""
    estimate = scored(slope=slope, known=True, least=2.1)
    extra = 100 if population else 0
    held = np.clip(estimate.counts, 0, 400)
    at_least = np.maximum(estimate.law.spread + max(slope, 0) * held, 400 * 2.1) + extra
    low, high = estimate.interval(0.96, population=population)
    for x, grows in ((estimate.counts - low, max(-slope, 0)), (high - estimate.counts, max(slope, 0))):
        assert np.all(x > 0)
        assert bernstein(x, at_least + grows * x, 3.0) == pytest.approx(0.04)


def test_collisions_of_scores():
    estimate = scored(spread=(9000.0,) * 3)
    apart = with_law(estimate, shared=np.array([4.0, 0.0, 9.0]), most_shared=25.0, jump=2.0)
    (low, high), (least, most) = estimate.interval(0.98), apart.interval(0.96)
    for x in (low - least, most - high):
        assert bernstein(x, apart.law.shared, 2.0) == pytest.approx(0.02)
    for name in ("hoeffding", "bernstein"):
        (low, high), (least, most) = estimate.bound(0.98, name), apart.bound(0.96, name)
        for x in (low - least, most - high):
            assert np.all(x > 0)
            assert 25 / x**2 == pytest.approx(0.02)
    same(estimate.interval(0.96), scored(spread=(9000.0,) * 3, shared=0.0).interval(0.96))
