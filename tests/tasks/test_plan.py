"""Plans against reference figures, enumeration of whole laws, and the crowds that they are about."""

from __future__ import annotations

import json
from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.client.frequency import FrequencySpec, LinearProtocol
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from deniable.local.oracle_choice import predicted_error
from deniable.tasks.plan import detectable, epsilon_needed, most_gain, people_needed, plan_mean
from deniable.testing import ReplaySource
from tests.exact.test_check_values import CHECKS, EPSILONS, close

SMALL = {"CMS": {"hashes": 2, "width": 4}, "FLH": {"hashes": 4}, "HCMS": {"hashes": 4, "width": 4}, "BloomRR": {"bits": 4, "cohorts": 2}}
"""Parameters with which all reports can be listed."""
ORACLES = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec))


def listable(kinds=FrequencySpec):
    """Small specs of every mechanism whose whole law can be written down; OLH's and BLH's depend on a seed."""
    found = []
    for name, cls in sorted(MECHANISMS.items()):
        for size in (2, 3, 4, 5, 7):
            for epsilon in (0.5, 2.0):
                if issubclass(cls, kinds) and size <= cls.largest_domain and name != "SHE":
                    spec = cls(domain_size=size, epsilon=epsilon, **SMALL.get(name, {}))
                    if spec.seed_words == 0 and spec.outputs <= 5000:
                        found.append(spec)
    return found


def laws_of(spec):
    return [spec.law(value) for value in range(spec.domain_size)]


@pytest.mark.parametrize("spec", listable(), ids=repr)
def test_best_guess_is_that_of_an_observer_who_knows_the_law(spec):
    """The mean over all reports of the likeliest sender's probability. Most mechanisms state it exactly, all stay within the bound."""
    laws = laws_of(spec)
    reports = set().union(*laws)
    best = float(sum(max(law[report] for law in laws) for report in reports) / spec.domain_size)
    bound = exp(spec.epsilon) / (exp(spec.epsilon) + spec.domain_size - 1)
    assert best <= bound * (1 + 1e-12)
    if type(spec).best_guess is FrequencySpec.best_guess:
        assert best <= spec.best_guess <= bound * (1 + 1e-9)
    elif spec.mechanism not in SMALL:  # with shared functions it depends on which these are
        assert spec.best_guess == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("spec", listable(LinearProtocol), ids=repr)
def test_what_one_liar_and_many_can_do(spec):
    """Over all reports: the largest score of one value, and of several at once."""
    reports = set().union(*laws_of(spec))
    scores = np.array([[float(spec.score(report, key)) for key in range(spec.domain_size)] for report in reports])
    assert np.abs(scores).max() == pytest.approx(spec.influence, rel=1e-12)
    falling = -np.sort(-scores, axis=1)  # the best targets for each report
    for targets in range(1, spec.domain_size + 1):
        most = falling[:, :targets].sum(axis=1).max()
        assert most_gain(spec, targets=targets, liars=1.0) == pytest.approx(most, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "grr", "oue"), [(1.0, 3.4831625705290263, 1.5814767068693265), (2.0, 0.97295409222302, 1.1560176427496656)]
)
def test_the_maximal_gain_attack(epsilon, grr, oue):
    """The reference's gains for 5 % of liars and ten targets of 128 values that 1 % of the people hold."""
    attack = {"targets": 10, "liars": 0.05, "held": 0.01}
    gains = dn.plan(domain_size=128, epsilon=epsilon, oracles=["GRR", "OUE", "OLH"]).gain(**attack)
    assert gains["GRR"] == close(grr)
    assert gains["OUE"] == close(oue)
    one = CHECKS["count_variance"][f"eps_{epsilon:g}"]["influence_of_one_report_OLH"]
    assert gains["OLH"] == close(0.05 * (10 * one - 0.01))  # with a hash range of e^epsilon + 1 it would be OUE's
    assert gains["OLH"] == pytest.approx(oue, rel=0.06)


