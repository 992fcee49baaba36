"""Every recorded cell that these engines are about, at its tolerance (``tests/data/shuffle_checks.json``).

The recorded values of k-ary randomized response by Fourier transform are upper bounds with an error of their own, up to 2e-4 of epsilon
for a million people: its lattice is coarser than ours. So those cells are compared from above at the recorded tolerance. That the smaller
values are right, and how nearly, is shown for every cell by a sum that has no lattice at all.
"""

from __future__ import annotations

import json
from functools import cache
from math import exp, log

import numpy as np
import pytest
from scipy.special import gammaln

import deniable as dn
from deniable.accounting import Repeated, account
from deniable.accounting.binomial import at_least, pmf
from deniable.shuffle.blanket import Blanket
from deniable.shuffle.certificate import certificate
from deniable.shuffle.channel import InputPair, pairs_of
from deniable.shuffle.clone import Clones, binary_probability, closed_form, divergence_given
from tests.conftest import ROOT

CHECKS = json.loads((ROOT / "tests" / "data" / "shuffle_checks.json").read_text())
DELTA = float(CHECKS["delta"])
TABLE = CHECKS["reference_table"]
CELLS = [pytest.param(row, id=f"n={row['n']} eps0={row['eps0']}") for row in TABLE]
HALF = 0.5e-7
"""Half a unit of the last digit of a value with seven decimals."""


def grr_pair(k, epsilon0):
    """K-ary randomized response from its definition, in floats."""
    q = 1 / (exp(epsilon0) + k - 1)
    p = exp(epsilon0) * q
    return InputPair(np.array([p, q, (k - 2) * q]), np.array([q, p, (k - 2) * q]), np.array([q, q, (k - 2) * q]))


@cache
def grr_epsilon(n, k, epsilon0):
    """What is asked about each cell more than once."""
    return Blanket(grr_pair(k, epsilon0), n=n, delta=DELTA).epsilon()


@pytest.mark.parametrize("row", CELLS)
def test_the_clone_bound_and_its_closed_form(row):
    n, epsilon0 = row["n"], float(row["eps0"])
    found = dn.shuffle.amplify(epsilon0=epsilon0, n=n, delta=DELTA, lower_bound=True)
    assert found.epsilon == pytest.approx(float(row["clone_general_upper"]), rel=2e-9)
    assert (found.local_epsilon, found.people, found.model) == (epsilon0, n, "shuffle")
    assert 0 < found.epsilon_at_least <= found.epsilon
    form = closed_form(epsilon0, n, DELTA)
    assert (form is None) == (row["closed_form"] is None)
    assert form is None or (round(form, 4) == float(row["closed_form"]) and form > found.epsilon)


@pytest.mark.parametrize("row", CELLS)
def test_binary_randomized_response(row):
    """To half a unit of the eighth decimal, and what a search may add to it."""
    epsilon0 = float(row["eps0"])
    found = Clones(epsilon0=epsilon0, n=row["n"], delta=DELTA, probability=binary_probability(epsilon0)).epsilon()
    assert found == pytest.approx(float(row["rr_k2_upper"]), abs=0.5e-8 + 1e-9 * found)
    spec = dn.shuffle.amplify(dn.RR(epsilon=epsilon0), n=row["n"], delta=DELTA, lower_bound=True)
    assert spec.epsilon == found
    assert spec.epsilon_at_least <= found


@pytest.mark.parametrize("k", [10, 100])
@pytest.mark.parametrize("row", CELLS)
def test_k_ary_randomized_response(row, k):
    n, epsilon0, recorded = row["n"], float(row["eps0"]), float(row[f"krr_k{k}_upper"])
    found = grr_epsilon(n, k, epsilon0)
    if row[f"krr_k{k}_method"] == "direct":
        assert found == pytest.approx(recorded, rel=1e-7)
        return
    assert recorded * (1 - 3e-4) <= found <= recorded * (1 + 2e-6) + HALF
    homogeneous, q = row[f"krr_k{k}_lower"], 1 / (exp(epsilon0) + k - 1)
    if homogeneous is not None:  # an estimate, by the same engine with a third value's law for the blanket
        p = exp(epsilon0) * q
        rows = [[p, q, q, (k - 3) * q], [q, p, q, (k - 3) * q], [q, q, p, (k - 3) * q]]
        value = Blanket(InputPair(*map(np.array, rows)), n=n, delta=DELTA).epsilon()
        assert float(homogeneous) * (1 - 3e-4) <= value <= float(homogeneous) * (1 + 2e-6) + 2 * HALF
        assert value <= found * (1 + 2e-6)


