"""The commands around a collector: mistakes told plainly, and counts that are checked against the reports."""

from __future__ import annotations

import json
import sqlite3

import pytest

from deniable.cli.stores import check_store
from deniable.collect.collector import Collector
from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.storage.store import Store
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from tests.cli.running import run
from tests.collect.crowd import NOON, envelope, send, survey_task


def rebuilt(store, *options, status=0):
    done = run("rebuild", "--store", store, "--json", *options, status=status, DENIABLE_TESTING="1")
    return [row["result"].partition(":")[0] for row in json.loads(done.stdout)["buckets"]]


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A store with one sealed period and one open one."""
    monkeypatch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)
    store = Store.open(tmp_path / "store")
    collector = Collector(store, clock=lambda: NOON + 3599)
    task = survey_task(collector.registry.key)
    collector.publish(task)
    assert not send(collector, *(envelope(task, value, period=period) for value in range(5) for period in (0, 1)))
    collector.seal(task.id, 0)
    store.close()
    return tmp_path / "store"


def test_rebuild_finds_and_repairs_a_count_that_differs(counted):
    assert rebuilt(counted) == ["same", "open"]
    assert "same" in run("rebuild", "--store", counted, DENIABLE_TESTING="1").stdout
    with sqlite3.connect(counted / "collector.sqlite") as connection:
        (before,) = connection.execute("SELECT image FROM tally").fetchone()
        connection.execute("UPDATE tally SET image = ?", (before[:-1] + bytes([before[-1] ^ 1]),))
    connection.close()
    assert rebuilt(counted, status=1) == ["differs", "open"]
    assert rebuilt(counted, "--repair") == ["repaired", "open"]
    assert rebuilt(counted) == ["same", "open"]
    with sqlite3.connect(counted / "collector.sqlite") as connection:
        assert connection.execute("SELECT image FROM tally").fetchone() == (before,)
    connection.close()


def test_rebuild_names_reports_that_are_damaged(counted):
    largest = max(
        (path for path in (counted / "reports").rglob("*") if path.is_file() and "sealed" in str(path)), key=lambda p: p.stat().st_size
    )
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.chmod(0o600)
    largest.write_bytes(data)
    assert rebuilt(counted, status=1) == ["damaged", "open"]
    assert rebuilt(counted, "--repair", status=1) == ["damaged", "open"]


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (["serve", "--host", "0.0.0.0"], {}, ["--host", "TLS", "--behind-proxy"]),
        (["serve", "--port", "70000"], {}, ["--port", "65535"]),
        (["serve"], {"DENIABLE_STOER": "x"}, ["DENIABLE_STOER", "DENIABLE_STORE"]),
        (["serve", "--config", "absent.toml"], {}, ["absent.toml"]),
        (["serve", "--store", "postgresql://me:s3cret@127.0.0.1:1/x"], {}, ["database"]),
        (["token", "add", "A", "--role", "king", "--store", "store"], {}, ["king", "analyst"]),
        (["token", "remove", "A", "--store", "absent"], {}, ["--store", "'absent'"]),
        (["enrol", "A", "--store", "absent", "--out", "codes"], {}, ["--store", "'absent'"]),
        (["token", "list", "--store", "postgresql://me:s3cret@127.0.0.1:1/x"], {}, ["database"]),
        (["rebuild", "--store", "absent"], {}, ["--store", "'absent'"]),
    ],
)
def test_mistakes_are_explained_without_a_traceback(arguments, environment, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments, status=2, **environment)
    shown = " ".join(done.stderr.split())
    for word in words:
        assert word in shown
    assert "s3cret" not in shown + done.stdout
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("command", [["serve"], ["token"], ["token", "add"], ["rebuild"]])
def test_help_explains(command):
    assert "Usage: deniable" in run(*command, "--help").stdout


@pytest.mark.parametrize("mistyped", ["postgresql:/me:hunter2@db/x", "PostgreSQL:me:hunter2@db/x", "postgresql:///me:hunter2@db/x"])
def test_no_address_becomes_a_folder_named_after_its_password(mistyped, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("deniable.collect.storage.postgres_catalog.Server.exists", lambda backend: False)
    with pytest.raises(ParameterError) as refused:
        check_store(mistyped)
    assert "postgresql" in str(refused.value).lower()
    assert "hunter2" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []
