"""The bytes of segments and sealed files: what is written is read, what was not written is not, and today's bytes stay readable."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.collect.storage import segment, series
from deniable.collect.storage.block import Block, sort_once
from deniable.collect.storage.embedded import EmbeddedLog
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.segment import (
    HEADER_BYTES,
    MARK_BYTES,
    OPEN,
    FileHeader,
    is_damage,
    pack_frames,
    pack_mark,
    read_header,
    scan,
)
from deniable.testing import ReplaySource
from tests.collect.disk import A, block, reports, row, seal
from tests.conftest import ROOT

GOLDEN = ROOT / "tests" / "data" / "collect"
PATH = Path("some.log")
ARRIVED = [block(1, 2, 3), block(4, question=1, stratum=5, width=0), block(2, 6)]


def segment_of(*appends: list[Block], salt: int = 99) -> bytes:
    """A segment after these appends, each with its mark."""
    data = FileHeader(OPEN, A, 0, salt=salt).pack()
    for blocks in appends:
        data += pack_frames(blocks, salt)
        data += pack_mark(len(data), salt)
    return data


@st.composite
def some_block(draw):
    width, count = draw(st.integers(0, 40)), draw(st.integers(1, 4))
    rows = draw(st.binary(min_size=count * (16 + width), max_size=count * (16 + width)))
    if width >= 16 and draw(st.booleans()):  # a payload that imitates a mark
        rows = rows[:16] + pack_mark(draw(st.integers(0, 300)), 0) + rows[32:]
    return Block.of(draw(st.integers(0, 65535)), draw(st.integers(0, 65535)), width, rows)


@given(st.lists(st.lists(some_block(), max_size=3), max_size=4), st.integers(0, 2**32 - 1))
def test_what_is_written_is_read(appends, salt):
    data = segment_of(*appends, salt=salt)
    found = scan(data, read_header(PATH, data).salt)
    assert reports(found.blocks) == [report for blocks in appends for report in reports(blocks)]
    assert (found.stop, found.fault) == (len(data), "")


@given(st.binary(max_size=300), st.integers(1, 2**32 - 1))
def test_what_was_never_written_is_not_read(garbage, salt):
    whole = segment_of([block(1)], salt=salt)
    found = scan(whole + garbage, salt)
    assert reports(found.blocks) == reports([block(1)])
    assert found.stop == len(whole)
    assert not is_damage(whole + garbage, salt, found)


def test_an_imitated_mark_does_not_turn_a_torn_tail_into_damage():
    """A device may send any bits as its payload. Were marks not salted, one crash would make a bucket unreadable for ever."""
    for salt, expected in ((0x12345678, False), (0, True)):  # with a salt that the sender knows, the attack would work
        data = segment_of([block(1)], salt=salt)
        place = len(data) + segment.FRAME_HEAD + 16
        report = row(9)[:16] + pack_mark(place, 0)
        torn = data + pack_frames([Block.of(0, 0, 16, report + report)], salt)[:-1]
        assert is_damage(torn, salt, scan(torn, salt)) == expected


def test_frames_have_the_layout_of_the_table():
    """Read by hand, without the module's own structures."""
    data = segment_of([block(1, 2, question=3, stratum=4)], salt=7)
    length, check, question, stratum, width, count = struct.unpack_from("<IIHHII", data, 68)
    assert (length, question, stratum, width, count) == (38, 3, 4, 3, 2)
    assert data[88:126] == row(1) + row(2)
    assert zlib.crc32(data[76:126], 7) == check
    assert data[126:] == b"MARK" + struct.pack("<IQ", zlib.crc32(struct.pack("<Q", 126), 7), 126)


def test_long_blocks_are_split(monkeypatch):
    monkeypatch.setattr(segment, "FRAME_BYTES", 40)
    data = segment_of([block(*range(9))])
    found = scan(data, 99)
    assert [len(part.rows) for part in found.blocks] == [2, 2, 2, 2, 1]
    assert reports(found.blocks) == reports([block(*range(9))])


