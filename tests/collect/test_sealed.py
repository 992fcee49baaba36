"""Sealed files: written whole or not at all, found in without being read whole, and never believed when a bit is wrong."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest

from deniable.collect.storage.block import Block, sort_once
from deniable.collect.storage.embedded import EmbeddedLog
from deniable.collect.storage.log import StorageError
from deniable.errors import ParameterError
from tests.collect.disk import LOG, ROOT, A, B, CrashError, Disk, block, concatenated, reports, row, seal

ARRIVED = [block(1, 2, 3), block(4, 5, question=1, width=0), block(3, 6), block(7, stratum=2, width=5)]
NUMBERS = range(1, 8)
SEALED = LOG / "sealed" / A.task.hex() / "7.reports"


def sealed_disk(arrived=ARRIVED) -> Disk:
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk)
    log.append({A: arrived})
    seal(log, A)
    log.close()
    return disk


def id_of(number: int) -> bytes:
    return row(number)[:16]


def test_a_sealed_bucket_is_read_as_it_was_sorted():
    log = EmbeddedLog(LOG, files=sealed_disk())
    assert reports(log.read_sealed(None, A)) == reports(sort_once(ARRIVED))


def test_an_empty_bucket_can_be_sealed():
    log = EmbeddedLog(LOG, files=Disk())
    seal(log, A)
    assert log.read_sealed(None, A) == []
    assert log.sealed_ids(None, A, [id_of(1)]) == frozenset()


def test_ids_are_found_in_every_block_and_page():
    """Pages are 64 KiB: three for the first block, one for the second, whose rows have another length."""
    arrived = [block(*range(10_000)), block(*range(20_000, 20_100), question=1, width=7)]
    disk = sealed_disk(arrived)
    assert len(disk.files()[SEALED].seen) > 3 * 65536 * 0.95
    log = EmbeddedLog(LOG, files=disk)
    for there in (range(10_000), range(20_000, 20_100)):
        ids = {id_of(number) for number in there}
        assert log.sealed_ids(None, A, sorted(ids)) == ids
    absent = [id_of(number) for number in range(10_000, 11_000)] + [bytes(16), b"\xff" * 16]
    assert log.sealed_ids(None, A, [*absent, id_of(77)]) == {id_of(77)}
    assert reports(log.read_sealed(None, A)) == reports(sort_once(arrived))


def test_a_lookup_reads_the_directory_and_one_page():
    disk = sealed_disk([block(*range(40_000))])
    log = EmbeddedLog(LOG, files=disk)
    read = []
    original = disk.read
    disk.read = lambda handle, size, offset: read.append(size) or original(handle, size, offset)
    assert log.sealed_ids(None, A, [id_of(5)]) == {id_of(5)}
    assert sum(read) < 70_000 < len(disk.files()[SEALED].seen) / 10


def test_an_id_is_looked_for_under_its_own_address_alone():
    """Whoever asks for what is not there causes one page to be read, however many blocks there are."""
    disk = sealed_disk([block(*range(10 * stratum, 10 * stratum + 10), stratum=stratum) for stratum in range(100)])
    log = EmbeddedLog(LOG, files=disk)
    ids = [id_of(number) for number in (35, 36, 36, 45, 999_999, 7)]
    read = []
    original = disk.read
    disk.read = lambda handle, size, offset: read.append(offset) or original(handle, size, offset)
    assert log.sealed_ids(None, A, ids, [(0, 3)] * 6) == {id_of(35), id_of(36)}
    assert len(read) == 3 + 1, "the header, the directory in two parts, one page"
    assert log.sealed_ids(None, A, ids, [(0, 3), (0, 4), (0, 3), (0, 4), (0, 3), (9, 9)]) == {id_of(35), id_of(36), id_of(45)}
    assert log.sealed_ids(None, A, ids[:1], [(1, 3)]) == log.sealed_ids(None, A, [], []) == frozenset()


def test_every_bit_of_a_sealed_file_matters():
    disk = sealed_disk()
    content = bytes(disk.files()[SEALED].seen)
    ids = [id_of(number) for number in NUMBERS]
    for bit in range(8 * len(content)):
        wrong = bytearray(content)
        wrong[bit // 8] ^= 1 << bit % 8
        log = EmbeddedLog(LOG, files=disk.with_file(SEALED, bytes(wrong)))
        with pytest.raises(StorageError, match=r"7\.reports"):
            log.read_sealed(None, A)
        assert len(log.damaged()) == 1
        with pytest.raises(StorageError, match=r"7\.reports"):
            log.sealed_ids(None, A, ids)


def test_a_sealed_file_of_another_length_is_refused():
    disk = sealed_disk()
    content = bytes(disk.files()[SEALED].seen)
    for wrong in [content[:length] for length in range(len(content))] + [content + b"\0", content + content]:
        log = EmbeddedLog(LOG, files=disk.with_file(SEALED, wrong))
        with pytest.raises(StorageError, match=r"7\.reports at byte \d+"):
            log.read_sealed(None, A)
        with pytest.raises(StorageError, match=r"7\.reports at byte \d+"):
            log.sealed_ids(None, A, [id_of(1)])


def test_a_file_under_another_buckets_name_is_refused():
    disk = sealed_disk()
    path = SEALED.with_name("8.reports")
    log = EmbeddedLog(LOG, files=disk.with_file(path, bytes(disk.files()[SEALED].seen)))
    with pytest.raises(StorageError, match="that of another file"):
        log.read_sealed(None, B)


def test_a_missing_file_is_reported_and_a_dropped_one_is_gone():
    disk = sealed_disk()
    log = EmbeddedLog(LOG, files=disk)
    log.drop_sealed(None, A)
    log.drop_sealed(None, A)
    assert SEALED not in disk.after_power_loss(names=False, keep="none").files()
    for read in (lambda: log.read_sealed(None, A), lambda: log.sealed_ids(None, A, [id_of(1)])):
        with pytest.raises(StorageError, match=r"7\.reports at byte 0: got 'the file is missing'"):
            read()
    assert log.trouble() is None, "a lookup that came too late is no damage"


def test_damage_is_forgotten_once_the_file_is_restored():
    disk = sealed_disk()
    inode = disk.files()[SEALED]
    log = EmbeddedLog(LOG, files=disk)
    inode.seen[-1] ^= 1
    with pytest.raises(StorageError, match="the checksum of this page is wrong"):
        log.read_sealed(None, A)
    assert "7.reports" in log.trouble()
    inode.seen[-1] ^= 1
    log.read_sealed(None, A)
    assert log.trouble() is None


@pytest.mark.parametrize(
    "blocks",
    [
        [block(1, question=1), block(2)],
        [block(1), block(2)],
        [Block.of(0, 0, 3, bytes([2] * 19 + [1] * 19))],
        [Block.of(0, 0, 3, bytes([1] * 38))],
        [Block.of(0, 0, 3, b"")],
    ],
    ids=["addresses", "one address twice", "falling ids", "one id twice", "no rows"],
)
def test_only_sorted_reports_are_written(blocks):
    log = EmbeddedLog(LOG, files=Disk())
    with pytest.raises(ParameterError, match="sort_once"):
        log.write_sealed(None, A, blocks)


LOSSES = [(names, keep) for names in (False, True) for keep in ("none", "all", "first", "last")]


def test_a_crash_at_any_step_of_a_seal_loses_nothing():
    """The store commits between the sealed file and the deletion. Until then the open reports count, from then on the sealed ones."""
    reference = bytes(sealed_disk().files()[SEALED].seen)
    expected = reports(sort_once(ARRIVED))
    steps = 0
    while True:
        steps += 1
        disk, committed = Disk(), False
        log = EmbeddedLog(LOG, files=disk)
        log.append({A: ARRIVED})
        disk.faults = {disk.calls + steps: "crash half"}
        try:
            with log.closing(A):
                log.write_sealed(None, A, sort_once(log.read_open(None, A)))
                committed = True
            log.drop_open(A)
            break
        except CrashError:
            pass
        for found in (disk.restart(), *(disk.after_power_loss(names=names, keep=keep) for names, keep in LOSSES)):
            again = EmbeddedLog(LOG, files=found)
            assert again.damaged() == []
            assert not [path for path in found.files() if path.suffix == ".part"]
            if committed:
                assert reports(again.read_sealed(None, A)) == expected
                again.drop_open(A)
            else:
                seal(again, A)
            assert bytes(found.files()[SEALED].seen) == reference
            assert {path for path in found.files() if path.name != "lock"} == {SEALED}
    assert steps > 10


def test_a_seal_that_failed_at_any_step_can_be_done_again():
    reference = bytes(sealed_disk().files()[SEALED].seen)
    for fault in ("fail", "short", "half"):
        for step in range(1, 40):
            disk = Disk()
            log = EmbeddedLog(LOG, files=disk)
            log.append({A: ARRIVED})
            disk.faults = {disk.calls + step: fault}
            for _ in range(2):
                with suppress(StorageError), log.closing(A):
                    log.write_sealed(None, A, sort_once(log.read_open(None, A)))
            for _ in range(2):
                with suppress(StorageError):
                    log.drop_open(A)
            assert bytes(disk.files()[SEALED].seen) == reference
            assert {path for path in disk.files() if path.name != "lock"} == {SEALED}
            assert not disk.handles.keys() - {1}, "only the lock stays open"


def test_nothing_keeps_the_order_of_arrival():
    """The reports arrive by falling id, so that no two neighbors are neighbors in a sorted file."""
    numbers = sorted(range(50), key=row, reverse=True)
    pairs = [row(first) + row(second) for first, second in pairwise(numbers)]
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk, segment_bytes=400)
    for start in range(0, 50, 10):
        log.append({A: [block(*numbers[start : start + 10])]})

    def found() -> int:
        return sum(pair in bytes(inode.seen) for inode in disk.files(ROOT).values() for pair in pairs)

    assert found() == 45
    seal(log, A)
    assert found() == 0
    assert concatenated(log.read_sealed(None, A)) == b"".join(map(row, reversed(numbers)))


def test_a_crash_while_open_reports_are_dropped_leaves_nothing_that_looks_damaged():
    steps = 0
    while True:
        steps += 1
        disk = Disk()
        log = EmbeddedLog(LOG, files=disk, segment_bytes=100, shards=2)
        for number in range(6):
            log.append({A: [block(number, number + 10)]})
        disk.faults = {disk.calls + steps: "crash"}
        try:
            log.drop_open(A)
            break
        except CrashError:
            again = EmbeddedLog(LOG, files=disk.restart())
        assert again.damaged() == []
        again.drop_open(A)
        assert [path.name for path in disk.files()] == ["lock"]
    assert steps > 10
    assert [path.name for path in disk.after_power_loss(names=False, keep="none").files()] == [], "not even the power brings them back"
