"""Logistic regression by rounds: right weights and right errors, once each, over JSON; several models; and crowds with nothing to learn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.contract.gradient import LARGEST_GRADIENT
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.question import Question
from deniable.core.features import FeatureTable
from deniable.core.run import ask, draw_tickets
from deniable.errors import DomainError, ParameterError, WireError
from deniable.tasks.learning import LogisticRegression, RotatingModels
from deniable.testing import ReplaySource

ALPHA = 1e-6
RANGES = {"age": (0, 120), "dose": (-1, 1)}
ILL = dn.Categories("no", "yes")


def crowd(n, weights=(-0.5, 3.0, -2.0), seed=0):
    draws = np.random.default_rng(seed)
    age, dose = draws.uniform(0, 120, n), draws.uniform(-1, 1, n)
    chance = 1 / (1 + np.exp(-(weights[0] + weights[1] * (age / 60 - 1) + weights[2] * dose)))
    return {"age": age, "dose": dose, "ill": np.where(draws.uniform(size=n) < chance, "yes", "no").tolist()}


def fit(cls=LogisticRegression, **options):
    return cls(**{"features": RANGES, "label": "ill", "classes": ILL, "epsilon": 4.0} | options)


def solved(protocol, people, key="learn"):
    return protocol.run(people, source=ReplaySource.from_key(key))


@pytest.mark.parametrize(("cls", "options"), [(LogisticRegression, {}), (RotatingModels, {"models": 3})], ids=["one", "three"])
def test_the_weights_are_found(cls, options):
    """Both directions of the truth, the sign of the intercept, and nearly the accuracy of the true model, for people not asked."""
    model = solved(fit(cls, **options), crowd(30_000))
    truth, others = np.array([-0.5, 3.0, -2.0]), crowd(4000, seed=1)
    cosine = model.weights @ truth / np.linalg.norm(model.weights) / np.linalg.norm(truth)
    assert cosine > 0.98
    best = np.mean(((truth[0] + truth[1] * (others["age"] / 60 - 1) + truth[2] * others["dose"]) > 0) == (np.array(others["ill"]) == "yes"))
    assert model.accuracy(others, others["ill"]) > best - 0.02
    assert model.predict({"age": [0, 120], "dose": [1, -1]}) == ["no", "yes"]
    assert model.n == 30_000
    assert list(model.to_arrow().column_names) == ["value", "weight", "stderr"]
    assert "<svg" in model.chart()._repr_svg_()


def test_errors_are_as_large_as_they_are_said_to_be():
    """One round, 120 times: weights less the exact step, over their errors, are standard normal. Errors that are a fifth too small are
    rejected with a power of 0.99 (360 squares: 1 / 0.64 of what they should be is 7.5 deviations off)."""
    people = crowd(3000)
    protocol = fit(rounds=1, step=4.0, epsilon=2.0)
    table = FeatureTable(people, protocol.features, "ill", ILL)
    exact = np.array([-4.0 * np.asarray(q.encoder.column(table)).mean() / LARGEST_GRADIENT for q in protocol.open().questions])
    models = [solved(protocol, table, f"errors/{i}") for i in range(120)]
    squares = sum(float((((m.weights - exact) / m.stderr) ** 2).sum()) for m in models)
    assert ALPHA < stats.chi2.cdf(squares, 360) < 1 - ALPHA
    assert stats.chi2.sf(squares / 0.8**2, 360) < ALPHA
    assert fit(rounds=1, epsilon=2.0).run(table).n == 3000  # with the system's randomness as well


def test_errors_of_few_reports_are_not_those_that_they_show_by_chance():
    """Nine people for three weights at epsilon 8, 150 times: three reports that agree say nothing of how far off they are. Of 440 weights
    of which 95 % are within 1.96 errors, less than 385 are so once in 10^6; by the reports' own variances it would be about 300."""
    people, protocol = crowd(9), fit(rounds=1, epsilon=8.0, people=9)
    table = FeatureTable(people, protocol.features, "ill", ILL)
    exact = np.array([-8.0 * np.asarray(q.encoder.column(table)).mean() / LARGEST_GRADIENT for q in protocol.open().questions])
    models = [solved(protocol, table, f"few/{i}") for i in range(150)]
    held = np.concatenate([(np.abs(m.weights - exact) <= 1.96 * m.stderr)[np.isfinite(m.stderr)] for m in models])
    assert held.sum() > stats.binom.ppf(ALPHA, held.size, 0.95)
    assert "in which round" in protocol.guarantee.statement()


