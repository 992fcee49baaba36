"""Copy an embedded store while its collector runs: python backup.py STORE TARGET

Needs nothing but Python, and should run as the collector's user. The copy holds every report that was acknowledged before it was begun,
each once. What makes it whole is the order:

1. the open segments: all that was acknowledged and is not counted yet;
2. the database: whatever it calls open was open in step 1, and is there;
3. the sealed files: whatever the database calls sealed was written before it said so, and is there.

A period that is sealed in between is in the copy twice, and the collector that opens the copy drops the half that does not count. In any
other order something could be missing. The copy contains the collector's signing key: keep it as safe as the store.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path


def copy_open(store: Path, target: Path) -> None:
    """Copy the open segments. Those that grow meanwhile are cut at the last whole report when opened.

    If one vanishes, it was sealed, or compacted into a file that was not there before: then all are copied again.
    """
    listed = None
    while listed is None or not set(listed) <= set(_list(store, "reports/open")):
        shutil.rmtree(target / "reports/open", ignore_errors=True)
        listed = _copy(store, target, "reports/open")


def copy_database(store: Path, target: Path) -> None:
    """Copy tasks, keys, tokens, the public log and all counts, as of one moment."""
    source = f"{(store / 'collector.sqlite').absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(source, uri=True)) as running, closing(sqlite3.connect(target / "collector.sqlite")) as copy:
        running.backup(copy)
        (found,) = copy.execute("PRAGMA integrity_check").fetchone()
    if found != "ok":
        sys.exit(f"{store / 'collector.sqlite'}: {found}")


def copy_sealed(store: Path, target: Path) -> None:
    """Copy the sealed files; each is written whole before it gets its name, and never changes."""
    _copy(store, target, "reports/sealed")


STEPS = (copy_open, copy_database, copy_sealed)


def _list(store: Path, part: str) -> list[Path]:
    """The files of a part but for those that are being written or overwritten."""
    return sorted(path for path in (store / part).rglob("*") if path.is_file() and path.suffix not in (".part", ".old"))


def _copy(store: Path, target: Path, part: str) -> list[Path]:
    """Copy the files of a part; those that were there when it began."""
    listed = _list(store, part)  # before any is copied: none of a series is left out
    for path in listed:
        copy = target / path.relative_to(store)
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(path, copy)
        except FileNotFoundError:
            copy.unlink(missing_ok=True)
    return listed


def main() -> None:
    """Make the copy, in a folder that must not be there yet."""
    if len(sys.argv) != 3:
        sys.exit("usage: python backup.py STORE TARGET")
    store, target = map(Path, sys.argv[1:])
    if not (store / "collector.sqlite").exists():
        sys.exit(f"{store} is no collector's store")
    os.umask(0o077)
    target.mkdir(parents=True)
    for step in STEPS:
        step(store, target)
    os.sync()


if __name__ == "__main__":
    main()
