"""The protocols' calibration: the reference tables at their digits, papers' constants from above, and the truth for a few people.

Paper rules are cross-checks only. Each must ask for at least as much noise as the exact engines do.
"""

from __future__ import annotations

import json
from fractions import Fraction
from math import ceil, exp, inf, log, log2, sqrt

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.contract.probability import exp_below
from deniable.errors import ParameterError
from deniable.shuffle.certificate import certificate
from deniable.shuffle.dummies import dummies_for, dummy_delta
from deniable.shuffle.shares import excess, share_delta, shares_for
from tests.conftest import ROOT
from tests.shuffle.exhaustive import rows_of, true_delta

CHECKS = json.loads((ROOT / "tests" / "data" / "shuffle_checks.json").read_text())["calibration"]
DELTA = float(CHECKS["delta"])


def coins_of_the_paper(n, epsilon):
    """Cheu et al. 2019: lambda, in either branch."""
    if epsilon >= sqrt(192 * log(4 / DELTA) / n):
        return 64 * log(4 / DELTA) / epsilon**2
    return n - epsilon * n**1.5 / sqrt(432 * log(4 / DELTA))


def binary_error(n, coins):
    p = coins / n
    return sqrt(n * p / 2 * (1 - p / 2)) / (1 - p)


BINARY = [  # n, epsilon, lambda, its last digit, errors: ours, the paper's, central, local; the paper's lambda
    (10_000, 0.5, 258.3, 0.1, 11.6, 63.8, 2.8, 198, 3830),
    (100_000, 0.1, 4788, 1.0, 50.8, 373, 14.1, 3161, 60978),
    (100_000, 1.0, 85.2, 0.1, 6.5, 22.2, 1.4, 303, 973),
    (1_000_000, 1.0, 85.3, 0.1, 6.5, 22.1, 1.4, 960, 973),
]


@pytest.mark.parametrize(("n", "epsilon", "coins", "digit", "ours", "papers", "central", "local", "rule"), BINARY)
def test_the_table_of_the_binary_sum(n, epsilon, coins, digit, ours, papers, central, local, rule):
    protocol = dn.shuffle.ShuffledBinarySum(epsilon=epsilon, delta=DELTA, n=n)
    assert protocol.coins == pytest.approx(coins, abs=digit / 2 + 1e-3)
    assert sqrt(protocol.variance()) == pytest.approx(ours, abs=0.05)
    assert binary_error(n, protocol.coins) == pytest.approx(sqrt(protocol.variance()), rel=1e-6)
    assert coins_of_the_paper(n, epsilon) == pytest.approx(rule, abs=0.5)
    assert binary_error(n, coins_of_the_paper(n, epsilon)) == pytest.approx(papers, abs=0.5 if papers > 100 else 0.05)
    assert coins_of_the_paper(n, epsilon) > protocol.coins
    assert dn.central.Laplace(epsilon=epsilon, sensitivity=1, neighbors="replace").stderr == pytest.approx(central, abs=0.051)
    assert sqrt(dn.RR(epsilon=epsilon).variance(n)) == pytest.approx(local, abs=0.51)
    promise = protocol.guarantee
    assert (promise.epsilon, promise.delta, promise.people, promise.model) == (epsilon, DELTA, n, "shuffle")
    assert promise.local_epsilon == pytest.approx(log((2 - protocol.coins / n) / (protocol.coins / n)), rel=1e-9)


def test_the_binary_sum_has_no_coin_to_spare():
    protocol = dn.shuffle.ShuffledBinarySum(epsilon=1.0, delta=DELTA, n=10_000)
    assert certificate(spec=protocol.spec, n=10_000, delta=DELTA).keeps(1.0)
    assert not certificate(spec=dn.RR(epsilon=protocol.spec.epsilon * (1 + 1e-5)), n=10_000, delta=DELTA).keeps(1.0)


@pytest.mark.parametrize("cell", CHECKS["krr_eps0"], ids=lambda cell: f"n={cell['n']} k={cell['k']} eps={cell['eps']}")
def test_the_table_of_the_histogram(cell):
    protocol = dn.shuffle.ShuffledHistogram(domain_size=cell["k"], epsilon=float(cell["eps"]), delta=DELTA, n=cell["n"])
    assert protocol.guarantee.local_epsilon == pytest.approx(float(cell["eps0"]), abs=1e-4)
    assert sqrt(protocol.variance()) == pytest.approx({"0.5": 11.7, "1": 6.5}[cell["eps"]], abs=0.1)  # one figure for all k
    assert protocol.variance(f=0.5) > protocol.variance()


