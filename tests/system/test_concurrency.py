"""Many at once, and nothing in order: whatever happens at the same time, every report is counted exactly once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deniable.contract.envelope import MEDIA_TYPE
from tests.system.conftest import Answer, Server
from tests.system.load import HOUR, UNIQUE, Crowd, audit, unique, wait_for
from tests.system.proxy import ForgetfulProxy

CONNECTIONS, TIMES = 64, 10


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """A collector with limits of one's own, by their names."""
    server = Server(tmp_path / "collector")

    def start(**limits: float) -> Server:
        server.environment |= {f"DENIABLE_LIMITS_{name.upper()}": str(value) for name, value in limits.items()}
        server.start()
        return server

    yield start
    server.__exit__()


def at_once(*calls: Callable[[], Answer]) -> list[Answer]:
    """Do several things in the same moment."""
    barrier = threading.Barrier(len(calls))

    def wait_and(call: Callable[[], Answer]) -> Answer:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return [future.result() for future in [threads.submit(wait_and, call) for call in calls]]


def test_the_same_id_on_64_connections_and_two_sealers(server):
    send_the_same_id(server, TIMES)


def send_the_same_id(server: Server, times: int) -> None:
    """The id comes from everywhere at once, again and again; then two seal, while it still comes."""
    admin = server.token("admin")
    with Crowd(server.task(UNIQUE, admin), server.url, devices=1, batch=1) as crowd:
        crowd.wait()
    task = crowd.task
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        for number in range(times):
            crowd.acknowledged[900_000 + number] = 0
            report = unique(task, 900_000 + number)
            barrier = threading.Barrier(CONNECTIONS)

            def send(report=report, barrier=barrier) -> int:
                barrier.wait()
                return server.send(report).status

            assert {future.result() for future in [threads.submit(send) for _ in range(CONNECTIONS)]} == {201}
    calls = [lambda: server.seal(task.id, 0, admin)] * 2 + [lambda: server.send(unique(task, 900_000))] * 6
    answers = at_once(*calls)
    assert [answer.status for answer in answers] == [204] * 2 + [201] * 6
    assert server.stop() == 0
    assert audit(server.store, crowd) >= times * (CONNECTIONS - 1)


def test_answers_that_are_lost_after_the_commit(server):
    """The devices behind such a network send everything several times. Sealed in the middle of it, a resend is still a success."""
    admin = server.token("admin")
    with ForgetfulProxy(server.url) as proxy:
        with Crowd(server.task(UNIQUE, admin), proxy.url, devices=8, batch=10) as crowd:
            crowd.wait_until(lambda: proxy.lost >= 20)
            assert server.seal(crowd.task.id, 0, admin).status == 204
            server.ahead(HOUR)
            crowd.period = 1
            crowd.wait(200)
        assert proxy.lost >= 20
    assert server.seal(crowd.task.id, 1, admin).status == 204
    assert server.stop() == 0
    assert audit(server.store, crowd) > 0


def test_sigterm_under_load(server):
    """It ends in peace, and whoever was told so finds the report counted later."""
    admin = server.token("admin")
    with Crowd(server.task(UNIQUE, admin), server.url, devices=16, batch=20) as crowd:
        for _ in range(2):
            crowd.wait(500)
            before = server.url
            assert server.stop() == 0
            server.start()
            crowd.move(before, server.url)
        crowd.wait()
    assert server.seal(crowd.task.id, 0, admin).status == 204
    assert server.stop() == 0
    audit(server.store, crowd)


def test_clocks_that_jump(server):
    """A day ahead and a day back, under load: what was taken stays taken, what is out of time is told so, and nothing is counted twice."""
    admin = server.token("admin")
    task = server.task(UNIQUE.replace('late = "30 days"', 'late = "1 minute"'), admin)
    with Crowd(task, server.url, devices=4, batch=5) as crowd:
        crowd.wait(50)
        server.ahead(24 * HOUR)
        wait_for(lambda: server.states()[0] == "sealed")
        crowd.period = 24
        crowd.wait(50)
        server.ahead(-24 * HOUR)
        crowd.wait_until(lambda: "too_early" in crowd.refused.values())
        crowd.period = 0
        crowd.wait_until(lambda: "sealed" in crowd.refused.values())
        server.ahead(0)
        crowd.period = 1
        server.ahead(HOUR)
        crowd.wait(50)
    for period in (1, 24):
        assert server.seal(task.id, period, admin).status == 204
    assert set(crowd.refused.values()) <= {"too_early", "too_late", "sealed"}
    assert server.get("/readyz").status == 200
    assert server.stop() == 0
    audit(server.store, crowd)


