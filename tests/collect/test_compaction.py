"""Compaction: repetitions take no room, whatever fails in the middle of it, and what is deleted is overwritten."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys

import pytest

from deniable.collect.faults import COMPACTION_POINTS, STATUS
from deniable.collect.storage.block import Block, sort_once
from deniable.collect.storage.embedded import EmbeddedLog
from deniable.collect.storage.log import StorageError
from tests.collect.crowd import envelope, send, survey_task
from tests.collect.disk import LOG, A, CrashError, Disk, block, reports, row, seal
from tests.collect.test_faults import LOSSES
from tests.conftest import ROOT

SEGMENT = 300


def open_log(disk: Disk) -> EmbeddedLog:
    return EmbeddedLog(LOG, files=disk, segment_bytes=SEGMENT)


class CountingDisk(Disk):
    """A disk that counts the bytes written to it."""

    written = 0

    def write(self, handle, data, offset):
        self.written += len(data)
        return super().write(handle, data, offset)


def names(disk: Disk) -> list[str]:
    return sorted(path.name for path in disk.files() if path.name != "lock")


def filled(disk: Disk, *, first: int = 0) -> EmbeddedLog:
    """A log in which two segments are full of the same ten reports, the first of which came with another answer at first."""
    log = open_log(disk)
    answered = Block.of(0, 0, 3, row(first)[:16] + b"abc")
    log.append({A: [answered]})
    for _ in range(4):
        log.append({A: [block(*range(first, first + 5)), block(*range(first + 5, first + 10), stratum=1)]})
    return log


def expected(first: int = 0):
    answered = Block.of(0, 0, 3, row(first)[:16] + b"abc")
    return reports(sort_once([answered, block(*range(first, first + 5)), block(*range(first + 5, first + 10), stratum=1)]))


def test_repetitions_take_no_room():
    disk = Disk()
    log = filled(disk)
    for _ in range(100):
        log.append({A: [block(*range(10))]})
        log.compact()
        assert disk.used() < 3 * SEGMENT
        assert log.size(A) <= disk.used()
    arrived = 1 + 4 * 10 + 100 * 10
    found = log.read_open(None, A)
    assert reports(sort_once(found)) == expected(), "the first that came counts"
    assert sum(len(each.rows) for each in found) + log.repeated(A) == arrived
    again = open_log(disk.restart())
    assert (reports(sort_once(again.read_open(None, A))), again.repeated(A)) == (expected(), log.repeated(A))
    seal(again, A)
    assert reports(again.read_sealed(None, A)) == expected()
    assert names(disk) == ["7.reports"]


def test_what_was_compacted_is_not_written_again_before_as_much_has_come():
    """Or else a large period would be written again and again."""
    disk = Disk()
    log, written = open_log(disk), 0
    for number in range(0, 2000, 10):
        log.append({A: [block(*range(number, number + 10))]})
        before = disk.calls
        log.compact()
        written += log.size(A) if disk.calls > before + 2 else 0
    assert len(reports(sort_once(log.read_open(None, A)))) == 2000
    assert written < 4 * log.size(A)


@pytest.mark.parametrize("segment", [SEGMENT, 1 << 24])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.55, 0.75, 0.85])
def test_a_period_is_full_only_when_its_different_reports_fill_it(segment, share):
    """Or else one body, sent again and again, would lock everyone out until the period is over."""
    cap, disk = 40_000, CountingDisk()
    log = EmbeddedLog(LOG, files=disk, segment_bytes=segment)
    honest = sent = 0
    while log.size(A) < share * cap:
        log.append({A: [block(*range(honest, honest + 10))]})
        honest += 10
        log.compact()
    disk.written = 0
    for _ in range(1000):
        if not log.is_full(A, cap):
            log.append({A: [block(*range(10))]})
            sent += 1
        log.compact()
        assert log.size(A) < cap + 300
    assert sent > 950, "refused for a moment at most"
    log.append({A: [block(honest)]})
    assert len(reports(sort_once(log.read_open(None, A)))) == honest + 1
    assert disk.written < 20 * sent * 190, "work that is in proportion to what was sent"
    again = EmbeddedLog(LOG, files=disk.restart(), segment_bytes=segment)
    assert again.damaged() == []
    assert len(reports(sort_once(again.read_open(None, A)))) == honest + 1


def test_without_room_to_compact_segments_do_not_become_many():
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk, segment_bytes=1 << 24)
    disk.room = 8_500
    for number in range(0, 300, 10):
        assert not log.is_full(A, 9_000)
        log.append({A: [block(*range(number, number + 10))]})
        log.compact()
    assert names(disk) in (["7-0-0.log"], ["7-0-1.compact", "7-0-1.log"])


def test_different_reports_do_fill_a_period():
    cap, disk, number = 40_000, Disk(), 0
    log = open_log(disk)
    while not log.is_full(A, cap):
        log.append({A: [block(*range(number, number + 10))]})
        number += 10
        log.compact()
    before = disk.calls
    log.compact()
    assert log.is_full(A, cap)
    assert disk.calls <= before + 40, "at most once more, and then it rests"
    before = disk.calls
    log.compact()
    assert disk.calls == before
    assert number * 19 > 7 / 8 * cap


def test_one_shard_of_many_cannot_lock_the_others():
    cap, disk = 40_000, Disk()
    log = EmbeddedLog(LOG, files=disk, segment_bytes=SEGMENT, shards=4)
    same = Block.of(0, 0, 3, b"".join(bytes([0, number]) + row(number)[2:] for number in range(10)))
    for number in range(0, 1000, 10):
        log.append({A: [block(*range(number, number + 10))]})
        log.compact()
    sent = 0
    for _ in range(1000):
        if not log.is_full(A, cap):
            log.append({A: [same]})
            sent += 1
        log.compact()
    assert sent > 950


@pytest.mark.parametrize("fault", ["crash", "crash half", "fail", "short", "half"])
def test_whatever_fails_while_compacting_nothing_is_lost(fault):
    step = 0
    while True:
        step += 1
        disk = Disk()
        log = filled(disk)
        disk.faults = {disk.calls + step: fault}
        last = disk.calls + step
        try:
            log.compact()
        except (CrashError, StorageError) as error:
            found = disk.restart()
            if isinstance(error, StorageError):
                disk.faults = {}
                log.append({A: [block(3)]})
                assert reports(sort_once(log.read_open(None, A))) == expected(), "it goes on by itself"
                log.compact()
                assert reports(sort_once(log.read_open(None, A))) == expected()
        else:
            found = disk.restart()
        for start in (found, *(disk.after_power_loss(names=names, keep=keep) for names, keep in LOSSES)):
            again = open_log(start)
            assert again.damaged() == []
            assert reports(sort_once(again.read_open(None, A))) == expected()
            again.append({A: [block(3, 4)]})
            again.compact()
            assert reports(sort_once(open_log(start.restart()).read_open(None, A))) == expected()
            assert not [name for name in names(start) if name.endswith((".old", ".part"))]
        if disk.calls < last:
            break
    assert step > 20


def test_damage_in_what_was_compacted_is_named():
    disk = Disk()
    log = filled(disk)
    log.compact()
    (path,) = [path for path in disk.files() if path.name.endswith(".compact")]
    data = disk.files()[path].seen
    data[-5] ^= 1
    with pytest.raises(StorageError, match=r"compact.*checksum"):
        log.read_open(None, A)
    again = open_log(disk.restart())
    assert "checksum" in str(again.damaged()[0])
    again.compact()  # leaves it alone
    assert path in disk.files()


@pytest.mark.parametrize("how", ["compact", "drop"])
def test_what_is_deleted_is_overwritten(how):
    """The order of arrival would otherwise stay in free blocks of the disk."""
    disk = Disk()
    log = filled(disk)
    before = {path: inode for path, inode in disk.files().items() if path.name.endswith(".log")}
    if how == "drop":
        log.drop_open(A)
    else:
        log.compact()
    gone = [inode for path, inode in before.items() if path not in disk.files()]
    assert len(gone) >= 2
    for inode in gone:
        assert inode.pending == []
        assert set(inode.durable) == {0}


def test_a_collector_compacts_by_itself(collector):
    """On PostgreSQL an id is stored once from the start."""
    task = survey_task(collector.registry.key)
    collector.publish(task)
    if not collector.store.catalog.shared:
        collector.store.log._segment_bytes = 1000
    sent = [envelope(task, value) for value in range(50)]
    sizes = set()
    for _ in range(12):
        assert send(collector, *sent) == {}
        collector.tend()
        sizes.add(collector.store.log.size((task.id, 0)))
    assert max(sizes) < (9000 if collector.store.catalog.shared else 4500)  # all together: 11,000 and more
    assert sum(tally.n for tally in collector.tallies(task.id).values()) == 50
    collector.seal(task.id, 0)
    (stored,) = collector.store.buckets(task.id)
    assert (stored.reports, stored.repeated) == (50, 0 if collector.store.catalog.shared else 11 * 50)


def test_a_collector_that_calls_a_period_full_compacts_it(collector):
    """Also if the whole period fits into one segment."""
    task = survey_task(collector.registry.key)
    collector.publish(task)
    sent = [envelope(task, value) for value in range(50)]
    rows, _ = collector.admit(sent)
    collector.append(rows)
    most = collector.store.log.size((task.id, 0)) * 9 // 5
    refused = 0
    for _ in range(20):
        if collector.is_full(rows, most):
            refused += 1
        else:
            collector.append(rows)
        collector.tend()
    assert refused < 2
    assert not collector.is_full(rows, most)
    assert sum(tally.n for tally in collector.tallies(task.id).values()) == 50


@pytest.mark.parametrize("name", ["notes.old", "notes.part", "7-notes.old", "7-0-0.old", "7-0-0.log.part", "x7-0-0.log.old"])
def test_a_file_of_somebody_else_is_let_be(name):
    disk = Disk()
    seal(filled(disk), A)
    path = LOG / "open" / A.task.hex() / name
    found = disk.with_file(path, b"mine")
    log = open_log(found)
    assert bytes(found.files()[path].seen) == b"mine"
    log.append({A: [block(1)]})
    log.drop_open(A)
    assert bytes(found.files()[path].seen) == b"mine"


@pytest.mark.parametrize("name", ["7-0-0.log.old", "7-0-1.compact.old", "7-0-1.compact.part"])
def test_what_was_being_deleted_or_written_goes_when_the_log_is_opened(name):
    disk = Disk()
    seal(filled(disk), A)
    path = LOG / "open" / A.task.hex() / name
    found = disk.with_file(path, b"left")
    open_log(found)
    assert path not in found.files()


WRITER = """
import sys
from pathlib import Path
from deniable.collect.storage.embedded import EmbeddedLog
from deniable.collect.faults import arm
from tests.collect.disk import A, block

