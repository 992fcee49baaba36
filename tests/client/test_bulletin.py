"""Posting reports in the open: the recorded bytes, under their own hash, in as many places as one likes, for one price."""

from __future__ import annotations

import hashlib
import os
import zipfile
from fractions import Fraction

import pytest

from deniable.client.bulletin import Bulletin, Everywhere
from deniable.client.retries import ATTEMPTS
from deniable.client.transport import Response
from deniable.contract.envelope import open_batch
from deniable.errors import ParameterError, ProtocolError, WireError
from tests.client.fake import START, TASK, Device, FakeCollector, drink_task, error, rounds_task
from tests.sealing.parties import ISSUER

HOTEL = Response(200, {}, b"<html>Welcome! Please sign in.</html>")


@pytest.fixture
def collector():
    return FakeCollector(TASK)


@pytest.fixture
def folder(tmp_path, collector):
    """An open folder in which somebody has put the task."""
    made = tmp_path / "open"
    made.mkdir()
    (made / f"{TASK.id.hex()}.task").write_bytes(collector.request("GET", f"/v1/tasks/{TASK.id.hex()}", b"", {}).body)
    return made


def posted(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".task"}


def test_a_folder_alone_takes_the_place_of_a_collector(folder):
    device = Device(Bulletin(folder))
    assert device.report("tea").state == "sent"
    [entry] = device.ledger.entries()
    assert posted(folder) == {f"{hashlib.sha256(entry.report).hexdigest()}.report": entry.report}
    assert device.ledger.spent() == 1


def test_a_task_in_a_folder_is_believed_only_if_it_is_the_one_that_was_pinned(folder):
    file = folder / f"{TASK.id.hex()}.task"
    data = file.read_bytes()
    for wrong in (data.replace(b"first today", b"last today."), data[:-4] + b'00"}', b"{}"):
        file.write_bytes(wrong)
        device = Device(Bulletin(folder))
        with pytest.raises(WireError):
            device.report("tea")
        assert device.ledger.entries() == []
    file.unlink()
    with pytest.raises(ProtocolError, match="404"):
        Device(Bulletin(folder)).report("tea")
    search = rounds_task()
    with pytest.raises(ProtocolError, match="404"):
        Device(Bulletin(folder), search).report("tea")


def test_paid_once_and_the_same_bytes_wherever_it_is_published(collector, folder, tmp_path):
    (tmp_path / "another").mkdir()
    device = Device(Everywhere(Bulletin(folder), collector, Bulletin(tmp_path / "another")))
    assert device.report("tea").state == "sent"
    [entry] = device.ledger.entries()
    assert collector.bodies == [entry.report]
    assert posted(folder) == posted(tmp_path / "another") == {f"{hashlib.sha256(entry.report).hexdigest()}.report": entry.report}
    assert device.ledger.spent() == Fraction(1)


def test_folders_wait_until_every_collector_has_answered(collector, folder):
    """Or whoever reads the folder could be first at the collector, with another report under the same id."""
    second = FakeCollector(TASK)
    device = Device(Everywhere(Bulletin(folder), collector, second))
    for fault in ("no connection", error(503, "busy"), HOTEL):
        collector.faults.extend([fault] * ATTEMPTS)
        receipts = device.reporter.flush() or [device.report("tea")]
        assert [receipt.state for receipt in receipts] == ["pending"]
        assert posted(folder) == {}
    assert set(second.bodies) == {device.ledger.entries()[0].report}, "who is there gets it at once"
    assert [receipt.state for receipt in device.reporter.flush()] == ["sent"]
    assert len(posted(folder)) == len(collector.reports) == len(second.reports) == 1
    assert device.ledger.spent() == 1


def test_what_one_place_takes_is_sent_and_what_none_takes_is_refused(collector, folder):
    collector.rejects = "too_late"
    device = Device(Everywhere(collector, Bulletin(folder)))
    assert device.report("tea").state == "sent"
    assert len(posted(folder)) == 1
    alone = Device(Everywhere(collector, FakeCollector()))
    alone.reporter._board.transport._places[1].rejects = "sealed"
    receipt = alone.report("tea")
    assert (receipt.state, receipt.code) == ("refused", "too_late")


