"""A device against a collector in memory, in one round: what it answers, what it believes, and what it spends."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.client import RR
from deniable.client.board import Board
from deniable.client.transport import Response
from deniable.contract.guarantee import Guarantee
from deniable.contract.survey import Survey
from deniable.errors import BudgetExceeded, DomainError, ProtocolError, WireError
from deniable.testing import ReplaySource
from tests.client.fake import DAY, START, TASK, Device, FakeCollector, drink_task


def test_an_answer_arrives_randomized_and_addressed(collector):
    task = drink_task(strata=(("platform", ("phone", "web")), ("age", ("young", "old"))))
    collector.tasks[task.id.hex()] = task
    device = Device(collector, task, now=START + 2 * DAY + 1, strata={"age": "old", "platform": "web"})
    receipt = device.report("coffee")
    assert (receipt.state, receipt.code, receipt.period, receipt.epsilon) == ("sent", "", 2, Fraction(1))
    (envelope,) = collector.reports.values()
    spec, source = task.survey.questions[0].spec, ReplaySource.from_key("device")
    assert envelope.payload == spec.encode(spec.randomize("coffee", source))
    assert envelope.id == b"".join(word.to_bytes(8, "big") for word in source.words(2))
    assert (envelope.task, envelope.period, envelope.question, envelope.stratum) == (task.id, 2, 0, 3)
    assert device.ledger.entries()[0].report == envelope.pack()


def test_the_task_is_fetched_once(collector):
    device = Device(collector)
    for day in range(3):
        device.now = START + day * DAY
        device.report("tea")
    assert collector.requests == {f"GET /v1/tasks/{TASK.id.hex()}": 1, "POST /v1/reports": 3}


def test_reporters_share_a_board(collector):
    board = Board(collector)
    for _ in range(50):
        Device(board).report("tea")
    assert collector.requests[f"GET /v1/tasks/{TASK.id.hex()}"] == 1
    assert len(collector.bodies) == 50


def test_each_device_answers_the_question_of_its_ticket_only(collector):
    """Two questions in equal shares: over many devices both are answered, by one device always the same."""
    task = drink_task(protocol=Survey.of(smoker=RR(epsilon=1.0), driver=RR(epsilon=0.5)).canonical)
    collector.tasks[task.id.hex()] = task
    board, source = Board(collector), ReplaySource.from_key("tickets")
    devices = [Device(board, task, source=source) for _ in range(20)]
    costs = []
    for device in devices:
        for day in range(3):
            device.now = START + day * DAY
            device.report({"smoker": True, "driver": False})
        costs.append({entry.epsilon for entry in device.ledger.entries()})
    assert {frozenset(cost) for cost in costs} == {frozenset({Fraction(1)}), frozenset({Fraction(1, 2)})}
    assert {envelope.question for envelope in collector.reports.values()} == {0, 1}


@pytest.mark.parametrize("now", [START - 1.0, START + 10 * DAY, 0.0])
def test_outside_its_time_a_task_asks_nothing(collector, now):
    device = Device(collector, now=now)
    assert device.report("tea") is None
    assert device.ledger.entries() == []


def test_no_answer_is_sent_as_the_default(collector):
    task = drink_task(default="water")
    collector.tasks[task.id.hex()] = task
    assert Device(collector, task).report(None).state == "sent"
    (envelope,) = collector.reports.values()
    spec = task.survey.questions[0].spec
    assert envelope.payload == spec.encode(spec.randomize("water", ReplaySource.from_key("device")))


def test_no_answer_and_no_default_is_nothing_at_all(collector):
    device = Device(collector)
    assert device.report(None) is None
    assert device.ledger.entries() == []
    assert collector.bodies == []


def test_zero_and_false_are_answers(collector):
    task = drink_task(protocol=Survey.of(smoker=RR(epsilon=1.0)).canonical)
    collector.tasks[task.id.hex()] = task
    assert Device(collector, task).report({"smoker": False}).state == "sent"


def test_values_and_labels_outside_the_task_cost_nothing(collector):
    device = Device(collector)
    with pytest.raises(DomainError):
        device.report("cocoa")
    device.reporter.strata["platform"] = "phone"
    with pytest.raises(DomainError):
        device.report("tea")
    assert device.ledger.entries() == []
    assert collector.bodies == []


def test_without_consent_nobody_is_asked_anything(collector):
    device = Device(collector, consent=False)
    with pytest.raises(BudgetExceeded, match="consent"):
        device.report("tea")
    assert not collector.requests
    assert device.reporter.task == TASK  # but the person may read what it is about


def test_what_the_ledger_refuses_is_not_sent(collector):
    device = Device(collector, lifetime_epsilon=1.5)
    device.report("tea")
    for day in (0, 1):
        device.now = START + day * DAY
        with pytest.raises(BudgetExceeded):
            device.report("tea")
    assert len(collector.bodies) == 1


# --- what a device believes ---


def test_another_task_under_the_pinned_id(collector):
    collector.tasks[TASK.id.hex()] = drink_task(epsilon=4.0)  # well signed, by the same key
    with pytest.raises(WireError, match="another task"):
        Device(collector).report("tea")


def test_a_task_signed_by_somebody_else(collector):
    collector.signer = Ed25519PrivateKey.from_private_bytes(bytes(32))
    with pytest.raises(WireError, match="signature"):
        Device(collector).report("tea")


def test_a_signature_of_a_round_is_none_of_a_task(collector, monkeypatch):
    monkeypatch.setattr("tests.client.fake.TASK_CONTEXT", b"deniable round 1\n")
    with pytest.raises(WireError, match="signature"):
        Device(collector).report("tea")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"task": 7, "signature": ""}', b'{"task": "\\ud800", "signature": ""}'])
def test_answers_that_are_no_task(body):
    class Portal(FakeCollector):
        def request(self, *parts):
            return Response(200, {}, body)

    device = Device(Portal())
    with pytest.raises(WireError):
        device.report("tea")
    assert device.ledger.entries() == []


def test_a_task_that_the_collector_does_not_know():
    with pytest.raises(ProtocolError, match="404"):
        Device(FakeCollector()).report("tea")


def test_a_question_that_costs_more_than_the_task_promises(collector):
    task = drink_task(protocol=Survey.of(smoker=RR(epsilon=1.0), driver=RR(epsilon=1.25)).canonical)
    collector.tasks[task.id.hex()] = task
    device = Device(collector, task)
    with pytest.raises(ProtocolError, match=r"1\.25"):
        device.report({"smoker": True, "driver": True})
    assert device.ledger.entries() == []


def test_a_question_whose_promise_is_not_local(collector, monkeypatch):
    for change in ({"model": "central"}, {"delta": 1e-6}):
        promise = dataclasses.replace(Guarantee(epsilon=1.0), **change)
        monkeypatch.setattr("deniable.client.grr.GRR.guarantee", promise)
        with pytest.raises(ProtocolError, match="local model"):
            Device(collector).report("tea")
