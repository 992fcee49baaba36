"""A device against a collector in memory: what it believes, what it spends, and what it sends again."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.client import RR, MemoryLedger, Reporter
from deniable.client.board import Board
from deniable.client.transport import ATTEMPTS, Response
from deniable.contract.guarantee import Guarantee
from deniable.contract.survey import Survey
from deniable.errors import BudgetExceeded, DomainError, ProtocolError, WireError
from deniable.testing import ReplaySource
from tests.client.fake import DAY, START, FakeCollector, drink_task, error, opened, rounds_task

TASK = drink_task()
ROUNDS = rounds_task()


class Device:
    """A reporter with a clock of its own, whose sleeps are noted and not slept."""

    def __init__(self, collector, task=TASK, *, now=START + 5.0, source=None, lifetime_epsilon=8.0, consent=True, **parts) -> None:
        self.now, self.slept = now, []
        self.ledger = MemoryLedger(lifetime_epsilon=lifetime_epsilon)
        if consent:
            self.ledger.consent(task.id)
        source = source or ReplaySource.from_key("device")
        self.reporter = Reporter(
            collector, task=task.id, ledger=self.ledger, clock=lambda: self.now, sleep=self.slept.append, source=source, **parts
        )

    def report(self, value, **parts):
        return self.reporter.report(value, **parts)

    def states(self):
        return [(entry.state, entry.code) for entry in self.ledger.entries()]


@pytest.fixture
def collector():
    return FakeCollector(TASK, ROUNDS)


# --- one round ---


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


# --- rounds ---


def ticket(word: int) -> ReplaySource:
    """A device whose ticket, of two, is 0 or 1."""
    return ReplaySource([word << 63, *range(100 * word, 100 * word + 50)])


def test_a_device_answers_in_its_round_only(collector):
    early, late = Device(collector, ROUNDS, source=ticket(0)), Device(collector, ROUNDS, source=ticket(1))
    collector.rounds[ROUNDS.id.hex()] = opened(ROUNDS, 0)
    assert early.report("tea").period == 0
    assert late.report("tea") is None
    assert late.ledger.entries() == []
    collector.rounds[ROUNDS.id.hex()] = opened(ROUNDS, 1, first="1/2")
    assert early.report("tea") is None
    assert late.report("tea").period == 1
    assert [envelope.period for envelope in collector.reports.values()] == [0, 1]


def test_no_open_round_asks_nothing(collector):
    assert Device(collector, ROUNDS).report("tea") is None


def test_a_404_by_somebody_else_is_not_taken_for_the_end(collector):
    del collector.tasks[ROUNDS.id.hex()]
    board = Board(FakeCollector(ROUNDS))
    board.task(ROUNDS.id)
    board.transport = collector
    with pytest.raises(ProtocolError, match="404"):
        Device(board, ROUNDS).report("tea")


def test_a_round_of_another_task(collector):
    other = rounds_task(owner="Somebody else")
    collector.rounds[ROUNDS.id.hex()] = opened(other, 0, share="1")  # well signed, by the same key
    device = Device(collector, ROUNDS)
    with pytest.raises(WireError, match="a round of task"):
        device.report("tea")
    assert device.ledger.entries() == []


def test_a_round_signed_by_somebody_else(collector):
    board = Board(collector)
    board.task(ROUNDS.id)
    collector.rounds[ROUNDS.id.hex()] = opened(ROUNDS, 0, share="1")
    collector.signer = Ed25519PrivateKey.from_private_bytes(bytes(32))
    with pytest.raises(WireError, match="signature"):
        Device(board, ROUNDS).report("tea")


def test_a_round_that_costs_more_than_the_task_promises(collector):
    collector.rounds[ROUNDS.id.hex()] = opened(ROUNDS, 0, share="1", epsilon=1.01)
    device = Device(collector, ROUNDS)
    with pytest.raises(ProtocolError, match=r"1\.01"):
        device.report("tea")
    assert device.ledger.entries() == []


def test_a_collector_that_asks_everyone_again_gets_one_answer(collector):
    """Its rounds overlap: the ticket's turn comes twice. The ledger keeps to the task's promise of one answer."""
    device = Device(collector, ROUNDS)
    collector.rounds[ROUNDS.id.hex()] = opened(ROUNDS, 0, share="1")
    device.report("tea")
    collector.rounds[ROUNDS.id.hex()] = opened(ROUNDS, 1, share="1")
    with pytest.raises(BudgetExceeded):
        device.report("tea")


def test_rounds_are_asked_for_every_time_unless_they_are_kept(collector):
    collector.rounds[ROUNDS.id.hex()] = opened(ROUNDS, 0, share="1")
    board, count = Board(collector, keep_rounds=True), lambda: collector.requests[f"GET /v1/tasks/{ROUNDS.id.hex()}/round"]
    for _ in range(10):
        Device(board, ROUNDS).report("tea")
    assert count() == 1
    collector.rounds[ROUNDS.id.hex()] = opened(ROUNDS, 1, share="1")
    assert Device(board, ROUNDS).report("tea").period == 0
    board.refresh()
    assert Device(board, ROUNDS).report("tea").period == 1
    assert count() == 2
    assert Device(collector, ROUNDS).report("tea").period == 1
    assert count() == 3


# --- the network ---


@pytest.mark.parametrize(
    "fault", ["no connection", "reply lost", error(429, "busy"), error(503, "busy"), error(507, "storage"), error(408, "slow")]
)
def test_the_same_bytes_are_sent_again_until_they_are_acknowledged(collector, fault):
    collector.faults.extend([fault, fault])
    device = Device(collector)
    assert device.report("tea").state == "sent"
    assert collector.requests["POST /v1/reports"] == 3
    assert set(collector.bodies) == {device.ledger.entries()[0].report}
    assert len(collector.reports) == 1
    assert device.ledger.spent() == 1


def test_waits_double_and_differ_between_devices(collector):
    devices = [Device(collector, source=ReplaySource.from_key(key)) for key in "ab"]
    for device in devices:
        collector.faults.extend(["no connection"] * 3)
        device.report("tea")
        first, second, third = device.slept
        assert 0.25 <= first <= 0.5 <= second <= 1.0 <= third <= 2.0
    assert devices[0].slept != devices[1].slept


def test_retry_after_is_honored(collector):
    collector.faults.append(Response(429, {"retry-after": "7"}, b""))
    device = Device(collector)
    assert device.report("tea").state == "sent"
    assert device.slept == [7.0]


def test_a_collector_that_wants_to_be_left_alone_is(collector):
    collector.faults.append(Response(503, {"retry-after": "3600"}, b""))
    device = Device(collector)
    assert device.report("tea").state == "pending"
    assert device.slept == []
    assert [receipt.state for receipt in device.reporter.flush()] == ["sent"]


@pytest.mark.parametrize("junk", ["soon", "-1", "Wed, 21 Oct 2015 07:28:00 GMT", "１"])
def test_a_retry_after_that_is_no_number_is_ignored(collector, junk):
    collector.faults.append(Response(429, {"retry-after": junk}, b""))
    device = Device(collector)
    assert device.report("tea").state == "sent"
    assert len(device.slept) == 1


def test_after_some_attempts_the_report_waits_for_a_better_day(collector):
    device = Device(collector)
    collector.faults.extend(["no connection"] * ATTEMPTS)
    assert device.report("tea").state == "pending"
    device.now += DAY
    collector.faults.extend([error(503, "busy")] * ATTEMPTS)
    assert device.report("tea").state == "pending"
    collector.faults.extend(["no connection"] * ATTEMPTS)
    assert [receipt.state for receipt in device.reporter.flush()] == ["pending"]  # and the second is not tried in vain
    receipts = device.reporter.flush()
    assert [(receipt.state, receipt.period) for receipt in receipts] == [("sent", 0), ("sent", 1)]
    assert collector.bodies == [entry.report for entry in device.ledger.entries()]
    assert device.reporter.flush() == []


def test_what_the_collector_rejects_is_final(collector):
    collector.rejects = "too_late"
    device = Device(collector)
    receipt = device.report("tea")
    assert (receipt.state, receipt.code) == ("refused", "too_late")
    assert device.reporter.flush() == []
    assert device.ledger.spent() == 1


@pytest.mark.parametrize("status", [400, 413, 415])
def test_other_refusals_are_final_too(collector, status):
    collector.faults.append(error(status, "malformed"))
    device = Device(collector)
    device.report("tea")
    assert device.states() == [("refused", f"http_{status}")]
    assert device.slept == []


@pytest.mark.parametrize("status", [301, 400, 403, 404, 413])
@pytest.mark.parametrize("body", [b"<html>404 Not Found</html>", b"", b'{"error": "gone"}', b'{"error": {"code": "Log in first"}}', b"[]"])
def test_a_refusal_by_somebody_else_is_none(collector, status, body):
    """A proxy without its collector, a hotel's login page: the report waits, and is not lost."""
    collector.faults.append(Response(status, {}, body))
    device = Device(collector)
    assert device.report("tea").state == "pending"
    assert [receipt.state for receipt in device.reporter.flush()] == ["sent"]
    assert len(collector.bodies) == 1


