"""A device that reports through shufflers: sealed before it is kept, sent to the first of them, and the same bytes ever after."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import deque

import pytest

from deniable.client import FileLedger, Reporter
from deniable.client.board import Board
from deniable.client.enrolment import TOKENS
from deniable.client.transport import Response
from deniable.contract.mixing import Threshold
from deniable.contract.notice import ANALYST, SHUFFLER
from deniable.contract.sealed import MEDIA_TYPE, crowd_of, open_seals, seal_id, seal_sizes
from deniable.errors import MissingExtra, ProtocolError, WireError
from deniable.sealing.keys import KeyPair, announce
from deniable.sealing.seal import open_inner, open_outer
from deniable.testing import ReplaySource
from tests.client.fake import DAY, START, Device, FakeCollector, error
from tests.conftest import ROOT
from tests.sealing.parties import Parties


class World(Parties):
    """The collector, the shufflers, and the ways to them. Faults are used up by the first shuffler's POST requests, one by one."""

    def __init__(self, relays=1, **changes):
        super().__init__(relays, **changes)
        self.fake = FakeCollector(self.task)
        self.announced = {"collector": announce(self.collector_seed, [self.analyst])}
        for place, (seed, notice) in enumerate(zip(self.seeds, self.relays, strict=True)):
            self.announced[f"https://shuffler-{place}.example"] = announce(seed, [notice])
        self.asked, self.bodies, self.faults, self.rejects = [], [], deque(), None

    def connect(self, address):
        return Way(self, address)

    def board(self, **parts):
        return Board(Way(self, "collector"), connect=self.connect, **parts)

    def device(self, **parts):
        return Device(self.board(sleep=lambda _: None), self.task, **parts)

    def answers(self):
        """What arrived, opened station by station."""
        found = []
        for body in self.bodies:
            (seal,) = open_seals(body)
            for pair in self.shufflers:
                seal = open_outer(pair, seal).next
            found.append(open_inner(self.collector, seal, self.task))
        return found


class Way:
    """A transport to one address."""

    def __init__(self, world, address):
        self.world, self.address = world, address

    def request(self, method, path, body, headers):
        world = self.world
        world.asked.append((method, self.address, path.split("/")[2]))
        if path == "/v1/keys":
            return Response(200, {}, world.announced[self.address])
        if self.address == "collector":
            return world.fake.request(method, path, body, headers)
        assert (path, headers) == ("/v1/seals", {"content-type": MEDIA_TYPE})
        fault = world.faults.popleft() if world.faults else None
        if isinstance(fault, Response):
            return fault
        if fault == "no connection":
            raise ConnectionRefusedError
        world.bodies.append(body)
        if fault == "reply lost":
            raise TimeoutError
        if world.rejects:
            rejected = [{"id": seal_id(open_seals(body)[0]).hex(), "code": world.rejects}]
            return Response(200, {}, json.dumps({"rejected": rejected}).encode())
        return Response(201, {}, b"")


@pytest.mark.parametrize("relays", [1, 3])
def test_an_answer_arrives_through_every_shuffler(relays):
    world = World(relays)
    device = world.device()
    receipt = device.report("coffee")
    assert (receipt.state, receipt.period) == ("sent", 0)
    spec, source = world.task.survey.questions[0].spec, ReplaySource.from_key("device")
    (envelope,) = world.answers()
    assert envelope.payload == spec.encode(spec.randomize("coffee", source))
    assert envelope.id == b"".join(word.to_bytes(8, "big") for word in source.words(2))
    (entry,) = device.ledger.entries()
    assert open_seals(world.bodies[0]) == [entry.report]
    assert len(entry.report) == seal_sizes(world.task)[0]
    assert world.fake.bodies == []  # the collector hears of keys and tasks alone
    assert [kind for kind in world.asked if kind[0] == "POST"] == [("POST", "https://shuffler-0.example", "seals")]
    assert float(entry.epsilon) == world.task.epsilon  # the local one: what holds whoever is dishonest


def test_all_answers_make_messages_of_one_length():
    world = World(2)
    for value in ("tea", "coffee", "water"):
        for number in range(3):
            world.device(source=ReplaySource.from_key(f"{value} {number}")).report(value)
    assert {len(body) for body in world.bodies} == {4 + seal_sizes(world.task)[0]}
    assert len({bytes(answer.payload) for answer in world.answers()}) == 3


def test_a_resend_is_the_same_bytes_from_the_ledgers_file(tmp_path):
    """After a crash: nobody is asked for keys or the task, what was paid for goes to the shuffler that it was sealed for."""
    world = World()
    path = tmp_path / "ledger"
    world.faults.extend(["no connection", "reply lost", error(503, "busy"), "no connection"])
    parts = {"task": world.task.id, "clock": lambda: START + 1.0, "sleep": lambda _: None}
    ledger = FileLedger(path, lifetime_epsilon=8)
    ledger.consent(world.task.id)
    receipt = Reporter(world.board(sleep=lambda _: None), ledger=ledger, **parts).report("tea")
    assert receipt.state == "pending"
    (kept,) = ledger.entries()
    world.asked.clear()
    world.announced.clear()
    reopened = FileLedger(path, lifetime_epsilon=8)
    (receipt,) = Reporter(world.board(), ledger=reopened, **parts).flush()
    assert receipt.state == "sent"
    assert world.asked == [("POST", "https://shuffler-0.example", "seals")]
    assert [open_seals(body) for body in world.bodies] == [[kept.report], [kept.report]]  # the one whose reply was lost, and this one


