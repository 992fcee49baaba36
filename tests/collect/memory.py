"""A backend for ``memory://NAME``: a store that lives as long as the process. What CONTRIBUTING says about backends, in one file."""

from __future__ import annotations

import sqlite3
import threading
from collections import defaultdict
from contextlib import contextmanager
from typing import ClassVar
from urllib.parse import quote

import sqlalchemy as sql

from deniable.collect.storage.backends import Backend
from deniable.collect.storage.block import sort_once
from deniable.collect.storage.catalog import Catalog
from deniable.collect.storage.folder import begin_immediately
from deniable.collect.storage.log import Log, StorageError


class MemoryCatalog(Catalog):
    """A SQLite database that has no file; every connection to one name sees the same."""

    shared = False

    def __init__(self, name):
        address = f"file:/{quote(name, safe='')}?vfs=memdb"

        def connect():
            connection = sqlite3.connect(address, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA foreign_keys=ON")
            return connection

        engine = sql.create_engine("sqlite://", creator=connect, poolclass=sql.QueuePool, hide_parameters=True)
        sql.event.listen(engine, "begin", begin_immediately)
        super().__init__(engine)

    def wait(self, connection, queue):
        """Nobody else is there."""

    def insert_once(self, table, **values):
        return table.insert().prefix_with("OR IGNORE").values(**values)


class MemoryLog(Log):
    """Reports in dictionaries."""

    def __init__(self):
        self._lock = threading.RLock()
        self._open = defaultdict(list)
        self._sealed = {}
        self._closed = set()

    def append(self, reports):
        with self._lock:
            closed = frozenset(self._closed.intersection(reports))
            for bucket in reports.keys() - closed:
                self._open[bucket] += reports[bucket]
        return closed

    @contextmanager
    def closing(self, bucket):
        with self._lock:
            yield
            self._closed.add(bucket)

    def read_open(self, connection, bucket):
        return list(self._open.get(bucket, ()))

    def write_sealed(self, connection, bucket, blocks):
        self._sealed[bucket] = list(blocks)

    def read_sealed(self, connection, bucket):
        if bucket not in self._sealed:
            raise StorageError(str(bucket), "nothing", allowed="a sealed bucket", fix="seal it first")
        return self._sealed[bucket]

    def drop_open(self, bucket):
        self._open.pop(bucket, None)

    def compact(self):
        """Leave out repetitions."""
        with self._lock:
            self._open.update({bucket: sort_once(blocks) for bucket, blocks in self._open.items()})

    def size(self, bucket):
        return sum(block.rows.nbytes for block in self._open.get(bucket, ()))

    def clean_up(self, counted):
        for bucket in filter(counted, list(self._open)):
            self.drop_open(bucket)

    def drop_sealed(self, connection, bucket):
        self._sealed.pop(bucket, None)


class Memory(Backend):
    """The stores of this process by name, each with a connection that keeps its database there."""

    kept: ClassVar = {}

    def exists(self):
        return self.address in self.kept

    def open_catalog(self):
        return MemoryCatalog(self.address)

    def open(self):
        catalog = self.open_catalog()
        if not self.exists():
            self.kept[self.address] = MemoryLog(), self.open_catalog().engine.connect()
        return catalog, self.kept[self.address][0]
