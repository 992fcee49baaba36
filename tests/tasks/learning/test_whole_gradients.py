"""Whole gradients: right weights and right errors, devices that answer as the crowd does, and a public model that is checked first."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core.features import FeatureTable
from deniable.errors import DomainError, ParameterError
from deniable.tasks.learning import WholeGradients
from deniable.testing import ReplaySource
from tests.tasks.learning.test_logistic import ALPHA, ILL, RANGES, crowd


def fit(**options):
    return WholeGradients(**{"features": RANGES, "label": "ill", "classes": ILL, "epsilon": 2.0} | options)


def test_the_weights_are_found():
    model = fit().run(crowd(20_000), source=ReplaySource.from_key("whole"))
    truth, others = np.array([-0.5, 3.0, -2.0]), crowd(4000, seed=1)
    assert model.weights @ truth / np.linalg.norm(model.weights) / np.linalg.norm(truth) > 0.98
    assert model.predict({"age": [0, 120], "dose": [1, -1]}) == ["no", "yes"]
    assert model.accuracy(others, others["ill"]) > 0.7
    assert (model.n, model.spec.mechanism) == (20_000, "PrivUnit")


@pytest.mark.parametrize("n", [12, 3000])
def test_errors_are_as_large_as_they_are_said_to_be(n):
    """One round, 120 times: weights less the exact step, over their errors, which are a tenth larger, since they count people as a sample.
    Errors that are a third too small are rejected; those of few people may be too large."""
    people, protocol = crowd(n), fit(rounds=1, step=4.0, radius=0.5)
    table = FeatureTable(people, protocol.features, "ill", ILL)
    points = np.concatenate([np.ones((n, 1)), table.points / 2048], axis=1)
    gradients = (0.5 - table["ill"])[:, None] * points
    shorter = gradients * np.minimum(1.0, 0.5 / np.linalg.norm(gradients, axis=1, keepdims=True))
    exact = -4.0 * shorter.mean(axis=0)
    models = [protocol.run(table, source=ReplaySource.from_key(f"errors/{i}")) for i in range(120)]
    squares = sum(float((((m.weights - exact) / m.stderr) ** 2).sum()) for m in models)
    assert squares < stats.chi2.isf(ALPHA, 360)
    assert n == 12 or stats.chi2.sf(squares / 0.7**2, 360) < ALPHA


def test_a_device_answers_as_the_crowd_does():
    """The same words, the same report; and a model that no collector can have fitted is refused whatever the record is."""
    asked, people = fit(rounds=1), crowd(40)
    table = FeatureTable(people, asked.features, "ill", ILL)
    weights, source = (300, -2000, 1500), ReplaySource.from_key("devices")
    records = [dict(zip(people, row, strict=True)) for row in zip(*people.values(), strict=True)]
    told = [asked.answer(weights, record, source) for record in records]
    many = asked.spec.privatize(asked._gradients(table, weights), source=ReplaySource.from_key("devices"))
    assert asked.spec.tally(told) == asked.spec.tally(many)
    for weights in ((0, 0), (0, 0, 1 << 21), (0.0, 0, 0)):
        with pytest.raises(ParameterError, match="weights"):
            asked.answer(weights, {"age": "no number"})
    with pytest.raises(DomainError):
        asked.answer((0, 0, 0), {"age": 500, "dose": 0, "ill": "no"})
    assert [fit(epsilon=epsilon).radius for epsilon in (1.0, 2.0)] == [0.5, 1.0]
    assert "floating" in asked.guarantee.certificate
    assert "in which round" in asked.guarantee.statement()


def test_crowds_with_nothing_to_learn_and_what_is_no_fit():
    nobody = fit().run({"age": [], "dose": [], "ill": []})
    assert (nobody.n, nobody.weights.tolist()) == (0, [0, 0, 0])
    assert np.isinf(nobody.stderr).all()
    for bad in ({"label": "age"}, {"classes": dn.IndexRange(3)}, {"rounds": 0}, {"step": 0}, {"radius": 0}, {"epsilon": -1}):
        with pytest.raises(ParameterError):
            fit(**bad)
