"""Every rule is an upper bound: against enumeration in fractions, closed forms and one another; and the mutants are caught."""

from __future__ import annotations

import json
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import exp, inf, log, log1p, tanh

import numpy as np
import pytest
from scipy.special import gammaln, log_ndtr, ndtr

from deniable.accounting import (
    Approximate,
    BoundedRange,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    GaussianEvent,
    GroupEvent,
    LaplaceEvent,
    Pure,
    Repeated,
    Sampled,
    Sequential,
    account,
    calibrate,
    tilted,
)
from deniable.accounting import pld as pld_module
from deniable.accounting.binomial import at_least, at_most, pmf
from deniable.accounting.combinations import Bag
from deniable.accounting.composition import advanced, amplified, basic, composed_delta, dwork_rothblum_vadhan, optimal
from deniable.accounting.moments import divergence, rdp, rho_of, zcdp
from deniable.accounting.pld import curve, pld
from deniable.errors import ParameterError
from tests.conftest import ROOT

PLUS = "add-remove"
CHECKS = json.loads((ROOT / "tests" / "data" / "shuffle_checks.json").read_text())


def brute_delta(pairs, power):
    """The exact hockey-stick divergence at e^epsilon = power of independent pairs of laws, by enumeration in fractions."""
    total = Fraction(0)
    for outcome in product(*(range(len(p)) for p, _ in pairs)):
        p, q = Fraction(1), Fraction(1)
        for (one, other), i in zip(pairs, outcome, strict=True):
            p, q = p * one[i], q * other[i]
        total += max(p - power * q, Fraction(0))
    return total


def coin(power):
    """Randomized response with e^epsilon = power."""
    truth = Fraction(power) / (1 + Fraction(power))
    return (truth, 1 - truth), (1 - truth, truth)


@pytest.mark.parametrize("power", ["1", "3/2", "2", "9/4", "4", "7"])
def test_composed_coins_are_exact(power):
    """Four coins of e^epsilon = 3/2, enumerated; the float is above the fraction, by less than a billionth."""
    truth = float(brute_delta([coin("3/2")] * 4, Fraction(power)))
    found = composed_delta(log(1.5), 4, log(Fraction(power)))
    assert truth <= found <= truth * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("power", ["1", "3/2", "2", "9/4", "4", "7"])
def test_loss_distributions_dominate_what_is_enumerated(power):
    """Three coins of two kinds, and one (epsilon, delta) pair at its worst."""
    bad = Fraction(1, 1000)
    (a, b), (c, d) = coin(3)
    leaky = (bad, *((1 - bad) * x for x in (a, b)), Fraction(0)), (Fraction(0), *((1 - bad) * x for x in (c, d)), bad)
    truth = float(brute_delta([coin(2), coin(2), coin("5/4"), leaky], Fraction(power)))
    bag = Bag({Pure(epsilon=log(2)): 2, Pure(epsilon=log(1.25)): 1, Approximate(epsilon=log(3), delta=0.001): 1})
    found = curve(bag)(log(Fraction(power)))
    assert truth <= found <= truth * (1 + 1e-4) + 1e-9


def gaussian_delta(mu, epsilon):
    return ndtr(mu / 2 - epsilon / mu) - exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("sigma", "times"), [(0.5, 1), (1.0, 1), (3.0, 10), (30.0, 1000)])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
def test_gaussian_noise_has_a_closed_form(sigma, times, epsilon):
    truth = gaussian_delta(times**0.5 / sigma, epsilon)
    found = curve(Bag({GaussianEvent(sigma=sigma): times}))(epsilon)
    assert truth <= found <= truth * (1 + 3e-4)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.9])
def test_one_laplace_answer_has_a_closed_form(epsilon):
    found = curve(Bag({LaplaceEvent(scale=1.0): 1}))(epsilon)
    truth = -np.expm1((epsilon - 1.0) / 2)
    assert truth <= found <= truth + 1e-5


def summed(losses, masses, epsilon):
    return float((masses * np.maximum(-np.expm1(epsilon - losses), 0.0)).sum())


