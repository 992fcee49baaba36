"""kill -9: whenever it comes, whatever was acknowledged is counted, once, and nothing else is."""

from __future__ import annotations

import contextlib
import http.client
import random
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from deniable.client.ledger import MemoryLedger
from deniable.client.reporter import Reporter
from deniable.collect.faults import POINTS, STATUS
from deniable.contract.public_log import LogEntry, verify_chain
from deniable.contract.task import Task
from tests.system.conftest import Server
from tests.system.load import HOUR, UNIQUE, Crowd, audit, go_on, wait_for

KILLS = 20
"""In ``make soak`` there are ten times as many."""
IN_A_SEAL, IN_A_ROUND = POINTS[1:6], POINTS[1:]
UNDONE = ("reports read", "sealed reports written", "seal complete")
"""Nothing is left of a seal that dies at one of these."""
DEVICES, FEW = 20, 5
SEARCH = f"""
name = "word"
question = "Which word is yours?"
owner = "tests"
epsilon = 4.0
lasts = "1 day"
minimum_batch = 1
people = {DEVICES}
[domain]
text = 4
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
                server.kill()
                go_on(server, crowd)
                if number % 5 == 4:
                    assert server.seal(crowd.task.id, crowd.period, admin).status == 204
                    set_period(server, crowd, crowd.period + 1)
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


def set_period(server: Server, crowd: Crowd, period: int) -> None:
    """Have the devices answer in a period, by everyone's clock."""
    server.ahead(period * HOUR)
    crowd.period = period


def test_deaths_in_the_middle_of_a_seal(tmp_path):
    die_in_seals(tmp_path, IN_A_SEAL, 1)


def die_in_seals(folder: Path, points: Sequence[str], times: int) -> None:
    """Each period's seal dies at a point of its own, again and again, before it is left to finish; devices go on sending all the while."""
    server = Server(folder)
    server.fault(f"{points[0]}:1")
    with server:
        admin = server.token("admin")
        with Crowd(server.task(UNIQUE, admin), server.url, devices=4, batch=5) as crowd:
            for number in range(times * len(points)):
                period = number % len(points)
                if number == period:
                    set_period(server, crowd, period)
                    crowd.wait_until(lambda period=period: period in crowd.acknowledged.values())
                ask_for_death(server, f"/v1/tasks/{crowd.task.id.hex()}/seal?period={period}", admin)
                following = number + 1
                server.fault(f"{points[following % len(points)]}:1" if following < times * len(points) else "")
                go_on(server, crowd)
            set_period(server, crowd, len(points))
            crowd.wait()
        statuses = [server.seal(crowd.task.id, period, admin).status for period in range(len(points) + 1)]
        assert set(statuses) == {204}
        assert server.stop() == 0
    assert set(crowd.refused.values()) <= {"sealed"}
    audit(server.store, crowd)


def ask_for_death(server: Server, path: str, token: str) -> None:
    """Ask a collector for something that it will not survive."""
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        server.request("POST", path, token=token)
    assert server.died() == STATUS


def test_a_death_between_the_disk_and_the_answer(tmp_path):
    """What was stored and not acknowledged comes again, and is counted once."""
    server = Server(tmp_path)
    server.fault("reports durable:5")
    with server:
        admin = server.token("admin")
        with Crowd(server.task(UNIQUE, admin), server.url, devices=4, batch=5) as crowd:
            assert server.died() == STATUS
            server.fault("")
            go_on(server, crowd)
            crowd.wait(100)
        assert server.seal(crowd.task.id, 0, admin).status == 204
        assert server.stop() == 0
    assert audit(server.store, crowd) >= 5  # one batch at least


def test_deaths_between_two_rounds(tmp_path):
    die_between_rounds(tmp_path, ("seal complete", "round sealed", "next round opened"))


def die_between_rounds(folder: Path, points: Sequence[str]) -> None:
    """A search goes on by itself from wherever it stopped: no round is skipped, opened twice, or counted twice."""
    with Server(folder) as server:
        admin = server.token("admin")
        for number, point in enumerate(points):
            task = server.task(SEARCH.replace("word", f"word-{number}", 1), admin)
            sent = sum(islice(filter(None, (answer(server, task.id) for _ in range(1_000))), FEW))  # as many as it takes: few are asked
            assert sent == FEW
            server.fault(f"{point}:1")
            server.restart()
            ask_for_death(server, f"/v1/tasks/{task.id.hex()}/advance", admin)
            server.fault("")
            server.start()
            if point in UNDONE:  # it is asked for again; otherwise the collector goes on where it stopped
                assert server.request("POST", f"/v1/tasks/{task.id.hex()}/advance", token=admin).status == 200
            has_advanced_once(server, task, sent, admin)
        assert server.stop() == 0
    assert server.run("rebuild", "--store", server.store, "--json").count('"same"') == len(points)


def has_advanced_once(server: Server, task: Task, sent: int, admin: str) -> None:
    path = f"/v1/tasks/{task.id.hex()}"
    wait_for(lambda: '"number":1' in server.get(f"{path}/round").json["round"])
    [first] = server.get(f"{path}/status", admin).json["periods"]
    assert (first["state"], first["reports"]) == ("sealed", sent)
    entries = [LogEntry(line["record"].encode(), bytes.fromhex(line["signature"])) for line in server.get("/v1/log").json["entries"]]
    verify_chain(entries, task.key)
    assert sum(task.id.hex().encode() in entry.record for entry in entries) == 3  # the task and its first two rounds


def answer(server: Server, task: bytes) -> bool:
    """A device answers, if it is asked in this round."""
    ledger = MemoryLedger(lifetime_epsilon=8.0)
    ledger.consent(task)
    with Reporter(server.url, task=task, ledger=ledger) as reporter:
        receipt = reporter.report("ab")
    assert receipt is None or receipt.state == "sent"
    return receipt is not None