log = EmbeddedLog(Path(sys.argv[1]), segment_bytes=2000)
arm(sys.argv[2])
for number in range(int(sys.argv[3]), 1 << 30):
    log.append({A: [block(*range(50)), block(100 + number)]})
    print(number, flush=True)
    log.compact()
"""
"""Sends the same fifty reports again and again, each time with a new one, and says which of those are durable."""


def writer(folder, fault: str = "", first: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), fault, str(first)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def check_after_death(folder, acknowledged: list[int]) -> None:
    log = EmbeddedLog(folder, segment_bytes=2000)
    assert log.damaged() == []
    found = reports(sort_once(log.read_open(None, A)))
    log.close()
    sent = reports([block(*range(50), *(100 + number for number in acknowledged))])
    unanswered = reports([block(100 + acknowledged[-1] + 1)])
    assert len(found) == len(set(found))
    assert set(sent) <= set(found) <= set(sent + unanswered)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 50_000


@pytest.mark.parametrize("point", COMPACTION_POINTS)
def test_a_death_in_the_middle_of_compaction(tmp_path, point):
    acknowledged: list[int] = []
    for death in (1, 2):
        with writer(tmp_path, f"{point}:{death}", len(acknowledged)) as process:
            acknowledged += map(int, process.communicate(timeout=120)[0].split())
        assert process.returncode == STATUS
        check_after_death(tmp_path, acknowledged)


def test_kills_at_random_moments(tmp_path):
    acknowledged: list[int] = []
    for kill in range(2):
        with writer(tmp_path, first=len(acknowledged)) as process:
            for _ in range(20 * (kill + 1)):
                process.stdout.readline()
            process.kill()
        acknowledged = list(range(len(acknowledged) + 20 * (kill + 1)))
        log = EmbeddedLog(tmp_path, segment_bytes=2000)
        assert log.damaged() == []
        found = set(reports(log.read_open(None, A)))
        log.close()
        assert set(reports([block(*range(50), *(100 + number for number in acknowledged))])) <= found
        acknowledged = list(range(len(found) - 50))  # and those that were durable, but not yet acknowledged
        check_after_death(tmp_path, acknowledged)


def test_a_copy_that_is_made_meanwhile_is_whole(tmp_path, monkeypatch):
    """What is compacted while the script copies would be in no file that it had listed."""
    copy_open, copyfile = runpy.run_path(str(ROOT / "packaging" / "backup.py"))["copy_open"], shutil.copyfile
    (tmp_path / "store").mkdir()
    log = EmbeddedLog(tmp_path / "store" / "reports", segment_bytes=2000)
    for number in range(5):
        log.append({A: [block(*range(50)), block(100 + number)]})
    calls = []

    def copy_and_compact(source, target):
        calls.append(source)
        if len(calls) == 1:
            log.compact()
        return copyfile(source, target)

    monkeypatch.setattr(shutil, "copyfile", copy_and_compact)
    copy_open(tmp_path / "store", tmp_path / "copy")
    expected = set(reports(log.read_open(None, A)))
    assert len(expected) == 55
    (tmp_path / "copy/reports/sealed").mkdir()
    copied = EmbeddedLog(tmp_path / "copy" / "reports", segment_bytes=2000)
    assert copied.damaged() == []
    assert set(reports(copied.read_open(None, A))) == expected
    copied.close()
    log.close()
