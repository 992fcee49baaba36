"""One way to write a file that a crash cannot tear: tried on a disk that fails at every call, and loses power at every call."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

import deniable
from deniable.contract import durable
from deniable.contract.durable import make_folders, write_durably
from tests.collect.disk import ROOT, CrashError, Disk, Inode

FILE = ROOT / "file"
OLD, NEW = b"the old content", b"what is new, and longer than the old"
LEFT = Inode(b"half of a secret that a crash has left")
FAULTS = ("crash", "crash half", "fail", "half", "short")


class System:
    """The calls of ``os`` that are made, on a disk in memory; flags are the machine's, and any other call fails."""

    def __init__(self, disk: Disk) -> None:
        self.disk, self.ends = disk, {}

    def __getattr__(self, name: str) -> int:
        if not name.startswith("O_"):
            raise AttributeError(name)
        return getattr(os, name)

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int | Path:
        if flags & os.O_DIRECTORY:
            return path
        assert flags & os.O_EXCL, "a draft is nobody else's file"
        if path in self.disk.files(ROOT):
            raise FileExistsError(path)
        handle = self.disk.open(path, fresh=True)
        self.ends[handle] = 0
        return handle

    def write(self, handle: int, data: memoryview) -> int:
        written = self.disk.write(handle, data, self.ends[handle])
        self.ends[handle] += written
        return written

    def fsync(self, handle: int | Path) -> None:
        (self.disk.sync_folder if isinstance(handle, Path) else self.disk.sync)(handle)

    def close(self, handle: int | Path) -> None:
        if not isinstance(handle, Path):
            self.disk.close(handle)

    def utime(self, path: Path, times: tuple[int, int]) -> None:
        assert path in self.disk.files(ROOT)

    def replace(self, old: Path, new: Path) -> None:
        self.disk.rename(old, new)

    def unlink(self, path: Path) -> None:
        self.disk.remove(path)


def begun(old: bytes | None) -> Disk:
    """A disk with the file or without it, and with what an earlier crash has left of a draft."""
    disk = Disk()
    disk.root.seen = {".file.part": LEFT} | ({} if old is None else {"file": Inode(old)})
    disk.root.durable = dict(disk.root.seen)
    return disk


def contents(disk: Disk) -> dict[str, bytes]:
    return {path.name: bytes(inode.seen) for path, inode in disk.files(ROOT).items()}


def survivors(disk: Disk) -> list[Disk]:
    """What the next process may find: after the end of this one, or after a loss of power."""
    return [disk.restart()] + [
        disk.after_power_loss(names=names, keep=keep) for names in (True, False) for keep in ("none", "all", "first", "last")
    ]


def write_at_fault(monkeypatch: pytest.MonkeyPatch, disk: Disk, alone: bool) -> type[BaseException] | None:
    """What came of writing the new content."""
    monkeypatch.setattr(durable, "os", System(disk))
    try:
        write_durably(FILE, NEW, alone=alone, date=0)
    except (CrashError, OSError) as error:
        return type(error)
    finally:
        monkeypatch.undo()
    return None


def check(monkeypatch: pytest.MonkeyPatch, old: bytes | None, alone: bool, fault: str) -> int:
    """The promises, with the fault at one call after another; how many calls there are."""
    for call in range(1, 100):
        disk = begun(old)
        disk.faults = {call: fault}
        ended = write_at_fault(monkeypatch, disk, alone)
        for found in survivors(disk):
            assert contents(found).get("file") in ({NEW} if ended is None else {old, NEW}), (call, ended)
            if ended is CrashError and alone:  # nothing of it stays when the next process has written
                assert write_at_fault(monkeypatch, found, alone) is None
                assert contents(found) == {"file": NEW}
        if ended is OSError:  # this process lives, and has tidied up
            assert set(contents(disk)) <= {"file", ".file.part"}
            assert contents(disk).get(".file.part") in (None, bytes(LEFT.seen))
        if disk.calls < call:
            assert ended is None
            assert set(contents(disk)) == ({"file"} if alone else {"file", ".file.part"})
            return call - 1
    raise AssertionError("it never ends")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("alone", [True, False], ids=["alone", "with others"])
@pytest.mark.parametrize("old", [OLD, None], ids=["replaced", "new"])
def test_a_crash_at_any_step_leaves_the_old_content_or_the_new(monkeypatch, old, alone, fault):
    assert check(monkeypatch, old, alone, fault) >= 6  # open, write, sync, close, rename, sync of the folder


@pytest.mark.parametrize("left_out", ["sync", "sync_folder"])
def test_a_write_that_leaves_out_a_sync_is_found(monkeypatch, left_out):
    with monkeypatch.context() as evil:
        evil.setattr(durable, left_out, lambda _: None)
        with pytest.raises(AssertionError), pytest.MonkeyPatch.context() as inner:
            check(inner, OLD, True, "crash")


def test_a_secret_is_its_owners_from_the_first_byte_on(tmp_path, monkeypatch):
    """And so it stays where the file before was open to others; others share a folder with no draft in each other's way."""
    seen, sync = [], durable.sync
    monkeypatch.setattr(durable, "sync", lambda handle: seen.append(stat.S_IMODE(os.fstat(handle).st_mode)) or sync(handle))
    path = tmp_path / "secret"
    path.write_text("open")
    path.chmod(0o644)
    write_durably(path, b"closed", mode=0o600, date=86_400)
    assert (seen, stat.S_IMODE(path.stat().st_mode), path.stat().st_mtime) == ([0o600], 0o600, 86_400)
    assert [found.name for found in tmp_path.iterdir()] == ["secret"]


def test_folders_that_are_made_are_durable_in_those_around_them(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(durable, "sync_folder", lambda folder: synced.append((folder, [path.name for path in folder.iterdir()])))
    make_folders(tmp_path / "a" / "b")
    assert synced == [(tmp_path, ["a"]), (tmp_path / "a", ["b"])]
    make_folders(tmp_path / "a" / "b")
    assert len(synced) == 2


def test_there_is_no_other_way():
    """Whoever needs the disk's word asks here; the report log has calls of its own, which tests put a failing disk in place of."""
    source = Path(deniable.__file__).parent
    asking = {str(path.relative_to(source)) for path in source.rglob("*.py") if re.search(r"os\.f(data)?sync\(", path.read_text())}
    assert asking == {"contract/durable.py", "collect/storage/files.py"}
