"""Counters over time: what is noised moves as little as is claimed, small cases are enumerated, and errors are what theory says."""

from __future__ import annotations

import copy
from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from scipy import stats

from deniable.accounting import ZCDP, DiscreteLaplaceEvent, Repeated, account
from deniable.central import square_root
from deniable.central.binary_tree import BinaryTreeCounter
from deniable.central.exact_noise import ExactNoise
from deniable.central.square_root import GRID, SquareRootCounter, factors_of
from deniable.errors import DomainError, ParameterError, ProtocolError
from deniable.testing import ReplaySource, law_of
from tests.central.noises import Listed, mass

COMMON = {"sensitivity": 1, "neighbors": "add-remove"}
BOTH = (BinaryTreeCounter, SquareRootCounter)


class Nothing:
    """Noise that is 0; ``quadratic`` is only read for errors, which nobody asks for here."""

    quadratic = Fraction(1, 2)

    def draw(self, source):
        return 0

    def draws(self, count, source):
        return np.zeros(count, dtype=np.int64)


def probed(kind, horizon):
    counter = kind(horizon=horizon, rho=0.5, **COMMON)
    counter.__dict__["noise"] = Nothing()
    return counter


# --- sums ---


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 8, 100])
def test_without_noise_every_sum_is_right(kind, horizon):
    values = [(37 * i * i) % 101 - 40 for i in range(horizon)]
    assert probed(kind, horizon).run(values).point == pytest.approx(np.cumsum(values), abs=1e-9)
    one_by_one = probed(kind, horizon)
    assert [one_by_one.add(value) for value in values] == pytest.approx(np.cumsum(values).tolist(), abs=1e-9)


# --- privacy: what one event moves ---


def noised(kind, values):
    """The numbers that noise is added to, in order."""
    seen = []
    counter = probed(kind, len(values))
    if kind is SquareRootCounter:
        counter.run(values)
        return counter._stream.noisy.copy()  # without noise: what was encoded

    class Spy:
        def draw(self, source):
            seen.append(counter._open.exact[(counter.steps & -counter.steps).bit_length() - 1])
            return 0

    counter.__dict__["noise"] = Spy()
    counter.run(values)
    return np.array(seen)


@pytest.mark.parametrize("horizon", [1, 2, 5, 8, 31])
def test_one_event_moves_what_is_noised_as_little_as_claimed(horizon):
    values = [(11 * i) % 7 for i in range(horizon)]
    levels, squares = probed(BinaryTreeCounter, horizon).levels, factors_of(horizon).squares
    parts, roots = [], []
    for place in range(horizon):
        moved = [value + (i == place) for i, value in enumerate(values)]
        change = noised(BinaryTreeCounter, moved) - noised(BinaryTreeCounter, values)
        assert set(change.tolist()) <= {0, 1}
        parts.append(int(change.sum()))
        change = noised(SquareRootCounter, moved) - noised(SquareRootCounter, values)
        assert (change == change.astype(np.int64)).all()
        roots.append(sum(int(c) ** 2 for c in change))
    assert max(parts) == parts[0] <= levels
    assert horizon & (horizon - 1) or parts[0] == levels  # a power of two uses them all
    assert max(roots) == roots[0] == squares


def test_every_small_stream_is_as_private_as_promised():
    """Three entries, all releases, all neighbors: the exact laws of the tree with Laplace noise; a tree that forgets a level is caught."""

    def law(values, levels):
        noise = Listed(ExactNoise(linear=Fraction(6, levels)), reach=7)

        def released(source):
            counter = BinaryTreeCounter(horizon=3, epsilon=6.0, source=source, **COMMON)
            counter.__dict__["noise"] = noise
            return tuple(max(-1, min(1, int(count))) for count in counter.run(values).point)  # far ends together: the walk has an edge

        return law_of(released)

    for levels, private in ((2, True), (1, False)):
        laws = {values: law(values, levels) for values in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))}
        empty = laws.pop((0, 0, 0))
        worst = log(max(max(empty.ratio(other), other.ratio(empty)) for other in laws.values()))
        assert (worst <= 6.0 + 1e-4) == private
        assert worst > 5.9  # and no less is promised than is kept


