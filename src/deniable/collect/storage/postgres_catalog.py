"""A store in PostgreSQL: any number of collectors share it. Its reports are in tables, too (``postgres``)."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sql
from sqlalchemy import Connection, Table
from sqlalchemy.dialects.postgresql import insert

from deniable.collect.storage import tables
from deniable.collect.storage.backends import CONNECT_SECONDS, Backend
from deniable.collect.storage.catalog import Catalog, Queue, opening
from deniable.collect.storage.log import Log
from deniable.collect.storage.postgres import PostgresLog
from deniable.collect.storage.schema import has_tables

_PATIENT = {"connect_timeout": CONNECT_SECONDS}


class PostgresCatalog(Catalog):
    """A database of a PostgreSQL server. Collectors queue for advisory locks."""

    shared = True
    metadata = (tables.metadata, tables.report_metadata)

    def __init__(self, address: str) -> None:
        engine = sql.create_engine(_url(address), pool_pre_ping=True, hide_parameters=True, connect_args=_PATIENT)
        sql.event.listen(engine, "connect", _prepare)
        super().__init__(engine)

    def wait(self, connection: Connection, queue: Queue) -> None:
        connection.execute(sql.select(sql.func.pg_advisory_xact_lock(int(queue))))

    def insert_once(self, table: Table, **values: object) -> sql.Executable:
        return insert(table).values(**values).on_conflict_do_nothing()


class Server(Backend):
    """A database at a PostgreSQL server. Its address may hold a password."""

    remote = True

    @property
    def shown(self) -> str:
        return "PostgreSQL"

    def exists(self) -> bool:
        engine = sql.create_engine(_url(self.address), hide_parameters=True, connect_args=_PATIENT)
        try:
            with opening(engine), engine.connect() as connection:
                return has_tables(connection)
        finally:
            engine.dispose()

    def open_catalog(self) -> Catalog:
        return PostgresCatalog(self.address)

    def open(self) -> tuple[Catalog, Log]:
        catalog = self.open_catalog()
        return catalog, PostgresLog(catalog.engine)


def _url(address: str) -> sql.URL:
    return sql.make_url(address).set(drivername="postgresql+psycopg")


def _prepare(connection: Any, _: Any) -> None:
    # A server may be set to answer before it has written; our acknowledgements promise more. Stronger settings stay.
    connection.execute("SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
    connection.commit()
