"""A disk that is full: nothing acknowledged is lost, everyone is told, and it goes on by itself when there is room again."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.services import needed
from tests.system.conftest import Server
from tests.system.load import HOUR, UNIQUE, Crowd, audit, go_on, unique, wait_for

TASK = UNIQUE.replace("1_000_000", "200_000")
"""Its counts fit on the small disk."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 mebibytes, in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", folder], capture_output=True, text=True, check=False)
    needed(not done.returncode, f"mounting a small file system needs root: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(ballast: Path) -> None:
    """Leave no room on a disk."""
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return


def limit_files(server: Server, most: int) -> None:
    """Let no file of a running collector grow beyond so many bytes: a write that would is cut short, and the next one fails."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def refuses_and_recovers(server: Server, crowd: Crowd, admin: str, make_room: Callable[[], object]) -> None:
    """Under load, without room: 507, not ready, nothing sealed. With room: all of it, without being told."""
    crowd.wait_until(lambda: crowd.statuses[507] >= 20)
    reports = [unique(crowd.task, value) for value in range(199_000, 199_100)]  # too many for what is left of a page
    refused = server.send(*reports)
    assert (refused.status, refused.headers["retry-after"], refused.code) == (507, "5", "storage")
    other = server.send(*(report._replace(period=1) for report in reports))  # a period that the database has not heard of
    assert (other.status, other.headers["retry-after"], other.code) == (507, "5", "storage")
    wait_for(lambda: server.get("/readyz").status == 503)
    assert server.get("/healthz").status == 200
    sealing = server.seal(crowd.task.id, 0, admin)
    assert (sealing.status, sealing.headers["retry-after"]) == (507, "5")
    make_room()
    crowd.wait(1000)
    assert server.get("/readyz").status == 200


def test_a_full_disk(small_disk, tmp_path):
    """Also for a collector that is killed and started again while there is no room."""
    with Server(tmp_path / "collector", store=small_disk / "store") as server:
        admin = server.token("admin")
        task = server.task(TASK, admin)
        server.ahead(HOUR - 60)  # the next period is taken already
        ballast = small_disk / "ballast"
        with Crowd(task, server.url, devices=4, batch=10) as crowd:
            crowd.wait()
            fill(ballast)
            crowd.wait_until(lambda: crowd.statuses[507] >= 20)
            server.kill()
            go_on(server, crowd)
            refuses_and_recovers(server, crowd, admin, ballast.unlink)
        assert server.seal(task.id, 0, admin).status == 204
        assert server.stop() == 0
        audit(server.store, crowd)


def test_short_writes(tmp_path):
    """The first write that reaches the limit is cut in the middle of a record."""
    with Server(tmp_path) as server:
        admin = server.token("admin")
        task = server.task(TASK, admin)
        server.ahead(HOUR - 60)
        first = unique(task, 198_000)
        assert server.send(first).status == 201
        [segment] = Path(server.store).rglob("*.log")
        with Crowd(task, server.url, devices=4, batch=1) as crowd:
            crowd.acknowledged[198_000] = 0
            limit_files(server, segment.stat().st_size + 1000)
            refuses_and_recovers(server, crowd, admin, lambda: limit_files(server, resource.RLIM_INFINITY))
        assert server.seal(task.id, 0, admin).status == 204
        assert server.stop() == 0
    audit(server.store, crowd)


def test_a_disk_that_others_fill(small_disk, tmp_path):
    """Nobody has sent anything: a load balancer must hear of it before a device does."""
    with Server(tmp_path / "collector", store=small_disk / "store") as server:
        assert server.get("/readyz").status == 200
        ballast = small_disk / "ballast"
        fill(ballast)
        assert server.get("/readyz").status == 503
        ballast.unlink()
        assert server.get("/readyz").status == 200


def test_a_new_period_on_a_full_disk(small_disk, tmp_path):
    """The first report of a period needs the database: where only that fails, the collector is not ready either."""
    with Server(tmp_path / "collector", store=small_disk / "store") as server:
        task = server.task(TASK, server.token("admin"))
        assert server.get("/readyz").status == 200
        ballast = small_disk / "ballast"
        fill(ballast)
        reports = [unique(task, value) for value in range(100)]
        assert server.send(*reports).status == 507
        assert server.get("/readyz").status == 503
        ballast.unlink()
        assert server.get("/readyz").status == 200
        assert server.send(*reports).status == 201
