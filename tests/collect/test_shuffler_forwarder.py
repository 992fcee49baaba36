"""Passing on: what counts as an acknowledgement, what is kept, and that one receiver cannot hold up the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deniable.client.transport import Response
from deniable.collect.shuffler.forwarder import CollectorLink, Forwarder, Link, ShufflerLink
from deniable.collect.storage.shuffle_store import Group, ShuffleStore
from deniable.contract.sealed import open_seals, pack_seals, seal_id

SEALS = [bytes([number]) * 100 for number in range(4)]
DEEP = b"[" * 100_000


class Wire:
    """A receiver that says what it was told to say, one thing after the other and the last one again and again."""

    def __init__(self, *answers: tuple[int, bytes] | Exception) -> None:
        self.answers = list(answers)
        self.bodies: list[bytes] = []

    def request(self, method: str, path: str, body: bytes, headers: object) -> Response:
        self.bodies.append(body)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return Response(answer[0], {}, answer[1])


class Time:
    now = 0.0

    def __call__(self) -> float:
        self.now += 1000.0  # longer than any wait: everything is due at every step
        return self.now


def filled(folder: Path, tasks: int = 1) -> ShuffleStore:
    """A store with one batch for each of so many tasks."""
    store = ShuffleStore(folder)
    for number in range(tasks):
        task = bytes([number]) * 32
        store.add_task(task, b"text")
        store.release(Group(task, 0, b"r" * 32), [], [(bytes([number]) * 16, len(SEALS), pack_seals(SEALS))])
    return store


def forwarder(store: ShuffleStore, link) -> Forwarder:
    return Forwarder(store, link, clock=Time())


def rejected(*items: object) -> bytes:
    return json.dumps({"rejected": list(items)}).encode()


def named(seal: bytes, code: str) -> dict[str, str]:
    return {"id": seal_id(seal).hex(), "code": code}


@pytest.mark.parametrize(
    "page",
    [b"<html>please sign in", b"", b"{}", b"[]", DEEP, json.dumps({"batch": "01" * 16}).encode(), json.dumps({"batch": 0}).encode()],
)
@pytest.mark.parametrize("status", [200, 201])
def test_a_page_is_no_acknowledgement(tmp_path, page, status):
    """Any machine on the way may answer 200. Only who names the batch has it."""
    store = filled(tmp_path)
    wire = Wire((status, page), (status, json.dumps({"batch": bytes(16).hex(), "outcome": "taken"}).encode()))
    sending = forwarder(store, lambda task: CollectorLink(wire, task))
    assert sending.step() is not None
    assert [batch.seals for batch in store.batches()] == [4]
    assert sending.step() is None
    assert store.batches() == []
    assert wire.bodies == [pack_seals(SEALS)] * 2
    store.close()


@pytest.mark.parametrize(
    "answer",
    [
        (200, rejected(1)),
        (200, rejected()),
        (200, rejected({"id": 5, "code": "bad_seal"})),
        (200, rejected(named(SEALS[0], "<script>"))),
        (200, rejected(named(b"another", "bad_seal"))),
        (200, b"<html>"),
        (200, DEEP),
        (422, DEEP),
        ValueError("whatever a library raises"),
    ],
)
def test_what_one_receiver_does_holds_up_nobody_else(tmp_path, answer):
    store = filled(tmp_path, 3)
    links: dict[bytes, Link] = {bytes([number]) * 32: ShufflerLink(Wire(answer if number == 0 else (201, b""))) for number in range(3)}
    assert forwarder(store, links.get).step() is not None
    assert [batch.task for batch in store.batches()] == [bytes(32)]
    assert store.message(bytes(16)) == pack_seals(SEALS)
    store.close()


def test_rejected_seals_are_kept_and_sent_again(tmp_path):
    """Of four, one is taken, one was made wrong by its device, and two came to a shuffler that has not their key: those are sent again."""
    store = filled(tmp_path)
    first = rejected(named(SEALS[1], "bad_seal"), named(SEALS[2], "unknown_key"), named(SEALS[3], "too_late"))
    wire = Wire((200, first), (200, rejected(named(SEALS[3], "too_late"))), (201, b""))
    sending = forwarder(store, lambda task: ShufflerLink(wire))
    left = []
    while sending.step() is not None:
        left.append([batch.seals for batch in store.batches()])
    assert left == [[2], [1]]
    assert [open_seals(body) for body in wire.bodies] == [SEALS, SEALS[2:], SEALS[3:]]
    assert store.batches() == []
    store.close()
