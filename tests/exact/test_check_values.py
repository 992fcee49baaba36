"""Closed forms against values computed independently of this code (``tests/data/local_checks.json``)."""

from __future__ import annotations

import json
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from deniable.client import (
    BLH,
    CMS,
    GRR,
    HCMS,
    HRR,
    OLH,
    OUE,
    PGR,
    RR,
    RWS,
    SHE,
    SUE,
    THE,
    BloomRR,
    DBitFlip,
    HadamardResponse,
    SubsetSelection,
)
from deniable.contract.probability import favored_threshold
from deniable.lab.audit import epsilon_lower_bound, exact_audit
from tests.estimates import of_supports
from tests.exact.test_audit import PForcedToHalf, WriteOver

CHECKS = json.loads((Path(__file__).parent.parent / "data" / "local_checks.json").read_text())
EPSILONS = (0.5, 1, 2, 4)
ORACLES = {"GRR": GRR, "OUE": OUE, "OLH": OLH, "SubsetSelection": SubsetSelection}
close = lambda value: pytest.approx(value, rel=1e-5)  # noqa: E731  # the tolerance that the values state


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ["GRR", "OUE", "OLH"])
def test_variance_and_influence(name, epsilon):
    expected = CHECKS["count_variance"][f"eps_{epsilon}"]
    spec = ORACLES[name](domain_size=128, epsilon=epsilon)
    assert spec.variance(n=10_000) == close(expected[name])
    assert spec.variance(n=10_000, f=0.1) == close(expected[f"{name}_at_n_v_1000"])
    assert spec.influence == close(expected[f"influence_of_one_report_{name}"])


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("oracle", [SUE, THE, BLH, HRR, SubsetSelection])
def test_variance_of_the_other_oracles(oracle, epsilon):
    expected = CHECKS["count_variance"][f"eps_{epsilon}"]
    spec = oracle(domain_size=128, epsilon=epsilon)
    assert spec.variance(n=10_000) == close(expected[spec.mechanism])
    if oracle is THE:
        assert spec.theta == close(expected["THE_theta"])
    if oracle is SubsetSelection:
        assert spec.size == expected["SubsetSelection_size"]
        assert spec.variance(n=10_000, f=0.1) == close(expected["SubsetSelection_at_n_v_1000"])
    if oracle in (BLH, HRR):
        penalty = CHECKS["one_bit_penalty_over_optimal"][f"eps_{epsilon}"]
        assert spec.variance(n=1) == close(penalty * 4 * exp(epsilon) / (exp(epsilon) - 1) ** 2)


@pytest.mark.parametrize(
    ("epsilon", "order", "dimension", "points", "variance"),
    [(0.5, 3, 6, 364, 157_291.62), (1, 3, 6, 364, 37_432.51), (2, 11, 3, 133, 7_121.47), (4, 127, 2, 128, 628.66)],
)
def test_geometries_and_their_variance(epsilon, order, dimension, points, variance):
    """The reference's figures, obtained by enumerating the whole law."""
    spec = PGR(domain_size=128, epsilon=epsilon)
    assert (spec.order, spec.dimension, spec.points) == (order, dimension, points)
    assert spec.variance(n=10_000) == close(variance)


@pytest.mark.parametrize(("epsilon", "penalty"), [(1, 1.024), (2, 1.011), (4, 1.001)])
def test_geometries_are_near_the_optimum_for_large_domains(epsilon, penalty):
    optimum = 4 * exp(epsilon) / (exp(epsilon) - 1) ** 2
    assert PGR(domain_size=2**20, epsilon=epsilon).variance(n=1) / optimum == pytest.approx(penalty, abs=5e-4)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("size", "prime"), [(2, 2), (8, 11), (128, 131), (1009, 1009)])
