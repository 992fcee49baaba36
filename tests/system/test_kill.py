"""kill -9: whenever it comes, whatever was acknowledged is counted, once, and nothing else is."""

from __future__ import annotations

import contextlib
import http.client
import random
import time
from pathlib import Path

import pytest

from deniable.client.ledger import MemoryLedger
from deniable.client.reporter import Reporter
from deniable.contract.public_log import LogEntry, verify_chain
from deniable.testing.faults import POINTS, STATUS
from tests.system.conftest import Server
from tests.system.load import HOUR, UNIQUE, Crowd, audit, wait_for

KILLS = 20
"""In ``make soak`` there are ten times as many."""
IN_A_SEAL = POINTS[1:6]
IN_A_ROUND = POINTS[1:]
SEARCH = """
name = "word"
question = "Which word is yours?"
owner = "tests"
epsilon = 4.0
lasts = "1 day"
minimum_batch = 1
people = 60
[domain]
text = 2
[search]
protocol = "PEM"
k = 2
"""


def test_kills_at_random_moments_under_load(tmp_path):
    kill_under_load(tmp_path, KILLS)


def kill_under_load(folder: Path, kills: int) -> None:
    """Devices send without a pause; every fifth kill comes in the middle of a seal."""
    with Server(folder) as server:
        admin = server.token("admin")
        with Crowd(server.task(UNIQUE, admin), server.url, devices=8, batch=10) as crowd:
            for number in range(kills):
                crowd.wait(random.randint(1, 300))
                if number % 5 == 4:
                    begin_to_seal(server, crowd, admin)
                time.sleep(random.uniform(0, 0.05))  # a random moment
                before = server.url
                server.restart()
                crowd.move(before, server.url)
                if number % 5 == 4:
                    next_period(server, crowd, admin)
            crowd.wait()
        assert server.seal(crowd.task.id, crowd.period, admin).status == 204
        assert server.stop() == 0
    assert crowd.unanswered >= kills  # each of them cut somebody off
    audit(server.store, crowd)


def begin_to_seal(server: Server, crowd: Crowd, admin: str) -> None:
    """Ask for a seal, and do not wait for the answer."""
    connection = server.connection()
    try:
        path = f"/v1/tasks/{crowd.task.id.hex()}/seal?period={crowd.period}"
        connection.request("POST", path, headers={"Authorization": f"Bearer {admin}"})
    finally:
        connection.close()


def next_period(server: Server, crowd: Crowd, admin: str) -> None:
    """Seal the crowd's period, whether that was done or not, and go on to the next."""
    assert server.seal(crowd.task.id, crowd.period, admin).status == 204
    server.ahead((crowd.period + 1) * HOUR)
    crowd.period += 1


@pytest.mark.parametrize("point", IN_A_SEAL)
def test_a_death_in_the_middle_of_a_seal(point, tmp_path):
    die_in_seals(point, tmp_path, 2)


def die_in_seals(point: str, folder: Path, times: int) -> None:
    """The same seal is asked for again and again, and dies at the same point, before it is left to finish; the load goes on."""
    server = Server(folder)
    server.fault(f"{point}:1")
    with server:
        admin = server.token("admin")
        with Crowd(server.task(UNIQUE, admin), server.url, devices=4, batch=5) as crowd:
            for remaining in reversed(range(times)):
                if crowd.period not in crowd.refused:
                    crowd.wait_until(lambda before=len(crowd.statuses): sum(crowd.statuses.values()) > before)
                with contextlib.suppress(ConnectionError, http.client.HTTPException):
                    server.seal(crowd.task.id, 0, admin)
                assert server.died() == STATUS
                before = server.url
                server.fault(f"{point}:1" if remaining else "")
                server.start()
                crowd.move(before, server.url)
            next_period(server, crowd, admin)
            crowd.wait()
        next_period(server, crowd, admin)
        assert server.stop() == 0
    assert set(crowd.refused.values()) <= {"sealed"}
    audit(server.store, crowd)


def test_a_death_between_the_disk_and_the_answer(tmp_path):
    """What was stored and not acknowledged comes again, and is counted once."""
    server = Server(tmp_path)
    server.fault("reports durable:5")
    with server:
        admin = server.token("admin")
        with Crowd(server.task(UNIQUE, admin), server.url, devices=4, batch=5) as crowd:
            assert server.died() == STATUS
            before = server.url
            server.fault("")
            server.start()
            crowd.move(before, server.url)
            crowd.wait(100)
        assert server.seal(crowd.task.id, 0, admin).status == 204
        assert server.stop() == 0
    assert audit(server.store, crowd) >= 5


@pytest.mark.parametrize("point", IN_A_ROUND)
def test_a_death_between_two_rounds(point, tmp_path):
    die_between_rounds(point, tmp_path, 1)


def die_between_rounds(point: str, folder: Path, times: int) -> None:
    """A search goes on by itself from wherever it stopped: no round is skipped, opened twice, or counted twice."""
    server = Server(folder)
    server.fault(f"{point}:1")
    with server:
        admin = server.token("admin")
        task = server.task(SEARCH, admin)
        sent = sum(answer(server, task.id) for _ in range(60))
        assert sent > 0
        for remaining in reversed(range(times)):
            with contextlib.suppress(ConnectionError, http.client.HTTPException):
                server.request("POST", f"/v1/tasks/{task.id.hex()}/advance", token=admin)
            assert server.died() == STATUS
            server.fault(f"{point}:1" if remaining else "")
            server.start()
        begun = point in ("seal committed", "open reports dropped", "round sealed", "next round opened")
        if not begun:  # nothing of it is left, so it is asked for again; otherwise the collector goes on where it stopped
            assert server.request("POST", f"/v1/tasks/{task.id.hex()}/advance", token=admin).status == 200
        path = f"/v1/tasks/{task.id.hex()}"
        wait_for(lambda: '"number":1' in server.get(f"{path}/round").json["round"])
        [first] = server.get(f"{path}/status", admin).json["periods"]
        assert (first["state"], first["reports"]) == ("sealed", sent)
        entries = [LogEntry(line["record"].encode(), bytes.fromhex(line["signature"])) for line in server.get("/v1/log").json["entries"]]
        verify_chain(entries, task.key)
        assert len(entries) == 3  # the task and its first two rounds
        assert server.stop() == 0
    assert '"same"' in server.run("rebuild", "--store", server.store, "--json")


def answer(server: Server, task: bytes) -> bool:
    """A device answers, if it is asked in this round."""
    ledger = MemoryLedger(lifetime_epsilon=8.0)
    ledger.consent(task)
    with Reporter(server.url, task=task, ledger=ledger) as reporter:
        receipt = reporter.report("ab")
    assert receipt is None or receipt.state == "sent"
    return receipt is not None