REAL = [  # n, steps, gamma, its last digit, error; the paper's steps, gamma, its last digit and error; central, local
    (10_000, 6, 0.0281, 1e-4, 10.3, 4, 0.081, 1e-3, 22.4, 1.4, 108),
    (100_000, 12, 0.0055, 1e-4, 15.1, 9, 0.018, 1e-3, 30.8, 1.4, 342),
    (1_000_000, 32, 0.0014, 1e-4, 21.8, 19, 0.004, 1e-3, 44.5, 1.4, 1082),
]


def table_error(n, k, gamma):
    """The table's error: the largest for crowds that all hold 0, 1/2 or 1. Others are worse: see below."""
    cases = ((0.0, 0.0), (0.5, 1 / (4 * k * k)), (1.0, 0.0))
    return sqrt(
        n * max((1 - gamma) * (x * x + v) + gamma * (2 * k + 1) / (6 * k) - ((1 - gamma) * x + gamma / 2) ** 2 for x, v in cases)
    ) / (1 - gamma)


@pytest.mark.parametrize(("n", "k", "gamma", "digit", "error", "rule", "rule_gamma", "rule_digit", "rule_error", "central", "local"), REAL)
def test_the_table_of_the_real_sum(n, k, gamma, digit, error, rule, rule_gamma, rule_digit, rule_error, central, local):
    protocol = dn.shuffle.ShuffledRealSum(low=0, high=1, epsilon=1.0, delta=DELTA, n=n, steps=k)
    assert protocol.gamma == pytest.approx(gamma, abs=digit / 2)
    assert table_error(n, k, protocol.gamma) == pytest.approx(error, abs=0.05)
    papers = max(14 * rule * log(2 / DELTA) / (n - 1), 27 * rule / (n - 1))
    assert papers == pytest.approx(rule_gamma, abs=rule_digit / 2)
    here = dn.shuffle.ShuffledRealSum(low=0, high=1, epsilon=1.0, delta=DELTA, n=n, steps=rule)
    assert here.gamma < papers  # for the same points, less noise is enough
    best = dn.shuffle.ShuffledRealSum(low=0, high=1, epsilon=1.0, delta=DELTA, n=n)
    assert sqrt(best.variance()) < rule_error  # for any crowd, as the table has it for the paper's rule
    assert dn.central.Laplace(epsilon=1.0, sensitivity=1, neighbors="replace").stderr == pytest.approx(central, abs=0.051)
    assert n * sqrt(dn.Duchi(low=0, high=1, epsilon=1.0).variance(n)) == pytest.approx(local, abs=0.5)


def test_the_steps_of_the_real_sum_are_the_best_for_the_worst_crowd():
    """Which is not at 0, 1/2 or 1: half a step from either end, rounding and noise are both at their largest."""
    n = 10_000
    errors = {k: dn.shuffle.ShuffledRealSum(low=0, high=1, epsilon=1.0, delta=DELTA, n=n, steps=k) for k in (6, 7, 8)}
    best = dn.shuffle.ShuffledRealSum(low=0, high=1, epsilon=1.0, delta=DELTA, n=n)
    assert min(protocol.variance() for protocol in errors.values()) == best.variance()
    near_the_end = [n * float(best.spec.score_variance(place)) / best.steps**2 for place in (Fraction(0), Fraction(1, 2))]
    assert near_the_end[0] * 1.2 < near_the_end[1] < best.variance() * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "recorded"), CHECKS["poisson_dummies_lambda"].items())
def test_the_table_of_the_dummies(epsilon, recorded):
    protocol = dn.shuffle.PoissonHistogram(domain_size=1000, epsilon=float(epsilon), delta=DELTA, n=100_000)
    assert protocol.noise == pytest.approx(float(recorded), abs=0.005)
    assert dummy_delta(protocol.noise, float(epsilon)) <= DELTA < dummy_delta(protocol.noise * (1 - 1e-6), float(epsilon))
    assert sqrt(protocol.variance()) == pytest.approx({"0.25": 21.9, "0.5": 11.7, "1": 6.5, "2": 4.3}[epsilon], abs=0.05)
    assert protocol.guarantee.local_epsilon == inf
    assert "otherwise nothing is promised" in protocol.guarantee.statement()
    if epsilon == "1":
        assert protocol.messages_each == pytest.approx(1.43, abs=0.005)


