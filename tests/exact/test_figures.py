"""What a mechanism states, its variance, its influence and an observer's best guess, against its exact law: every report of every value."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import pytest

import deniable as dn
from deniable.client import SHE, Duchi
from deniable.contract.spec import MECHANISMS

EPSILONS = (0.5, 2.0)
PLAIN = {
    "GRR": {}, "HRR": {}, "LongitudinalGRR": {}, "LongitudinalUnary": {}, "OUE": {}, "PGR": {}, "RWS": {}, "SUE": {}, "THE": {},
    "SubsetSelection": {"size": 2}, "DBitFlip": {"bits": 2}, "DBitFlipPM": {"bits": 2}, "HadamardResponse": {},
}  # fmt: skip
SPECS = [MECHANISMS[name](domain_size=5, epsilon=epsilon, **given) for name, given in PLAIN.items() for epsilon in EPSILONS]
SPECS += [dn.DBitFlip(domain_size=4, epsilon=1.0, bits=bits) for bits in (1, 4)]
SPECS += [dn.HadamardResponse(domain_size=5, epsilon=1.0, blocks=blocks) for blocks in (1, 4)]
SPECS += [dn.RR(epsilon=1.0), SHE(domain_size=2, epsilon=20.0, steps=2)]
AT_MOST = (dn.HadamardResponse, SHE)
"""Where the best guess is only bounded."""
HASHED = [dn.CMS(domain_size=5, epsilon=1.0, width=4, hashes=3), dn.HCMS(domain_size=5, epsilon=1.0, width=4, hashes=3)]
HASHED += [dn.FLH(domain_size=5, epsilon=1.0, hashes=3)]
MEANS = [
    MECHANISMS[name](low=2, high=6, steps=4, epsilon=epsilon, **given)
    for name, given in {"Duchi": {}, "Piecewise": {"window": 2}, "Hybrid": {"window": 2}, "OneBitMean": {}, "DiscreteLaplace": {}}.items()
    for epsilon in (1.0, 3.0)
]


def laws_of(spec):
    return [spec.law(value) for value in range(spec.domain_size)]


def moment(law, score, power=1):
    return sum(weight * score(report) ** power for report, weight in law.items())


def spread(law, score):
    return moment(law, score, 2) - moment(law, score) ** 2


def guessed(laws):
    """How often the likeliest sender of a report is its sender."""
    return float(sum(max(law[report] for law in laws) for report in set().union(*laws)) / len(laws))


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_counts_vary_as_stated(spec):
    """For crowds of which a share holds the value, and the others are spread evenly; over all values."""
    laws, keys = laws_of(spec), range(spec.domain_size)
    varied = [[float(spread(law, lambda report, key=key: spec.score(report, key))) for law in laws] for key in keys]
    for f in (0.0, 0.3, 1.0):
        others = [(sum(row) - row[key]) / (len(row) - 1) for key, row in enumerate(varied)]
        real = sum(f * varied[key][key] + (1 - f) * others[key] for key in keys) / len(keys)
        assert spec.variance(n=10, f=f) == pytest.approx(10 * real, rel=1e-9)


@pytest.mark.parametrize("spec", SPECS + HASHED, ids=repr)
def test_no_report_moves_a_count_further_and_nobody_guesses_better(spec):
    laws = laws_of(spec)
    moved = max(abs(spec.score(report, key)) for report in set().union(*laws) for key in range(spec.domain_size))
    assert spec.influence == pytest.approx(float(moved), rel=1e-12)
    if spec in HASHED or isinstance(spec, AT_MOST):
        assert guessed(laws) < spec.best_guess < 1
    else:
        assert guessed(laws) == pytest.approx(spec.best_guess, rel=1e-9)


@pytest.mark.parametrize("spec", HASHED, ids=repr)
def test_a_holder_varies_as_stated_whatever_is_hashed_where(spec):
    for key, law in enumerate(laws_of(spec)):
        assert spec.variance(n=1, f=1.0) == pytest.approx(float(spread(law, lambda report, key=key: spec.score(report, key))), rel=1e-9)


def test_the_noise_of_histograms_has_the_stated_tails():
    spec = SHE(domain_size=2, epsilon=20.0, steps=2)
    law = spec.law(0)
    middle = moment(law, lambda report: spec.score(report, 1))
    fourth = moment(law, lambda report: spec.score(report, 1) - middle, 4)
    assert spec.kurtosis == pytest.approx(float(fourth / spread(law, lambda report: spec.score(report, 1)) ** 2) - 3, rel=1e-9)


@pytest.mark.parametrize("spec", MEANS, ids=repr)
def test_means_are_right_and_vary_as_stated(spec):
    """At grid points and between them, where rounding counts; the worst of all values is the one that is stated without a value."""
    values = [2 + Fraction(i, 4) for i in range(17)]
    laws = {value: spec.law(value) for value in values}
    varied = {value: spread(law, spec.score) * spec.unit**2 for value, law in laws.items()}
    assert all(spec.domain.start + moment(law, spec.score) * spec.unit == value for value, law in laws.items())
    assert [spec.variance(10, value) for value in values] == pytest.approx([float(varied[value]) / 10 for value in values], rel=1e-12)
    assert float(max(varied.values())) <= spec.variance(1) * (1 + 1e-12)
    assert spec.variance(1) <= float(max(varied.values())) + spec.rounding_variance + 1e-3
    scores = [spec.score(report) for law in laws.values() for report in law]
    assert (min(scores), max(scores)) == spec.score_range
    assert float(max(abs(score - 2) for score in scores)) == pytest.approx(spec.influence)  # steps of 1: 2 is the middle
    if spec.kurtosis is not None:
        middles = {value: moment(law, spec.score) for value, law in laws.items()}
        fourths = [moment(laws[v], lambda report, v=v: spec.score(report) - middles[v], 4) / varied[v] ** 2 for v in values]
        assert float(max(fourths)) == pytest.approx(spec.kurtosis, rel=1e-9)


def test_rounding_is_free_for_a_single_bit():
    assert Duchi(low=0, high=1, epsilon=1.0, steps=1).rounding_variance == 0


def test_what_is_never_rounded_is_not_charged_for_it():
    spec = dn.SignRR(epsilon=2.0)
    assert spec.variance(1) == max(spec.variance(1, value) for value in spec.choices)


@pytest.mark.parametrize("spec", [dn.RR(epsilon=1.0), dn.RR.from_probabilities("9/10", "1/10"), dn.RR.from_probabilities("9/10", "1/5")])
def test_a_fair_coin_changes_either_answer_as_often(spec):
    assert spec.fair_coin == (spec.law(0)[1] == spec.law(1)[0])


@pytest.mark.parametrize("spec", HASHED, ids=repr)
def test_another_value_adds_what_its_collisions_scatter(spec):
    """Each of 3 functions sends it to any of 4 cells, and a score takes off what is expected of that."""
    scores = [(Fraction(cell == 0) - Fraction(1, 4)) / (1 - Fraction(1, 4)) for cell in range(4)]
    assert sum(scores) == 0
    assert spec.collisions == pytest.approx(float(sum(score**2 for score in scores) / 4 / 3), rel=1e-9)


def test_tallies_take_a_step_for_each_member_until_all_members_are_counted_at_once():
    spec = dn.RWS(domain_size=6, epsilon=1.0)
    more = [spec.tally_steps(n + 1, 6) - spec.tally_steps(n, 6) for n in (1, 10**9)]
    assert more[0] >= spec.size + 1
    assert more[1] == 1


def test_least_squares_are_not_said_to_take_longer_than_multiplying_their_table():
    spec = dn.BloomRR(domain_size=5, epsilon=1.0)
    bits, values = spec.cohorts * spec.bits, 1000
    assert bits * values < spec.finishing(values).steps <= bits * values**2


@pytest.mark.parametrize(
    ("spec", "once"),
    [
        (dn.LongitudinalGRR(domain_size=5, epsilon=2.0), dn.GRR(domain_size=5, epsilon=2.0)),
        (dn.LongitudinalUnary(domain_size=5, epsilon=2.0, optimized=0), dn.SUE(domain_size=5, epsilon=2.0)),
        (dn.LongitudinalUnary(domain_size=5, epsilon=2.0, optimized=1), dn.OUE(domain_size=5, epsilon=2.0)),
        (dn.DBitFlipPM(domain_size=5, epsilon=2.0, bits=2, first_epsilon=1.0), dn.DBitFlip(domain_size=5, epsilon=2.0, bits=2)),
        (dn.LOLOHA(domain_size=50, epsilon=2.0, hash_range=3), dn.OLH(domain_size=50, epsilon=2.0, hash_range=3)),
        (dn.RAPPOR(domain_size=5, epsilon=2.0), dn.BloomRR(domain_size=5, epsilon=2.0)),
    ],
    ids=repr,
)
def test_what_more_rounds_cannot_average_away_is_one_report_at_the_whole_epsilon(spec, once):
    for n, f in ((1, 0.0), (10, 0.3), (10, 1.0)):
        assert spec.permanent_variance(n, f) == pytest.approx(once.variance(n, f), rel=1e-9)
        assert spec.permanent_variance(n, f) < spec.variance(n, f)


def test_a_filter_of_one_bit_is_unary():
    one, unary = dn.BloomRR(domain_size=5, epsilon=1.0, hashes=1), dn.SUE(domain_size=5, epsilon=1.0)
    assert (one.influence, one.variance(10)) == pytest.approx((unary.influence, unary.variance(10)), rel=1e-9)
    cohort, key = 3, 4
    seen = one.filter(cohort, key)
    assert [one.evidence((cohort, bits), key) for bits in (seen, 0, 2**128 - 1, 2**128 - 1 ^ seen)] == [1, 0, 1, 0]


def test_reports_show_what_they_are_said_to_show():
    noisy = SHE(domain_size=2, epsilon=20.0, steps=4)
    zero, one = noisy.reach, noisy.reach + noisy.steps
    assert [noisy.evidence((0, x), 1) for x in (0, zero, zero + 1, one - 1, one, noisy.points - 1)] == [0, 0, 1, 1, 2, 2]
    assert [dn.GRR(domain_size=3, epsilon=1.0).evidence(report, 1) for report in range(3)] == [0, 1, 0]


@pytest.mark.parametrize(
    "spec", [dn.CMS(domain_size=5, epsilon=1.0, width=4, hashes=1), dn.HCMS(domain_size=5, epsilon=1.0, width=4, hashes=1)]
)
def test_supports_scatter_over_the_cells_as_stated(spec):
    """The expected squared distance of a report's supports from their mean."""

    def supports(report):
        return [report[1] >> cell & 1 if isinstance(spec, dn.CMS) else (report[1] & cell).bit_count() & 1 == report[2] for cell in range(4)]

    def scattered(report):
        found = supports(report)
        return sum((support - Fraction(sum(found), 4)) ** 2 for support in found)

    assert spec.scatter == moment(spec.law(0), scattered)


