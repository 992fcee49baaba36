"""The embedded log: what it took it has, what is torn is cut, what is damaged is named, and a bucket is closed between two appends."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys

import pytest

from deniable.collect.storage.block import Block, Bucket
from deniable.collect.storage.embedded import EmbeddedLog
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.segment import HEADER_BYTES, MARK_BYTES, scan
from deniable.errors import ParameterError
from tests.collect.disk import LOG, A, B, Disk, block, reports, row

FOLDER = LOG / "open" / A.task.hex()


@pytest.fixture
def log(tmp_path):
    log = EmbeddedLog(tmp_path / "log")
    yield log
    log.close()


def test_what_was_appended_is_read_in_its_order_and_after_a_restart(tmp_path):
    first, second = [block(3, 1), block(2, question=1, width=0)], [block(5, stratum=9), block(4)]
    log = EmbeddedLog(tmp_path / "log")
    assert log.append({A: first, B: [block(8)]}) == frozenset()
    assert log.append({A: second}) == frozenset()
    for _ in range(2):
        assert reports(log.read_open(None, A)) == reports(first + second)
        assert reports(log.read_open(None, B)) == reports([block(8)])
        assert log.read_open(None, Bucket(bytes(32), 7)) == []
        log.close()
        log = EmbeddedLog(tmp_path / "log")
    assert log.append({A: [block(6)]}) == frozenset()
    assert reports(log.read_open(None, A)) == reports([*first, *second, block(6)])
    log.close()


def test_an_append_writes_and_syncs_each_segment_once():
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk)
    log.append({A: [block(1)], B: [block(2)]})
    done = []
    for name in ("write", "sync"):
        original = getattr(disk, name)
        setattr(disk, name, lambda *given, name=name, original=original: done.append((name, len(given))) or original(*given))
    log.append({A: [block(3), block(4, question=1)], B: [block(5)]})
    written, synced = ("write", 3), ("sync", 1)
    assert done == [written, written, synced, synced, written, written], "the last two are marks, which nobody waits for"


def test_nothing_is_written_for_no_reports():
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk)
    assert log.append({A: [], B: [Block.of(0, 0, 3, b"")]}) == frozenset()
    assert [path.name for path in disk.files()] == ["lock"]


def test_segments_end_and_others_begin():
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk, segment_bytes=150)
    for number in range(7):
        log.append({A: [block(number)]})
    assert len(disk.files()) > 3
    expected = reports([block(*range(7))])
    assert reports(log.read_open(None, A)) == expected
    again = EmbeddedLog(LOG, files=disk.restart(), segment_bytes=150)
    assert reports(again.read_open(None, A)) == expected


@pytest.mark.parametrize("shards", [2, 16, 256])
def test_a_shard_is_the_leading_bits_of_the_id(shards):
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk, shards=shards)
    numbers = range(100)
    log.append({A: [block(*numbers[:50]), block(*numbers[50:])]})
    for path, inode in disk.files(FOLDER).items():
        _, shard, _ = path.stem.split("-")
        here = [number for number in numbers if row(number) in bytes(inode.seen)]
        assert here
        assert all(row(number)[0] * shards // 256 == int(shard) for number in here)
    for count in (1, 4, shards):  # the number of shards may be another one after a restart
        again = EmbeddedLog(LOG, files=disk.restart(), shards=count)
        assert sorted(reports(again.read_open(None, A))) == sorted(reports([block(*numbers)]))


@pytest.mark.parametrize("shards", [0, 3, 512, -1])
def test_other_numbers_of_shards_are_refused(shards, tmp_path):
    with pytest.raises(ParameterError, match="power of two"):
        EmbeddedLog(tmp_path / "log", shards=shards)


def test_dropping_forgets_and_can_be_repeated(tmp_path, log):
    log.append({A: [block(1)], B: [block(2)]})
    for _ in range(2):
        log.drop_open(A)
        assert log.read_open(None, A) == []
    assert [path.name for path in tmp_path.rglob("*.log")] == ["8-0-0.log"]
    log.append({A: [block(3)]})
    assert reports(log.read_open(None, A)) == reports([block(3)])


# --- torn tails and damage ---


def small_log() -> tuple[Disk, list[tuple[int, list]]]:
    """A log in one segment; for each append the length of the file that holds it, and what it brought."""
    disk, states = Disk(), []
    log = EmbeddedLog(LOG, files=disk)
    for blocks in ([block(1)], [block(2, 3), block(4, question=1, width=9)], [block(5, stratum=2)]):
        log.append({A: blocks})
        states.append((len(disk.files()[FOLDER / "7-0-0.log"].seen) - MARK_BYTES, reports(blocks)))
    return disk, states


def test_a_log_that_ends_at_any_byte_recovers_what_was_acknowledged_by_then():
    disk, states = small_log()
    path = FOLDER / "7-0-0.log"
    content = bytes(disk.files()[path].seen)
    everything = [report for _, brought in states for report in brought]
    for length in range(len(content) + 1):
        found = disk.with_file(path, content[:length])
        log = EmbeddedLog(LOG, files=found)
        assert log.damaged() == []
        left = bytes(found.files()[path].seen) if path in found.files() else bytes(HEADER_BYTES)
        assert scan(left, int.from_bytes(left[12:16], "little")).fault == "", "the tail is cut"
        acknowledged = [report for end, brought in states if end <= length for report in brought]
        recovered = reports(log.read_open(None, A))
        assert recovered == everything[: len(recovered)]
        assert len(recovered) >= len(acknowledged)
        log.append({A: [block(9)]})
        for reader in (log, EmbeddedLog(LOG, files=found.restart())):
            assert reports(reader.read_open(None, A)) == recovered + reports([block(9)])


def flipped(content: bytes):
    for bit in range(8 * len(content)):
        wrong = bytearray(content)
        wrong[bit // 8] ^= 1 << bit % 8
        yield bit // 8, bytes(wrong)


def test_every_flipped_bit_is_named_or_carries_nothing():
    """After a crash of the process. Only the last mark says nothing that is needed: without it, all reports are there."""
    disk, states = small_log()
    path = FOLDER / "7-0-0.log"
    content = bytes(disk.files()[path].seen)
    everything = [report for _, brought in states for report in brought]
    unnoticed = set()
    for place, wrong in flipped(content):
        found = disk.with_file(path, wrong)
        log = EmbeddedLog(LOG, files=found)
        if not log.damaged():
            assert reports(log.read_open(None, A)) == everything
            unnoticed.add(place)
            continue
        message = str(log.damaged()[0])
        assert f"{path} at byte" in message
        assert log.append({A: [block(9)]}) == frozenset(), "what comes is kept all the same"
        for reader in (log, EmbeddedLog(LOG, files=found.restart())):
            with pytest.raises(StorageError, match=re.escape(message)):
                reader.read_open(None, A)
            assert reader.trouble() == message
        assert bytes(found.files()[path].seen) == wrong, "evidence is not touched"
    assert unnoticed == set(range(len(content) - MARK_BYTES, len(content)))


def test_without_its_mark_the_last_append_is_the_only_one_in_doubt():
    """As after a loss of power right after the acknowledgment: the docstring's case (a), and nothing beyond it."""
    disk, states = small_log()
    path = FOLDER / "7-0-0.log"
    content = bytes(disk.files()[path].seen)[:-MARK_BYTES]
    before = [report for _, brought in states[:-1] for report in brought]
    cut = set()
    for place, wrong in flipped(content):
        log = EmbeddedLog(LOG, files=disk.with_file(path, wrong))
        if not log.damaged():
            assert reports(log.read_open(None, A)) == before
            cut.add(place)
    last_mark = states[-2][0]
    assert cut == set(range(last_mark, len(content)))


def test_every_flipped_bit_in_a_series_of_segments_is_named_or_carries_nothing():
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk, segment_bytes=120)
    for number in range(4):
        log.append({A: [block(number)]})
    expected = reports([block(*range(4))])
    files = disk.files(FOLDER)
    assert len(files) == 4
    for path, inode in files.items():
        content = bytes(inode.seen)
        unnoticed = set()
        for place, wrong in flipped(content):
            again = EmbeddedLog(LOG, files=disk.with_file(path, wrong))
            if again.damaged():
                assert str(path) in str(again.damaged()[0])
            else:
                assert reports(again.read_open(None, A)) == expected
                unnoticed.add(place)
        assert unnoticed == set(range(len(content) - MARK_BYTES, len(content)))
        for length in range(len(content) - MARK_BYTES):
            again = EmbeddedLog(LOG, files=disk.with_file(path, content[:length]))
            if path == max(files):
                assert reports(again.read_open(None, A)) == expected[:3]
            else:
                with pytest.raises(StorageError, match=path.name):
                    again.read_open(None, A)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_missing_segment_is_named(missing):
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk, segment_bytes=120)
    for number in range(4):
        log.append({A: [block(number)]})
    disk.remove(FOLDER / f"7-0-{missing}.log")
    again = EmbeddedLog(LOG, files=disk.restart())
    for _ in range(2):
        assert f"7-0-{missing}.log" in again.trouble()
        with pytest.raises(StorageError, match=rf"7-0-{missing}\.log at byte 0: got 'the file is missing"):
            again.read_open(None, A)
    with pytest.raises(StorageError, match=rf"7-0-{missing}\.log"):
        log.read_open(None, A)  # nor does it get past the process that wrote it


def test_damage_in_one_bucket_does_not_touch_another_and_ends_when_it_is_dropped():
    disk = Disk()
    log = EmbeddedLog(LOG, files=disk)
    log.append({A: [block(1)], B: [block(2)]})
    disk.files()[FOLDER / "7-0-0.log"].seen[HEADER_BYTES + 3] ^= 4
    again = EmbeddedLog(LOG, files=disk.restart())
    assert reports(again.read_open(None, B)) == reports([block(2)])
    assert len(again.damaged()) == 1
    again.drop_open(A)
    assert again.damaged() == []


@pytest.mark.parametrize(("part", "name"), [("open", "notes.txt"), ("open", "notes.old"), ("sealed", "notes.part")])
def test_a_file_that_is_no_segment_is_let_be(tmp_path, part, name):
    stray = tmp_path / "log" / part / A.task.hex() / name
    stray.parent.mkdir(parents=True)
    stray.write_text("mine")
    log = EmbeddedLog(tmp_path / "log")
    log.append({A: [block(1)]})
    log.drop_open(A)
    log.close()
    assert stray.read_text() == "mine"


# --- the real disk ---


def test_a_real_short_write_is_taken_back(tmp_path, log):
    """The limit on the size of files cuts a write in the middle, as a full disk does."""
    log.append({A: [block(1)]})
    path = next(tmp_path.rglob("*.log"))
    size = path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, hard))
    try:
        with pytest.raises(StorageError, match="a short write, 10 of"):
            log.append({A: [block(2)]})
        assert path.stat().st_size == size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        with pytest.raises(StorageError, match="EFBIG"):
            log.append({A: [block(2)]})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    log.append({A: [block(3)]})
    assert reports(log.read_open(None, A)) == reports([block(1), block(3)])


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "log").write_text("a file")
    with pytest.raises(StorageError, match=f"opening {tmp_path}/log"):
        EmbeddedLog(tmp_path / "log")


HOLD = """
import sys, pathlib
from deniable.collect.storage.embedded import EmbeddedLog
log = EmbeddedLog(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_locked_out_until_the_first_one_dies(tmp_path):
    folder = tmp_path / "log"
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "held\n"
        with pytest.raises(StorageError, match=f"folder {folder}: got 'held by another process'"):
            EmbeddedLog(folder)
        done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
        assert "StorageError" in done.stderr
        assert str(folder) in done.stderr
        os.kill(first.pid, signal.SIGKILL)
    log = EmbeddedLog(folder)
    log.close()
    log.close()
    with pytest.raises(StorageError, match="a call after close"):
        log.append({A: [block(1)]})
