"""Laplace and Gaussian releases: the promise against exact laws of neighboring answers, twins that break it, and the grid."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.accounting import account
from deniable.accounting.event import ADD_REMOVE, REPLACE
from deniable.central import Gaussian, Laplace
from deniable.central.gaussian import discrete_gaussian
from deniable.central.grid import from_steps, to_steps
from deniable.contract.probability import exp_above, exp_below
from deniable.errors import DomainError, ParameterError
from deniable.testing import ReplaySource
from tests.central.laws import divergence

VALUES = 3


def histograms(neighbors):
    """Pairs of neighboring histograms of up to three people."""
    everyone = [people for n in (1, 2, 3) for people in product(range(VALUES), repeat=n)]
    for people in everyone:
        others = [people[:-1]] if neighbors == ADD_REMOVE else [(*people[:-1], other) for other in range(VALUES)]
        for other in others:
            yield np.bincount(people, minlength=VALUES), np.bincount(np.array(other, dtype=int), minlength=VALUES)


def worst_ratio(mechanism, pairs, reach=4):
    """Bounds of the largest ratio of two probabilities of one released histogram, entry by entry, over outputs near by and far away."""
    at = {z: mechanism.probability(z, bits=256) for z in range(-reach - 4, reach + 5)}
    worst = Fraction(0), Fraction(0)
    for one, other in pairs:
        low = high = Fraction(1)
        for a, b in zip(one.tolist(), other.tolist(), strict=True):
            ratios = [(at[z - a][0] / at[z - b][1], at[z - a][1] / at[z - b][0]) for z in range(-reach, reach + 1)]
            low, high = low * max(low for low, _ in ratios), high * max(high for _, high in ratios)
        worst = max(worst[0], low), max(worst[1], high)
    return worst


def keeps(mechanism, epsilon, neighbors):
    """Whether released histograms keep epsilon, and do not waste any; bounds are 1e-60 apart."""
    low, high = worst_ratio(mechanism, histograms(neighbors))
    slack = 1 + Fraction(1, 10**50)
    return high <= exp_above(epsilon, Fraction(1)) * slack and low * (1 + Fraction(1, 10**14)) >= exp_below(epsilon)


# --- Laplace ---


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.7, 11.0])
@pytest.mark.parametrize(("neighbors", "sensitivity"), [(ADD_REMOVE, 1), (REPLACE, 2)])
def test_released_histograms_keep_epsilon_exactly_and_waste_none(epsilon, neighbors, sensitivity):
    mechanism = Laplace(epsilon=epsilon, sensitivity=sensitivity, neighbors=neighbors)
    assert keeps(mechanism, epsilon, neighbors)
    assert Fraction(mechanism.event.sensitivity) / Fraction(mechanism.event.scale) <= Fraction(epsilon)
    assert account(mechanism.event, delta=0).epsilon <= epsilon
    assert mechanism.guarantee.epsilon == epsilon
    assert mechanism.guarantee.model == "central"


def test_half_the_sensitivity_and_less_noise_are_found():
    assert not keeps(Laplace(epsilon=1.0, sensitivity=1, neighbors=REPLACE), 1.0, REPLACE)  # two entries change
    assert not keeps(Laplace(epsilon=1.0 / 0.9, sensitivity=1, neighbors=ADD_REMOVE), 1.0, ADD_REMOVE)
    assert not keeps(Laplace(epsilon=1.0, sensitivity=2, neighbors=ADD_REMOVE), 1.0, ADD_REMOVE)  # private, but wasteful


def float_laplace(answer, scale, bits=12):
    """The twin of the textbooks: everything that floating-point inversion of a 12-bit word can give."""
    u = (np.arange(1 << bits) + 0.5) / (1 << bits) - 0.5
    return set((answer - scale * np.sign(u) * np.log(1 - 2 * np.abs(u))).tolist())


def test_float_noise_gives_answers_away_and_noise_on_the_grid_does_not():
    """What can be released must not depend on the answer: then no single output proves one."""
    alone = float_laplace(0.0, 10.0) - float_laplace(1.0, 10.0)
    assert len(alone) > 1000  # outputs that only one of two neighbors can have
    mechanism = Laplace(epsilon=0.1, sensitivity=1.0, neighbors=ADD_REMOVE, grid=2**-4)
    for answer in (0.0, 1.0, 1 / 3):
        for _ in range(200):
            steps = mechanism.release(answer) * 2**4
            assert steps == int(steps)
            assert all(mechanism.probability(int(steps) - to_steps(other, Fraction(1, 16), None).item())[0] > 0 for other in (0.0, 1.0))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 5.0])
def test_variance_and_intervals_are_those_of_the_law(epsilon):
    mechanism = Laplace(epsilon=epsilon, sensitivity=1, neighbors=ADD_REMOVE)
    check_spread(mechanism, reach=ceil(60 / epsilon))


def check_spread(mechanism, reach):
    law = [float(mechanism.probability(z)[0]) for z in range(reach)]
    assert mechanism.variance == pytest.approx(2 * sum(p * z * z for z, p in enumerate(law)), rel=1e-9)
    for level in (0.5, 0.95, 0.999):
        half = int(mechanism.reach(level))
        inside = law[0] + 2 * sum(law[1 : half + 1])
        assert inside >= level
        assert half == 0 or inside - 2 * law[half] < level


# --- Gaussian ---


def pair_of_laws(mechanism, shift, reach):
    laws = {z: mechanism.probability(z) for z in range(-reach - shift, reach + shift + 1)}
    return [laws[z] for z in range(-reach, reach + 1)], [laws[z - shift] for z in range(-reach, reach + 1)]


def keeps_delta(mechanism, shift, epsilon, delta):
    """Whether one number keeps (epsilon, delta) when it moves by ``shift``, by the exact divergence of the discrete law."""
    low, high = divergence(*pair_of_laws(mechanism, shift, ceil(14 * mechanism.sigma) + 3), epsilon)
    assert high - low <= Fraction(1, 10**30)
    return high <= Fraction(delta), low


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"), [(0.5, 1e-6, 1), (1.0, 1e-6, 1), (1.0, 1e-3, 3), (4.0, 1e-9, 2), (8.0, 0.01, 1)]
)
def test_the_smallest_sigma_keeps_delta_exactly_and_a_tenth_less_does_not(epsilon, delta, sensitivity):
    mechanism = Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity, neighbors=ADD_REMOVE, entries=1)
    kept, paid = keeps_delta(mechanism, sensitivity, epsilon, delta)
    assert kept
    assert paid >= Fraction(delta) * Fraction(99, 100)  # next to none is wasted
    assert account(mechanism.event, delta=delta).epsilon <= epsilon
    less = Gaussian(sigma=0.9 * mechanism.sigma, sensitivity=sensitivity, neighbors=ADD_REMOVE, entries=1)
    assert not keeps_delta(less, sensitivity, epsilon, delta)[0]
    with pytest.raises(ParameterError, match="large enough"):
        Gaussian(epsilon=epsilon, delta=delta, sigma=0.9 * mechanism.sigma, sensitivity=sensitivity, neighbors=ADD_REMOVE, entries=1)


def test_the_classic_formula_beyond_epsilon_one_is_found():
    """sigma = sqrt(2 ln(1.25 / delta)) / epsilon is proven below epsilon = 1 only."""
    for epsilon, delta, valid in ((0.9, 0.01, True), (8.0, 0.01, False), (10.0, 0.1, False)):
        classic = Gaussian(sigma=5 * sqrt(2 * log(1.25 / delta)) / epsilon, sensitivity=5, neighbors=ADD_REMOVE)
        assert keeps_delta(classic, 5, epsilon, delta)[0] is valid


@pytest.mark.parametrize("changed", [2, 3])
def test_vectors_in_which_some_entries_change_by_one_keep_delta(changed):
    """The losses of several entries add up; their exact law is a convolution in the total shift, which is all that the loss depends on."""
    epsilon, delta = 1.0, 1e-4
    mechanism = Gaussian(epsilon=epsilon, delta=delta, sensitivity=sqrt(changed), neighbors=REPLACE)
    reach = ceil(10 * mechanism.sigma)
    law = np.array([float(mechanism.probability(z)[0]) for z in range(-reach, reach + 1)])
    total = law
    for _ in range(changed - 1):
        total = np.convolve(total, law)
    z = np.arange(total.size) - total.size // 2
    losses = (2 * z + changed) / (2 * mechanism.sigma**2)
    exact = float((total * np.maximum(-np.expm1(epsilon - losses), 0)).sum())
    assert 0.99 * delta <= exact <= delta
    alone = Gaussian(epsilon=epsilon, delta=delta, sensitivity=1, neighbors=REPLACE)  # sensitivity 1 where sqrt(2) is right
    assert alone.sigma < 0.8 * mechanism.sigma


def test_long_vectors_are_charged_by_concentrated_privacy():
    mechanism = Gaussian(epsilon=1.0, delta=1e-6, sensitivity=50, neighbors=ADD_REMOVE)
    single = Gaussian(epsilon=1.0, delta=1e-6, sensitivity=50, neighbors=ADD_REMOVE, entries=1)
    assert mechanism.event.kind == "ZCDP"
    assert 1 < mechanism.sigma / single.sigma < 1.1
    assert account(mechanism.event, delta=1e-6).epsilon <= 1.0
    assert "zCDP" in mechanism.guarantee.certificate
    fine = Gaussian(epsilon=1.0, delta=1e-6, sensitivity=100, neighbors=ADD_REMOVE, entries=1, grid=2**-20)  # too wide to list losses
    assert fine.event.kind == "ZCDP"
    assert fine.sigma == pytest.approx(2 * mechanism.sigma, rel=1e-6)
    assert abs(fine.release(0.3) * 2**20) % 1 == 0


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.5])
def test_the_discrete_gaussians_spread_is_that_of_the_law(sigma):
    mechanism = Gaussian(sigma=sigma, sensitivity=1, neighbors=ADD_REMOVE)
    check_spread(mechanism, reach=ceil(15 * sigma) + 2)


def test_sigma_alone_has_a_curve_and_with_delta_a_point():
    mechanism = Gaussian(sigma=4.0, sensitivity=1, neighbors=ADD_REMOVE)
    with pytest.raises(ParameterError, match="give delta="):
        mechanism.guarantee  # noqa: B018  # asking is what is refused
    stated = Gaussian(sigma=4.0, delta=1e-6, sensitivity=1, neighbors=ADD_REMOVE)
    assert stated.guarantee.epsilon == account(mechanism.event, delta=1e-6).epsilon
    draws = [discrete_gaussian(Fraction(4), source=source) for source in [ReplaySource.from_key("a")] for _ in range(50)]
    assert draws == mechanism.release(np.zeros(50, dtype=int), source=ReplaySource.from_key("a")).tolist()


# --- the grid ---

fractions = st.fractions(min_value=-1000, max_value=1000, max_denominator=10**6)


@given(fractions, fractions, st.fractions(min_value=Fraction(1, 64), max_value=10))
def test_rounding_to_the_grid_never_parts_two_answers_by_more_than_the_sensitivity_says(x, y, grid):
    x, y = float(x), float(y)
    apart = abs(to_steps(x, grid, None).item() - to_steps(y, grid, None).item())
    assert apart <= ceil(abs(Fraction(x) - Fraction(y)) / grid)
    assert abs(from_steps(to_steps(x, grid, None), grid, whole=False) - x) <= float(grid) * 0.5000001


def test_rounding_to_even_would_part_them():
    assert abs(np.rint(0.5) - np.rint(1.5)) == 2 > 1
    assert to_steps(np.array([0.5, 1.5, -0.5, -1.5]), Fraction(1), 4).tolist() == [1, 2, 0, -1]
    assert to_steps(np.array([0.5, 1.5, -0.5, -1.5]), Fraction(3, 3), 4).dtype == np.int64


@pytest.mark.parametrize("entries", [2, 5])
def test_vectors_off_the_grid_pay_for_their_rounding(entries):
    """All entries move by a hair, and each may cross a border: that many steps, and one grid sensitivity more."""
    mechanism = Laplace(epsilon=1.0, sensitivity=0.01 * entries, neighbors=ADD_REMOVE, grid=1, entries=entries)
    one, other = np.full(entries, 0.499), np.full(entries, 0.5)
    apart = np.abs(to_steps(one, mechanism.step, entries) - to_steps(other, mechanism.step, entries)).sum()
    assert apart == entries <= mechanism.steps
    wide = Gaussian(epsilon=1.0, delta=1e-6, sensitivity=0.01, neighbors=ADD_REMOVE, entries=entries)
    assert wide.change.squared >= entries


@pytest.mark.parametrize(
    ("values", "grid", "kind", "expected"),
    [
        (7, 1, int, 7),
        (np.int32(7), 1, int, 7),
        (7.0, 1, float, 7.0),
        (7, 0.25, float, 7.0),
        (7, 10, int, 10),
        (0.3, 0.1, float, 0.3),
        (123456, 0.1, float, 123456),
    ],
)
def test_integers_stay_integers_and_floats_stand_on_the_grid(values, grid, kind, expected):
    certain = Laplace(epsilon=29.0, sensitivity=grid, neighbors=ADD_REMOVE, grid=grid)
    released = certain.release(values, source=ReplaySource([1]))
    assert type(released) is kind
    assert released == pytest.approx(expected)
    assert certain.steps == 1


def test_what_the_sensitivity_does_not_cover_is_refused():
    laplace = Laplace(epsilon=1.0, sensitivity=1, neighbors=ADD_REMOVE)
    gaussian = Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1, neighbors=ADD_REMOVE)
    for bad in ([0.5, 0.5], [np.nan], np.inf, "3", [True], None, 2**62):
        with pytest.raises(DomainError):
            laplace.release(bad)
    for bad in (0.5, [0.5], [1.0]):
        with pytest.raises(DomainError, match="off the grid"):
            gaussian.release(bad)
    with pytest.raises(DomainError, match="at most 2"):
        Laplace(epsilon=1.0, sensitivity=1, neighbors=ADD_REMOVE, entries=2).release([1, 2, 3])
    with pytest.raises(DomainError, match="64 bits"):
        Laplace(epsilon=0.001, sensitivity=2**62, neighbors=ADD_REMOVE, grid=2**61).release(2**61, source=ReplaySource([2**63] * 9))


@pytest.mark.parametrize(
    "bad",
    [
        {"sensitivity": 0}, {"sensitivity": -1}, {"sensitivity": True}, {"sensitivity": float("inf")}, {"neighbors": "similar"},
        {"grid": 0}, {"epsilon": 0}, {"epsilon": 31}, {"entries": 0}, {"entries": 1.5}, {"grid": 1e-15},
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(bad):
    good = {"epsilon": 1.0, "sensitivity": 1, "neighbors": ADD_REMOVE}
    with pytest.raises(ParameterError, match="allowed"):
        Laplace(**{**good, **bad})
    with pytest.raises(ParameterError, match="allowed"):
        Gaussian(**{**good, "delta": 1e-6, **bad})


@pytest.mark.parametrize("bad", [{"delta": None}, {"delta": 0.0}, {"delta": 1.0}, {"epsilon": None, "delta": None}, {"sensitivity": 0.5}])
def test_gaussian_noise_needs_delta_and_a_step(bad):
    with pytest.raises(ParameterError, match="allowed"):
        Gaussian(**{"epsilon": 1.0, "delta": 1e-6, "sensitivity": 1, "neighbors": ADD_REMOVE, **bad})


def test_the_room_is_loaded_by_name():
    assert dn.central.Laplace is Laplace
    assert dn.central.Gaussian is Gaussian