def test_a_clock_that_is_wrong_for_a_while_counts_nothing_and_refuses_nobody(server):
    """Ten days ahead by mistake, and back: it says so, every device is heard, and the period is counted when it is over."""
    admin = server.token("admin")
    task = server.task(UNIQUE.replace('late = "30 days"', 'late = "1 minute"'), admin)
    with Crowd(task, server.url, devices=4, batch=5) as crowd:
        crowd.wait(50)
        server.ahead(0, wrong=240 * HOUR)
        wait_for(lambda: "the clock has jumped ahead" in [line["event"] for line in server.log()])
        crowd.wait(50)
        assert server.get("/readyz").json == {"status": "ready, but the clock is in doubt"}
        assert in_doubt(server) == pytest.approx(240 * HOUR, abs=60)
        assert server.states() == {0: "open"}
        server.ahead(0)
        wait_for(lambda: "the clock is back where it should be" in [line["event"] for line in server.log()])
        assert server.get("/readyz").json == {"status": "ready"}
        assert in_doubt(server) == 0
        crowd.wait(50)
    server.ahead(HOUR + 60)
    wait_for(lambda: server.states()[0] == "sealed")
    assert crowd.refused == {}
    assert server.stop() == 0
    audit(server.store, crowd)


def in_doubt(server: Server) -> float:
    """How far its clock is ahead, as it says."""
    lines = server.get("/metrics").body.decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("deniable_clock_doubt_seconds "))


def test_overload_is_refused_and_costs_no_memory(limited):
    """Far more than may wait: only 201, 429 and 503 are heard, memory stays where it was, and all is taken in the end."""
    server = limited(most_waiting=30_000)
    admin = server.token("admin")
    with Crowd(server.task(UNIQUE, admin), server.url, devices=48, batch=50) as crowd:
        crowd.wait(10_000)
        before = memory(server)
        crowd.wait_until(lambda: crowd.statuses[429] >= 100 and len(crowd.acknowledged) >= 50_000)
        assert memory(server) < before + (50 << 20)
    assert {201, 429} <= set(crowd.statuses) <= {201, 429, 503}
    assert server.seal(crowd.task.id, 0, admin).status == 204
    assert server.stop() == 0
    audit(server.store, crowd)


def test_more_requests_than_are_taken_at_once(limited):
    """Senders in the middle of their bodies hold up the next one, who is told when to come back, and then is welcome."""
    server = limited(requests_at_once=8)
    task = server.task(UNIQUE, server.token("admin"))
    address = urlsplit(server.url)
    head = f"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: 100\r\n\r\n{{".encode()
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(socket.create_connection((address.hostname, address.port))).sendall(head)
        wait_for(lambda: server.send(unique(task, 1)).status == 503)
        refused = server.send(unique(task, 1))
        assert (refused.code, refused.headers["retry-after"]) == ("busy", "1")
    wait_for(lambda: server.send(unique(task, 1)).status == 201)


def memory(server: Server) -> int:
    """The bytes that a collector occupies."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) << 10


def test_bodies_that_are_slow_large_or_packed(limited):
    """Each is refused with its own status, and none of them is kept."""
    server = limited(body_seconds=1.0, max_body=10_000)
    task = server.task(UNIQUE, server.token("admin"))
    whole = unique(task, 1).pack()
    head = f"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\n"
    chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
    assert exchange(server, f"{head}Content-Length: {len(whole)}\r\n\r\n".encode() + whole[:-1]).startswith(b"HTTP/1.1 408 ")
    assert exchange(server, f"{head}Content-Length: 10001\r\n\r\n".encode()).startswith(b"HTTP/1.1 413 ")
    assert exchange(server, chunked.encode() + (b"1000\r\n" + bytes(4096) + b"\r\n") * 3).startswith(b"HTTP/1.1 413 ")
    packed = server.request("POST", "/v1/reports", whole, Content_Type=MEDIA_TYPE, Content_Encoding="gzip")
    assert (packed.status, packed.code) == (415, "encoded")
    wrong = server.request("POST", "/v1/reports", whole, Content_Type="text/plain")
    assert (wrong.status, wrong.code) == (415, "wrong_type")
    assert server.get(f"/v1/tasks/{task.id.hex()}/status", server.token("analyst")).json["periods"] == []


def exchange(server: Server, request: bytes) -> bytes:
    """Send bytes, and wait for the answer or the end."""
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=300) as connection:
        connection.sendall(request)
        return connection.recv(1 << 16)
