"""A copy of a running collector's store: whatever happens while it is made, it holds what was acknowledged before, each report once."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deniable.collect.collector import Collector
from deniable.collect.storage.store import Store
from deniable.contract.task import Task
from tests.conftest import ROOT
from tests.system.conftest import Server
from tests.system.load import UNIQUE, Crowd, unique

SCRIPT = ROOT / "packaging" / "backup.py"
OPEN, DATABASE, SEALED = runpy.run_path(str(SCRIPT))["STEPS"]
FEW = range(50)


def counted(store: Path, task: Task) -> set[int]:
    """What a collector that is started on the copy counts, after it has sealed the rest; nothing may be there twice or damaged."""
    with Server(store.parent / f"{store.name}-server", store=store) as server:
        admin = server.token("admin")
        for period in range(3):
            assert server.seal(task.id, period, admin).status == 204
        assert server.stop() == 0
    opened = Store.open(store)
    try:
        results = {result for _, result in opened.rebuild(Collector(opened).questions)}
        assert results <= {"same"}, results
        total = sum((tally.counters for tally in opened.tallies(task.id).values()), np.zeros(1_000_000, np.int64))
    finally:
        opened.close()
    assert total.max() <= 1
    return set(np.flatnonzero(total).tolist())


@pytest.mark.parametrize("done", range(4))
def test_a_period_may_be_sealed_between_any_two_steps(server, tmp_path, done):
    copy = tmp_path / "copy"
    copy.mkdir()
    admin = server.token("admin")
    task = server.task(UNIQUE, admin)
    assert server.send(*(unique(task, value) for value in FEW)).status == 201
    for number, step in enumerate((OPEN, DATABASE, SEALED)):
        if number == done:
            assert server.seal(task.id, 0, admin).status == 204
        step(Path(server.store), copy)
    assert counted(copy, task) == set(FEW)


def test_in_another_order_reports_are_missing(server, tmp_path):
    """What the test above would say about a script that begins with the database."""
    copy = tmp_path / "copy"
    copy.mkdir()
    admin = server.token("admin")
    task = server.task(UNIQUE, admin)
    assert server.send(*(unique(task, value) for value in FEW)).status == 201
    DATABASE(Path(server.store), copy)
    assert server.seal(task.id, 0, admin).status == 204
    OPEN(Path(server.store), copy)
    SEALED(Path(server.store), copy)
    assert counted(copy, task) == set()


def test_the_script_under_load(server, tmp_path):
    """Devices send without a pause while copies are made, and a period is sealed after each."""
    admin = server.token("admin")
    taken, copies = [], []
    with Crowd(server.task(UNIQUE, admin), server.url, devices=8, batch=5) as crowd:
        for period in range(2):
            crowd.wait(100)
            taken.append(set(crowd.acknowledged))
            copies.append(tmp_path / f"copy-{period}")
            subprocess.run([sys.executable, str(SCRIPT), server.store, str(copies[-1])], check=True)
            crowd.period = period + 1
            server.ahead((period + 1) * 3600)
            assert server.seal(crowd.task.id, period, admin).status == 204
            crowd.wait()
    for copy, before in zip(copies, taken, strict=True):
        assert copy.stat().st_mode & 0o077 == 0
        assert before <= counted(copy, crowd.task)


@pytest.mark.parametrize("arguments", [[], ["absent", "copy"], ["store", "there"]])
def test_mistakes_leave_nothing_behind(tmp_path, arguments):
    for name in ("store", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "store" / "collector.sqlite").touch()
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert not (tmp_path / "copy").exists()
    assert list((tmp_path / "there").iterdir()) == []