@pytest.mark.parametrize("oracle", [dn.GRR, dn.OUE, dn.SubsetSelection])
def test_an_attack_on_a_real_tally(oracle):
    """20,000 honest people and 2,000 liars for values 1 and 2, six standard errors: 2e-9 for each mechanism."""
    spec, n, liars = oracle(domain_size=12, epsilon=1.0), 20_000, 2_000
    crowd = np.repeat(np.arange(12), [n // 2, n // 4, *[n // 40] * 10])
    lie = {"GRR": 1, "OUE": 0b110, "SubsetSelection": 0b1110}[spec.mechanism]  # a symbol, two bits, a set of three
    tally = spec.tally(spec.privatize(crowd, source=ReplaySource.from_key("honest"))) + spec.tally([lie] * liars)
    found = spec.estimate(tally).frequencies[[1, 2]].sum()
    held = 1 / 4 + 1 / 40
    predicted = held + most_gain(spec, targets=2, liars=liars / (n + liars), held=held)
    noise = sqrt(2 * spec.variance(n, held)) / (n + liars)
    assert found == pytest.approx(predicted, abs=6 * noise)
    assert abs(found - held) > 20 * noise  # the lie is seen


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_smallest_frequency_told_from_zero(epsilon):
    """The reference's threshold; and what it means, by the exact law of the supports: about 5 % false alarms, half of the true ones."""
    spec, n = dn.OUE(domain_size=128, epsilon=epsilon), 10_000
    share = detectable(spec, n)
    assert share * n == close(CHECKS["count_variance"][f"eps_{epsilon}"]["OUE_significance_threshold_counts_alpha_0.05"])
    p, q = float(spec.p), float(spec.q)
    supports = n * q + share * n * (p - q)  # a count at the threshold
    assert 0.05 < 128 * stats.binom.sf(supports, n, q) < 0.08  # the normal law's tail is lighter: 7.5 % instead of 5 % at epsilon 4
    holders = round(share * n)
    law = np.convolve(stats.binom.pmf(np.arange(holders + 1), holders, p), stats.binom.pmf(np.arange(n - holders + 1), n - holders, q))
    assert law[np.arange(law.size) > supports].sum() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("mechanism", ORACLES)
@pytest.mark.parametrize("error", [0.02, 0.004])
def test_people_and_epsilon_are_enough_and_no_more_than_needed(mechanism, error):
    spec = MECHANISMS[mechanism](domain_size=2 if mechanism == "RR" else 50, epsilon=1.0)
    people = people_needed(spec, error)
    assert predicted_error(spec, people) <= error * people * (1 + 1e-12)
    assert predicted_error(spec, people - 1) > error * (people - 1) * (1 - 1e-12)
    n = 10_000
    epsilon = epsilon_needed(spec, n, error)
    if epsilon is None:
        assert predicted_error(type(spec)(domain=spec.domain, epsilon=12.0), n) > error * n
    else:
        assert predicted_error(type(spec)(domain=spec.domain, epsilon=epsilon), n) <= error * n
        assert predicted_error(type(spec)(domain=spec.domain, epsilon=epsilon * (1 - 2e-6)), n) > error * n


def test_epsilon_by_hand():
    """Per person, GRR has E / (E - 1)^2 with two values, which is 1 at the square of the golden ratio; OUE has 4 E / (E - 1)^2 + 1/d."""
    assert epsilon_needed(dn.GRR(domain_size=2, epsilon=3.0), 10_000, 0.01) == pytest.approx(2 * log((1 + sqrt(5)) / 2), rel=1e-5)
    target = 4 * exp(0.7) / (exp(0.7) - 1) ** 2 + 1 / 8
    assert epsilon_needed(dn.OUE(domain_size=8, epsilon=1.0), 100, sqrt(target / 100)) == pytest.approx(0.7, rel=1e-5)
    assert people_needed(dn.OUE(domain_size=8, epsilon=0.7), sqrt(target / 100)) in (100, 101)
    assert epsilon_needed(dn.OUE(domain_size=8, epsilon=1.0), 100, sqrt(0.9 / 800)) is None  # p = 1/2 alone costs more
    assert epsilon_needed(dn.GRR(domain_size=2, epsilon=1.0), 10**17, 0.9) == 1e-8  # the smallest there is


def test_no_crowd_is_large_enough_for_shared_collisions():
    assert people_needed(dn.FLH(domain_size=50, epsilon=1.0), 0.002) is None
    assert people_needed(dn.FLH(domain_size=50, epsilon=1.0, hashes=1 << 20), 0.002) > 10**6
    assert epsilon_needed(dn.FLH(domain_size=50, epsilon=1.0), 10**9, 1e-6) is None


@pytest.mark.parametrize("error", [None, 0.001])
def test_every_oracle_side_by_side(error):
    plan = dn.plan(domain_size=1000, epsilon=1.0, error=error)
    assert {spec.mechanism for spec in plan.specs} == set(ORACLES) - {"RR"}
    assert plan.left_out == ("RR takes at most 2 values",)
    frame = plan.to_polars()
    needed = [] if error is None else ["people", "epsilon"]
    costs = ["bits", "device", "server", "guess", "influence", "liars"]
    assert frame.columns == ["value", "error", "frequency", *needed, "detectable", *costs]
    assert frame["error"].is_sorted()
    assert frame["value"][0] == dn.frequency_oracle(domain_size=1000, epsilon=1.0).spec.mechanism
    assert dict(zip(frame["value"], frame["error"], strict=True))["OUE"] == pytest.approx(sqrt(3.683694 * 100_000), rel=1e-6)
    text = repr(plan)
    assert text.startswith("100,000 people, 1,000 values, epsilon = 1")
    assert all(name in text for name in ORACLES)
    assert "left out" in plan._repr_html_()


@pytest.mark.parametrize(("epsilon", "level"), [(1.0, "strong"), (3.0, "moderate"), (6.0, "weak"), (6.5, "very weak")])
def test_plans_judge_the_promise(epsilon, level):
    for made in (
        dn.plan(domain_size=4, epsilon=epsilon, oracles=["GRR"]),
        plan_mean(low=0, high=1, epsilon=epsilon, mechanisms=["Hybrid"]),
    ):
        assert made.verdict.level == level
        assert f"One report at this epsilon: {level} privacy." in repr(made)
        assert str(made.verdict).splitlines()[0] in made._repr_html_()


def test_other_domains():
    words = dn.plan(domain=dn.Text(200), epsilon=2.0, n=10**6, error=0.01)
    assert words.specs[0].mechanism == "OLH"
    assert not any(spec.needs_listed_domain for spec in words.specs)
    assert "GRR needs a listed domain" in words.left_out
    assert "BloomRR cannot distinguish so many values" in words.left_out
    assert repr(words).startswith("1,000,000 people, text of at most 200 bytes")
    assert words.to_polars()["guess"].max() < 1e-18
    same = [detectable(dn.OLH(domain=domain, epsilon=2.0), 10**6) for domain in (dn.Text(9), dn.IndexRange(10_000))]
    assert same[0] == pytest.approx(same[1], rel=1e-3)  # 10,000 candidates are assumed
    coin = dn.plan(domain=dn.Categories("yes", "no"), epsilon=1.0)
    assert coin.left_out == ()
    assert "RR" in [spec.mechanism for spec in coin.specs]
    with pytest.raises(ParameterError, match="RR takes at most 2 values"):
        dn.plan(domain_size=3, epsilon=1.0, oracles=["RR"])


@pytest.mark.parametrize("against", ["epsilon", "domain_size"])
def test_charts(against, tmp_path):
    plan = dn.plan(domain_size=100, epsilon=1.0, error=0.01, oracles=["GRR", "OUE", "BloomRR"])
    plan.errors(against).chart().save(tmp_path / "plan.json")
    content = json.loads((tmp_path / "plan.json").read_text())
    points = content["datasets"][content["data"]["name"]]
    assert {point["oracle"] for point in points} == {"GRR", "OUE", "BloomRR"}
    assert all(point["error"] > 0 for point in points)
    at = {round(point[against], 6): point["error"] for point in points if point["oracle"] == "OUE"}
    if against == "epsilon":
        assert at[1.0] == pytest.approx(sqrt((4 * exp(1) / (exp(1) - 1) ** 2 + 0.01) / 100_000))
        assert sorted(at.values(), reverse=True) == [at[epsilon] for epsilon in sorted(at)]
    else:
        assert at[1024] == pytest.approx(sqrt((4 * exp(1) / (exp(1) - 1) ** 2 + 1 / 1024) / 100_000))
        assert max(point[against] for point in points if point["oracle"] == "BloomRR") == 4096  # 8,192 bits in all
    assert len(content["layer"]) == 3  # the lines, the plan, the aim


def test_liars_are_a_share_of_all_reports():
    """100 of 10,000 reports are lies for a value that nobody holds: its expected frequency is their share times the influence."""
    spec = dn.GRR(domain_size=8, epsilon=1.0)
    honest = [Fraction(9900) * spec.law(0)[symbol] for symbol in range(8)]
    honest[5] += 100
    found = (honest[5] - 10_000 * spec.q) / (spec.p - spec.q) / 10_000
    plan = dn.plan(domain_size=8, epsilon=1.0, n=10_000, oracles=["GRR"])
    assert plan.to_polars()["liars"][0] == pytest.approx(float(found), rel=1e-12)
