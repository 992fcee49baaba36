"""A logistic model fitted over a collector's rounds: one private answer for each device, and the library's own result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.collect.analysis.analyst import estimate
from deniable.contract.envelope import Envelope
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question
from deniable.errors import ProtocolError
from deniable.tasks.learning import LogisticRegression
from deniable.testing import ReplaySource
from tests.collect.crowd import send, survey_task

PEOPLE = [{"age": age, "ill": int(age > 70)} for age in range(5, 120, 5)] * 8


@pytest.mark.parametrize("address", ["embedded"], indirect=True)
def test_a_model_over_a_collector_is_the_protocol_itself(collector):
    """Devices read their question from the round, as plain data, and answer where their ticket lies; the model is the library's."""
    fit = LogisticRegression(features={"age": (0, 120)}, label="ill", epsilon=8.0, rounds=3)
    source = ReplaySource.from_key("a model over a collector")
    base = survey_task(collector.registry.key, dn.RR(epsilon=8.0))
    task = replace(base, name="model", protocol=fit.canonical, rounds=True, period=0, answers=1)
    collector.publish(task)
    tickets = [fit.ticket(source) for _ in PEOPLE]
    state, number, answered = fit, 0, 0
    while isinstance(state, Protocol):
        opened = collector.registry.state(task.id, number).open()
        reports = {question.name: [] for question in opened.questions}
        sent = []
        for person, ticket in enumerate(tickets):
            question = opened.question_of(ticket, fit.scale)
            if question is not None:
                reports[question.name].append(Question.from_json(question.to_json()).answer(PEOPLE[person], source))
                payload = question.spec.encode(reports[question.name][-1])
                place = opened.questions.index(question)
                sent.append(Envelope(task.id, number, place, 0, bytes([number]) + person.to_bytes(15, "big"), payload))
        assert send(collector, *sent) == {}
        answered += len(sent)
        state = state.close({question.name: question.spec.tally(reports[question.name]) for question in opened.questions})
        assert collector.advance(task.id) == isinstance(state, Protocol)
        number += 1
    assert (number, answered) == (3, len(PEOPLE))
    found = collector.outcome(task.id, 2)["model"]
    np.testing.assert_array_equal(found.weights, state["model"].weights)
    np.testing.assert_array_equal(found.noise, state["model"].noise)
    assert found.n == len(PEOPLE)
    assert found.predict({"age": [10, 115]}) == [0, 1]
    with pytest.raises(ProtocolError, match=r"LinearModel.*read it in Python"):  # pages and JSON show counts and numbers only
        estimate(collector, task.id)
