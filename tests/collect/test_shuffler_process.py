"""A shuffler without its sockets: what it serves, what it takes while it mixes, what it deletes, and by which clock."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.client import GRR, OUE
from deniable.collect.kit.committer import Committer
from deniable.collect.kit.limits import Limits
from deniable.collect.shuffler.judge import Judge, OpenedSeals, station_of
from deniable.collect.shuffler.metrics import ShufflerMetrics
from deniable.collect.shuffler.plan import ShufflerPlan, arrange
from deniable.collect.shuffler.reception import Reception
from deniable.collect.shuffler.retention import AGREEMENT, KEPT_SECONDS
from deniable.collect.shuffler.shuffler import Served, Shuffler
from deniable.collect.storage.shuffle_store import ShuffleStore
from deniable.contract.batch import LARGEST_MESSAGE
from deniable.contract.batch import open_batch as open_message
from deniable.contract.mixing import Relay
from deniable.contract.notice import ANALYST, SHUFFLER
from deniable.contract.sealed import MEDIA_TYPE, Outer, pack_seals, seal_sizes
from deniable.contract.task import Task
from deniable.errors import ParameterError
from deniable.sealing.identity import public_key
from deniable.sealing.keys import KeyPair, KeyRing
from deniable.sealing.seal import open_box, open_outer, seal_report
from deniable.shuffle.mixer import Rules
from tests.collect.mixing import MINIMUM, reports, shuffle_task

DAY = 86_400
ROUTE = b"r" * 32
KEY = public_key(bytes([3]) * 32)


class World:
    """A folder, a task and a clock that is set by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ring = KeyRing(folder, SHUFFLER)
        self.relays = (Relay("https://shuffler.example.org", self.ring.identity),)
        self.task = shuffle_task(KEY, shufflers=self.relays)
        self.now = self.task.start + 10.0
        self.store = ShuffleStore(folder)

    def shuffler(self, task: Task | None = None, batch: int = 16_384) -> Shuffler:
        station = station_of(task or self.task, self.ring.identity)
        return Shuffler(self.store, self.ring, [Served(station, Rules(minimum=MINIMUM, batch=batch))], clock=lambda: self.now)

    def hold(self, shuffler: Shuffler, numbers: range, seal: bytes = b"s" * 150) -> frozenset[tuple[bytes, str]]:
        return shuffler.append({(self.task.id, 0, ROUTE): [row(number, seal=seal) for number in numbers]})


def row(number: int, token: bytes = b"", seal: bytes = b"s" * 150) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    return number.to_bytes(16, "big"), number.to_bytes(16, "big"), b"", seal, token


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path / "own")
    yield made
    made.store.close()


# --- what it serves ---


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """What ``arrange`` makes of a task and a plan; the grace of its keys."""

    def make(plan=None, period=None, spec=None, **rules):
        ring = KeyRing(tmp_path / "own", SHUFFLER)
        task = shuffle_task(KEY, spec, shufflers=(Relay("https://shuffler.example.org", ring.identity),), **rules)
        if period:
            task = replace(task, end=task.start + period, period=period)
        monkeypatch.setattr("deniable.collect.shuffler.plan.fetch_task", lambda *_: task.canonical)
        made = ShufflerPlan(folder=tmp_path / "own", tasks=(task.id,), collector="https://collector.example.org", **plan or {})
        shuffler, _ = arrange(made, clock=lambda: task.start + 1.0)
        shuffler.store.close()
        return shuffler

    return make


def test_a_task_whose_claim_is_false_is_not_served(planned, tmp_path):
    """The collector prices batches, too; but it may be the one who lies. No key is made for such a task."""
    with pytest.raises(ParameterError, match="claim"):
        planned(spec=GRR(domain_size=4, epsilon=8.0), epsilon=0.01, delta=1e-6, minimum=2)
    assert KeyRing(tmp_path / "own", SHUFFLER).pairs == {}
    assert planned().ring.pairs  # and the folder was let go


def test_keys_open_for_as_long_as_a_period_may_take(planned):
    shuffler = planned(period=20 * DAY)
    (served,) = shuffler.tasks.values()
    assert shuffler.ring.grace == 20 * DAY + served.station.task.late
    assert planned(period=DAY).ring.grace == 7 * DAY
    with pytest.raises(ParameterError, match="grace"):
        planned({"grace": 7 * DAY}, period=20 * DAY)


def test_padding_has_room_in_a_message(planned):
    """The largest batch, padded, is a message that a collector takes; what is larger is refused before it is made."""
    wide = OUE(domain_size=8192, epsilon=1.0)
    shuffler = planned({"pad": 30_000}, spec=wide, epsilon=1.0)
    (served,) = shuffler.tasks.values()
    size, rules = seal_sizes(served.station.task)[-1], served.rules
    assert (2 * rules.batch + rules.pad) * size < LARGEST_MESSAGE
    with pytest.raises(ParameterError, match="pad"):
        planned({"pad": 60_000}, spec=wide, epsilon=1.0)
    with pytest.raises(ParameterError, match="pad"):
        planned({"pad": 30_000, "batch": 20_000}, spec=wide, epsilon=1.0)


# --- what it takes ---


class Opening:
    """What the processes would return: a body is the number of the first of three seals, and their token."""

    waiting = 0

    def __init__(self, task: bytes) -> None:
        self.task = task

    async def open(self, body: bytes) -> OpenedSeals:
        number, _, token = body.partition(b" ")
        return OpenedSeals({(self.task, 0, ROUTE): [row(int(number) + more, token) for more in range(3)]}, [], 3)