@pytest.mark.parametrize(("n", "k", "epsilon0"), [(10_000, 10, 0.5), (10_000, 10, 4.0), (10_000, 100, 4.0)])
def test_the_transform_against_a_sum_without_a_lattice(n, k, epsilon0):
    """All counts of two classes, the third in closed form: our certificate is above it, by less than a hundred-thousandth."""
    bound = Blanket(grr_pair(k, epsilon0), n=n, delta=DELTA)
    epsilon = bound.epsilon()
    assert bound._counted is None  # it is the transform that is tested
    truth = lattice_free(n, k, epsilon0, epsilon)
    assert truth <= bound.at(epsilon) <= DELTA
    assert truth >= DELTA * (1 - 1e-5)
    assert lattice_free(n, k, epsilon0, epsilon, per_deviation=16) == pytest.approx(truth, rel=2e-6)


@pytest.mark.parametrize("k", [10, 100])
@pytest.mark.parametrize("row", [cell for cell in CELLS if cell.values[0]["krr_k10_method"] != "direct"])
def test_recorded_values_that_are_too_high(row, k):
    """The truth at our epsilon, without a lattice: not above delta, not far below. Where the recorded epsilon is larger, it is loose."""
    n, epsilon0, recorded = row["n"], float(row["eps0"]), float(row[f"krr_k{k}_upper"])
    epsilon = grr_epsilon(n, k, epsilon0)
    truth = lattice_free(n, k, epsilon0, epsilon, per_deviation=16)
    assert DELTA * (1 - 6e-4) <= truth <= DELTA * (1 + 2e-6)
    if recorded - HALF > epsilon * (1 + 2e-5):
        assert lattice_free(n, k, epsilon0, recorded - HALF, per_deviation=16) < DELTA * (1 - 1e-4)


@cache
def lattice_free(n, k, epsilon0, epsilon, per_deviation=None):
    """Delta of the blanket by its definition; of two counts all, or so many within a standard deviation (a trapezoidal rule)."""
    q = 1 / (exp(epsilon0) + k - 1)
    gain, loss, rest = exp(epsilon0) - exp(epsilon), exp(epsilon0 + epsilon) - 1, exp(epsilon) - 1
    axes, volume = [], 1
    for p in (q, (k - 2) * q):
        mean, spread = n * p, (n * p) ** 0.5
        step = max(1, int(spread / per_deviation)) if per_deviation else 1
        axes.append(np.arange(max(0, int(mean - 11 * spread - 20)), min(n, int(mean + 11 * spread + 20.0)), step))
        volume *= step
    second, third, total, p = *axes, 0.0, q / (1 - q - (k - 2) * q)
    for count, weight in zip(second, pmf(second, n, q), strict=True):
        left = np.maximum(n - count - third.astype(float), 0)
        owed = loss * count + rest * third
        needed = np.floor(owed / gain) + 1
        paid = gain * left * p * at_least(needed - 1, np.maximum(left - 1, 0), p) - owed * at_least(needed, left, p)
        total += weight * float((pmf(third, n - count, (k - 2) * q / (1 - q)) * paid).sum())
    return volume * total / n


@pytest.mark.parametrize("points", [1 << 12, 1 << 14, 1 << 16])
def test_a_coarser_lattice_costs_tightness_and_never_validity(points):
    pair, epsilon = grr_pair(10, 2.0), 0.0798
    coarse, fine = (Blanket(pair, n=10_000, delta=DELTA, points=size).at(epsilon) for size in (points, 1 << 20))
    assert lattice_free(10_000, 10, 2.0, epsilon) <= fine <= coarse


def test_a_lattice_that_rounds_down_is_caught(monkeypatch):
    from deniable.accounting.tilted import Lattice
    from deniable.shuffle import blanket

    def floored(points, masses, reach, step, tilt):
        return Lattice(np.floor(points / step).astype(np.int64), masses, step)

    monkeypatch.setattr(blanket, "_on_lattice", floored)
    assert Blanket(grr_pair(10, 2.0), n=10_000, delta=DELTA).at(0.0798) < lattice_free(10_000, 10, 2.0, 0.0798)


@pytest.mark.parametrize(
    "row", CHECKS["larger_n"] + CHECKS["larger_n_recomputed_with_loader_pmf"], ids=lambda row: f"n={row['n']} eps0={row['eps0']}"
)
def test_millions_of_people(row):
    found = Clones(epsilon0=float(row["eps0"]), n=row["n"], delta=DELTA).epsilon()
    recorded = float(row.get("clone_general_upper") or row["epsilon"])
    assert found == pytest.approx(recorded, rel=1e-8 if row["n"] <= 10**7 else 5e-7)


def test_a_hundred_people_where_the_public_code_returns_almost_nothing():
    cell = CHECKS["clone_small_n"]
    found = dn.shuffle.amplify(epsilon0=float(cell["eps0"]), n=cell["n"], delta=float(cell["delta"])).epsilon
    assert found == pytest.approx(float(cell["exact_epsilon"]), rel=2e-9)
    assert float(cell["reference_code_default_step"]) < found < float(cell["reference_code_upper_step1"])