def test_a_wheel_is_subset_selection_among_a_prime_number_of_values(size, prime, epsilon):
    wheel, subset = RWS(domain_size=size, epsilon=epsilon), SubsetSelection(domain_size=prime, epsilon=epsilon)
    assert (wheel.modulus, wheel.size, wheel.p, wheel.q, wheel.ratio) == (prime, subset.size, subset.p, subset.q, subset.ratio)
    assert wheel.variance(n=10_000, f=0.1) == subset.variance(n=10_000, f=0.1)


@pytest.mark.parametrize(
    ("epsilon", "noisy", "flipped"),
    [(0.5, 320_000, 1_273_354.12), (1, 80_000, 313_415.85), (2, 20_000, 73_653.89), (4, 5_000, 14_481.23)],
)
def test_variance_of_scores(epsilon, noisy, flipped):
    """The reference's figures: Laplace noise without a grid, and 16 buckets of 128."""
    assert SHE(domain_size=128, epsilon=epsilon).variance(n=10_000) == close(noisy)
    assert DBitFlip(domain_size=128, epsilon=epsilon, bits=16).variance(n=10_000) == close(flipped)
    whole, unary = DBitFlip(domain_size=128, epsilon=epsilon, bits=128), SUE(domain_size=128, epsilon=epsilon)
    assert (whole.p, whole.q, whole.variance(n=10_000, f=0.1)) == (unary.p, unary.q, pytest.approx(unary.variance(n=10_000, f=0.1)))