def test_rows_that_are_not_contiguous_are_written_as_they_read():
    rows = np.arange(6 * 19, dtype=np.uint8).reshape(6, 19)
    assert pack_frames([Block(0, 0, rows[::2])], 1) == pack_frames([Block(0, 0, rows[::2].copy())], 1)


def test_an_empty_tail_of_zeros_is_torn():
    """What a file system leaves when it had noted the length of a file, and not yet its bytes."""
    data = segment_of([block(1)])
    found = scan(data + bytes(500), 99)
    assert found.stop == len(data)
    assert not is_damage(data + bytes(500), 99, found)


def test_a_record_that_is_not_sound_is_damage_if_a_mark_stands_behind_it():
    data = bytearray(segment_of([block(1)], [block(2)]))
    data[HEADER_BYTES + 30] ^= 1
    found = scan(bytes(data), 99)
    assert (found.stop, found.fault) == (HEADER_BYTES, "the checksum of this frame is wrong")
    assert is_damage(bytes(data), 99, found)
    last = len(data) - MARK_BYTES
    assert is_damage(bytes(data[: last - 5]), 99, found)  # the mark of the first append tells as well
    only = bytes(data[: HEADER_BYTES + segment.FRAME_HEAD + 19])
    assert not is_damage(only, 99, scan(only, 99))


@pytest.mark.parametrize("version", [0, 2])
def test_a_segment_of_another_version_is_refused(version):
    data = bytearray(segment_of()[:64])
    data[4] = version
    with pytest.raises(StorageError, match=r"some.log, version: got .; allowed: 1"):
        read_header(PATH, bytes(data) + struct.pack("<I", zlib.crc32(data)))


def test_a_task_id_of_another_length_is_refused():
    with pytest.raises(StorageError, match="32 bytes"):
        FileHeader(OPEN, A._replace(task=b"short"), 0).pack()


# --- golden files ---


def write_log(folder: Path, source) -> EmbeddedLog:
    """A log whose bytes depend on nothing but the code."""
    series.SYSTEM = source
    log = EmbeddedLog(folder)
    log.append({A: ARRIVED[:2]})
    log.append({A: ARRIVED[2:]})
    return log


def write_golden(folder: Path) -> tuple[bytes, bytes]:
    """The open segment and the sealed file of a small log."""
    log = write_log(folder, ReplaySource.from_key("golden"))
    name = A.task.hex()
    opened = (folder / "open" / name / "7-0-0.log").read_bytes()
    seal(log, A)
    log.close()
    return opened, (folder / "sealed" / name / "7.reports").read_bytes()


def test_todays_code_writes_the_golden_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(series, "SYSTEM", None)  # put back afterwards
    opened, closed = write_golden(tmp_path)
    assert opened == (GOLDEN / "segment-1.log").read_bytes()
    assert closed == (GOLDEN / "sealed-1.reports").read_bytes()


def test_todays_code_reads_the_golden_files(tmp_path):
    for part, name, golden in (("open", "7-0-0.log", "segment-1.log"), ("sealed", "7.reports", "sealed-1.reports")):
        (tmp_path / part / A.task.hex()).mkdir(parents=True)
        (tmp_path / part / A.task.hex() / name).write_bytes((GOLDEN / golden).read_bytes())
    log = EmbeddedLog(tmp_path)
    assert reports(log.read_open(None, A)) == reports(ARRIVED)
    assert reports(log.read_sealed(None, A)) == reports(sort_once(ARRIVED))
    assert log.damaged() == []
    log.close()


def make_golden() -> None:
    """Write the golden files; for a new version of the format only, under a new name."""
    import tempfile

    GOLDEN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        opened, closed = write_golden(Path(folder) / "log")
    (GOLDEN / "segment-1.log").write_bytes(opened)
    (GOLDEN / "sealed-1.reports").write_bytes(closed)


if __name__ == "__main__":
    make_golden()
