"""The intervals of what a session answers: they reach as far as the noise does, and they cover."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.central import Laplace
from deniable.central.histogram import released_counts
from deniable.central.number import LaplaceRatio, released_number
from deniable.central.quantiles import Ranking, utilities
from deniable.central.spread import Spread, pair_reach, sum_reaches
from deniable.testing import ReplaySource
from tests.central.sessions import SPENT

PLUS = "add-remove"


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_the_reach_of_the_noise_is_exact(epsilon):
    noise = Laplace(epsilon=epsilon, sensitivity=1, neighbors=PLUS)
    spread = Spread(noise.scale)
    assert spread.variance == pytest.approx(noise.variance, rel=1e-9)
    for alpha in (0.5, 0.05, 1e-4):
        reach = int(spread.reach(alpha))
        inside = sum(float(noise.probability(k)[0]) for k in range(-reach, reach + 1))
        assert inside >= 1 - alpha - 1e-12
        assert inside - 2 * float(noise.probability(reach)[0]) < 1 - alpha or reach == 0  # one step less would not do


def test_the_reach_of_two_and_of_many_noises_is_on_the_safe_side_and_not_far():
    """Exact convolutions of the discrete laws against what is claimed."""
    grid = np.arange(-4000, 4001)
    laws = {scale: np.exp(-np.abs(grid) / scale) * np.tanh(0.5 / scale) for scale in (30.0, 29.999, 5.0)}
    for one, other in ((30.0, 29.999), (30.0, 5.0)):
        both = np.convolve(laws[one], laws[other], "same")
        for alpha in (0.05, 1e-3):
            reach = float(pair_reach(one, other, alpha)) + 1  # half a step each
            assert both[np.abs(grid) > reach].sum() <= alpha
            assert both[np.abs(grid) > reach - 6].sum() > alpha
    many = laws[5.0]
    for _ in range(9):
        many = np.convolve(many, laws[5.0], "same")
    reach = float(sum_reaches(Spread(5.0), 10, 0.05))
    assert many[np.abs(grid) > reach].sum() <= 0.05
    assert many[np.abs(grid) > reach / 2].sum() > 0.05


REPEATED = 250


def covered(people, wider):
    """How often the interval of a mean covers; ``wider`` is how much more noise is drawn than is stated."""
    true_steps, ends = round(312.37 * people), (0.0, 2.0)  # distances to the middle, 1, in steps of 0.001
    truth = 1 + true_steps / (1000 * people)  # on no lattice that divides the range
    sums = Laplace(epsilon=0.5 / wider, sensitivity=1000, neighbors=PLUS)
    counts = Laplace(epsilon=0.5 / wider, sensitivity=1, neighbors=PLUS)
    source = ReplaySource.from_key(f"mean of {people}")
    z, y = sums.noise.draws(REPEATED, source), counts.noise.draws(REPEATED, source)
    hits = 0
    for k in range(REPEATED):
        noisy = {"steps": true_steps + int(z[k]), "scale": 2000.0, "count": people + int(y[k]), "count_scale": 2.0}
        estimate = released_number(SPENT, "mean", LaplaceRatio(n=None, ends=ends, step=0.001, **noisy))
        low, high = estimate.interval(0.95)
        assert low <= estimate.value <= high
        assert people == 3 or 2 < (high - low) / estimate.stderr < 6
        hits += low <= truth <= high
    return hits


@pytest.mark.parametrize("people", [3, 1000, 20_000, 10**6])
def test_the_interval_of_a_mean_covers_whatever_the_count(people):
    """Falsely rejected with probability 1e-6; twice the noise is covered about 80 % of the time: rejected with power above 0.999."""
    assert stats.binom.cdf(covered(people, 1), REPEATED, 0.95) > 1e-6
    if people == 1000:
        assert stats.binom.cdf(covered(people, 2.0), REPEATED, 0.95) < 1e-6


@pytest.mark.parametrize("scale", [1e-3, 0.3, 100.0])
@pytest.mark.parametrize(("ends", "steps", "count"), [((1e9, 1e9 + 1), 12_345_678, 10**9), ((0.0, 1.0), 0, 7), ((0.0, 1.0), 10**9, 10)])
def test_the_interval_of_a_mean_of_a_public_number_is_that_of_its_sum(scale, ends, steps, count):
    """Also where there is hardly any noise; and at the end of the range where the sum fits none within."""
    noise = Spread(scale, 1e-3)
    mean = LaplaceRatio(n=count, ends=ends, steps=steps, scale=scale, step=1e-3, count=count, count_scale=None)
    for alpha in (0.05, 1e-9):
        reach = np.array([-1, 1]) * noise.reach(alpha)
        exact = np.clip((steps * 1e-3 + reach) / count, -0.5, 0.5) + sum(ends) / 2
        assert np.ravel(mean.limits(alpha)) == pytest.approx(exact, rel=1e-15, abs=1e-9)


@pytest.mark.parametrize("held", [[0, 0, 0, 0, 0, 0], [3, 0, 1, 0, 0, 2], [0, 20, 0, 300, 0, 20], [9, 8, 7, 6, 5, 4]], ids=str)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10)])
def test_the_limits_of_a_quantile_cover_by_the_exact_law(held, q):
    """The probability of a limit on the wrong side, from the mechanism's law; without the shift it would be too large."""
    ranking, level, people = Ranking(0.2, 5, PLUS, True), 0.9, np.array(held)
    n, selection = int(people.sum()), ranking.selection(q)
    true = int(np.argmax(np.cumsum(people) >= q * n))
    chosen = ranking.choose(people, q, level, ReplaySource.from_key("limits"))
    assert chosen[0] <= 5
    shift = int(np.ceil(ranking.missed(q, 0.95) + 1e-6))
    padded = np.concatenate([[shift], people, [shift]])
    for toward in (-1, 1):
        law = [float(each.high) for each in selection.law(utilities(padded, q * n + shift + toward * shift))]
        places = np.clip(np.arange(-1, 7), 0, 5)
        assert sum(p for p, place in zip(law, places, strict=True) if toward * (place - true) < 0) <= 0.05
    if held[0] == 9:
        bare = [float(each.low) for each in selection.law(utilities(people, q * n))]
        assert max(sum(bare[:true]), sum(bare[true + 1 :])) > 0.05


def test_the_sampling_intervals_of_a_histogram_cover():
    """Rows drawn from a law, noise on top, n private: at least 95 %, rejected otherwise at 1e-6; half the width is rejected."""
    source, hits, narrow = ReplaySource.from_key("sampled rows"), 0, 0
    noise = Laplace(epsilon=0.5, sensitivity=1, neighbors=PLUS)
    words = np.array([source.below(1000) for _ in range(300 * 200)]).reshape(300, 200)
    for row, z in zip(words, noise.noise.draws(300, source), strict=True):
        count = int((row < 300).sum()) + int(z)
        estimate = released_counts(SPENT, ["a"], [count], noise.scale, rows=None)
        low, high = (float(limit[0]) for limit in estimate.interval(0.95, population=True))
        hits += low <= 60 <= high
        narrow += abs(60 - count) <= (high - low) / 6
    assert stats.binom.cdf(hits, 300, 0.95) > 1e-6
    assert stats.binom.cdf(narrow, 300, 0.95) < 1e-6