def test_rappor_s_own_figures():
    spec = dn.RAPPOR.from_probabilities(f="1/2", p="1/2", q="3/4", domain_size=5, bits=4, hashes=1, cohorts=2)
    law = spec.law(0)
    truth = spec.filter(0, 0)
    for place in range(4):
        shown = sum(weight for (cohort, bits), weight in law.items() if cohort == 0 and bits >> place & 1) * 2
        assert shown == (spec.both[0] if truth >> place & 1 else spec.q)
    assert spec.variance(n=10) == pytest.approx(10 * 63 * 64 / 256)  # the worse of the two kinds of bits: 11/16 against 9/16
    other = dn.RAPPOR.from_probabilities(f="1/2", p="1/4", q="1/2", domain_size=5, bits=4, hashes=1)  # 7/16 against 5/16
    assert other.variance(n=10) == pytest.approx(10 * 63 * 64 / 256)
    assert guessed(laws_of(spec)) <= spec.best_guess < 1
    assert spec.best_guess == pytest.approx(float(spec.first_ratio / (spec.first_ratio + 4)))


def test_an_encoder_that_samples_makes_answers_cheaper_and_others_do_not():
    spec = dn.GRR(domain_size=5, epsilon=1.0)
    assert spec.epsilon_after(1) == 1.0
    assert spec.epsilon_after(4) == pytest.approx(log(1 + (exp(1) - 1) / 4))
    assert dn.OUE(domain_size=5, epsilon=1.0).epsilon_after(4) == 1.0