def test_what_a_shuffler_refuses_is_refused_by_its_code():
    world = World()
    world.rejects = "wrong_key"
    device = world.device()
    assert (device.report("tea").state, device.states()) == ("refused", [("refused", "wrong_key")])
    world.rejects = None
    device.now += DAY
    world.faults.append(error(403, "not_this_task"))
    assert device.report("tea").state == "refused"


def test_keys_are_fetched_once_for_each_period():
    world = World()
    device = world.device()
    short = KeyPair(b"\x21" * 32, START - DAY, START + DAY)
    long = KeyPair(b"\x22" * 32, START - DAY, START + 5 * DAY)
    shuffler = "https://shuffler-0.example"
    world.announced[shuffler] = announce(world.seeds[0], [short.notice(SHUFFLER), long.notice(SHUFFLER)])
    fetched = []
    for day in range(3):
        device.now = START + day * DAY + 5
        device.report("tea")
        fetched.append(world.asked.count(("GET", shuffler, "keys")))
        assert world.asked.count(("GET", "collector", "keys")) == fetched[-1]
    assert fetched == [1, 2, 3]
    used = [open_seals(body)[0][1:9] for body in world.bodies]
    assert used == [short.id, long.id, long.id]


def test_a_period_has_one_key_and_a_withdrawn_one_is_used_for_a_day_at_most():
    """A period of a week: the key that ends in it stays in use, for those who come later, too; unless it is no longer listed."""
    world = World(period=7 * DAY, end=START + 21 * DAY)
    short = KeyPair(b"\x21" * 32, START - DAY, START + 2 * DAY)
    long = KeyPair(b"\x22" * 32, START + DAY, START + 30 * DAY)
    shuffler, board = "https://shuffler-0.example", world.board()

    def used(now, board=board):
        return board.keys(world.task, now).shufflers[0].id

    world.announced[shuffler] = announce(world.seeds[0], [short.notice(SHUFFLER)])
    assert [used(START + 1), used(START + 60)] == [short.id] * 2
    assert world.asked.count(("GET", shuffler, "keys")) == 1
    world.announced[shuffler] = announce(world.seeds[0], [long.notice(SHUFFLER), short.notice(SHUFFLER)])
    for day in range(7):
        assert used(START + day * DAY + 5) == used(START + day * DAY + 5, world.board()) == short.id
    assert used(START + 7 * DAY) == long.id
    withdrawn = world.board()
    assert used(START + DAY, withdrawn) == short.id
    world.announced[shuffler] = announce(world.seeds[0], [long.notice(SHUFFLER)])
    assert used(START + 2 * DAY - 1, withdrawn) == short.id
    assert used(START + 2 * DAY, withdrawn) == long.id


def forged(world):
    return {
        "signed by somebody else": announce(b"\x01" * 32, [world.relays[0]]),
        "the collector's own": world.announced["collector"],
        "of the other role": announce(world.seeds[0], [world.shufflers[0].notice(ANALYST)]),
        "a login page": b"<html>",
    }


@pytest.mark.parametrize("why", ["signed by somebody else", "the collector's own", "of the other role", "a login page", "ended", "early"])
def test_nothing_is_spent_on_keys_that_cannot_be_trusted(why):
    world = World()
    start, end = {"ended": (0, START), "early": (START + DAY, START + 2 * DAY)}.get(why, (0, 1))
    lapsed = announce(world.seeds[0], [KeyPair(b"\x21" * 32, start, end).notice(SHUFFLER)])
    world.announced["https://shuffler-0.example"] = forged(world).get(why, lapsed)
    device = world.device()
    with pytest.raises(ProtocolError if why in ("ended", "early") else WireError):
        device.report("tea")
    assert (device.ledger.entries(), world.bodies) == ([], [])


def test_a_shuffler_without_keys_stops_the_report_and_not_the_budget():
    world = World()

    class Silent(Way):
        def request(self, method, path, body, headers):
            return error(404, "not_found") if path == "/v1/keys" else super().request(method, path, body, headers)

    device = Device(Board(Way(world, "collector"), connect=lambda address: Silent(world, address)), world.task)
    with pytest.raises(ProtocolError, match="status 404"):
        device.report("tea")
    assert device.ledger.entries() == []


def test_tokens_and_crowds_go_to_the_last_shuffler():
    world = World(2, admission="token", threshold=Threshold(minimum=20, sigma="2.5"), retention=90)
    device = world.device()
    tokens = [bytes([number]) * 288 for number in (1, 2, 3)]
    device.ledger.remember(world.task.id, TOKENS, lambda: b"".join(tokens))
    for day in range(2):
        device.now = START + day * DAY
        device.report("tea")
    for body, token, answer in zip(world.bodies, tokens, world.answers(), strict=False):
        first = open_outer(world.shufflers[0], open_seals(body)[0])
        last = open_outer(world.shufflers[1], first.next)
        assert (first.token, first.crowd) == (b"", b"")
        assert (last.token, answer.token) == (token, token)
        assert last.crowd == crowd_of(answer)


def test_without_the_extra_the_error_names_it(monkeypatch):
    world = World()
    device = world.device()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)
    for name in ("deniable.sealing.seal", "deniable.sealing"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(MissingExtra, match=r'pip install "\.\[sealed\]"'):
        device.report("tea")
    assert (device.ledger.entries(), world.asked[1:]) == ([], [])


def test_a_local_task_needs_no_cryptography():
    """A device without any package: the reporter loads, and nothing of the extra with it."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import deniable.client.reporter; print([n for n in sys.modules if 'sealing' in n])"
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT / "src")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"
