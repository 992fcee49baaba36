"""Every call to the disk fails once, in every way: what was acknowledged is there afterwards, once, and the log goes on by itself."""

from __future__ import annotations

import pytest

from deniable.collect.storage.block import sort_once
from deniable.collect.storage.embedded import EmbeddedLog
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.segment import HEADER_BYTES, MARK_BYTES
from tests.collect.disk import LOG, A, B, CrashError, Disk, block, reports

LOSSES = [(False, "none"), (False, "last"), (True, "none"), (True, "first"), (True, "last")]
"""What a loss of power keeps: the names that were not synced or not, and of each write that was not synced so much."""


class Devices:
    """Send reports, and remember what was acknowledged."""

    def __init__(self) -> None:
        self.sent = {A: set(), B: set()}
        self.acknowledged = {A: set(), B: set()}

    def send(self, log: EmbeddedLog, number: int) -> bool:
        """An append of two reports to one bucket and three to the other, with one of the former sent again."""
        batch = {A: [block(number, number + 1)], B: [block(number, number + 2, question=1, width=9), block(number + 3, stratum=4)]}
        if number:
            batch[A].append(block(number - 9))
        for bucket, blocks in batch.items():
            self.sent[bucket] |= set(reports(blocks))
        try:
            assert log.append(batch) == frozenset()
        except StorageError:
            return False
        for bucket, blocks in batch.items():
            self.acknowledged[bucket] |= set(reports(blocks))
        return True

    def check(self, log: EmbeddedLog) -> None:
        assert log.damaged() == []
        for bucket in (A, B):
            found = reports(sort_once(log.read_open(None, bucket)))
            assert len(found) == len(set(found)), "counted once"
            assert self.acknowledged[bucket] <= set(found) <= self.sent[bucket]


def open_log(disk: Disk) -> EmbeddedLog:
    return EmbeddedLog(LOG, files=disk, segment_bytes=200, shards=2)  # two appends fill a segment


def session(disk: Disk, devices: Devices) -> EmbeddedLog | None:
    """Open a log and send four times; the log, unless it could not be opened."""
    try:
        log = open_log(disk)
    except StorageError:
        return None
    for number in range(0, 40, 10):
        devices.send(log, number)
    return log


def calls_of_a_session() -> int:
    disk = Disk()
    session(disk, Devices())
    return disk.calls


@pytest.mark.parametrize("width", [1, 2, 9])
@pytest.mark.parametrize("fault", ["fail", "short", "half"])
def test_whatever_fails_nothing_acknowledged_is_lost_and_the_log_recovers(fault, width):
    """``width`` calls in a row fail: so does the repair that follows a failure."""
    for call in range(1, calls_of_a_session() + 1):
        disk, devices = Disk(), Devices()
        disk.faults = dict.fromkeys(range(call, call + width), fault)
        log = session(disk, devices)
        disk.faults = {}
        log = log or open_log(disk)
        assert devices.send(log, 60), "it goes on by itself"
        devices.check(log)
        assert len(disk.handles) == 1, "only the lock stays open"
        for found in (disk.restart(), *(disk.after_power_loss(names=names, keep=keep) for names, keep in LOSSES)):
            again = open_log(found)
            devices.check(again)


def test_a_crash_at_any_call_loses_nothing_acknowledged():
    for fault in ("crash", "crash half"):
        for call in range(1, calls_of_a_session() + 1):
            disk, devices = Disk(), Devices()
            disk.faults = {call: fault}
            with pytest.raises(CrashError):
                session(disk, devices)
            for found in (disk.restart(), *(disk.after_power_loss(names=names, keep=keep) for names, keep in LOSSES)):
                check_and_go_on(found, devices)


def check_and_go_on(disk: Disk, before: Devices) -> None:
    """Open the log after a crash, send more, and open it once more."""
    devices = Devices()
    devices.sent = {bucket: set(sent) for bucket, sent in before.sent.items()}
    devices.acknowledged = {bucket: set(sent) for bucket, sent in before.acknowledged.items()}
    log = open_log(disk)
    devices.check(log)
    assert devices.send(log, 70)
    assert devices.send(log, 80)
    devices.check(log)
    devices.check(open_log(disk.after_power_loss(names=False, keep="none")))


