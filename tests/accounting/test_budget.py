"""The budget that is kept: never more than the cap, whatever crashes, repeats, races or is damaged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from deniable.accounting import ZCDP, BudgetFilter, GaussianEvent, Pure, Repeated, Sampled, account, journal
from deniable.accounting.budget import Cost, read_book
from deniable.accounting.history import read_history
from deniable.accounting.journal import JournalError
from deniable.accounting.moments import zcdp_epsilon
from deniable.errors import BudgetExceeded, ParameterError, ProtocolError
from tests.conftest import ROOT

PLUS = "add-remove"


def tenth(times=1):
    return Pure(epsilon=0.1 * times if times > 1 else 0.1, neighbors=PLUS)


def hundredth():
    return Pure(epsilon=0.01, neighbors=PLUS)


def opened(path, epsilon=1.0, **options):
    return BudgetFilter(path, epsilon=epsilon, neighbors=PLUS, clock=lambda: 1_700_000_000.9, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget of #1.ledger"


def test_ten_tenths_are_one_and_the_eleventh_is_refused(path):
    book = opened(path)
    for i in range(10):
        book.reserve(f"q{i}", tenth())
    assert book.spent() == Cost(epsilon=Fraction(1))
    with pytest.raises(BudgetExceeded, match="nothing was released"):
        book.reserve("q10", tenth())
    assert len(book.requests()) == 10
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_request_that_comes_again_costs_nothing_more(path):
    book = opened(path)
    first = book.reserve("q", tenth(), label="how many?")
    assert opened(path).reserve("q", tenth()) == first
    book.sending("q")
    assert book.reserve("q", tenth()).state == "sent"
    with pytest.raises(ProtocolError, match="names one request"):
        book.reserve("q", tenth(3))
    assert book.spent().epsilon == Fraction(1, 10)


def test_no_refund_after_sending(path):
    """The evil twin gives it back; here it cannot, and a second abandonment is no error."""
    book = opened(path)
    for name in ("kept", "lost"):
        book.reserve(name, tenth())
    book.abandon("lost")
    book.abandon("lost")
    book.sending("kept")
    with pytest.raises(ProtocolError, match="stay spent"):
        book.abandon("kept")
    with pytest.raises(ProtocolError, match="under a new id"):
        book.sending("lost")
    with pytest.raises(ProtocolError):
        book.reserve("lost", tenth())  # its id is used up
    with pytest.raises(ProtocolError, match="before drawing"):
        book.sending("never")
    assert book.spent().epsilon == Fraction(1, 10)


def test_a_schedule_is_reserved_as_one_event_at_its_best_price(path):
    book = opened(path, delta=1e-6)
    ten = Repeated(event=GaussianEvent(sigma=40.0), times=10)
    cost = book.reserve("ten", ten, delta=5e-7).cost
    assert float(cost.epsilon) == account(ten, delta=5e-7).epsilon
    assert cost.delta == Fraction(1, 2_000_000)
    with pytest.raises(BudgetExceeded, match="delta"):
        book.reserve("more", GaussianEvent(sigma=1e9), delta=6e-7)
    with pytest.raises(ParameterError, match="delta"):
        book.reserve("none", ten)  # Gaussian noise has no epsilon at delta 0


def test_the_zcdp_filter_stops_where_the_promise_would_break(path):
    book = opened(path, delta=1e-6, rule="zCDP")
    done = 0
    while zcdp_epsilon((done + 1) * 0.001, 1e-6) <= 1.0:
        book.reserve(f"q{done}", ZCDP(rho=0.001))
        done += 1
    assert done > 10
    with pytest.raises(BudgetExceeded, match="rho"):
        book.reserve("one more", ZCDP(rho=0.001))
    with pytest.raises(ParameterError, match="Sampled"):
        book.reserve("sample", Sampled(event=GaussianEvent(sigma=1.0), rate=0.1))


def test_events_for_other_neighbors_and_another_budget_are_refused(path):
    book = opened(path)
    with pytest.raises(ParameterError, match="add-remove"):
        book.reserve("q", Pure(epsilon=0.1))
    with pytest.raises(ParameterError, match="cannot be changed"):
        opened(path, epsilon=2.0)
    for bad in ({"epsilon": 0.0}, {"epsilon": 1.0, "delta": 1.0}, {"rule": "PLD"}, {"rule": "zCDP"}):
        with pytest.raises(ParameterError):
            opened(path, **bad)


# --- damage ---


def test_a_line_cut_off_anywhere_is_seen_and_never_counted(path):
    """Power fails in the middle of the second reservation: at every byte of it, the first one stands and the second can be made again."""
    book = opened(path)
    book.reserve("first", tenth())
    whole = len(path.read_bytes())
    book.reserve("second", tenth())
    content = path.read_bytes()
    for cut in range(whole, len(content)):
        path.write_bytes(content[:cut])
        assert read_book(path)[2] == cut - whole
        assert opened(path).spent().epsilon == Fraction(1, 10)
    path.write_bytes(content[:-3])
    opened(path).reserve("second", tenth())
    kinds = [json.loads(line)["body"]["kind"] for line in path.read_bytes().splitlines()]
    assert kinds == ["budget", "reserve", "torn", "reserve"]
    assert read_book(path)[2] == 0


def test_a_head_cut_off_is_written_again(path):
    opened(path)
    content = path.read_bytes()
    for cut in (0, 1, len(content) - 1):
        path.write_bytes(content[:cut])
        assert opened(path).requests() == []
        opened(path).reserve("q", tenth())
        path.write_bytes(b"")


def test_any_other_damage_stops_all_spending(path):
    book = opened(path)
    book.reserve("first", tenth(3))
    book.reserve("second", tenth())
    content = path.read_bytes()
    for place in range(len(content) - 1):
        spoiled = bytearray(content)
        spoiled[place] ^= 1
        path.write_bytes(bytes(spoiled))
        with pytest.raises(JournalError):
            book.reserve("third", tenth())
    lines = content.splitlines(keepends=True)
    for forged in (lines[:1] + lines[2:], [*lines, lines[-1]], lines[1:]):  # one left out, one doubled, the head gone
        path.write_bytes(b"".join(forged))
        with pytest.raises(JournalError):
            book.requests()


def test_a_full_disk_releases_nothing_and_spends_nothing(path, monkeypatch):
    book = opened(path)
    book.reserve("first", tenth())

    def half(handle, data, offset):
        real(handle, data[: len(data) // 2], offset)
        raise OSError(28, "No space left on device")

    real = os.pwrite
    monkeypatch.setattr(journal.os, "pwrite", half)
    with pytest.raises(JournalError, match="No space"):
        book.reserve("second", tenth())
    monkeypatch.undo()
    assert book.spent().epsilon == Fraction(1, 10)
    assert book.reserve("second", tenth()).state == "reserved"


def test_the_record_is_on_the_disk_before_anyone_acts_on_it(path, monkeypatch):
    book, synced = opened(path), []
    monkeypatch.setattr(journal.os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size))
    book.reserve("q", tenth())
    assert synced == [len(path.read_bytes())]


def test_a_ledger_that_is_none_or_cannot_be_opened(tmp_path):
    (tmp_path / "other").write_bytes(b"hello\n")
    for path in (tmp_path / "other", tmp_path / "no folder" / "x", tmp_path):
        with pytest.raises(JournalError):
            opened(path)


# --- other processes ---

CHILD = """
import os, signal, sys
from deniable.errors import BudgetExceeded
from tests.accounting.test_budget import hundredth, opened, tenth
book = opened(sys.argv[1])
"""


def child(code, path, name="child"):
    command = [sys.executable, "-c", CHILD + code, str(path), name]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_two_processes_never_both_get_the_last_of_the_budget(path):
    """Both wait until both are ready, and then take hundredths as fast as they can: without the lock they write over each other."""
    opened(path)
    code = """
