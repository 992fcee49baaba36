"""Damage on the disk: found, named, never read, and no reason to stop with everything else."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.collect.collector import Collector
from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.storage.store import Store
from deniable.contract.spec import MECHANISMS
from deniable.contract.task import Task
from tests.system.conftest import Server
from tests.system.load import HOUR, UNIQUE, unique, wait_for

TASK = UNIQUE.replace("1_000_000", "1000")
REPORTS = 300


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A store that was stopped in peace: period 0 sealed, periods 1 and 2 open, the same number of reports in each; and its task."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch, Server(folder) as server:
        patch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)
        admin = server.token("admin")
        task = server.task(TASK, admin)
        server.ahead(2 * HOUR)
        for period in range(3):
            assert server.send(*(unique(task, value, period=period) for value in range(REPORTS))).status == 201
        assert server.seal(task.id, 0, admin).status == 204
        assert server.stop() == 0
    return folder, task.canonical


@pytest.fixture
def server(kept: tuple[Path, bytes], tmp_path: Path) -> Iterator[Server]:
    """The collector of a copy, not started yet."""
    shutil.copytree(kept[0], tmp_path / "copy")
    stopped = Server(tmp_path / "copy")
    stopped.ahead(2 * HOUR)
    stopped.errors.unlink()
    yield stopped
    stopped.__exit__()


@pytest.fixture
def task(kept: tuple[Path, bytes]) -> Task:
    return Task.from_json(kept[1])


def find(server: Server, name: str) -> Path:
    [path] = Path(server.store).rglob(name)
    return path


def flip(path: Path, offset: int, bit: int = 3) -> None:
    """Turn one bit of a file; a second time, turn it back."""
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1 << bit]))


def rebuilt(server: Server, *options: str, status: int) -> list[str]:
    """What ``deniable rebuild`` says about the three periods."""
    printed = server.run("rebuild", "--store", server.store, "--json", *options, status=status)
    return [row["result"] for row in json.loads(printed)["buckets"]]


def test_a_bit_in_an_open_period(server, task):
    """The collector starts, says which file it is, keeps counting the rest, and has it all when the file is restored."""
    path = find(server, "1-0-0.log")
    flip(path, path.stat().st_size // 2)
    server.start()
    admin = server.token("admin")
    assert server.get("/readyz").status == 503
    [trouble] = [line["trouble"] for line in server.log() if line["event"] == "not ready"]
    assert f"{path} at byte " in trouble
    assert server.seal(task.id, 1, admin).status == 507
    assert server.send(unique(task, 900, period=2)).status == 201
    server.ahead(100 * 24 * HOUR)  # both open periods are to be counted by now
    wait_for(lambda: server.states()[2] != "open")
    assert server.states()[1] == "open"
    server.kill()
    flip(path, path.stat().st_size // 2)
    server.start()
    wait_for(lambda: server.states()[1] != "open")
    assert server.get("/readyz").status == 200


def test_a_torn_tail_is_cut(server, task):
    """The beginning of an append that a crash cut short: what came before it counts, and it goes on behind that."""
    path = find(server, "1-0-0.log")
    data = path.read_bytes()
    path.write_bytes(data + data[68:168])
    server.start()
    admin = server.token("admin")
    assert server.get("/readyz").status == 200
    assert server.send(unique(task, 900, period=1)).status == 201
    assert server.seal(task.id, 1, admin).status == 204
    periods = server.get(f"/v1/tasks/{task.id.hex()}/status", admin).json["periods"]
    assert [period["reports"] for period in periods] == [REPORTS, REPORTS + 1, REPORTS]
    assert server.stop() == 0
    assert rebuilt(server, status=0) == ["same", "same", "open"]


def test_a_bit_in_sealed_reports(server, task):
    """Whoever needs the page is refused; rebuild names the file; the counts are still there."""
    path = find(server, "0.reports")
    flip(path, path.stat().st_size - 5)
    server.start()
    analyst = server.token("analyst")
    again = server.send(unique(task, 0, period=0))  # was it counted? nobody can say
    assert (again.status, again.headers["retry-after"]) == (507, "5")
    assert server.get("/readyz").status == 503
    assert server.get(f"/v1/tasks/{task.id.hex()}/estimate?period=0", analyst).status == 200
    server.kill()
    damaged, *others = rebuilt(server, status=1)
    assert damaged.startswith("damaged: ")
    assert f"{path} at byte " in damaged
    assert others == ["open", "open"]


def test_sealed_reports_that_are_gone(server):
    path = find(server, "0.reports")
    path.unlink()
    damaged, *_ = rebuilt(server, status=1)
    assert f"{path} at byte 0" in damaged
    assert "missing" in damaged


def test_a_bit_in_the_counts(server, task):
    """No estimate is made of them; rebuild finds them and, told to, counts the reports anew."""
    database = Path(server.store) / "collector.sqlite"
    with sqlite3.connect(database) as connection:
        [(image,)] = connection.execute("SELECT image FROM tally").fetchall()
    connection.close()
    place = database.read_bytes().index(image[1000:1100])
    flip(database, place)
    server.start()
    analyst = server.token("analyst")
    refused = server.get(f"/v1/tasks/{task.id.hex()}/estimate?period=0", analyst)
    assert (refused.status, refused.code) == (507, "storage")
    assert server.stop() == 0
    assert rebuilt(server, status=1)[0].startswith("differs")
    assert rebuilt(server, "--repair", status=0)[0].startswith("repaired")
    store = Store.open(server.store)
    try:
        assert [result for _, result in store.rebuild(Collector(store).questions)] == ["same", "open", "open"]
    finally:
        store.close()
