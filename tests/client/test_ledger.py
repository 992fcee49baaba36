"""The rules that every ledger keeps, whatever the app asks of it."""

from __future__ import annotations

import threading
from fractions import Fraction
from math import inf

import pytest

from deniable.client import FileLedger, MemoryLedger
from deniable.errors import BudgetExceeded, DomainError, ParameterError
from tests.client.fake import START, drink_task

TASK = drink_task()
OTHER = drink_task(name="evening-drink", epsilon=0.5, answers=100, answers_per_period=100)


@pytest.fixture(params=["memory", "file"])
def open_ledger(request, tmp_path):
    """Opens a ledger with a cap; consent to both tasks is given."""

    def build(lifetime_epsilon=8.0):
        ledger = (
            MemoryLedger(lifetime_epsilon=lifetime_epsilon)
            if request.param == "memory"
            else FileLedger(tmp_path / "ledger", lifetime_epsilon=lifetime_epsilon)
        )
        ledger.consent(TASK.id)
        ledger.consent(OTHER.id)
        return ledger

    return build


def spend(ledger, task=TASK, *, period=0, epsilon=None, make=lambda _: b"report"):
    return ledger.spend(task, period=period, epsilon=task.epsilon if epsilon is None else epsilon, when=START + 0.9, make=make)


def refused(ledger, task=TASK, **parts):
    """The refusal, after checking that it made nothing and left nothing behind."""
    before = ledger.entries()
    made = []
    with pytest.raises(BudgetExceeded) as raised:
        spend(ledger, task, make=lambda _: made.append(1) or b"report", **parts)
    assert made == []
    assert ledger.entries() == before
    return raised.value


def test_an_expense_is_readable(open_ledger):
    ledger = open_ledger()
    spend(ledger, period=4, make=lambda _: b"\x01\xff")
    (entry,) = ledger.entries()
    assert entry[:8] == (1, TASK.id, "morning-drink", "What did you drink first today?", 4, Fraction(1), START, b"\x01\xff")
    assert (entry.state, entry.code) == ("pending", "")
    text = ledger.statement()
    assert "Spent: epsilon 1 of 8, 7 left." in text
    assert "2.72 times" in text
    assert "2024-10-04 00:00 UTC  morning-drink: What did you drink first today?" in text
    assert "01ff" in text


def test_nothing_without_consent(open_ledger):
    ledger = open_ledger()
    stranger = drink_task(name="never-asked")
    assert not ledger.consented(stranger.id)
    assert refused(ledger, stranger).parameter == "consent"
    ledger.consent(stranger.id.hex())
    assert spend(ledger, stranger).state == "pending"


def test_a_period_has_its_cap_and_a_later_one_is_free(open_ledger):
    ledger = open_ledger()
    spend(ledger, period=1)
    assert "1 in each period" in refused(ledger, period=1).allowed
    spend(ledger, period=2)


def test_a_task_has_its_cap_for_good(open_ledger):
    ledger = open_ledger()
    for period in range(3):
        spend(ledger, period=period)
    assert "3 to 'morning-drink', ever" in refused(ledger, period=3).allowed
    spend(ledger, OTHER)


def test_setting_the_clock_back_allows_nothing(open_ledger):
    """Without the rule, going back and forth between two periods would answer each of them anew up to the task's cap."""
    ledger = open_ledger()
    spend(ledger, period=5)
    assert [refused(ledger, period=period).parameter for period in (4, 0, 5)] == ["period", "period", "answers"]
    spend(ledger, period=6)


def test_the_lifetime_cap_is_exact_and_over_all_tasks(open_ledger):
    """As floats, 0.1 + 0.2 is above 0.3 and would be refused; ten tenths are below 1, and an eleventh of almost nothing would fit."""
    ledger = open_ledger(0.3)
    spend(ledger, OTHER, epsilon=0.1)
    spend(ledger, TASK, epsilon=0.2)
    assert ledger.spent() == Fraction(3, 10)
    assert refused(ledger, OTHER, epsilon=1e-8).received == "0.30000001"


def test_the_lifetime_cap_counts_what_was_refused_and_what_was_withdrawn(open_ledger):
    ledger = open_ledger(1.0)
    ledger.settle(spend(ledger, OTHER).number, "refused", "too_late")
    spend(ledger, OTHER, period=1)
    ledger.withdraw(OTHER.id)
    assert ledger.spent() == 1
    refused(ledger, TASK, epsilon=0.5)