def test_a_small_square_root_is_as_private_as_promised(monkeypatch):
    """Two entries on a coarse grid: Renyi divergences and the hockey stick, summed up; a forgotten coefficient is caught."""
    monkeypatch.setattr(square_root, "GRID", 4)
    factors_of.cache_clear()
    counter = SquareRootCounter(horizon=2, epsilon=2.0, delta=1e-3, **COMMON)
    assert counter.factors.encode.tolist() == [2, 4]
    rho, reach = float(counter.exact_rho), 120
    shifts = [probed(SquareRootCounter, 2).factors.encode[::-1], np.array([0, 4])]  # an event at the first step, and at the second
    factors_of.cache_clear()

    def losses(noise, shift):
        """The ln-ratio of each outcome, and its probability."""
        places = np.arange(-reach, reach + 1)
        log_mass = np.log([float(noise.probability(z, bits=400)[0]) for z in range(-reach - 8, reach + 9)])
        p = [log_mass[places + reach + 8] for _ in shift]
        q = [log_mass[places + int(d) + reach + 8] for d in shift]
        return np.add.outer(p[0] - q[0], p[1] - q[1]).ravel(), np.exp(np.add.outer(*p)).ravel()

    forgetful = ExactNoise(quadratic=counter.exact_rho / 16)  # the first coefficient alone
    for noise, private in ((counter.noise, True), (forgetful, False)):
        kept = []
        for shift in shifts:
            ratio, p = losses(noise, shift)
            assert p.sum() == pytest.approx(1, abs=1e-9)
            kept += [log(float(p @ np.exp((a - 1) * ratio))) / (a - 1) <= a * rho * (1 + 1e-9) for a in (1.2, 2.0, 5.0)]
            kept.append(float(p @ np.maximum(-np.expm1(2.0 - ratio), 0)) <= 1e-3 or not private)
        assert all(kept) == private
    assert counter.event == ZCDP(rho=rho, neighbors="add-remove")


def test_the_bill_is_what_was_asked_for():
    tree = BinaryTreeCounter(horizon=100, epsilon=0.7, **COMMON)
    assert tree.event == Repeated(event=DiscreteLaplaceEvent(scale=tree.scale), times=7)
    assert account(tree.event, delta=0).epsilon <= 0.7 < account(tree.event, delta=0).epsilon * (1 + 1e-12)
    for kind in BOTH:
        counter = kind(horizon=100, epsilon=1.0, delta=1e-6, sensitivity=3, neighbors="replace")
        assert 0.8 < account(counter.event, delta=1e-6).epsilon <= 1.0
        assert "one event of one person" in counter.guarantee.unit
        assert counter.guarantee.epsilon <= 1.0
        assert kind(horizon=100, rho=0.1, delta=1e-6, **COMMON).guarantee.delta == 1e-6


# --- error ---


@pytest.mark.parametrize(("bits", "root", "tree"), [(16, 4.60, 17.0), (20, 5.48, 21.0)])
def test_the_error_of_long_streams(bits, root, tree):
    """The reference's figures, as multiples of sensitivity / sqrt(2 rho); the tree's are of as many parts as an entry is in."""
    horizon = 1 << bits
    counter = SquareRootCounter(horizon=horizon, rho=0.5, **COMMON)
    assert float(counter.variance(horizon)) ** 0.5 == pytest.approx(root, abs=0.005)
    known = BinaryTreeCounter(horizon=horizon, rho=0.5, **COMMON)
    worst = float(known.variance(horizon - 1)) ** 0.5
    assert known.scale == pytest.approx(sqrt(tree))
    assert worst == pytest.approx(sqrt(tree * (tree - 1)))


@pytest.mark.parametrize(
    ("kind", "options"), [(BinaryTreeCounter, {"epsilon": 1.0}), (BinaryTreeCounter, {"rho": 0.1}), (SquareRootCounter, {"rho": 0.1})]
)
def test_errors_have_the_stated_variance_and_coverage(kind, options):
    """5,000 streams of 7 steps at 1e-6: noise that is a tenth too small is rejected (power above 0.99); intervals cover."""
    source, runs = ReplaySource.from_key("counting"), 5000
    errors, inside, together = [], [], []
    for _ in range(runs):
        series = kind(horizon=7, source=source, **COMMON, **options).run([5, -2, 9, 0, 3, 3, 1])
        errors.append(series.point - np.cumsum([5, -2, 9, 0, 3, 3, 1]))
        low, high = series.interval(0.95)
        inside.append(np.abs(errors[-1]) <= (high - low) / 2 + 1e-9)
        low, high = series.interval(0.95, simultaneous=True)
        together.append((np.abs(errors[-1]) <= (high - low) / 2 + 1e-9).all())
    errors = np.array(errors)
    assert (np.abs(errors.mean(axis=0)) < stats.norm.isf(5e-7) * series.stderr / sqrt(runs)).all()
    ratio = (errors**2).mean(axis=0) / series.stderr**2
    spread = stats.norm.isf(5e-7 / 7) * np.sqrt((errors**4).mean(axis=0) / series.stderr**4 - ratio**2) / sqrt(runs)
    assert (np.abs(ratio - 1) < spread).all()
    assert (ratio - 0.81 > spread).any()
    assert np.mean(inside, axis=0).min() > 0.95 - stats.norm.isf(1e-6) * sqrt(0.95 * 0.05 / runs)
    assert np.mean(together) > 0.95 - stats.norm.isf(1e-6) * sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize("noise", [{"epsilon": 1.5}, {"rho": 0.3}, {"rho": 2.0}], ids=["Laplace", "wide Gaussian", "narrow Gaussian"])