def test_tasks_are_asked_for_in_turn(collector, folder):
    """A collector that is away is not needed for a task that lies in the folder; one that knows nothing does not hide one that knows."""
    collector.request = lambda *_: (_ for _ in ()).throw(ConnectionRefusedError)
    device = Device(Everywhere(collector, Bulletin(folder)))
    assert device.reporter.task == TASK
    (folder / f"{TASK.id.hex()}.task").unlink()
    with pytest.raises(ConnectionRefusedError):
        _ = Device(Everywhere(collector, Bulletin(folder))).reporter.task
    with pytest.raises(ParameterError, match="places"):
        Everywhere()


@pytest.mark.parametrize("when", ["missing", "full"])
def test_a_folder_that_takes_nothing_leaves_the_report_pending(folder, tmp_path, monkeypatch, when):
    device = Device(Bulletin(folder))
    with monkeypatch.context() as broken:
        if when == "missing":
            broken.setattr(device.reporter._board.transport, "folder", tmp_path / "not mounted")
            device.reporter._board._tasks[TASK.id] = TASK
        else:
            broken.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        assert device.report("tea").state == "pending"
        assert posted(folder) == {}, "no half of it either"
    assert [receipt.state for receipt in device.reporter.flush()] == ["sent"]
    assert list(posted(folder).values()) == [device.ledger.entries()[0].report]


def test_files_tell_neither_when_nor_in_which_order(folder, tmp_path):
    """One date for all, names that are hashes: a copy of the folder is the same in whatever order they came."""
    bulletin, copies = Bulletin(folder), []
    bodies = []
    for number in range(6):
        device = Device(bulletin, now=START + 1000.0 * number)
        device.report("tea")
        bodies.append(device.ledger.entries()[0].report)
    fresh = [body[:48] + number.to_bytes(16, "big") + body[64:] for number, body in enumerate(bodies)]  # six ids
    for order in (fresh, fresh[::-1]):
        copy = tmp_path / f"copy {len(copies)}"
        copy.mkdir()
        for body in order:
            Bulletin(copy).request("POST", "/v1/reports", body, {})
        dates = {(path.name, path.stat().st_mtime, path.stat().st_atime) for path in copy.iterdir()}
        archive = copy.with_suffix(".zip")
        with zipfile.ZipFile(archive, "w") as file:  # refuses dates before 1980
            for path in sorted(copy.iterdir()):
                file.write(path, path.name)
        copies.append((archive.read_bytes(), dates))
    assert copies[0] == copies[1]
    assert len({when for _, *times in copies[0][1] for when in times}) == 1


@pytest.mark.parametrize("admission", ["secret", "token"])
@pytest.mark.parametrize("beside", [False, True])
def test_tokens_never_lie_open(folder, admission, beside):
    """Whoever reads one could spend it; so such a task is refused before anything is spent."""
    rules = {"admission": admission, "issuer": ISSUER} if admission == "token" else {"admission": admission}
    task = drink_task(**rules)
    serving = FakeCollector(task)
    (folder / f"{task.id.hex()}.task").write_bytes(serving.request("GET", f"/v1/tasks/{task.id.hex()}", b"", {}).body)
    device = Device(Everywhere(serving, Bulletin(folder)) if beside else Bulletin(folder), task, secret="ds_" + "00" * 32)
    with pytest.raises(ProtocolError, match="could spend it"):
        device.report("tea")
    assert device.ledger.entries() == []
    plain = Device(serving_open := FakeCollector(TASK))
    plain.report("tea")
    stamped = open_batch(serving_open.bodies[0])[0]._replace(token=b"x" * 32).pack()
    with pytest.raises(ProtocolError, match="could spend it"):
        Bulletin(folder).request("POST", "/v1/reports", stamped, {})
    assert posted(folder) == {}