def test_two_discrete_answers_against_all_pairs_of_outcomes():
    """Discrete Laplace, sensitivity 2, and discrete Gaussian: every pair of outcomes, without any lattice."""
    z = np.arange(-400, 401)
    laws = []
    for weight in (lambda z: np.exp(-abs(z) / 3.0), lambda z: np.exp(-(z**2) / 8.0)):
        p, q = weight(z), weight(z - 2)
        kept = (p > 1e-60) & (q > 1e-60)
        laws.append((np.log(p[kept] / q[kept]), p[kept] / p.sum()))
    losses = np.add.outer(laws[0][0], laws[1][0])
    masses = np.multiply.outer(laws[0][1], laws[1][1])
    found = curve(Bag({DiscreteLaplaceEvent(scale=3.0, sensitivity=2): 1, DiscreteGaussianEvent(sigma=2.0, sensitivity=2): 1}))
    for epsilon in (0.0, 0.5, 1.5, 4.0):
        truth = summed(losses, masses, epsilon)
        assert truth * (1 - 1e-12) <= found(epsilon) <= truth * (1 + 1e-3) + 1e-12


@pytest.mark.parametrize(("rate", "sigma"), [(0.01, 1.0), (0.3, 0.7), (1.0, 1.0)])
@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0])
def test_a_sample_is_the_worse_of_its_two_directions(rate, sigma, epsilon):
    """One release: removing has delta = rate delta_0(ln(1 + (e^eps - 1) / rate)); adding is integrated numerically."""
    removing = rate * gaussian_delta(1 / sigma, log(1 + np.expm1(epsilon) / rate))
    x = np.linspace(-12 * sigma, 12 * sigma + 1, 400_001)
    p, q = (np.exp(-((x - mean) ** 2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi)) for mean in (0, 1))
    adding = float(np.maximum(p - exp(epsilon) * (rate * q + (1 - rate) * p), 0).sum() * (x[1] - x[0]))
    truth = max(removing, adding)
    found = curve(Bag({Sampled(event=GaussianEvent(sigma=sigma), rate=rate): 1}))(epsilon)
    assert truth * (1 - 1e-6) <= found <= truth * (1 + 1e-3) + 1e-9
    leaf = Sampled(event=GaussianEvent(sigma=sigma), rate=rate)
    both = pld_module.known(leaf).losses(leaf, pld_module.known(leaf).spread(leaf) / 500)
    for losses, alone in zip(both, (removing, adding), strict=True):  # each direction by itself: it is composed by itself
        assert alone * (1 - 1e-6) - 1e-12 <= pld_module.Composed([(losses, 1)]).delta(epsilon) <= alone * (1 + 1e-3) + 1e-9


def test_composing_a_hundred_thousand_does_not_lose_small_deltas():
    """Far out in the tail, where a plain transform returns noise: delta = 1e-30, against the exact sum."""
    bag = Bag({Pure(epsilon=0.01): 100_000})
    epsilon = optimal(bag, 1e-30)
    assert pld(bag, 1e-30) == pytest.approx(epsilon, rel=1e-5)
    assert pld(bag, 1e-30) >= epsilon * (1 - 1e-9)


# --- mutants: each weakening is seen by the comparisons above ---


def test_a_lattice_that_rounds_down_is_caught(monkeypatch):
    def floored(losses, masses, step, infinite=0.0):
        below = np.floor(losses / step)
        return pld_module._joined(below, masses, 0 * masses, step, infinite)

    monkeypatch.setattr("deniable.accounting.pairs.split", floored)
    truth = float(brute_delta([coin("5/4")] * 4, Fraction(2)))
    assert curve(Bag({Pure(epsilon=log(1.25)): 4}))(log(2)) < truth


def test_a_dropped_infinite_loss_is_caught(monkeypatch):
    kept = pld_module._joined
    monkeypatch.setattr(pld_module, "_joined", lambda *parts: kept(*parts[:-1], 0.0))
    assert curve(Bag({Approximate(epsilon=0.1, delta=1e-3): 3}))(0.4) < 1e-3


def test_a_dropped_tail_is_caught(monkeypatch):
    """A window of a tenth of a standard deviation, and nothing added for what it loses."""
    bag = Bag({GaussianEvent(sigma=1.0): 1})
    monkeypatch.setattr(pld_module.Composed, "delta", _without_tail)
    assert curve(bag)(1.0) < gaussian_delta(1.0, 1.0)


def _without_tail(composed, epsilon):
    total = composed.total
    tilt = total.tilt_to(epsilon)
    points, masses, log_total = total.around(epsilon, tilt)
    kept = (points > epsilon) & (points < epsilon + 0.1)
    return float((masses[kept] * np.exp(log_total - tilt * points[kept]) * -np.expm1(epsilon - points[kept])).sum())


