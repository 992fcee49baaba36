"""Two collectors on one PostgreSQL: no leases, no leader, and every report counted exactly once whoever lives."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deniable.client.ledger import MemoryLedger
from deniable.client.reporter import Reporter
from deniable.client.transport import HTTPTransport, Response
from deniable.collect.faults import STATUS
from tests.postgres import Cluster
from tests.system.conftest import Server
from tests.system.load import HOUR, UNIQUE, Crowd, audit, unique
from tests.system.test_kill import DEVICES, SEARCH

TASK = UNIQUE.replace("1_000_000", "500_000")


@pytest.fixture
def pair(postgres_address: str, tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    """Two collectors of one database, with one clock."""
    first, second = (Server(tmp_path / name, store=postgres_address) for name in ("first", "second"))
    second.environment["DENIABLE_TEST_CLOCK"] = str(first.offset)
    with first, second:
        yield first, second


def test_one_is_killed_and_its_devices_go_to_the_other(pair):
    kill_one_of_two(pair, 2)


def kill_one_of_two(pair: tuple[Server, Server], kills: int) -> None:
    """Under load, by turns; after each, both are asked to seal the same period at once."""
    first, second = pair
    admin = first.token("admin")
    with Crowd(first.task(TASK, admin), first.url, second.url, devices=4, batch=5) as crowd:
        for period in range(kills):
            dies, lives = pair if period % 2 == 0 else pair[::-1]
            crowd.wait(300)
            dies.kill()
            crowd.move(dies.url, lives.url)
            crowd.wait(300)
            dies.start()
            with ThreadPoolExecutor(2) as threads:
                answers = threads.map(lambda server, period=period: server.seal(crowd.task.id, period, admin).status, pair)
                assert list(answers) == [204, 204]
            first.ahead((period + 1) * HOUR)
            crowd.period = period + 1
        crowd.wait(300)
    assert first.seal(crowd.task.id, kills, admin).status == 204
    assert second.seal(crowd.task.id, kills, admin).status == 204
    assert (first.stop(), second.stop()) == (0, 0)
    assert set(crowd.refused.values()) <= {"sealed"}
    audit(first.store, crowd)


@pytest.mark.parametrize("point", ["sealed reports written", "seal committed"])
def test_a_sealer_dies_and_the_other_finishes(point, postgres_address, tmp_path):
    """Nothing of a seal that was not committed is left, least of all a lock."""
    mortal, other = (Server(tmp_path / name, store=postgres_address) for name in ("mortal", "other"))
    mortal.fault(f"{point}:1")
    with mortal, other:
        admin = other.token("admin")
        with Crowd(other.task(TASK, admin), other.url, devices=4, batch=10) as crowd:
            crowd.wait(100)
            with contextlib.suppress(ConnectionError, http.client.HTTPException):
                mortal.seal(crowd.task.id, 0, admin)
            assert mortal.died() == STATUS
            assert other.seal(crowd.task.id, 0, admin).status == 204
            other.ahead(HOUR)
            crowd.period = 1
            crowd.wait(100)
        assert other.seal(crowd.task.id, 1, admin).status == 204
        assert other.stop() == 0
    audit(other.store, crowd)


def test_a_database_that_goes_away_and_comes_back(pair, postgres: Cluster):
    """507 and not ready while it is gone; by themselves they go on when it is back, and what was acknowledged is there."""
    first, second = pair
    admin = first.token("admin")
    with Crowd(first.task(TASK, admin), first.url, second.url, devices=4, batch=10) as crowd:
        crowd.wait(300)
        postgres.kill()
        crowd.wait_until(lambda: crowd.statuses[507] >= 4)
        refused = first.send(unique(crowd.task, 499_999))
        assert (refused.status, refused.headers["retry-after"]) == (507, "5")
        assert second.send(unique(crowd.task, 499_998)._replace(task=bytes(32))).status == 507  # perhaps the other one knows it
        assert (first.get("/readyz").status, second.get("/readyz").status) == (503, 503)
        assert first.get("/healthz").status == 200
        postgres.start()
        crowd.wait(300)
        assert (first.get("/readyz").status, second.get("/readyz").status) == (200, 200)
    assert second.seal(crowd.task.id, 0, admin).status == 204
    assert (first.stop(), second.stop()) == (0, 0)
    audit(first.store, crowd)


class Split:
    """A device that asks one collector and answers to another, as behind a balancer."""

    def __init__(self, asked: Server, told: Server) -> None:
        self.asked, self.told = HTTPTransport(asked.url), HTTPTransport(told.url)

    def request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        return (self.told if method == "POST" else self.asked).request(method, path, body, headers)

    def close(self) -> None:
        self.asked.close()
        self.told.close()


def test_what_one_has_begun_the_other_takes_at_once(postgres_address, tmp_path):
    """A refusal would be final, and paid for: so a collector that looks rarely looks again before it refuses."""
    first, second = (Server(tmp_path / name, "--tend-seconds", "3600", store=postgres_address) for name in ("first", "second"))
    with first, second:
        admin = first.token("admin")
        report = unique(first.task(TASK, admin), 1)
        assert second.send(report).status == 201
        assert [entry["code"] for entry in second.send(report._replace(task=bytes(32))).json["rejected"]] == ["unknown_task"]
        assert first.seal(report.task, 0, admin).status == 204
        assert second.send(report).status == 201  # a resend, and counted
        assert [entry["code"] for entry in second.send(report._replace(id=bytes(16))).json["rejected"]] == ["sealed"]
        search = first.task(SEARCH, admin)
        states = []
        for number in range(2):
            for _ in range(DEVICES):
                split, ledger = Split(first, second), MemoryLedger(lifetime_epsilon=8.0)
                ledger.consent(search.id)
                receipt = Reporter(split, task=search.id, ledger=ledger).report("ab")
                split.close()
                states += [] if receipt is None else [(receipt.period, receipt.state, receipt.code)]
            if number == 0:
                assert first.request("POST", f"/v1/tasks/{search.id.hex()}/advance", token=admin).json == {"more": True}
        assert set(states) == {(0, "sent", ""), (1, "sent", "")}
