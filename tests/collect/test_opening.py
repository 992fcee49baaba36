"""Opening a store: what is made is durable where it is made, and everything that a collector says is in its log's form."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from deniable.collect.storage.files import DISK, Files, make_folders
from deniable.collect.storage.store import Store


class Recorder(Files):
    """The real disk, and what was asked of it."""

    def __init__(self) -> None:
        self.asked = []

    def make_folder(self, folder):
        self.asked.append(("make", folder))
        super().make_folder(folder)

    def sync_folder(self, folder):
        self.asked.append(("sync", folder))
        super().sync_folder(folder)


def test_every_folder_that_is_made_is_durable_in_the_one_around_it(tmp_path):
    files, store = Recorder(), tmp_path / "srv" / "survey" / "store"
    make_folders(files, store)
    made = [tmp_path / "srv", tmp_path / "srv" / "survey", store]
    assert files.asked == [step for folder in made for step in (("make", folder), ("sync", folder.parent))]
    assert store.stat().st_mode & 0o777 == 0o700
    make_folders(files, store)
    assert len(files.asked) == 2 * len(made)


def test_a_new_store_survives_a_power_cut(tmp_path, monkeypatch):
    """Its folder has a name in the one around it, and its database has one in the folder, before anything is acknowledged."""
    folder, synced = tmp_path / "new" / "store", []
    sync = DISK.sync_folder
    monkeypatch.setattr(DISK, "sync_folder", lambda path: synced.append((path, set(os.listdir(path)))) or sync(path))
    Store.open(folder).close()
    assert (tmp_path, {"new"}) in synced
    assert (tmp_path / "new", {"store"}) in synced
    assert any(path == folder and "collector.sqlite" in names for path, names in synced)


def test_a_server_says_in_its_logs_form_that_it_compiles(tmp_path):
    code = (
        "import deniable; from deniable.collect.kit.log import begin; begin('info'); "
        "spec = deniable.RR(epsilon=1.0); spec.tally(spec.privatize([0, 1] * 9))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    (line,) = [json.loads(text) for text in done.stderr.splitlines()]
    assert (line["level"], line["event"].partition(" ")[0]) == ("info", "compiling")