@pytest.mark.parametrize(("cls", "options"), [(LogisticRegression, {}), (RotatingModels, {"models": 2})], ids=["one", "two"])
def test_devices_answer_once_and_rounds_travel(cls, options):
    """Each device reads the published question, and answers in the round of its ticket; the state is stored between rounds."""
    people = crowd(240)
    source = ReplaySource.from_key("devices")
    state = fit(cls, rounds=3, **options)
    tickets, answered = draw_tickets(state, 240, source), Counter()
    while isinstance(state, Protocol):
        state = protocol_from_json(state.canonical)
        reports = {question.name: [] for question in state.open().questions}
        for person, ticket in enumerate(tickets.tolist()):
            question = state.question(ticket)
            if question is not None:
                question = Question.from_json(question.to_json())
                reports[question.name].append(question.answer({name: column[person] for name, column in people.items()}, source))
                answered[person] += 1
        told = {question.name: question.spec.tally(reports[question.name]) for question in state.open().questions}
        state = state.close(told)
    assert answered == dict.fromkeys(range(240), 1)
    assert state.n == 240
    assert fit(cls).guarantee.epsilon == 4.0


def test_an_updated_model_replaces_one_that_the_reports_choose():
    """Some models are lost and some stay as they were; the same reports choose the same, and others choose others."""
    state = fit(RotatingModels, models=10, rounds=2)
    tallies = ask(state, FeatureTable(crowd(6000), state.features, "ill", ILL), source=ReplaySource.from_key("rotate"))
    after = state.close(tallies)
    assert after == state.close(dict(reversed(tallies.items())))
    assert 2 <= len(set(after.state.weights)) < 10
    assert (0, 0, 0) in after.state.weights
    again = ask(state, FeatureTable(crowd(6000), state.features, "ill", ILL), source=ReplaySource.from_key("others"))
    kept = [[w == (0, 0, 0) for w in other.state.weights] for other in (after, state.close(again))]
    assert kept[0] != kept[1]


def test_crowds_with_nothing_to_learn():
    nobody = solved(fit(), {"age": [], "dose": [], "ill": []})
    assert (nobody.n, nobody.weights.tolist()) == (0, [0, 0, 0])
    assert np.isinf(nobody.stderr).all()
    assert nobody.predict({"age": [60], "dose": [0]}) == ["no"]
    assert nobody.predict({"age": [], "dose": []}) == []
    assert "<svg" in nobody.chart()._repr_svg_()
    one_class = crowd(5000) | {"ill": ["yes"] * 5000}
    assert set(solved(fit(), one_class).predict(one_class)) == {"yes"}
    constant = solved(fit(), crowd(20_000) | {"dose": np.zeros(20_000)})
    reach = stats.norm.isf(ALPHA / 2) * constant.stderr
    assert abs(constant.weights[2]) < reach[2]  # a feature in the middle of its range for everyone moves nothing, but for noise
    assert constant.weights[1] > reach[1]


def test_what_is_no_fit_is_refused():
    bad = [{"label": "age"}, {"classes": dn.IndexRange(3)}, {"rounds": 0}, {"step": 0}, {"step": float("nan")}, {"clip": 9}, {"models": 2}]
    for options in (*bad, {"epsilon": 0}):
        with pytest.raises(ParameterError):
            fit(**options)
    for learned in ({"stage": 10}, {"weights": ((0, 0),)}, {"weights": ((0, 0, 1 << 21),)}, {"noise": ((0.0,),)}):
        with pytest.raises(ParameterError):
            fit().learned(**learned)
    with pytest.raises(ParameterError, match="weights in all models"):
        fit(RotatingModels, models=100, features={f"x{i}": (0, 1) for i in range(30)})
    with pytest.raises(DomainError, match="column 'age'"):
        fit().run(crowd(3) | {"age": [1, 2, 121]})
    state = fit().learned(noise=((float("inf"), 0.5, 0.0),), asked=7)
    assert protocol_from_json(state.canonical) == state
    for wrong in (b"nan", b"-1.0", b"x"):
        with pytest.raises(WireError):
            protocol_from_json(state.canonical.replace(b"inf", wrong))