@pytest.mark.parametrize("rounds", sorted(map(int, CHECKS["composition_pld"]["epsilon_by_rounds"])))
def test_composed_rounds(rounds):
    """The recorded values round each loss up on a lattice of 1e-5, so they may be too high by that much for each round."""
    cell = CHECKS["composition_pld"]
    event = Repeated(event=dn.shuffle.Shuffled(epsilon0=float(cell["eps0"]), n=cell["n"]), times=rounds)
    bill = account(event, delta=float(cell["delta"]), rules=("PLD",))
    recorded = float(cell["epsilon_by_rounds"][str(rounds)])
    assert recorded - 1e-5 * rounds - 5e-6 <= bill.epsilon <= recorded + 5e-6
    assert rounds > 1 or bill.epsilon == pytest.approx(Clones(epsilon0=2.0, n=cell["n"], delta=DELTA).epsilon(), rel=1e-5)


@pytest.mark.parametrize("cell", CHECKS["calibration"]["krr_eps0"], ids=lambda cell: f"n={cell['n']} k={cell['k']} eps={cell['eps']}")
def test_the_local_epsilon_for_a_target(cell):
    epsilon, n, k = float(cell["eps"]), cell["n"], cell["k"]
    found = dn.shuffle.local_epsilon_for(epsilon=epsilon, n=n, delta=DELTA, build=lambda e: dn.GRR(domain_size=k, epsilon=e))
    assert found == pytest.approx(float(cell["eps0"]), abs=1e-4)
    assert certificate(spec=dn.GRR(domain_size=k, epsilon=found), n=n, delta=DELTA).keeps(epsilon)
    assert not certificate(spec=dn.GRR(domain_size=k, epsilon=found + 2e-3), n=n, delta=DELTA).keeps(epsilon)


@pytest.mark.parametrize("cell", CHECKS["calibration"]["binary_sum_lambda"], ids=lambda cell: f"n={cell['n']} eps={cell['eps']}")
def test_the_noise_of_a_binary_sum(cell):
    """Truth with probability 1 - p, else a fair coin: clone probability p, and the smallest lambda = n p that keeps epsilon."""
    n, epsilon = cell["n"], float(cell["eps"])

    def keeps(noise):
        p = noise / n
        return Clones(epsilon0=log((2 - p) / p), n=n, delta=DELTA, probability=p).at(epsilon) <= DELTA

    noise = dn.accounting.calibrate(keeps, safe=n * 0.9, risky=1.0, tolerance=1e-5)
    assert noise == pytest.approx(float(cell["lam"]), rel=1e-3)


@pytest.mark.parametrize(("epsilon", "recorded"), CHECKS["calibration"]["poisson_dummies_lambda"].items())
def test_the_noise_of_poisson_dummies(epsilon, recorded):
    """The engine with Poisson clones and a victim who tells the truth."""
    target = float(epsilon)

    def delta(noise):
        counts = np.arange(0, int(2 * noise + 12 * (2 * noise) ** 0.5 + 40), dtype=float)
        weights = np.exp(counts * log(2 * noise) - 2 * noise - gammaln(counts + 1))
        return float((weights * divergence_given(counts, target, float("inf"))).sum())

    noise = dn.accounting.calibrate(lambda noise: delta(noise) <= DELTA, safe=1000.0, risky=1.0, tolerance=1e-6)
    assert noise == pytest.approx(float(recorded), abs=0.006)


# --- what must hold everywhere ---


def test_more_people_and_less_local_epsilon_are_worth_more():
    people = [dn.shuffle.amplify(epsilon0=2.0, n=n, delta=DELTA).epsilon for n in (1, 10, 100, 1000, 10_000)]
    local = [dn.shuffle.amplify(epsilon0=e, n=1000, delta=DELTA).epsilon for e in (0.1, 1.0, 2.0, 3.0, 5.0, 9.0)]
    assert people == sorted(people, reverse=True)
    assert local == sorted(local)
    assert people[0] == pytest.approx(2.0, rel=1e-5)  # a crowd of one hides nobody


@pytest.mark.parametrize("epsilon0", [0.3, 2.0])
def test_the_batch_for_a_target_is_the_smallest(epsilon0):
    n = dn.shuffle.people_for(epsilon0=epsilon0, epsilon=0.1, delta=DELTA)
    epsilons = [dn.shuffle.amplify(epsilon0=epsilon0, n=size, delta=DELTA).epsilon for size in (n - 1, n)]
    assert epsilons[0] > 0.1 >= epsilons[1] * (1 - 1e-9)


def test_a_mechanism_is_never_worth_less_than_its_epsilon():
    for spec in (dn.GRR(domain_size=3, epsilon=1.0), dn.OUE(domain_size=1000, epsilon=1.0), dn.OLH(domain=dn.Text(9), epsilon=1.0)):
        assert dn.shuffle.amplify(spec, n=5000, delta=DELTA).epsilon < dn.shuffle.amplify(epsilon0=1.0, n=5000, delta=DELTA).epsilon
        assert {len(pair.one) for pair in pairs_of(spec)} <= {3, 4, 5}