print("ready", flush=True)
input()
done = 0
try:
    for i in range(200):
        book.reserve(f"{sys.argv[2]} {i}", hundredth())
        done += 1
except BudgetExceeded:
    pass
print(done)
"""
    children = [child(code, path, f"child {i}") for i in range(2)]
    for process in children:
        assert process.stdout.readline() == "ready\n"
    for process in children:
        process.stdin.write("go\n")
        process.stdin.flush()
    taken = [int(process.communicate()[0]) for process in children]
    assert sum(taken) == 100
    assert opened(path).spent().epsilon == 1


def test_a_process_killed_after_reserving_has_spent(path):
    process = child("book.reserve('q', tenth()); os.kill(os.getpid(), signal.SIGKILL)", path)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert [(request.id, request.state) for request in opened(path).requests()] == [("q", "reserved")]
    assert opened(path).spent().epsilon == Fraction(1, 10)


# --- any order of steps ---


class Steps(RuleBasedStateMachine):
    """A list of fractions next to the file, through any order of steps, reopened at any point."""

    @initialize()
    def begin(self):
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.path = f"{self.folder.name}/ledger"
        self.book, self.model = opened(self.path), {}

    @rule(name=st.sampled_from("abcdef"), tenths=st.integers(1, 4))
    def reserve(self, name, tenths):
        cost = Fraction(round(tenths * 0.1, 1)).limit_denominator(10)
        event = Pure(epsilon=float(cost), neighbors=PLUS)
        spent = sum(paid for paid, state in self.model.values() if state != "abandoned")
        if name in self.model:
            same = self.model[name][0] == cost and self.model[name][1] != "abandoned"
            with pytest.raises(ProtocolError) if not same else _nothing():
                self.book.reserve(name, event)
        elif spent + cost > 1:
            with pytest.raises(BudgetExceeded):
                self.book.reserve(name, event)
        else:
            self.book.reserve(name, event)
            self.model[name] = (cost, "reserved")

    @rule(name=st.sampled_from("abcdef"), state=st.sampled_from(["sent", "abandoned"]))
    def settle(self, name, state):
        step = self.book.sending if state == "sent" else self.book.abandon
        if name not in self.model or self.model[name][1] not in ("reserved", state):
            with pytest.raises(ProtocolError):
                step(name)
        else:
            step(name)
            self.model[name] = (self.model[name][0], state)

    @rule(torn=st.integers(0, 30))
    def crash(self, torn):
        """Half a record is left behind, and the process starts anew."""
        with open(self.path, "ab") as file:
            file.write(b'{"body":{"kind":"reserve","requ'[:torn])
        self.book = opened(self.path)

    @invariant()
    def agrees(self):
        want = sum((paid for paid, state in self.model.values() if state != "abandoned"), Fraction(0))
        assert self.book.spent().epsilon == want <= 1
        assert {request.id: (request.cost.epsilon, request.state) for request in self.book.requests()} == self.model

    def teardown(self):
        self.folder.cleanup()


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


Steps.TestCase.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
test_any_order_of_steps = Steps.TestCase


# --- the bill ---


def test_the_bill_of_a_ledger_is_what_was_charged(path):
    book = opened(path, delta=1e-6)
    book.reserve("a", tenth(), label="how many?")
    book.reserve("b", Repeated(event=GaussianEvent(sigma=40.0), times=10), delta=5e-7)
    book.reserve("c", tenth())
    book.abandon("c")
    history = read_history(path)
    assert [entry.label for entry in history.entries] == ["how many?", "b"]
    assert history.entries[0].when == "2023-11-14T22:13:20+00:00"
    bill = history.bill()
    assert bill.certificate == "basic"
    assert bill.epsilon == pytest.approx(float(book.spent().epsilon), rel=1e-15)
    assert list(bill.epsilons) == ["basic"]  # no other rule holds for requests that were chosen by looking
