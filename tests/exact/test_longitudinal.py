"""Answers given again and again, exactly: the joint law of successive reports, what a lifetime tells, and the published figures."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise, product
from math import log

import pytest

from deniable.client import LOLOHA, RAPPOR, DBitFlipPM, LongitudinalGRR, LongitudinalUnary, OneBitMeanPM, presets
from deniable.client.diary import history
from deniable.client.longitudinal_unary import VARIANTS
from deniable.contract.probability import exp_below
from deniable.errors import DomainError, ParameterError
from deniable.lab.audit import exact_audit
from deniable.testing import law_of
from tests.conftest import ROOT

CHECKS = json.loads((ROOT / "tests" / "data" / "longitudinal_checks.json").read_text())
SEED = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)
PAIRS = [(2.0, 1.0), (1.0, 0.05), (7.5, 3.0)]
SMALL = (
    [LongitudinalGRR(domain_size=d, epsilon=e, first_epsilon=f) for d in (2, 3) for e, f in PAIRS]
    + [LongitudinalUnary(domain_size=2, epsilon=2.0, first_epsilon=0.7, optimized=o) for o in range(4)]
    + [LOLOHA(domain_size=5, epsilon=e, first_epsilon=f, hash_range=g) for g in (2, 3) for e, f in PAIRS]
    + [DBitFlipPM(domain_size=d, epsilon=1.0, bits=b) for d, b in ((2, 1), (2, 2), (3, 2))]
    + [DBitFlipPM(domain_size=3, epsilon=2.0, bits=1, first_epsilon=0.5), DBitFlipPM.with_gamma("1/5", domain_size=2, epsilon=1.0, bits=2)]
    + [RAPPOR(domain_size=3, epsilon=2.0, bits=2, hashes=1, cohorts=2), RAPPOR(domain_size=2, epsilon=2.0, bits=3, hashes=2, cohorts=1)]
    + [RAPPOR.from_probabilities(f="1/2", p="1/2", q="3/4", domain_size=3, bits=2, hashes=1, cohorts=1)]
)
each_small = pytest.mark.parametrize("spec", SMALL, ids=repr)


def seed_of(spec):
    return SEED[: getattr(spec, "seed_words", 0)]


def worst(laws):
    """The largest ratio of any two of the laws; None if something is possible under one and not under another."""
    ratios = [one.ratio(other) for one in laws for other in laws]
    return None if None in ratios else max(ratios)


def joint(spec, values):
    return spec.history_law(values, seed=seed_of(spec))


@pytest.mark.parametrize(
    "spec",
    SMALL
    + [LongitudinalGRR(domain_size=d, epsilon=e, first_epsilon=f) for d in (4, 9) for e, f in PAIRS]
    + [LongitudinalUnary(domain_size=d, epsilon=4.0, first_epsilon=1.0, optimized=o) for d in (3,) for o in range(4)],
    ids=repr,
)
def test_one_report_of_a_fresh_device_passes_the_audit(spec):
    audit = exact_audit(spec)
    lucky = {"tight"} if isinstance(spec, RAPPOR) else set()  # the few functions of a small filter need not reach the worst case
    assert set(audit.failures) <= lucky, audit.failures
    assert audit.epsilon <= spec.first_effective_epsilon <= spec.first_epsilon


@each_small
def test_the_joint_law_of_two_reports_is_the_shipping_code_s(spec):
    """Every branch of a device with its diary, against the stated law: the same value twice, and a change."""
    for values in ([0, 0], [0, 1], [1, 1]):
        assert law_of(lambda source, values=values: history(spec, values, source), seed=seed_of(spec)) == joint(spec, values)


@pytest.mark.parametrize("spec", [LongitudinalGRR(domain_size=2, epsilon=2.0), DBitFlipPM(domain_size=2, epsilon=1.0, bits=1)], ids=repr)
def test_the_joint_law_of_four_reports_with_values_that_come_back(spec):
    for values in ([0, 1, 0, 1], [0, 0, 1, 0]):
        assert law_of(lambda source, values=values: history(spec, values, source)) == joint(spec, values)


@each_small
def test_two_reports_about_one_value_stay_within_epsilon_and_tell_more_than_one(spec):
    """More than one report, less than the permanent answer: exactly, in fractions."""
    laws = [joint(spec, [value, value]) for value in range(spec.domain_size)]
    both, first = worst(laws), worst([joint(spec, [value]) for value in range(spec.domain_size)])
    assert first <= both <= spec.ratio <= exp_below(spec.epsilon)
    if spec.first_epsilon < spec.epsilon:
        assert first < both < spec.ratio


def pattern(spec, values):
    """For everything that a device may draw for itself: which reports come from one permanent answer."""
    groups = [[spec.class_of(spec.key_of(value), drawn) for value in values] for drawn in spec.personal_law(seed_of(spec))]
    return tuple(tuple(several.index(group) for group in several) for several in groups)


PATTERNED = [
    *SMALL,
    OneBitMeanPM(low=0, high=2, epsilon=1.0, first_epsilon=0.7),
    OneBitMeanPM(low=0, high=2, steps=2, epsilon=1.0),
    OneBitMeanPM(low=-2, high=2, steps=2, epsilon=2.0, first_epsilon=1.9),
]


@pytest.mark.parametrize("spec", PATTERNED, ids=repr)
def test_histories_of_the_same_pattern_cost_an_epsilon_for_each_permanent_answer(spec):
    """All histories of three reports against all others of the same pattern, in fractions."""
    values = range(int(spec.low), int(spec.high) + 1) if isinstance(spec, OneBitMeanPM) else range(spec.domain_size)
    patterns = defaultdict(list)
    for several in product(values, repeat=3):
        patterns[pattern(spec, several)].append(several)
    assert len(patterns) > 1
    for found, histories in patterns.items():
        answers = max(len(set(one)) for one in found)
        assert all(answers * Fraction(repr(spec.epsilon)) <= spec.lifetime_epsilon(len(set(several))) for several in histories)
        laws = {tuple(sorted(law.items())): law for law in (joint(spec, several) for several in histories)}
        assert worst(laws.values()) <= exp_below(spec.epsilon) ** answers


OTHER_PATTERNS = [  # both histories change at every report, and have no more values than the limit is for
    (DBitFlipPM(domain_size=3, epsilon=1.0, bits=1), [0, 1], [1, 2], None),
    (DBitFlipPM(domain_size=3, epsilon=1.0, bits=3), [0, 1, 2], [0, 1, 0], None),
    (LOLOHA(domain_size=5, epsilon=1.0, first_epsilon=0.9, hash_range=2), [0, 1] * 4, [0, 3] * 4, 11.734),
    (LongitudinalGRR(domain_size=3, epsilon=1.0, first_epsilon=0.99), [0, 1, 0, 1], [0, 1, 2, 0], 6.913),
    (OneBitMeanPM(low=0, high=200, epsilon=1.0), [0, 200], [0, 1], log(200)),
]


@pytest.mark.parametrize(("spec", "one", "another", "real"), OTHER_PATTERNS, ids=repr)
def test_changing_at_the_same_moments_is_not_enough(spec, one, another, real):
    """Values that share a class, that come back or that are new: more than the lifetime epsilon, up to certainty (None)."""
    assert all(before != after for several in (one, another) for before, after in pairwise(several))
    assert pattern(spec, one) != pattern(spec, another)
    ratio = joint(spec, one).ratio(joint(spec, another))
    if real is None:
        assert ratio is None
    else:
        assert log(ratio) == pytest.approx(real, abs=1e-3)
        assert ratio > exp_below(spec.epsilon) ** len(set(one) | set(another))
    assert spec.lifetime_epsilon(len(set(one))) == len(set(one)) * Fraction(repr(spec.epsilon))


def test_the_lifetime_epsilon_is_reached_by_permanent_answers():
    """Without instantaneous noise the memos are seen as they are: two values cost exactly two epsilons, not less."""
    spec = DBitFlipPM(domain_size=2, epsilon=1.0, bits=1)
    swapped = worst([joint(spec, [0, 1]), joint(spec, [1, 0])])
    assert swapped == spec.ratio**2
    assert spec.lifetime_epsilon(2) == 2
    assert log(swapped) == pytest.approx(2, abs=1e-9)


def test_a_change_is_not_protected_and_without_instantaneous_noise_not_deniable():
    still, moving = DBitFlipPM(domain_size=2, epsilon=1.0, bits=1), LongitudinalGRR(domain_size=2, epsilon=2.0, first_epsilon=1.0)
    assert worst([joint(still, [0, 0]), joint(still, [0, 1])]) is None
    ratio = worst([joint(moving, [0, 0]), joint(moving, [0, 1])])
    again = moving.again / (1 - moving.again)
    assert 1 < ratio <= again**2  # each report hides its memo by its own noise, and no more


@pytest.mark.parametrize(
    ("spec", "values", "lifetime"),
    [
        (LongitudinalGRR(domain_size=10, epsilon=0.1, first_epsilon=0.05), 3, Fraction(3, 10)),
        (LongitudinalGRR(domain_size=10, epsilon=2.0), 50, 20),
        (LOLOHA(domain_size=1000, epsilon=2.0, hash_range=2), 500, 4),
        (DBitFlipPM(domain_size=32, epsilon=1.0, bits=4), 1000, 5),
        (DBitFlipPM(domain_size=4, epsilon=1.0, bits=4), 1000, 4),
    ],
    ids=repr,
)
def test_the_lifetime_epsilon_is_exact_and_ends_with_the_classes(spec, values, lifetime):
    assert spec.lifetime_epsilon(values) == lifetime
    assert spec.guarantee.epsilon == spec.epsilon
    assert "when the value changed" in spec.guarantee.statement()
    with pytest.raises(ParameterError):
        spec.lifetime_epsilon(0)


# --- evil twins ---


@pytest.mark.parametrize("k", [2, 10, 100])
def test_the_published_second_step_is_caught(k):
    found = CHECKS["check_34_L_GRR_eps_inf2_eps1_1"][f"k_{k}"]
    spec = LongitudinalGRR(domain_size=k, epsilon=2.0, first_epsilon=1.0)
    assert float(spec.again) == pytest.approx(found["exact"]["p2"], rel=1e-9)
    assert spec.first_effective_epsilon == pytest.approx(1.0, abs=1e-9)
    assert spec.variance(n=1) == pytest.approx(found["exact"]["n_times_var_f0"], rel=1e-9)
    p, q2 = float(spec.keep) / 2**64, found["published_inexact"]["p2"]
    both = p * q2 + (1 - p) * (1 - q2) / (k - 1)
    real = log(both / ((1 - both) / (k - 1)))
    assert real == pytest.approx(found["published_inexact"]["real_eps_first"], rel=1e-6)
    if k > 2:
        assert real < spec.first_epsilon - 0.1  # tight it is not: the audit's "tight" check is there for that


def test_without_a_memory_two_reports_cost_twice_as_much_as_one():
    """Exactly: fresh noise multiplies. After a few reports that is more than any permanent answer would tell."""
    spec = LongitudinalGRR(domain_size=2, epsilon=2.0, first_epsilon=1.5)
    twins = [law_of(lambda source, value=value: tuple(spec.randomize(value, source) for _ in range(2))) for value in (0, 1)]
    assert worst(twins) == spec.first_ratio**2 > spec.ratio
    assert worst([joint(spec, [value] * 2) for value in (0, 1)]) < spec.ratio


def test_a_cohort_drawn_for_each_report_is_another_law():
    spec = RAPPOR(domain_size=3, epsilon=2.0, bits=2, hashes=1, cohorts=2)
    assert {report[0][0] == report[1][0] for report in joint(spec, [0, 0])} == {True}
    fresh = law_of(lambda source: tuple(spec.randomize(0, source) for _ in range(2)))
    assert {report[0][0] == report[1][0] for report in fresh} == {True, False}


# --- check values ---


@pytest.mark.parametrize("found", CHECKS["check_17_to_21_RAPPOR"].values(), ids=CHECKS["check_17_to_21_RAPPOR"])
def test_rappor_has_the_epsilons_of_its_parameters(found):
    spec = RAPPOR.from_probabilities(f=found["f"], p=found["p"], q=found["q"], domain_size=100, bits=32, hashes=found["h"], cohorts=2)
    assert spec.epsilon == pytest.approx(found["eps_infinity"], rel=1e-12)
    assert spec.first_epsilon == pytest.approx(found["eps_one_report"], rel=1e-12)
    assert [float(side) for side in spec.both] == pytest.approx([found["q_star_set_bit"], found["p_star_unset_bit"]], rel=1e-12)


def test_unary_has_the_variances_of_one_step_at_the_first_epsilon():
    found = CHECKS["check_33_L_OSUE_eps_inf2_eps1_1"]
    specs = {name: LongitudinalUnary.named(name, domain_size=8, epsilon=2.0, first_epsilon=1.0) for name in VARIANTS}
    assert float(specs["L-OSUE"].second[0]) == pytest.approx(found["p2"], rel=1e-12)
    assert specs["L-OSUE"].variance(n=1) == pytest.approx(found["n_times_var_f0"], rel=1e-12)
    assert specs["L-SUE"].variance(n=1) == pytest.approx(3.9177, abs=1e-4)
    assert min(specs.values(), key=lambda spec: spec.variance(n=1)) is specs["L-OSUE"]


@pytest.mark.parametrize("found", CHECKS["check_35_58_LOLOHA"].values(), ids=CHECKS["check_35_58_LOLOHA"])
def test_loloha_with_the_exact_second_step(found):
    options = {"domain_size": 1000, "epsilon": float(found["eps_infinity"]), "first_epsilon": float(found["eps_first"])}
    assert LOLOHA(**options).hash_range == found["g_optimal_exact"]
    assert LOLOHA(**options).variance(n=1) == pytest.approx(found["n_times_var_exact_p2_optimal_g"], rel=1e-6)
    published = LOLOHA(**options, hash_range=found["g_of_paper"])
    assert published.variance(n=1) == pytest.approx(found["n_times_var_exact_p2_same_g"], rel=1e-6)
    assert published.variance(n=1) < found["n_times_var_published_p2"]


@pytest.mark.parametrize(
    ("epsilon", "name"),
    [(1.0, "check_22_microsoft_output_perturbation_eps1_gamma0.2"), (2.0, "check_23_microsoft_output_perturbation_eps2_gamma0.2")],
)
def test_output_perturbation_has_the_exact_pair(epsilon, name):
    found = CHECKS[name]
    spec = DBitFlipPM.with_gamma("1/5", domain_size=2, epsilon=epsilon, bits=1)
    assert spec.first_epsilon == pytest.approx(found["eps_prime_one_report"], rel=1e-12)
    assert float(spec.gamma) == pytest.approx(0.2, abs=1e-12)
    assert spec.first_epsilon < found["variant_without_1_minus_2gamma_eps"]


def test_chrome_s_preset_says_what_it_costs():
    chrome = presets.chrome_2014
    assert (chrome.bits, chrome.hashes, chrome.cohorts) == (128, 2, 128)
    assert chrome.epsilon == pytest.approx(4 * log(3), rel=1e-12)
    assert chrome.first_epsilon == pytest.approx(2.0433024950639624, rel=1e-12)
    assert chrome.coin == (2**62, 3 * 2**62, 2**62)


# --- counters ---

COUNTERS = [
    OneBitMeanPM(low=0, high=3, epsilon=1.0),
    OneBitMeanPM(low=0, high=6, steps=3, epsilon=2.0, first_epsilon=1.0),
    OneBitMeanPM.with_gamma("1/5", low=-2, high=2, epsilon=1.0, steps=2),
]


@pytest.mark.parametrize("spec", COUNTERS, ids=repr)
def test_counters_keep_their_epsilons_and_stay_unbiased(spec):
    """Every branch of alpha, memo and flip: the law, both epsilons, and a mean that is exactly the counter."""
    low, high = int(spec.low), int(spec.high)
    for value in range(low, high + 1):
        law = law_of(lambda source, value=value: spec.randomize(value, source))
        assert law == spec.law(value)
        mean = sum(weight * spec.score(report) for report, weight in law.items()) * spec.unit + spec.domain.start
        assert mean == value
    for count, ratio in ((1, spec.first_ratio), (2, spec.ratio), (3, spec.ratio)):
        laws = [spec.history_law([value] * count) for value in (low, high)]
        assert worst(laws) <= ratio
        assert law_of(lambda source, count=count: history(spec, [low] * count, source)) == laws[0]
    assert worst([spec.law(low), spec.law(high)]) == spec.first_ratio <= exp_below(spec.first_epsilon)
    assert spec.ratio <= exp_below(spec.epsilon)


@pytest.mark.parametrize("spec", COUNTERS, ids=repr)
def test_alpha_points_are_fair_and_a_small_move_is_mostly_free(spec):
    """P(R) = (x - L) / s over the devices; a move by one changes the grid point of one device in s."""
    low, high, cell = int(spec.low), int(spec.high), spec.cell
    for value in range(low, high + 1):
        points = [spec.class_of(spec.key_of(value), alpha) for alpha in range(cell)]
        assert Fraction(sum(points), cell) == Fraction(value - low, cell)
        if value < high:
            moved = [spec.class_of(spec.key_of(value + 1), alpha) for alpha in range(cell)]
            assert sum(before != after for before, after in zip(points, moved, strict=True)) == 1
    assert spec.lifetime_epsilon(10**6) == spec.classes * Fraction(repr(spec.epsilon))


def test_all_counters_together():
    """The figure of the reference, approached from below by ever more apps, and the preset that has it."""
    spec = presets.windows_2017
    found = CHECKS["check_22_microsoft_output_perturbation_eps1_gamma0.2"]
    assert spec.first_epsilon == pytest.approx(found["eps_prime_one_report"], rel=1e-12)
    assert spec.together == pytest.approx(found["eps_total_all_apps"], rel=1e-12)
    assert (spec.epsilon, spec.lifetime_epsilon(5)) == (1.0, 2)
    low, high = (float(side) for side in (spec.law(spec.low)[1], spec.law(spec.high)[1]))
    seen = []
    for apps in (1, 2, 10, 1000, 100_000):  # one app falls from all to nothing, the others share what it had
        gained = log((low + (high - low) / apps) / low)
        seen.append(log(high / low) + apps * gained)
    assert seen == sorted(seen)
    assert seen[-1] < spec.together < seen[-1] + 1e-4


def test_counters_are_whole():
    with pytest.raises(DomainError, match="whole"):
        presets.windows_2017.randomize(0.5)
    with pytest.raises(DomainError, match=r"values\[1\]"):
        presets.windows_2017.privatize([1, 0.5])
    for bad in ({"low": 0, "high": 10, "steps": 3}, {"low": 0.5, "high": 10}):
        with pytest.raises(ParameterError, match="whole"):
            OneBitMeanPM(epsilon=1.0, **bad)


@pytest.mark.parametrize("bad", [{"first_epsilon": 2.5}, {"first_epsilon": 2.0}, {"first_epsilon": 0}, {"first_epsilon": "1"}])
def test_a_first_epsilon_that_leaves_no_room_is_refused(bad):
    for made in (LongitudinalGRR, LongitudinalUnary, LOLOHA, RAPPOR):
        with pytest.raises(ParameterError, match="epsilon"):
            made(domain_size=8, epsilon=2.0, **bad)
    with pytest.raises(ParameterError, match="first_epsilon"):
        LongitudinalUnary(domain_size=8, epsilon=2.0, first_epsilon=1.9, optimized=3)  # half of all ones are lost in the second step


def test_rappor_refuses_what_is_no_coin():
    for bad in (
        {"f": 0, "p": 0.25, "q": 0.75},
        {"f": 0.5, "p": 0.75, "q": 0.25},
        {"f": "x", "p": 0.25, "q": 0.75},
        {"f": 1, "p": 0.25, "q": 0.75},
    ):
        with pytest.raises(ParameterError):
            RAPPOR.from_probabilities(**bad, domain_size=8)
    for gamma in (0.5, -0.1, True, None, float("nan"), float("inf"), "abc", "1/0", ""):
        with pytest.raises(ParameterError, match="gamma"):
            DBitFlipPM.with_gamma(gamma, domain_size=8, epsilon=1.0, bits=1)
        with pytest.raises(ParameterError, match="gamma"):
            OneBitMeanPM.with_gamma(gamma, low=0, high=4, epsilon=1.0)
    assert DBitFlipPM.with_gamma(0.2, domain_size=8, epsilon=1.0, bits=1) == DBitFlipPM.with_gamma(
        "1/5", domain_size=8, epsilon=1.0, bits=1
    )
    with pytest.raises(ParameterError, match="variant"):
        LongitudinalUnary.named("L-THE", domain_size=8, epsilon=2.0)