def test_a_rejection_of_other_reports_is_none_of_this_one(collector):
    body = json.dumps({"rejected": [{"id": "00" * 16, "code": "too_late"}]}).encode()
    collector.faults.append(Response(200, {}, body))
    assert Device(collector).report("tea").state == "sent"


@pytest.mark.parametrize("body", [b"<html>Welcome to our hotel</html>", b"{}", b'{"rejected": [7]}', b"[" * 100_000])
def test_a_friendly_page_is_no_acknowledgement(collector, body):
    collector.faults.append(Response(200, {}, body))
    device = Device(collector)
    assert device.report("tea").state == "pending"
    assert [receipt.state for receipt in device.reporter.flush()] == ["sent"]


@pytest.mark.parametrize("code", ["Pay €5 to continue", "x" * 41, 7, None])
def test_a_code_that_is_none_is_not_shown_to_the_person(collector, code):
    device = Device(collector)
    device.report("tea", send=False)
    report = device.ledger.entries()[0].report[48:64].hex()
    collector.faults.append(Response(200, {}, json.dumps({"rejected": [{"id": report, "code": code}]}).encode()))
    assert [receipt.state for receipt in device.reporter.flush()] == ["pending"]


def test_withdrawn_while_the_network_is_away(collector):
    collector.faults.append("no connection")
    device = Device(collector)
    device.reporter._sleep = lambda _: device.ledger.withdraw(TASK.id)
    with pytest.raises(BudgetExceeded, match="consent"):
        device.report("tea")
    assert collector.bodies == []
    assert device.states() == [("refused", "withdrawn")]


def test_reports_can_wait_on_purpose(collector):
    device = Device(collector)
    assert device.report("tea", send=False).state == "pending"
    assert collector.bodies == []
    assert [receipt.state for receipt in device.reporter.flush()] == ["sent"]


def test_a_reporter_leaves_other_tasks_reports_alone(collector):
    """They may belong to another collector, which would be refused here for good."""
    device = Device(collector)
    other = drink_task(name="elsewhere")
    device.ledger.consent(other.id)
    device.ledger.spend(other, period=0, epsilon=1.0, when=START, make=lambda _: b"report")
    assert device.reporter.flush() == []
    assert device.states() == [("pending", "")]