def test_intervals_of_the_tree_cover_by_the_exact_law(noise):
    """Sums of one, two and three parts, by convolution of the law that is drawn from."""
    counter, reach = BinaryTreeCounter(horizon=7, **noise, **COMMON), 120
    one = np.array([float(mass(counter.noise, z)) for z in range(-reach, reach + 1)])
    law = np.ones(1)
    for t in (1, 3, 7):
        law = np.convolve(law, one)
        distance = np.abs(np.arange(len(law)) - len(law) // 2)
        for alpha in (0.2, 0.05, 0.01, 1e-6):
            far = float(counter.reach(t, alpha))
            assert law[distance > far].sum() <= alpha * (1 + 1e-9)
            assert law[distance > 0.4 * far - 1].sum() > alpha  # and it is not too wide


# --- order and refusals ---


@pytest.mark.parametrize("kind", BOTH)
def test_the_horizon_is_the_end_and_a_bad_batch_counts_nothing(kind):
    counter = kind(horizon=3, rho=0.5, **COMMON)
    for bad in ([1, 2.0], [1, True], [1, None], [1, "2"]):
        with pytest.raises(DomainError, match="at 1"):
            counter.run(bad)
    with pytest.raises(ProtocolError, match="3 more"):
        counter.run([1, 2, 3, 4])
    assert counter.steps == 0
    assert counter.run(np.array([1, 2])).values == [1, 2]
    counter.add(np.int64(3))
    with pytest.raises(ProtocolError, match="horizon"):
        counter.add(4)
    with pytest.raises(ProtocolError, match="for each stream"):
        copy.copy(counter)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": 1 << 21}, "horizon"),
        ({"sensitivity": 0.5}, "sensitivity"),
        ({"neighbors": "any"}, "neighbors"),
        ({"rho": None}, "either epsilon or rho"),
        ({"epsilon": 1.0}, "either epsilon or rho"),
        ({"rho": 0.0}, "rho"),
        ({"delta": 1.0}, "delta"),
    ],
)
@pytest.mark.parametrize("kind", BOTH)
def test_bad_parameters_are_refused(kind, change, words):
    with pytest.raises(ParameterError, match=words):
        kind(**{"horizon": 4, "rho": 0.5} | COMMON | change)


def test_what_only_the_square_root_refuses():
    with pytest.raises(ParameterError, match="Gaussian"):
        SquareRootCounter(horizon=4, epsilon=1.0, **COMMON)
    counter = SquareRootCounter(horizon=4, rho=0.5, **COMMON)
    with pytest.raises(DomainError, match="coarser units"):
        counter.run([1, counter.largest + 1])
    assert counter.steps == 0
    values = [counter.largest, -counter.largest, counter.largest, counter.largest]
    exact = [int(sum(c * x for c, x in zip(counter.factors.encode[-t:], values[:t], strict=True))) for t in range(1, 5)]
    assert [int(number) for number in noised(SquareRootCounter, values)] == exact
    assert counter.factors.encode[-1] == GRID


def test_a_series_can_be_read():
    series = BinaryTreeCounter(horizon=12, rho=0.5, source=ReplaySource.from_key("read"), **COMMON).run([5] * 12)
    assert repr(series).splitlines()[-1] == "... and 2 more"
    assert series.to_arrow().column_names == ["value", "count", "stderr", "low", "high"]
    assert (len(series.values), series.n) == (12, None)  # how many people there are is private
    assert "errors are correlated" in series.chart().altair.to_json()


@pytest.mark.parametrize("noise", [{"epsilon": 1.5}, {"rho": 0.3}, {"rho": 20.0}], ids=["Laplace", "wide Gaussian", "narrow Gaussian"])
def test_the_limits_of_each_sum_are_those_at_its_own_error(noise):
    law = BinaryTreeCounter(horizon=12, **noise, **COMMON).run([5] * 12).law
    alphas = np.geomspace(1e-9, 0.5, 12)
    each = [law.select([place]).limits(alpha)[0].item() for place, alpha in enumerate(alphas)]
    assert law.limits(alphas)[0].tolist() == each
    assert law.p_values[-1] < 1e-4