@pytest.mark.parametrize(("noise", "epsilon"), [(0.5, 0.3), (2.0, 1.0), (8.0, 0.1), (30.0, 0.7)])
def test_the_delta_of_dummies_is_that_of_the_two_bins(noise, epsilon):
    """Both bins enumerated: one more message here, or there."""
    counts = np.arange(0, 200)
    plain, more = (stats.poisson.pmf(counts - shift, noise) for shift in (0, 1))
    truth = np.maximum(np.outer(more, plain) - exp(epsilon) * np.outer(plain, more), 0.0).sum()
    assert truth * (1 - 1e-12) <= dummy_delta(noise, epsilon) <= truth * (1 + 1e-7)


# --- the truth for up to four people ---


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("kind", ["binary", "histogram"])
def test_every_data_set_of_up_to_four_people(kind, epsilon, n):
    """In fractions, with the very laws that are sent: no data set, pair of values or order has a larger delta than was promised."""
    parameters = {"epsilon": epsilon, "delta": 0.05, "n": n}
    make = dn.shuffle.ShuffledBinarySum if kind == "binary" else lambda **given: dn.shuffle.ShuffledHistogram(domain_size=3, **given)
    power = exp_below(epsilon)  # a hair below e^epsilon: the divergence is a hair larger
    assert true_delta(rows_of(make(**parameters).spec), n, power) <= Fraction(5, 100)
    careless = make(**parameters | {"n": 3 * n})  # n counted with dummies, or messages for people
    assert true_delta(rows_of(careless.spec), n, power) > Fraction(5, 100)


def test_dummies_counted_as_people_are_caught():
    protocol = dn.shuffle.PoissonHistogram(domain_size=1000, epsilon=1.0, delta=DELTA, n=1000)
    people = int(protocol.n * protocol.messages_each)
    careless = dn.shuffle.PoissonHistogram(domain_size=1000, epsilon=1.0, delta=DELTA, n=people)
    left = float(careless.rate) * protocol.n / 1000  # what so few people really send
    assert dummy_delta(left, 1.0) > 100 * DELTA


# --- shares ---


@pytest.mark.parametrize("n", [100, 1000, 100_000, 10**6, 10**8])
def test_shares_are_never_more_than_the_papers(n):
    """Balle et al. 2020, for the same distance 2^-sigma, and a modulus that sums of n numbers need."""
    modulus = 1 << ceil(log2(16 * n**1.5))
    for sigma in (20, 40, 60):
        paper = ceil(2 + (2 * sigma + log2(modulus)) / (log2(n) - log2(exp(1))))
        delta = (1 + exp(1.0)) * 2.0**-sigma
        found = shares_for(epsilon=1.0, delta=delta, n=n, modulus=modulus)
        assert 3 <= found <= paper
        assert share_delta(epsilon=1.0, n=n, modulus=modulus, shares=found) <= delta
    assert ceil(2 + (80 + 32) / (log2(100_000) - log2(exp(1)))) == 10  # as the reference has it


def test_a_promise_of_split_and_mix_is_kept_by_its_parts():
    protocol = dn.shuffle.SplitAndMixSum(low=0, high=1, epsilon=0.5, delta=1e-9, n=2000)
    assert share_delta(epsilon=0.5, n=2000, modulus=protocol.modulus, shares=protocol.shares) <= 1e-9
    assert share_delta(epsilon=0.5, n=2000, modulus=protocol.modulus, shares=protocol.shares - 1) > 1e-9
    assert 1 / protocol.ratio**protocol.steps <= exp_below(0.5) * (1 + Fraction(1, 10**50))  # neighbors are ``steps`` apart
    assert excess(1, 5, 1 << 20) == 0.0
    assert dn.shuffle.SplitAndMixSum(low=0, high=1, epsilon=0.5, delta=1e-3, n=2000).shares < protocol.shares


def test_noise_that_dummies_need_falls_with_epsilon_and_delta():
    assert dummies_for(0.5, 1e-6) > dummies_for(1.0, 1e-6) > dummies_for(1.0, 1e-5) > dummies_for(4.0, 1e-5)


def test_deltas_that_no_bound_can_be_computed_for_are_refused():
    for delta in (5e-324, 1e-300, 0.0, 1.0):
        with pytest.raises(ParameterError, match=r"delta: got .*from 1e-200 to below 1"):
            dn.shuffle.ShuffledBinarySum(epsilon=1.0, delta=delta, n=200)
    assert dn.shuffle.ShuffledBinarySum(epsilon=1.0, delta=1e-200, n=200).guarantee.delta <= 1e-200
