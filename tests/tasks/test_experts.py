"""Learning from experts: the rate is the accountant's, the theorem holds where it is said to, and regret stays below its bound."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pytest

from deniable.accounting import BoundedRange, Repeated, account
from deniable.accounting.composition import dwork_rothblum_vadhan
from deniable.errors import DomainError, ParameterError
from deniable.lab.experts import DELTA, Game, Learner, LossSequence
from deniable.lab.populations import Zipf
from deniable.tasks.learning import TreeExperts, WeightedMajority, regret
from deniable.tasks.learning.experts import best_rate, exact_days, hedge_bound, slides_rate
from deniable.testing import ReplaySource

GAME = {"experts": 4, "days": 50, "epsilon": 1.0, "delta": 1e-6, "neighbors": "replace"}


# --- the rate ---


@pytest.mark.parametrize(("delta", "largest"), [(1e-6, 51.1), (1e-2, 17.6)])
def test_the_slides_theorem_holds_up_to_a_limit(delta, largest):
    """With T = 1000, by the composition theorem it is proved with; the limits are those of the reference."""

    def holds(epsilon):
        return dwork_rothblum_vadhan(2 * slides_rate(epsilon, delta, 1000), 1000, delta) <= epsilon

    assert holds(0.1)
    assert holds(largest - 0.1)
    assert not holds(largest + 0.1)


@pytest.mark.parametrize(("epsilon", "total"), [(1.0, 0.853), (4.0, 3.84), (20.0, 26.0)])
def test_the_better_formula_is_no_substitute_for_the_accountant(epsilon, total):
    """Rate = epsilon / sqrt(2 T ln(1 / delta)): four times the slides', and too much for a large epsilon."""
    rate = epsilon / sqrt(2 * 1000 * log(1e6))
    event = Repeated(event=BoundedRange(epsilon=2 * rate), times=1000)
    assert account(event, delta=1e-6, rules=("zCDP",)).epsilon == pytest.approx(total, rel=0.01)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_the_rate_spends_the_budget_and_no_more(epsilon, neighbors):
    learner = WeightedMajority(experts=10, days=1000, epsilon=epsilon, delta=1e-6, neighbors=neighbors)
    bill = account(learner.event, delta=1e-6).epsilon
    assert learner.guarantee.epsilon <= epsilon
    assert bill <= epsilon
    if learner.rate < best_rate(10, 1000) * (1 - 1e-9):
        assert bill > epsilon * (1 - 1e-6)
    if epsilon <= 4:
        assert learner.rate >= min(4 * slides_rate(epsilon, 1e-6, 1000), best_rate(10, 1000) * (1 - 1e-9))


def test_a_day_more_costs_half_of_a_day_replaced():
    """Losses are not negative, so a day added moves all sums in one direction: the rate may be twice as large."""
    replaced, added = (WeightedMajority(experts=10, days=1000, epsilon=0.1, delta=1e-6, neighbors=n) for n in ("replace", "add-remove"))
    assert added.rate == pytest.approx(2 * replaced.rate, rel=1e-6)
    assert added.mechanism.monotone
    assert not replaced.mechanism.monotone
    assert WeightedMajority(experts=10, days=1000, epsilon=0.5, neighbors="replace").rate == pytest.approx(0.5 / 2000)  # delta = 0: a sum


def test_without_privacy_the_rate_is_the_best_one():
    learner = WeightedMajority(experts=10, days=1000, neighbors="replace")
    assert learner.rate == pytest.approx(sqrt(8 * log(10) / 1000), rel=1e-12)
    assert all(hedge_bound(learner.rate, 10, 1000) <= hedge_bound(learner.rate * factor, 10, 1000) for factor in (0.9, 1.1))


@pytest.mark.parametrize("days", [100, 100_000, 10**7])
def test_the_lab_plays_the_slides_rate_for_any_number_of_days(days):
    made = Game("slides", 10, days, 1.0).made
    assert made.rate == pytest.approx(slides_rate(1.0, DELTA, days), rel=1e-12)
    assert 0.1 < made.guarantee.epsilon < 0.5  # a quarter of the rate that the promise allows
    assert made.run([[0] + [1] * 9] * 3).n == 3


# --- choices and regret ---


def test_each_day_is_the_exponential_mechanism_on_the_losses_so_far():
    learner = WeightedMajority(**GAME)
    law = [float(p.low) for p in learner.mechanism.law([-3, 0, -1, -7])]
    weights = [exp(-learner.rate * loss) for loss in (3, 0, 1, 7)]
    assert law == pytest.approx([weight / sum(weights) for weight in weights], rel=1e-9)
    assert exact_days(np.array([[0.1, 0.5]])) == [[Fraction(0.1), Fraction(1, 2)]]


def exact_regret(rate, losses):
    """The expected regret per day of weighted majority, by its definition."""
    totals, lost = np.zeros(losses.shape[1]), 0.0
    for day in losses:
        weights = np.exp(-rate * (totals - totals.min()))
        lost += float(weights @ day / weights.sum())
        totals += day
    return (lost - totals.min()) / len(losses)


