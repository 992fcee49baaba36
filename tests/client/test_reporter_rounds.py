"""A device in a task of rounds: it answers in its own round only, and only a round that the task's key signed."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.client.board import Board
from deniable.errors import BudgetExceeded, ProtocolError, WireError
from deniable.testing import ReplaySource
from tests.client.fake import ROUNDS, Device, FakeCollector, opened, rounds_task


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
