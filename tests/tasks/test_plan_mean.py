"""Planning a mean: local against central error, the slides' example with the corrected figures, and the choice of a mechanism."""

from __future__ import annotations

import json
from math import sqrt

import pytest

import deniable as dn
from deniable.client.longitudinal import Longitudinal
from deniable.client.mean import MeanSpec
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from deniable.local.mean_choice import preferred_means, worst_error
from deniable.tasks.plan.means import CENTRAL, central_error, epsilon_needed, people_needed, plan_mean
from tests.cli.running import run
from tests.exact.test_check_values import CHECKS, close

SLIDES = CHECKS["laplace_example_N1e6_eps1_two_sigma"]
MEANS = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, MeanSpec) and not issubclass(cls, Longitudinal))


def test_the_slides_example():
    """A million people, epsilon 1, half of them say yes. Two standard errors are 0.57 % of the 500,000, not "about 1 %"."""
    rows = {row["value"]: row for row in plan_mean(low=0, high=1, epsilon=1.0, n=10**6).to_arrow().to_pylist()}
    laplace, signs, central = (2 * rows[name]["sum"] for name in ("DiscreteLaplace", "SignRR", CENTRAL))
    assert laplace == close(SLIDES["local_laplace"])
    assert signs == close(SLIDES["local_RR"])
    assert central == close(SLIDES["central_laplace"])
    assert laplace / 500_000 == pytest.approx(0.00566, abs=5e-6)
    assert signs / 500_000 == pytest.approx(0.0038, abs=5e-5)
    assert central / 500_000 == pytest.approx(0.000_006, abs=5e-7)
    assert rows["DiscreteLaplace"]["central"] == close(1000)  # the root of n


@pytest.mark.parametrize("name", MEANS)
def test_people_and_epsilon_are_enough_and_no_more_than_needed(name):
    spec = MECHANISMS[name](low=0, high=10, epsilon=1.0)
    people = people_needed(spec, 0.05)
    assert worst_error(spec, people) <= 0.05 < worst_error(spec, people - 1)
    epsilon = epsilon_needed(spec, 10_000, 0.08)
    assert worst_error(type(spec)(low=0, high=10, epsilon=epsilon), 10_000) <= 0.08
    assert worst_error(type(spec)(low=0, high=10, epsilon=epsilon * (1 - 2e-5)), 10_000) > 0.08


def test_what_cannot_be_reached_is_said():
    assert epsilon_needed(dn.OneBitMean(low=0, high=1, epsilon=1.0), 100, 0.049) is None  # one bit: 1/2 at worst, whatever epsilon
    assert epsilon_needed(dn.Piecewise(low=0, high=1, epsilon=1.0), 100, 0.049) < 2.5
    assert people_needed(dn.Duchi(low=0, high=1, epsilon=1.0), 1e-9) is None


def test_side_by_side():
    plan = plan_mean(low=-20, high=50, epsilon=0.7, n=50_000, error=0.5)
    frame = plan.to_polars()
    assert set(frame["value"]) == {*MEANS, CENTRAL}
    assert frame["error"][:-1].is_sorted()
    assert frame["central"][-1] == 1
    assert central_error(dn.Numbers(-20, 50), 0.7, 50_000) == close(sqrt(2) * 70 / 0.7 / 50_000)
    assert frame.columns == ["value", "error", "sum", "central", "people", "epsilon", "bits", "influence", "liars"]
    assert all(name in repr(plan) for name in MEANS)
    small = plan_mean(low=0, high=1, epsilon=0.0005)
    assert "DiscreteLaplace allows epsilon" in repr(small)
    assert "central" in plan._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"mechanisms": ["GRR"]}, ["mechanisms", "GRR", "Hybrid"]),
        ({"error": 0}, ["error: got 0", "above 0"]),
        ({"n": 0}, ["n: got 0", "from 1"]),
        ({"low": 5}, ["low, high", "low < high"]),
        ({"low": None}, ["low, high", "None", "low=0, high=100"]),
        ({"epsilon": 0}, ["epsilon", "above 0"]),
    ],
)
def test_mistakes(arguments, told):
    with pytest.raises(ParameterError) as error:
        plan_mean(**{"low": 0, "high": 1, "epsilon": 1.0, **arguments})
    assert all(part in str(error.value) for part in told)


def test_errors_of_a_mean_fall_with_epsilon_and_have_no_targets():
    plan = plan_mean(low=0, high=1, epsilon=1.0, n=1000, mechanisms=["Hybrid", "OneBitMean"])
    curves = plan.errors().to_polars()
    for name in ("Hybrid", "OneBitMean"):
        errors = curves.filter(curves["oracle"] == name)["error"]
        assert len(errors) > 20
        assert errors.is_sorted(descending=True)
    with pytest.raises(ParameterError, match="against"):
        plan.errors("domain_size")
    with pytest.raises(ParameterError, match="plan of counts"):
        plan.gain(targets=1, liars=0.01)
    assert plan.chart().to_dict()["layer"]


def test_the_command(tmp_path):
    shown = run("plan", "mean", "--low", 0, "--high", 120, "--error", 0.1, cwd=tmp_path).stdout
    assert "Hybrid" in shown
    assert "central Laplace" in shown
    assert "1 % false reports" in shown
    content = json.loads(run("plan", "mean", "--people", 10**6, "--json", cwd=tmp_path).stdout)
    found = {row["mechanism"]: row for row in content["mechanisms"]}
    assert 2 * found["SignRR"]["sum"] == close(SLIDES["local_RR"])
    assert "2026-12-31" in run("plan", "mean", "--low", "2026-01-01", "--high", "2026-12-31", cwd=tmp_path).stdout
    wrong = run("plan", "mean", "--low", "few", cwd=tmp_path, status=2)
    assert "--low: got 'few'" in wrong.stderr


# --- the choice ---


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_nothing_considered_is_clearly_better(epsilon):
    choice = dn.mean_oracle(low=0, high=100, epsilon=epsilon, n=1000)
    assert [spec.mechanism for spec in choice.considered] == preferred_means()
    assert all(worst_error(choice.spec, 1000) <= 1.03 * worst_error(spec, 1000) for spec in choice.considered)
    assert choice.why.startswith(choice.spec.mechanism)
    assert choice.to_polars()["error"].min() <= worst_error(choice.spec, 1000)
    assert repr(choice).startswith(choice.why)


def test_a_bit_is_preferred_where_it_is_as_good_and_where_no_more_fits():
    assert dn.mean_oracle(low=0, high=1, epsilon=0.5).spec.mechanism == "OneBitMean"
    assert dn.mean_oracle(low=0, high=1, epsilon=2.0).spec.mechanism == "Hybrid"
    short = dn.mean_oracle(low=0, high=1, epsilon=2.0, max_bits=1)
    assert short.spec.mechanism == "OneBitMean"
    assert "Hybrid needs 16 bits" in short.why


def test_the_choice_takes_a_domain_and_clipping():
    domain = dn.Numbers(0, 1, steps=100)
    assert dn.mean_oracle(domain=domain, epsilon=1.0).spec.domain == domain
    assert dn.mean_oracle(low=0, high=1, clip=True, epsilon=1.0).spec.domain.clip
    fine = dn.mean_oracle(domain=dn.Numbers(0, 1), epsilon=1.0)
    assert "DiscreteLaplace allows steps" in fine.why
    with pytest.raises(ParameterError, match="max_bits"):
        dn.mean_oracle(low=0, high=1, epsilon=1.0, max_bits=0)