@pytest.mark.parametrize("leaf", [GaussianEvent(sigma=1.0), Pure(epsilon=0.1), Sampled(event=GaussianEvent(sigma=0.7), rate=0.3)], ids=repr)
def test_a_window_that_is_used_again_is_as_sharp_as_one_of_its_own(leaf):
    """Both directions of one transform, up to a standard deviation away, where it is still used: to the guard of 1e-9."""
    bag = Bag({leaf: 50})
    again = curve(bag)
    middle = pld(bag, 1e-6)
    again(middle)
    for epsilon in np.linspace(0.9, 1.1, 7) * middle:
        assert again(epsilon) == pytest.approx(curve(bag)(epsilon), rel=1e-8)


def test_a_narrow_window_costs_tightness_and_never_validity(monkeypatch):
    bag = Bag({GaussianEvent(sigma=1.0): 1})
    monkeypatch.setattr(tilted, "MOST_POINTS", 512)
    assert curve(bag)(1.0) >= gaussian_delta(1.0, 1.0)


# --- the rules among one another ---


def test_the_reference_cells_of_pure_composition():
    cells = CHECKS["composition_pure_dp"]
    bag, delta = Bag({Pure(epsilon=float(cells["eps0"])): cells["k"]}), float(cells["delta"])
    assert basic(bag, delta) == float(cells["basic"])
    assert dwork_rothblum_vadhan(float(cells["eps0"]), cells["k"], delta) == pytest.approx(float(cells["drv"]), abs=0.005)
    assert advanced(bag, delta) == pytest.approx(float(cells["kov"]), abs=0.005)
    assert optimal(bag, delta) == pytest.approx(float(cells["exact"]), abs=0.0005)


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("times", [1, 7, 500])
def test_sharper_rules_cost_less_and_never_less_than_the_truth(epsilon, times):
    bag = Bag({Pure(epsilon=epsilon): times})
    truth = optimal(bag, 1e-6)
    for rule in (basic, advanced, zcdp, rdp, pld):
        assert rule(bag, 1e-6) >= truth * (1 - 1e-9)
    assert rdp(bag, 1e-6) <= zcdp(bag, 1e-6) * (1 + 0.02)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0])
def test_the_rho_of_a_pure_event_bounds_all_orders_and_is_the_least_that_does(epsilon):
    """Against the divergence of randomized response from its two probabilities, not from the closed form."""
    p = 1 / (1 + exp(-epsilon))
    orders = 1 + np.geomspace(1e-3, 300, 60)
    heads, tails = (a * np.log(x) + (1 - a) * np.log(y) for a in (orders,) for x, y in ((p, 1 - p), (1 - p, p)))
    true = np.logaddexp(heads, tails) / (orders - 1)
    rho = rho_of(Pure(epsilon=epsilon))
    assert (true <= rho * orders * (1 + 1e-9)).all()
    assert true[0] / orders[0] == pytest.approx(epsilon * tanh(epsilon / 2), rel=0.01)
    assert np.allclose(divergence(Pure(epsilon=epsilon), orders), true, rtol=1e-9)


def test_bounded_range_beats_pure_by_a_factor_of_two():
    many = {kind: zcdp(Bag({kind(epsilon=0.1): 100}), 1e-6) for kind in (Pure, BoundedRange)}
    assert many[BoundedRange] < 0.53 * many[Pure]


def test_unequal_epsilons_in_any_order_cost_the_same():
    one, other = Pure(epsilon=0.1), Pure(epsilon=0.3)
    bills = [account(Sequential(events=parts), delta=1e-6) for parts in ((one, other, one), (other, Repeated(event=one, times=2)))]
    assert bills[0].epsilons == bills[1].epsilons
    assert bills[0].epsilons["basic"] == 0.5


def test_basic_sums_are_decimal_sums():
    assert account(Repeated(event=Pure(epsilon=0.1), times=10), delta=0).epsilon == 1.0
    assert account(Repeated(event=LaplaceEvent(scale=3.0), times=3), delta=0).epsilon == 1.0
    assert Fraction(account(LaplaceEvent(scale=3.0), delta=0).epsilon) >= Fraction(1, 3)


# --- calibration and the binomial ---


def test_calibration_returns_what_was_checked_and_no_more():
    asked = []

    def keeps(sigma):
        asked.append(sigma)
        return account(Repeated(event=GaussianEvent(sigma=sigma), times=10), delta=1e-6, rules=("zCDP",)).epsilon <= 1.0

    sigma = calibrate(keeps, safe=1000.0, risky=0.1)
    assert sigma in asked
    assert keeps(sigma)
    assert not keeps(sigma * (1 - 2e-9))
    assert calibrate(lambda k: k * 0.1 <= 1.0, safe=1, risky=10_000) == 10
    with pytest.raises(Exception, match="safe start"):
        calibrate(lambda _: False, safe=1.0, risky=2.0)