def test_a_crash_or_a_failure_while_recovering_loses_nothing_either():
    for call in range(20, calls_of_a_session() + 1, 13):
        disk, devices = Disk(), Devices()
        disk.faults = {call: "crash half"}
        with pytest.raises(CrashError):
            session(disk, devices)
        for keep in ("all", "first", "last"):
            clean = disk.after_power_loss(names=True, keep=keep)
            open_log(clean)
            for step in range(1, clean.calls + 1):
                for fault in ("crash", "crash half", "fail", "short"):
                    second = disk.after_power_loss(names=True, keep=keep)
                    second.faults = {step: fault}
                    try:
                        log = open_log(second)
                    except (CrashError, StorageError):
                        log = open_log(second.after_power_loss(names=True, keep="last"))
                    devices.check(log)


def test_a_full_disk_is_waited_out():
    disk, devices = Disk(), Devices()
    log = open_log(disk)
    refused = 0
    for room in range(0, 4000, 7):  # every way to run out of space: in a header, in a frame, between two segments
        disk.room = room
        before = {path: bytes(inode.seen) for path, inode in disk.files().items()}
        if not devices.send(log, 100 + 10 * room):
            refused += 1
            assert disk.used() <= max(room, sum(map(len, before.values()))) + HEADER_BYTES + MARK_BYTES
            if room % 2:
                assert log.trouble() is not None
    assert refused > 50
    assert len(devices.acknowledged[A]) > 10
    disk.room = None
    assert log.trouble() is None
    assert devices.send(log, 1)
    devices.check(log)
    devices.check(open_log(disk.after_power_loss(names=False, keep="none")))


def test_an_append_that_failed_leaves_nothing_behind_in_any_bucket():
    """The second bucket's sync fails; the first one's reports were durable by then, and are taken back."""
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk)
    log.append({A: [block(1)], B: [block(2)]})
    start = disk.calls
    log.append({A: [block(3)], B: [block(4)]})
    calls = disk.calls - start
    refused = 0
    for call in range(1, calls + 1):
        before = [reports(log.read_open(None, bucket)) for bucket in (A, B)]
        disk.faults = {disk.calls + call: "fail"}
        try:
            log.append({A: [block(5)], B: [block(6)]})
        except StorageError:
            refused += 1
            assert [reports(log.read_open(None, bucket)) for bucket in (A, B)] == before
    assert refused == 6, "open, write, sync, of either"


def test_bytes_whose_sync_failed_are_not_trusted_though_they_can_be_read():
    """Linux reports a failed sync once: the pages count as clean from then on, and a second sync has nothing to do."""
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk)
    log.append({A: [block(1)]})
    before = len(disk.files())
    disk.faults = {disk.calls + 3: "fail"}  # open, write, sync
    with pytest.raises(StorageError, match="EIO"):
        log.append({A: [block(2)]})
    log.append({A: [block(3)]})
    assert len(disk.files()) == before + 1, "in a new segment"
    again = EmbeddedLog(LOG, files=disk.after_power_loss(names=False, keep="none"))
    assert reports(again.read_open(None, A)) == reports([block(1), block(3)])


def test_a_segment_that_cannot_be_cut_is_left_behind():
    """Half an append stays in it for good. The next segment says how much of it counts."""
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk)
    log.append({A: [block(1)]})
    first = next(path for path in disk.files() if path.suffix == ".log")
    before = len(disk.files()[first].seen)
    disk.faults = {disk.calls + 2: "half", disk.calls + 3: "fail"}  # open, write, truncate
    with pytest.raises(StorageError, match="EIO"):
        log.append({A: [block(2, 3, 4)]})
    assert len(disk.files()[first].seen) > before
    torn = bytes(disk.files()[first].seen)
    for number in (5, 6):
        log.append({A: [block(number)]})
    assert bytes(disk.files()[first].seen) == torn
    for reader in (log, EmbeddedLog(LOG, files=disk.restart())):
        assert reports(reader.read_open(None, A)) == reports([block(1, 5, 6)])
        assert reader.damaged() == []
