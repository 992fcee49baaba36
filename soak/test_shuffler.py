"""A hundred thousand sealed reports through a shuffler to a collector while both are killed; two minutes on two cores."""

# ruff: noqa: S101  # tests assert; this folder is outside of tests/

from __future__ import annotations

import http.client
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Timer

import pytest
from tests.collect.crowd import envelope
from tests.system.conftest import NotStartedError, Server
from tests.system.load import wait_for
from tests.system.shuffled_crowd import HOUR, ShufflerProcess, free_port
from tests.system.test_shuffled_end_to_end import TOML

from deniable.collect.faults import STATUS
from deniable.collect.storage.block import Bucket, ids_of
from deniable.collect.storage.store import Store
from deniable.contract.notice import ANALYST, KeyNotice, read_keys
from deniable.contract.task import Task
from deniable.sealing.seal import seal_report

PEOPLE = 100_000
IN_ONE = 1000
DEATHS = 12
"""Of the shuffler, by SIGKILL while a request is on its way; each time the collector is killed and started again, too."""
BEGUN, DURABLE = "batch begun:1", "reports durable:1"
"""Where the collector dies over the batch: when it has begun, and when the next process goes on with it as it starts."""


def seal_people(task: Task, analyst: KeyNotice, shuffler: KeyNotice, people: range) -> list[bytes]:
    """The seals of some people, whose reports have ids of their own."""
    return [seal_report(task, envelope(task, n % 4, id=n.to_bytes(16, "big")), analyst, [shuffler]) for n in people]


@pytest.mark.parametrize("people", [PEOPLE])
def test_every_sealed_report_is_counted_once_while_both_are_killed(tmp_path: Path, people: int) -> None:
    port, random = free_port(), Random(7)
    collector = Server(tmp_path / "collector", "--port", str(free_port()))
    with collector, ShufflerProcess(tmp_path / "shuffler", "--port", str(port)) as shuffler:
        admin = collector.token("admin")
        task = collector.task(TOML % (f"http://127.0.0.1:{port}", shuffler.ring.identity.hex()), admin)
        shuffler.serve(task, collector.url)
        analyst = read_keys(collector.get("/v1/keys").body, task.key, task.start + 60, ANALYST)
        starts = range(0, people, IN_ONE)
        with ProcessPoolExecutor(2) as pool:
            each = [pool.submit(seal_people, task, analyst, shuffler.notice(), range(n, min(n + IN_ONE, people))) for n in starts]
            bodies = [made.result() for made in each]
        deadly = set(random.sample(range(len(bodies)), min(DEATHS, len(bodies))))
        for number, body in enumerate(bodies):
            if number in deadly:
                collector.restart()
                Timer(random.uniform(0, 0.1), shuffler.process.kill).start()
            _insist(shuffler, body)
            if number in deadly:
                _insist(shuffler, body)  # as if the answer was lost: the same seals come again
        collector.kill()
        collector.fault(BEGUN)
        collector.start()
        later = 24 * HOUR + 2000  # the period is over, for the shuffler; the collector waits for an hour
        collector.ahead(later)
        shuffler.ahead(later)
        assert collector.died() == STATUS
        shuffler.restart()
        collector.fault(DURABLE)
        with pytest.raises(NotStartedError):
            collector.start()
        collector.fault("")
        collector.start()
        wait_for(lambda: shuffler.figure("deniable_held_seals") == 0)
        wait_for(lambda: _counted(collector, task, admin) == people)
        assert collector.seal(task.id, 0, admin).status == 204
        assert _counted(collector, task, admin) == people
        assert (shuffler.stop(), collector.stop()) == (0, 0)
    with closing(Store.open(collector.store)) as store:
        found = ids_of(store.sealed_reports(Bucket(task.id, 0)))
    assert len(found) == len(set(found)) == people
    assert set(found) == {n.to_bytes(16, "big") for n in range(people)}


def _counted(collector: Server, task: Task, token: str) -> int:
    answer = collector.get(f"/v1/tasks/{task.id.hex()}/estimate", token)
    return int(answer.json["answers"][0]["estimate"]["n"]) if answer.status == 200 else 0


def _insist(shuffler: ShufflerProcess, seals: list[bytes]) -> None:
    """Send seals until they are taken; a shuffler that was killed meanwhile is started again."""
    while True:
        try:
            assert shuffler.hand_in(seals).status == 201
        except (OSError, http.client.HTTPException):
            shuffler.died()
            shuffler.start()
        else:
            return
