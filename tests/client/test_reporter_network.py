"""A device and a network that fails: what is sent again, what waits, and what is final."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from deniable.client.retries import ATTEMPTS
from deniable.client.transport import Response
from deniable.errors import BudgetExceeded
from deniable.testing import ReplaySource
from tests.client.fake import DAY, START, TASK, Device, drink_task, error


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
    withdrawing = replace(device.reporter._retries, sleep=lambda _: device.ledger.withdraw(TASK.id))
    device.reporter._retries = withdrawing
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
