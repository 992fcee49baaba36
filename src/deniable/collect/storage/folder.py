"""A store in a folder: the database is one SQLite file, the reports are files next to it (``embedded``). One collector has it at a time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy import Connection, Table
from sqlalchemy.dialects.sqlite import insert

from deniable.collect.storage.backends import Backend
from deniable.collect.storage.catalog import READING, Catalog, Queue, database_errors
from deniable.collect.storage.embedded import EmbeddedLog
from deniable.collect.storage.files import DISK, make_folders
from deniable.collect.storage.log import Log, StorageError
from deniable.errors import ParameterError

DATABASE = "collector.sqlite"
REPORTS = "reports"
SETTINGS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")  # a deleted key is overwritten
_PATIENCE_MS = 1000


class SqliteCatalog(Catalog):
    """A database in a SQLite file: one writer at a time, so that nobody has to queue."""

    shared = False

    def __init__(self, file: Path) -> None:
        _keep_private(file)
        engine = sql.create_engine(sql.URL.create("sqlite", database=str(file)), connect_args={"timeout": 30}, hide_parameters=True)
        sql.event.listen(engine, "connect", _prepare)
        sql.event.listen(engine, "begin", begin_immediately)
        super().__init__(engine)

    def wait(self, connection: Connection, queue: Queue) -> None:
        """Nobody else is there."""

    def insert_once(self, table: Table, **values: object) -> sql.Executable:
        return insert(table).values(**values).on_conflict_do_nothing()

    def wipe(self) -> bool:
        """Empty SQLite's write-ahead log; False if somebody is reading from it."""
        with database_errors(), closing(self.engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")  # writers wait meanwhile
            (busy, *_) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            cursor.execute("PRAGMA busy_timeout = 30000")
        return not busy


class Folder(Backend):
    """A folder on this machine."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._folder = Path(address)

    def exists(self) -> bool:
        return bool(self.address) and (self._folder / DATABASE).exists()

    def make(self) -> bool:
        folder = self._folder
        if folder.exists() and not self.exists() and (not folder.is_dir() or any(folder.iterdir())):
            allowed = "a collector's store, or a folder that is empty or new"
            raise ParameterError("--store", str(folder), allowed=allowed, fix="check the path: other files are there")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return True

    def open_catalog(self) -> Catalog:
        return SqliteCatalog(self._folder / DATABASE)

    def open(self) -> tuple[Catalog, Log]:
        make_folders(DISK, self._folder)
        log = EmbeddedLog(self._folder / REPORTS)  # first: it holds the lock
        catalog = self.open_catalog()
        DISK.sync_folder(self._folder)
        return catalog, log


def _keep_private(file: Path) -> None:
    """Nobody else reads it: the signing key is in it. SQLite's other files take after it."""
    try:
        file.touch(mode=0o600)
        file.chmod(0o600)
    except OSError as error:
        fix = f"{error.strerror}: check the folder and who owns it"
        raise StorageError("database", str(file), allowed="a file that can be written", fix=fix) from error


def _prepare(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy's "begin" below decides
    for setting in SETTINGS:
        connection.execute(f"PRAGMA {setting}")


def begin_immediately(connection: Connection) -> None:
    """Begin a transaction: a reader that turns writer later could fail; waiting first cannot. Who only reads need not wait for a seal."""
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get(READING) else "BEGIN IMMEDIATE")