@pytest.mark.parametrize("epsilon", [inf, float("nan"), 0.0, -1.0, 1.5])
def test_what_no_ledger_pays_for(open_ledger, epsilon):
    assert refused(open_ledger(100), epsilon=epsilon).parameter == "epsilon"


def test_a_task_without_privacy_is_not_paid_for(open_ledger):
    ledger, task = open_ledger(100), drink_task(epsilon=inf)
    ledger.consent(task.id)
    assert refused(ledger, task, epsilon=inf).parameter == "epsilon"
    assert refused(ledger, task, epsilon=1.0).parameter == "epsilon"


def test_an_answer_that_cannot_be_made_costs_nothing(open_ledger):
    ledger = open_ledger()

    def make(_):
        raise DomainError("value", "cocoa", allowed="tea", fix="drink tea")

    with pytest.raises(DomainError):
        spend(ledger, make=make)
    assert ledger.entries() == []
    spend(ledger)


def test_withdrawing_drops_what_waits_and_refuses_more(open_ledger):
    ledger = open_ledger()
    ledger.settle(spend(ledger, period=0, make=lambda _: b"gone").number, "sent")
    spend(ledger, period=1, make=lambda _: b"waiting")
    spend(ledger, OTHER, make=lambda _: b"of another task")
    ledger.withdraw(TASK.id)
    assert [(entry.state, entry.code, entry.report) for entry in ledger.entries()] == [
        ("sent", "", b"gone"),
        ("refused", "withdrawn", b""),
        ("pending", "", b"of another task"),
    ]
    assert ledger.pending(TASK.id) == []
    assert refused(ledger, period=2).parameter == "consent"
    ledger.consent(TASK.id)  # a second consent opens the task again, not the budget
    spend(ledger, period=2)
    refused(ledger, period=3)


def test_a_report_that_was_sent_stays_sent(open_ledger):
    """Two flushes at once: the second is told that the period was sealed meanwhile."""
    ledger = open_ledger()
    number = spend(ledger).number
    assert ledger.settle(number, "sent").state == "sent"
    assert ledger.settle(number, "refused", "sealed").state == "sent"
    assert [(entry.state, entry.code) for entry in ledger.entries()] == [("sent", "")]


def test_a_ticket_is_drawn_once(open_ledger):
    ledger = open_ledger()
    draws = iter([5, 6, 7])
    assert [ledger.ticket(TASK.id, lambda: next(draws)) for _ in range(3)] == [5, 5, 5]
    ledger.withdraw(TASK.id)
    ledger.consent(TASK.id)
    assert ledger.ticket(TASK.id.hex(), lambda: next(draws)) == 5
    assert ledger.ticket(OTHER.id, lambda: next(draws)) == 6


def test_threads_share_what_is_left(open_ledger):
    ledger = open_ledger(5.0)
    start, spent = threading.Barrier(4), []

    def run():
        start.wait()
        for _ in range(5):
            try:
                spent.append(spend(ledger, OTHER).number)
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(spent) == list(range(1, 11))
    assert ledger.spent() == 5


@pytest.mark.parametrize("epsilon", [0, -1.0, inf, float("nan"), "much"])
def test_a_lifetime_has_an_end(epsilon):
    with pytest.raises(ParameterError):
        MemoryLedger(lifetime_epsilon=epsilon)


@pytest.mark.parametrize("task", ["", "00", "zz" * 32, b"short", bytes(33)])
def test_what_is_no_task_id(open_ledger, task):
    with pytest.raises(ParameterError, match="64 hexadecimal digits"):
        open_ledger().consent(task)


def test_what_is_remembered_is_drawn_once_for_each_task_and_name(open_ledger):
    ledger = open_ledger()
    assert ledger.recall(TASK.id, "a") is None
    assert ledger.remember(TASK.id, "a", lambda: b"\0first") == b"\0first"
    assert ledger.remember(TASK.id.hex(), "a", lambda: b"second") == ledger.recall(TASK.id, "a") == b"\0first"
    assert ledger.remember(TASK.id, "b", lambda: b"of another name") == b"of another name"
    assert ledger.recall(OTHER.id, "a") is None


def test_a_report_is_made_with_the_number_of_answers_before_it(open_ledger):
    ledger = open_ledger()
    places = []
    for period in range(3):
        spend(ledger, period=period, make=lambda place: places.append(place) or b"report")
    spend(ledger, OTHER, make=lambda place: places.append(place) or b"report")
    assert places == [0, 1, 2, 0]