@pytest.mark.parametrize(("n", "p"), [(7, Fraction(1, 3)), (40, Fraction(9, 10)), (300, Fraction(1, 1000))])
def test_binomial_probabilities_to_the_last_digits(n, p):
    from math import comb

    truth = [comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]
    x = np.arange(n + 1)
    assert np.allclose(pmf(x, n, float(p)), np.array(truth, dtype=float), rtol=3e-13, atol=1e-300)
    tails = np.cumsum(np.array(truth[::-1]))[::-1].astype(float)
    assert np.allclose(at_least(x, n, float(p)), tails, rtol=1e-12)
    assert np.allclose(at_most(x, n, float(p)), np.cumsum(np.array(truth)).astype(float), rtol=1e-12)


@pytest.mark.parametrize("n", [10**5, 10**6, 10**8])
def test_binomial_mass_is_complete_for_many_trials_and_log_gamma_would_miss_it(n):
    x = np.arange(int(n * 0.3 - 40 * n**0.5), int(n * 0.3 + 40 * n**0.5), dtype=float) if n > 10**4 else np.arange(n + 1.0)
    x = x[(x >= 0) & (x <= n)]
    assert float(pmf(x, n, 0.3).sum()) == pytest.approx(1.0, abs=1e-14)
    twin = np.exp(gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1) + x * log(0.3) + (n - x) * log(0.7))
    assert abs(float(twin.sum()) - 1) > 1e-13


def exact_gaussian(mu, delta):
    """Epsilon of a Gaussian mechanism at delta, by bisection of its own curve in logarithms."""
    low, high = 0.0, mu**2 + 60 * mu + 1
    for _ in range(200):
        epsilon = (low + high) / 2
        one, other = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        found = one + log1p(-exp(other - one)) if other < one else -inf  # equal: below what doubles tell apart
        low, high = (epsilon, high) if found > log(delta) else (low, epsilon)
    return high


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sigma", [1e-6, 1e-3, 0.01, 0.03, 0.3, 1e3, 1e9])
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.4])
def test_noise_of_any_size_has_a_bill(sigma, delta):
    """No loss of little noise has a place in double precision; other rules than PLD know the price all the same."""
    bill = account(GaussianEvent(sigma=sigma), delta=delta)
    truth = exact_gaussian(1 / sigma, delta)
    assert truth * (1 - 1e-9) - 1e-12 <= bill.epsilon <= 1.2 * truth + 1e-3
    assert ("PLD" in bill.epsilons) == (sigma > 0.03 and delta > 1e-20)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "event",
    [
        Sampled(event=GaussianEvent(sigma=1e-3), rate=0.5),
        Repeated(event=Sampled(event=DiscreteLaplaceEvent(scale=1e-6, neighbors="add-remove"), rate=1e-6), times=10**6),
        Repeated(event=LaplaceEvent(scale=1e-6), times=1000),
        Repeated(event=BoundedRange(epsilon=20.0), times=10),
        GroupEvent(event=DiscreteGaussianEvent(sigma=1e-6, sensitivity=7), size=10),
    ],
)
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.5])
def test_extreme_events_have_a_finite_bill(event, delta):
    bill = account(event, delta=delta)
    assert all(0 <= epsilon < inf for epsilon in bill.epsilons.values())


@pytest.mark.filterwarnings("error")
def test_a_group_whose_delta_is_nearly_one_is_refused():
    with pytest.raises(ParameterError, match="the sum of all deltas"):
        account(GroupEvent(event=Approximate(epsilon=700.0, delta=1e-300), size=1000), delta=1e-6)
    assert GroupEvent(event=Approximate(epsilon=700.0, delta=0.0), size=1000).event.grouped(1000).delta == 0.0


def test_epsilon_on_a_sample_is_the_logarithm_that_it_should_be():
    for epsilon, rate in ((0.5, 0.1), (700.5, 0.3), (701.0, 1e-300), (5000.0, 1e-9)):
        with localcontext(Context(prec=60)):
            truth = (1 + Decimal(rate) * (Decimal(epsilon).exp() - 1)).ln()
        assert float(truth) <= amplified(epsilon, rate) <= float(truth) * (1 + 1e-12) + 1e-10
    assert (amplified(3.0, 1.0), amplified(inf, 0.5)) == (3.0, inf)