@pytest.mark.parametrize("kind", ["random", "needle", "comb"])
def test_regret_stays_below_its_bound_and_follows_its_law(kind):
    """The mean of 30 plays against the exact expectation, at 1e-6; the bound holds for the expectation itself."""
    losses = LossSequence(kind, 5).draw(200, ReplaySource.from_key(f"losses {kind}"))
    for epsilon in (None, 2.0):
        learner = WeightedMajority(experts=5, days=200, epsilon=epsilon, delta=1e-6 if epsilon else 0.0, neighbors="replace")
        expected = exact_regret(learner.rate, losses)
        assert expected <= learner.regret_bound
        source = ReplaySource.from_key(f"plays {kind} {epsilon}")
        plays = [learner.run(losses, source=source) for _ in range(30)]
        assert abs(np.mean([regret(losses, play) for play in plays]) - expected) < 5 * 0.5 / sqrt(30 * 200)
        if kind == "needle" and epsilon:  # a rate that is a half too large would be seen
            assert abs(exact_regret(1.5 * learner.rate, losses) - expected) > 2 * 5 * 0.5 / sqrt(30 * 200)
        lost = sum(losses[day, int(expert)] for day, expert in enumerate(plays[0].parts["days"].point))
        assert regret(losses, plays[0]) == pytest.approx((lost - losses.sum(axis=0).min()) / 200)


def test_the_needle_nearly_reaches_the_bound():
    losses = LossSequence("needle", 10).draw(10_000, ReplaySource.from_key("needle"))
    learner = WeightedMajority(experts=10, days=10_000, epsilon=1.0, delta=1e-6, neighbors="replace")
    assert 0.95 * learner.regret_bound < exact_regret(learner.rate, losses) <= learner.regret_bound


def test_a_tree_of_noisy_sums_keeps_its_promise_and_its_bound():
    learner = TreeExperts(**GAME | {"days": 300, "epsilon": 4.0})
    assert 0.99 * 4 < learner.guarantee.epsilon <= 4.0
    counter = learner._counter(None)
    assert 4 * counter.levels * (counter.sensitivity / counter.scale) ** 2 / 2 <= learner.rho * (1 + 1e-12)  # all experts, all levels
    source = ReplaySource.from_key("tree")
    losses = LossSequence("needle", 4).draw(300, source)
    regrets = [regret(losses, learner.run(losses, source=source)) for _ in range(8)]
    assert np.mean(regrets) < learner.regret_bound < 1
    assert np.mean(regrets) > exact_regret(learner.rate, losses)  # noise has a price
    halves = TreeExperts(**GAME | {"resolution": 2})
    assert halves.spread == pytest.approx(TreeExperts(**GAME).spread)  # the grid is finer, and the noise as wide
    assert halves.run([[0.5, 1, 0, 0.5]] * 3, source=source).n == 3


def test_many_days_favor_the_tree_and_few_do_not():
    bounds = {
        days: [
            kind(experts=10, days=days, epsilon=1.0, delta=1e-6, neighbors="replace").regret_bound
            for kind in (WeightedMajority, TreeExperts)
        ]
        for days in (1000, 100_000)
    }
    assert bounds[1000][0] < bounds[1000][1]
    assert bounds[100_000][0] > 3 * bounds[100_000][1]


# --- refusals ---


@pytest.mark.parametrize("kind", [WeightedMajority, TreeExperts])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"experts": 1}, "experts"),
        ({"days": 0}, "days"),
        ({"epsilon": -1}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"neighbors": "x"}, "neighbors"),
    ],
)
def test_bad_games_are_refused(kind, change, words):
    with pytest.raises(ParameterError, match=words):
        kind(**GAME | change)


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        ([[0, 1, 0]], "4 experts"),
        ([0, 1, 0, 1], "one row per day"),
        ([[0, 1, 0, 2]], "2 of expert 3 on day 0"),
        ([[0, 0, 0, 0], [0, 0, float("nan"), 0]], "expert 2 on day 1"),
        ([["a", "b", "c", "d"]], "numbers"),
        ([[0, 0, 0, 0]] * 51, "up to 50 days"),
    ],
)
def test_bad_losses_are_refused(losses, words):
    for kind in (WeightedMajority, TreeExperts):
        with pytest.raises(DomainError, match=words):
            kind(**GAME).run(losses)


def test_losses_between_the_steps_are_refused():
    with pytest.raises(DomainError, match="resolution"):
        TreeExperts(**GAME).run([[0, 1, 0.5, 0]])


def test_the_lab_names_what_it_needs():
    with pytest.raises(ParameterError, match="one of"):
        Learner("perceptron", "x")
    with pytest.raises(ParameterError, match="LossSequence"):
        Learner("tree", "x").setup(Zipf(1.1, 4), 1.0, 10)
    with pytest.raises(ParameterError, match="one of"):
        LossSequence("kind")
    comb = LossSequence("comb", 4).draw(1000, ReplaySource.from_key("comb"))
    assert (comb.sum(axis=1) == 2).all()
    assert abs(comb.mean(axis=0) - 0.5).max() < 5 * 0.5 / sqrt(1000)  # nobody is better