def test_who_shares_a_permanent_answer():
    assert dn.LongitudinalGRR(domain_size=5, epsilon=1.0).distinct
    assert not dn.LOLOHA(domain_size=5, epsilon=1.0).distinct
    assert [dn.DBitFlipPM(domain_size=5, epsilon=1.0, bits=bits).distinct for bits in (1, 3, 4, 5)] == [False, False, True, True]


def test_square_waves_have_the_variance_of_their_window():
    spec = dn.SquareWave(low=0, high=1, steps=8, window=3, epsilon=1.0)
    assert spec.variance(5) == dn.Piecewise(low=0, high=1, steps=8, window=3, epsilon=1.0).variance(5)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (dn.RR(epsilon=1.0), "RR(epsilon=1.0)"),
        (dn.RR(epsilon=1.0, domain=dn.Categories("no", "yes")), "RR(domain=Categories('no', 'yes'), epsilon=1.0)"),
        (dn.RR.from_probabilities("3/4", "1/2"), "RR(epsilon=0.6931471805599454, p=0.75, q=0.5)"),
        (dn.FLH(domain_size=9, epsilon=1.0), "FLH(domain_size=9, epsilon=1.0)"),
        (dn.FLH(domain_size=9, epsilon=1.0, hash_range=3), "FLH(domain_size=9, epsilon=1.0, hash_range=3)"),
        (dn.RAPPOR(domain_size=9, epsilon=2.0), "RAPPOR(domain_size=9, epsilon=2.0, first_epsilon=1.0)"),
    ],
)
def test_specs_show_what_was_said_and_nothing_else(spec, shown):
    assert repr(spec) == shown