@pytest.mark.parametrize(("size", "bits"), [(2, 1), (2, 2), (4, 1), (4, 2), (4, 3), (4, 4)])
def test_best_guess_from_a_few_bits(size, bits):
    """Every report's likeliest sender, over all reports: the observer cannot do better."""
    spec = DBitFlip(domain_size=size, epsilon=1.0, bits=bits)
    laws = [spec.law(value) for value in range(size)]
    best = sum(max(law[report] for law in laws) for report in laws[0]) / size
    assert spec.best_guess == pytest.approx(float(best), rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_hash_range_and_significance_threshold(epsilon):
    expected = CHECKS["count_variance"][f"eps_{epsilon}"]
    assert OLH(domain_size=128, epsilon=epsilon).hash_range == expected["OLH_g"]
    threshold = stats.norm.isf(0.05 / 128) * OUE(domain_size=128, epsilon=epsilon).variance(n=10_000) ** 0.5
    assert threshold == close(expected["OUE_significance_threshold_counts_alpha_0.05"])


@pytest.mark.parametrize("size", [2, 8, 128, 1024])
@pytest.mark.parametrize("epsilon", [0.1, 1, 2, 4])
def test_grr_truth_probability(size, epsilon):
    assert float(GRR(domain_size=size, epsilon=epsilon).p) == close(CHECKS["GRR_p"][f"d_{size}"][f"eps_{epsilon}"])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_grr_beats_oue_below_the_crossover(epsilon):
    """At f = 0 the variances cross at 3 e^epsilon + 2, averaged over all values at the second figure."""
    for key, share in (("GRR_beats_OUE_below_d", lambda size: 0.0), ("GRR_beats_OUE_on_average_below_d", lambda size: 1 / size)):
        crossing = CHECKS[key][f"eps_{epsilon}"]
        below, above = int(crossing), int(crossing) + 1
        assert GRR(domain_size=below, epsilon=epsilon).variance(1, share(below)) < OUE(domain_size=below, epsilon=epsilon).variance(
            1, share(below)
        )
        assert GRR(domain_size=above, epsilon=epsilon).variance(1, share(above)) > OUE(domain_size=above, epsilon=epsilon).variance(
            1, share(above)
        )
    assert CHECKS["GRR_beats_OUE_below_d"][f"eps_{epsilon}"] == close(3 * exp(epsilon) + 2)


@pytest.mark.parametrize("key", CHECKS["auto_rule_average_n_times_var_at_f_1_over_d"])
def test_average_variance_over_a_domain(key):
    _, epsilon, _, size = key.split("_")
    for name, expected in CHECKS["auto_rule_average_n_times_var_at_f_1_over_d"][key].items():
        spec = ORACLES[name](domain_size=int(size), epsilon=float(epsilon))
        assert spec.variance(n=1, f=1 / int(size)) == close(expected)


def test_worked_examples():
    example = CHECKS["RR_worked_example"]
    coin = RR.from_probabilities(example["truth_probability"], 1 - example["truth_probability"])
    tally_yes, tally_no = example["observed"]
    estimate = of_supports(coin, ["yes", "no"], 100, np.array([tally_yes, tally_no]), np.array(0.75), np.array(0.25))
    assert estimate.counts.tolist() == close(example["estimated"])
    assert coin.epsilon == close(log(3))
    unary = CHECKS["unary_worked_example"]
    p, q = np.array(unary["p"]), np.array(unary["q"])
    estimate = of_supports(coin, list("abcd"), unary["n"], np.array(unary["bit_sums"]), p, q)
    assert estimate.counts == pytest.approx(unary["estimates"])


@pytest.mark.parametrize("key", CHECKS["empirical_epsilon_of_GRR_1e6_trials_alpha_0.01"])
def test_expected_empirical_epsilon_of_a_correct_mechanism(key):
    _, epsilon, _, size = key.split("_")
    spec = GRR(domain_size=int(size), epsilon=float(epsilon))
    bound = epsilon_lower_bound(round(10**6 * spec.p), round(10**6 * spec.q), 10**6, 0.99)
    assert bound == close(CHECKS["empirical_epsilon_of_GRR_1e6_trials_alpha_0.01"][key])


def test_the_audit_finds_the_stated_epsilons_of_published_bugs():
    """The figures are the reference's; the epsilons are what the exact audit finds in the twins' code."""

    class SymmetricWriteOver(SUE):
        def perturb(self, key, source):
            return source.bernoulli_bits(self.raise_other, self.domain_size) | source.bernoulli(self.keep) << key

    for twin in (WriteOver, SymmetricWriteOver):
        expected = CHECKS["unary_write_over_bug_at_eps1"]["OUE" if twin is WriteOver else "SUE"]
        assert exact_audit(twin(domain_size=4, epsilon=1.0)).epsilon == close(expected)
    for epsilon, hash_range in ((0.5, 2), (1, 3)):  # g = int(e^epsilon) + 1
        found = exact_audit(PForcedToHalf(domain_size=4, epsilon=epsilon, hash_range=hash_range)).epsilon
        assert found == pytest.approx(CHECKS["OLH_with_p_forced_to_half"][f"eps_{epsilon}"], rel=1e-5, abs=1e-12)


def test_one_attribute_each_beats_a_split_epsilon():
    expected = CHECKS["multi_attribute_n_times_var_5_attributes_k10_eps1"]
    share = 5  # five attributes: a fifth of the people each
    assert share * OUE(domain_size=10, epsilon=1.0).variance(1) == close(expected["SMP_OUE"])
    assert OUE(domain_size=10, epsilon=0.2).variance(1) == close(expected["SPL_OUE"])
    assert share * GRR(domain_size=10, epsilon=1.0).variance(1) == close(expected["SMP_GRR"])


def test_two_sigma_of_randomized_response():
    assert 2 * RR(epsilon=1.0).variance(n=10**6) ** 0.5 == close(CHECKS["two_sigma_of_RR_N1e6_eps1"])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_best_guess_from_one_report(epsilon):
    """An observer with a uniform prior guesses a value that the report supports."""
    expected = CHECKS["attack_success_d128"][f"eps_{epsilon}"]
    names = {"GRR_and_upper_bound": GRR, "SS": SubsetSelection, "SUE": SUE, "OUE": OUE, "OLH": OLH}
    assert set(names) == set(expected)
    for name, oracle in names.items():
        assert oracle(domain_size=128, epsilon=epsilon).best_guess == close(expected[name])


def test_thresholds_do_not_depend_on_what_was_computed_before():
    """4 == 4.0 == True + 3: a remembered threshold of one type must not answer for another, or negative vectors depend on their order."""
    exact = favored_threshold(1.0, 1, 3)
    rounded = favored_threshold(1.0, 1, 3.0)
    assert (exact, rounded) == (8768971294881393556, 8768971294881393664)
    assert favored_threshold(1.0, 1, 3) == exact


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("f", [0.0, 0.3])
def test_variances_are_the_formulas_of_the_theory_pages(epsilon, f):
    """Per report, for 64 values; e and root: E and R there. SHE's tails are folded; one formula is for large domains."""
    e, root, d, b, m = exp(epsilon), exp(epsilon / 2), 64, 16, 1024
    sketch = (m / (m - 1)) ** 2 * (root / (root - 1) ** 2 + (1 - 1 / m) / m)
    hadamard = (m / (m - 1)) ** 2 * ((e + 1) ** 2 / (e - 1) ** 2 - 1 / m**2)
    olh, pgr, flips = OLH(domain_size=d, epsilon=epsilon), PGR(domain_size=d, epsilon=epsilon), 1 / (exp(epsilon / 4) + 1)
    g, (q, t, points, c, i) = olh.hash_range, (pgr.order, pgr.dimension, pgr.points, pgr.orthogonal, pgr.shared)
    response = HadamardResponse(domain_size=1 << 20, epsilon=epsilon)
    blocks, r = response.blocks, exp(-epsilon / 128)
    the = THE(domain_size=d, epsilon=epsilon)
    noise = exp(epsilon * the.theta / 2)
    p, raised = 1 - exp(epsilon * (the.theta - 1) / 2) / 2, exp(-epsilon * the.theta / 2) / 2
    ours = {
        GRR(domain_size=d, epsilon=epsilon): (d - 2 + e) / (e - 1) ** 2 + f * (d - 2) / (e - 1),
        OUE(domain_size=d, epsilon=epsilon): 4 * e / (e - 1) ** 2 + f,
        SUE(domain_size=d, epsilon=epsilon): root / (root - 1) ** 2,
        BLH(domain_size=d, epsilon=epsilon): (e + 1) ** 2 / (e - 1) ** 2 - f,
        HRR(domain_size=d, epsilon=epsilon): (e + 1) ** 2 / (e - 1) ** 2 - f,
        DBitFlip(domain_size=d, epsilon=epsilon, bits=b): d / b * root / (root - 1) ** 2 + f * (d / b - 1),
        DBitFlip(domain_size=d, epsilon=epsilon, bits=1): d * e / (e - 1) ** 2 + f * (d - 1),
        CMS(domain_size=d, epsilon=epsilon, width=m): sketch - f / (m - 1),
        HCMS(domain_size=d, epsilon=epsilon, width=m): hadamard - f * (m + 1) / (m - 1),
        the: (2 * noise - 1) / (1 + exp(epsilon * (the.theta - 0.5)) - 2 * noise) ** 2 + f * (1 - p - raised) / (p - raised),
    }
    for spec, formula in ours.items():
        assert spec.variance(n=1, f=f) == pytest.approx(formula, rel=1e-9), spec
    rare = {
        olh: (e + g - 1) ** 2 / ((e - 1) ** 2 * (g - 1)),
        pgr: ((e - 1) * i + c) * ((e - 1) * (c - i) + points - c) / ((e - 1) ** 2 * q ** (2 * t - 4)),
        BloomRR(domain_size=d, epsilon=epsilon, hashes=2): flips * (1 - flips) / (2 * (1 - 2 * flips) ** 2),
        SHE(domain_size=d, epsilon=epsilon, steps=64): 2 * r / (1 - r) ** 2 / 64**2,
        response: (e + 2 * blocks - 1) ** 2 / (blocks * (e - 1) ** 2),
    }
    for spec, formula in rare.items():
        assert spec.variance(n=1) == pytest.approx(formula, rel=1e-4 if spec is response else 1e-5), spec
