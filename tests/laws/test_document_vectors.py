"""What travels besides reports, replayed: canonical JSON, exact numbers, specs at their limits, encoders, tasks, rounds, envelopes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniable.contract.canonical import canonical_json, from_plain, parse_canonical, to_plain
from deniable.contract.encoder import ENCODERS, encoder_from_json
from deniable.contract.envelope import Envelope, open_batch
from deniable.contract.gradient import sigmoid
from deniable.contract.probability import exp_above, exp_below, log_above
from deniable.contract.question import Question
from deniable.contract.spec import spec_from_json
from deniable.contract.task import OpenedRound, Task
from deniable.errors import DomainError, WireError
from deniable.testing import ReplaySource
from tests.conftest import vectors

BYTES = {"task", "id", "payload", "token"}
ELSEWHERE = ("sets", "models", "texts", "tracks", "ratings")
ENCODER_VECTORS = {
    name: [*cases, *(case for file in ELSEWHERE for case in vectors(file)[name])] for name, cases in vectors("encoders").items()
}


def value_of(plain):
    if isinstance(plain, list):
        return [from_plain(item) for item in plain]
    record = isinstance(plain, dict) and set(plain) == {"record"}
    return {name: from_plain(item) for name, item in plain["record"].items()} if record else from_plain(plain)


def envelope_of(case):
    return Envelope(**{name: bytes.fromhex(case[name]) if name in BYTES else case[name] for name in Envelope._fields})


def test_canonical_json_replays():
    for text in vectors("canonical")["cases"]:
        assert canonical_json(parse_canonical(text.encode())) == text.encode()


@pytest.mark.parametrize("bad", vectors("canonical")["refused"], ids=lambda bad: bad["why"])
def test_other_json_is_refused(bad):
    with pytest.raises(WireError):
        parse_canonical(bytes.fromhex(bad["bytes"]))


def test_exact_numbers_replay():
    for case in vectors("probability")["powers"]:
        arguments = float(case["epsilon"]), Fraction(case["share"])
        assert [str(exp_below(*arguments)), str(exp_above(*arguments))] == [case["below"], case["above"]]
    for case in vectors("probability")["logarithms"]:
        assert repr(log_above(Fraction(case["ratio"]))) == case["above"]


def test_specs_at_their_limits_replay():
    for case in vectors("specs")["cases"]:
        assert spec_from_json(case["spec"].encode()).digest.hex() == case["digest"]


@pytest.mark.parametrize("bad", vectors("specs")["refused"], ids=lambda bad: bad["why"])
def test_specs_beyond_their_limits_are_refused(bad):
    with pytest.raises(WireError):
        spec_from_json(bad["spec"].encode())


@pytest.mark.parametrize("case", ENCODER_VECTORS["cases"], ids=lambda case: case["encoder"][:60])
def test_encoders_replay(case):
    encoder = encoder_from_json(parse_canonical(case["encoder"].encode()))
    assert canonical_json(encoder.to_json()).decode() == case["encoder"]
    source = ReplaySource(int(word, 16) for word in case["words"])
    assert to_plain(encoder.encode(value_of(case["value"]), source)) == case["input"]
    assert source.consumed == len(case["words"])


def test_what_models_and_sets_need_besides_replays():
    """The logistic curve at every entry of its table, and what an answer costs behind an encoder that samples."""
    for margin, chance in vectors("models")["sigmoid"].items():
        assert sigmoid(int(margin)) == chance
    costs = [(Question.from_json(parse_canonical(case["question"].encode())), case["epsilon"]) for case in vectors("sets")["costs"]]
    assert [repr(question.epsilon) for question, _ in costs] == [epsilon for _, epsilon in costs]
    assert {float(epsilon) < question.spec.epsilon for question, epsilon in costs} == {True, False}


def test_every_encoder_has_vectors():
    assert {parse_canonical(case["encoder"].encode())["encoder"] for case in ENCODER_VECTORS["cases"]} == set(ENCODERS)


@pytest.mark.parametrize("bad", ENCODER_VECTORS["refused_values"], ids=lambda bad: f"{bad['encoder'][:60]}-{bad['value']}")
def test_values_outside_an_encoders_domain_are_refused(bad):
    with pytest.raises(DomainError):
        encoder_from_json(parse_canonical(bad["encoder"].encode())).encode(value_of(bad["value"]), ReplaySource([]))


@pytest.mark.parametrize("bad", ENCODER_VECTORS["refused"], ids=lambda bad: bad["encoder"][:80])
def test_bad_encoders_are_refused(bad):
    with pytest.raises(WireError):
        encoder_from_json(parse_canonical(bad["encoder"].encode()))


@pytest.mark.parametrize("case", vectors("tasks")["cases"], ids=lambda case: case["id"][:6])
def test_tasks_replay(case):
    task = Task.from_json(case["task"].encode())
    assert task.id.hex() == case["id"]
    assert task.stratum_count == case["stratum_count"]
    assert (None if task.default is None else to_plain(task.default)) == case.get("default")
    for labels, number in case["strata"]:
        assert task.stratum(labels) == number
        assert task.stratum_labels(number) == labels
    for labels in case["refused_strata"]:
        with pytest.raises(DomainError):
            task.stratum(labels)
    assert task.rounds == ("periods" not in case)
    if not task.rounds:
        assert task.period_count == case["period_count"]
        assert [[time, task.period_at(time)] for time, _ in case["periods"]] == case["periods"]
        assert [[period, *task.period_span(period)] for period, *_ in case["spans"]] == case["spans"]
        check_tickets(task.survey.open(), task.survey.scale, case["tickets"])


def check_tickets(questions, scale, tickets):
    found = [(ticket, questions.question_of(int(ticket), scale)) for ticket, _ in tickets]
    assert [[ticket, question and question.name] for ticket, question in found] == tickets


@pytest.mark.parametrize("bad", vectors("tasks")["refused"], ids=lambda bad: bad["why"])
def test_bad_tasks_are_refused(bad):
    with pytest.raises(WireError):
        Task.from_json(bad["task"].encode())


@pytest.mark.parametrize("bad", vectors("tasks")["refused_surveys"], ids=lambda bad: bad["why"])
def test_a_task_with_bad_questions_is_read_but_its_survey_is_refused(bad):
    task = Task.from_json(bad["task"].encode())
    with pytest.raises(WireError):
        _ = task.survey


@pytest.mark.parametrize("case", vectors("rounds")["cases"], ids=lambda case: case["round"][:40])
def test_rounds_replay(case):
    opened = OpenedRound.from_json(case["round"].encode())
    assert opened.canonical.decode() == case["round"]
    assert [opened.task.hex(), opened.number, str(opened.scale), opened.state.hex()] == [
        case[n] for n in ("task", "number", "scale", "state")
    ]
    check_tickets(opened.round, opened.scale, case["tickets"])


@pytest.mark.parametrize("bad", vectors("rounds")["refused"], ids=lambda bad: bad["why"])
def test_bad_rounds_are_refused(bad):
    with pytest.raises(WireError):
        OpenedRound.from_json(bad["round"].encode())


def test_envelopes_replay():
    for case in vectors("envelopes")["cases"]:
        assert envelope_of(case).pack().hex() == case["bytes"]
        assert open_batch(bytes.fromhex(case["bytes"])) == [envelope_of(case)]
    for batch in vectors("envelopes")["batches"]:
        found = open_batch(bytes.fromhex(batch["bytes"]))
        assert len(found) == batch["count"]
        assert b"".join(envelope.pack() for envelope in found).hex() == batch["bytes"]


@pytest.mark.parametrize("bad", vectors("envelopes")["refused_fields"], ids=lambda bad: bad["why"])
def test_fields_that_do_not_fit_are_refused(bad):
    with pytest.raises(WireError):
        envelope_of(bad).pack()


@pytest.mark.parametrize("bad", vectors("envelopes")["refused"], ids=lambda bad: bad["why"])
def test_bad_batches_are_refused(bad):
    with pytest.raises(WireError):
        open_batch(bytes.fromhex(bad["bytes"]))