@pytest.mark.parametrize("others", [1, 4])
def test_whoever_sends_at_the_same_moment_is_told_of_his_own_seals(world, others):
    """One append for all of them; a token that was spent is told to whoever sent it, and to nobody else."""
    shuffler = world.shuffler()
    shuffler.append({(world.task.id, 0, ROUTE): [row(1, b"spent")]})

    async def ask(app: Reception, body: bytes) -> tuple[int, bytes]:
        sent = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        await app({"method": "POST", "headers": [(b"content-type", MEDIA_TYPE.encode())]}, receive, send)
        return sent[0]["status"], sent[1]["body"]

    async def together() -> list[tuple[int, bytes]]:
        metrics = ShufflerMetrics(lambda: 0)
        committer = Committer(shuffler.append, observe=metrics.appended)
        app = Reception(Opening(world.task.id), committer, world.store.known, limits=Limits(), metrics=metrics)
        found = await asyncio.gather(ask(app, b"1000 "), *(ask(app, b"%d spent" % (2000 + 10 * i)) for i in range(others)))
        await app.stop()
        return found

    honest, *rest = asyncio.run(together())
    assert honest == (201, b"")
    for number, (status, body) in enumerate(rest):
        assert status == 200
        assert body.count(b"token_used") == 3
        assert (2000 + 10 * number).to_bytes(16, "big").hex().encode() in body


def test_nothing_is_acknowledged_while_the_end_is_mixed_that_is_not_in_it(world, monkeypatch):
    """An append that looked at its clock just before the end gets its turn in the middle: it is refused, or its seals are in the batch."""
    shuffler = world.shuffler()
    world.hold(shuffler, range(100))
    real = world.store.held
    told = []

    def held(group):
        found = real(group)
        monkeypatch.setattr(shuffler, "code", lambda *_: "")
        told.extend(world.hold(shuffler, range(1000, 1030)))
        return found

    monkeypatch.setattr(world.store, "held", held)
    world.now = shuffler.tasks[world.task.id].station.closes(0) + 1
    assert shuffler.tend() == 1
    (batch,) = world.store.batches()
    assert batch.seals + len(told) == 130
    assert world.store.groups() == {}


def test_seals_for_two_keys_of_the_collector_are_two_crowds(world):
    """A collector that gives few people a key of their own gets nothing from them: the minimum holds for each route."""
    shuffler = world.shuffler()
    pair = next(iter(world.ring.pairs.values()))
    common, marked = (KeyPair.make(world.now).notice(ANALYST) for _ in range(2))
    people = reports(world.task, MINIMUM + 3)
    seals = [seal_report(world.task, each, marked if i < 3 else common, [pair.notice(SHUFFLER)]) for i, each in enumerate(people)]
    opened = Judge([station_of(world.task, world.ring.identity)]).open(pack_seals(seals), {pair.id: pair}, 1000)
    assert (opened.refused, shuffler.append(opened.rows)) == ([], frozenset())
    world.now = shuffler.tasks[world.task.id].station.closes(0) + 1
    assert shuffler.tend() == 1
    (waiting,) = world.store.batches()
    batch = open_message(world.store.message(waiting.id), world.ring.identity)
    assert set(batch.seals) == {open_outer(pair, seal).next for seal in seals[3:]}
    assert list(world.store.groups().values()) == [3]


def test_a_route_that_does_not_lead_to_the_next_key_is_refused(world, monkeypatch):
    world.shuffler()
    pair = next(iter(world.ring.pairs.values()))
    analyst = KeyPair.make(world.now).notice(ANALYST)
    judge = Judge([station_of(world.task, world.ring.identity)])
    good, made_up = (seal_report(world.task, each, analyst, [pair.notice(SHUFFLER)]) for each in reports(world.task, 2))
    found = open_outer(pair, made_up)
    changed = Outer(bytes(32), found.token, found.crowd, found.next).pack()
    opener = "deniable.collect.shuffler.judge.open_box"
    monkeypatch.setattr(opener, lambda own, seal, role: changed if seal == made_up else open_box(own, seal, role))
    opened = judge.open(pack_seals([good, made_up]), {pair.id: pair}, 10)
    assert [code for _, _, code in opened.refused] == ["bad_seal"]
    assert sum(len(rows) for rows in opened.rows.values()) == 1


# --- what it deletes ---


def over(task: Task) -> float:
    return task.end + task.late + KEPT_SECONDS


def test_one_start_with_a_wrong_clock_deletes_nothing(world):
    """A clock that is a year ahead at a start; hours later, if it still says so, it is believed."""
    world.hold(world.shuffler(), range(100))
    keys = set(world.ring.pairs)
    right, world.now = world.now, over(world.task) + 400 * DAY
    wrong = world.shuffler(batch=200)
    wrong.tend()
    world.now += AGREEMENT - 60
    wrong.tend()
    assert sum(batch.seals for batch in world.store.batches()) == 100
    assert keys <= set(world.ring.pairs)
    world.now = right + 20
    again = world.shuffler()
    assert again.tend() == 0
    assert any(notice.id in keys and notice.valid_at(world.now) for notice in world.ring.notices(world.now))
    world.now = over(world.task) + 400 * DAY
    wrong = world.shuffler()
    world.now += AGREEMENT + 60
    wrong.tend()
    assert (world.store.batches(), keys & set(world.ring.pairs)) == ([], set())


def test_what_is_deleted_is_gone_from_the_disk_for_tasks_that_are_not_served_any_more(world):
    mark = b"the seal of a person" * 8
    world.hold(world.shuffler(), range(3), mark)
    other = shuffle_task(public_key(bytes([4]) * 32), shufflers=world.relays)
    world.now = over(world.task) + 1
    later = world.shuffler(other)
    world.now += AGREEMENT + 60
    later.tend()
    assert world.store.groups() == {}
    assert not [file.name for file in world.folder.iterdir() if mark in file.read_bytes()]
