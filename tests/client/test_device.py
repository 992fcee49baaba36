"""The small parts of a device: what it puts on reports, how patient it is, what it closes, and what it says to its person."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from fractions import Fraction
from math import exp

import pytest

import deniable.client
from deniable.client import MemoryLedger, Reporter
from deniable.client.board import Board
from deniable.client.bulletin import Bulletin, Everywhere
from deniable.client.enrolment import read_secret, stamp_for
from deniable.client.ledger import Entry
from deniable.client.retries import Retries, is_temporary
from deniable.client.transport import HTTPTransport, Response
from deniable.contract.envelope import Envelope
from deniable.errors import BudgetExceeded, ParameterError
from deniable.testing import ReplaySource
from tests.client.fake import START, TASK, Device, FakeCollector, drink_task, error

SECRET = "ds_" + "0f" * 32
SENT = Envelope(TASK.id, 1, 0, 0, bytes(16), b"\2")


def test_a_shared_secret_signs_the_whole_report():
    stamp = stamp_for(drink_task(admission="secret"), MemoryLedger(lifetime_epsilon=1.0), f" {SECRET}\n")
    assert stamp(SENT, 0) == SENT._replace(token=hmac.digest(bytes([0x0F]) * 32, SENT.pack(), "sha256"))
    assert stamp_for(TASK, MemoryLedger(lifetime_epsilon=1.0), None)(SENT, 0) == SENT


@pytest.mark.parametrize("text", [None, "", "ds_", SECRET[:-2], SECRET + "00", SECRET[:-1] + "x"])
def test_what_is_no_secret_is_refused_and_not_shown(text):
    with pytest.raises(ParameterError) as caught:
        read_secret(text)
    assert caught.value.received == ("none" if text is None else f"{len(text)} characters")


def test_whoever_did_not_agree_is_not_enrolled():
    collector = FakeCollector(TASK)
    with pytest.raises(BudgetExceeded, match="consent"):
        Device(collector, consent=False).reporter.enrol("code")
    assert not collector.requests


def test_a_device_tries_four_times_and_waits_longer_each_time():
    """Half a second, doubled each time, less a random part of up to a half; a minute at most."""
    for word, share in ((0, 1.0), (2**63, 0.75)):
        slept, asked = [], []
        retries = Retries(sleep=slept.append, source=ReplaySource([word] * 3))
        answer = retries.answer(lambda asked=asked: asked.append(0) or error(503, "busy"))
        assert (answer.status, len(asked)) == (503, 4)
        assert slept == [share * wait for wait in (0.5, 1.0, 2.0)]
    Retries(sleep=slept.append, source=ReplaySource([0] * 10), attempts=10).answer(lambda: error(503, "busy"))
    assert max(slept) == slept[-1] == 60.0
    with pytest.raises(ParameterError, match="attempts"):
        Retries(attempts=0)


def test_what_may_be_answered_otherwise_later():
    assert [status for status in range(200, 600) if is_temporary(status)] == [408, 429, *range(500, 600)]


@pytest.mark.parametrize(("asked", "slept"), [("7", [7.0]), ("60", [60.0]), ("61", []), ("soon", [0.5]), ("", [0.5])])
def test_what_a_collector_asks_for_is_the_least_wait(asked, slept):
    answers = iter([Response(429, {"retry-after": asked}, b""), Response(201, {}, b"")])
    waited = []
    answer = Retries(sleep=waited.append, source=ReplaySource([0])).answer(lambda: next(answers))
    assert (waited, answer.status) == (slept, 201 if slept else 429)


def test_tokens_are_asked_for_at_the_first_place_and_the_first_says_that_nobody_knows(tmp_path):
    class Place:
        def __init__(self, status):
            self.status, self.asked = status, []

        def request(self, method, path, body, headers):
            self.asked.append((method, path))
            return Response(self.status, {}, b"{}")

    first, second = Place(403), Place(404)
    places = Everywhere(Bulletin(tmp_path), first, second)
    assert places.request("POST", "/v1/tasks/00/tokens", b"", {}).status == 403
    assert (first.asked, second.asked) == ([("POST", "/v1/tasks/00/tokens")], [])
    assert places.request("GET", "/v1/tasks/00", b"", {}).status == 403
    assert second.asked == [("GET", "/v1/tasks/00")]


def test_reports_in_the_open_are_all_of_the_second_of_january_1980(tmp_path):
    Bulletin(tmp_path).request("POST", "/v1/reports", SENT.pack(), {})
    [file] = tmp_path.iterdir()
    assert datetime.fromtimestamp(file.stat().st_mtime, UTC) == datetime(1980, 1, 2, tzinfo=UTC)


def test_a_board_closes_the_connections_that_it_opened(monkeypatch):
    closed = []

    def close(transport):
        closed.append(transport)

    monkeypatch.setattr(HTTPTransport, "close", close)
    board = Board(FakeCollector(TASK))
    relay = board.relay("https://one.example.org")
    assert board.relay("https://one.example.org") is relay
    board.close()
    assert closed == [relay]
    lent = Board(FakeCollector(TASK), connect=lambda _: FakeCollector())
    lent.relay("https://one.example.org")
    lent.close()
    assert closed == [relay]


def test_nothing_is_asked_before_the_start_and_from_the_end_on():
    board = Board(FakeCollector(TASK))
    assert [board.asked(TASK, now) is None for now in (TASK.start - 1, TASK.start, TASK.end - 1, TASK.end)] == [True, False, False, True]
    assert [board.asked(TASK, now).period for now in (TASK.start, TASK.end - 1)] == [0, 9]


def test_the_client_names_its_mechanisms_and_its_devices():
    names = dir(deniable.client)
    assert {"GRR", "RAPPOR", "Reporter", "MemoryLedger", "FileLedger"} <= set(names)
    assert names == sorted(names)
    assert deniable.client.Reporter is Reporter
    with pytest.raises(AttributeError, match="Nobody"):
        _ = deniable.client.Nobody


def spent(*epsilons):
    """A ledger with so many answers."""
    ledger = MemoryLedger(lifetime_epsilon=100)
    task = drink_task(answers=9, epsilon=20.0)
    ledger.consent(task.id)
    for period, epsilon in enumerate(epsilons):
        ledger.spend(task, period=period, epsilon=epsilon, when=START, make=lambda _: b"\x0f")
    return ledger


def test_a_person_is_told_what_all_answers_are_worth_together_and_never_less():
    said = spent(1.0, 0.5).statement()
    assert "Randomized answers so far: 2. Spent: epsilon 1.5 of 100, 98.5 left." in said
    assert exp(1.5) < 4.49 < exp(1.5) + 0.01
    assert "more than 4.49 times as likely" in said
    assert "more than 1,202,604.17 times" in spent(13.9999999).statement()
    assert "more than a million or more times" in spent(14.0).statement()
    assert spent().statement().endswith("Nothing has been told.")


def test_an_entry_is_shown_as_it_was_sent():
    entry = Entry(1, TASK.id, "morning-drink", "What?", 3, Fraction(1, 2), START, b"\x0f")
    assert str(entry) == "2024-10-04 00:00 UTC  morning-drink: What?\n    period 3, epsilon 0.5, pending\n    0f"
    refused = entry._replace(report=b"", state="refused", code="too_late")
    assert str(refused).splitlines()[1:] == ["    period 3, epsilon 0.5, refused (too_late)", "    nothing is kept"]


def test_a_sign_supports_the_values_that_it_speaks_for():
    """A holder's with probability p, everybody else's with one half, over the exact law."""
    spec = deniable.client.HRR(domain_size=4, epsilon=1.0)
    for held in range(4):
        for asked in range(4):
            chance = sum(weight for report, weight in spec.law(held).items() if spec.supports(report, asked))
            assert chance == (spec.p if held == asked else Fraction(1, 2))
