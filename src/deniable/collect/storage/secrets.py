"""The secrets of a collector by name: its signing key, the keys of sealed reports, issuers' keys, and what groups share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import sqlalchemy as sql
from sqlalchemy import Connection

from deniable.collect.storage.catalog import Catalog
from deniable.collect.storage.tables import secret as table

Decide = Callable[[Mapping[str, bytes]], tuple[Collection[str], Mapping[str, bytes]]]
"""From the secrets that there are to the names of those to delete, and to those to add."""


class Secrets:
    """The secrets in a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def find(self, name: str) -> bytes | None:
        """One of them; None if it is not there."""
        with self._catalog.reading() as connection:
            found = connection.execute(sql.select(table.c.value).where(table.c.name == name)).scalar()
        return None if found is None else bytes(found)

    def make(self, name: str, draw: Callable[[], bytes]) -> bytes:
        """The value under a name: the one that is there, or a new one, unless another collector is faster."""
        if (found := self.find(name)) is not None:
            return found
        value = draw()
        with self._catalog.changing() as connection:
            connection.execute(self._catalog.insert_once(table, name=name, value=value))
            return bytes(connection.execute(sql.select(table.c.value).where(table.c.name == name)).scalar_one())

    def forget(self, names: Collection[str]) -> None:
        """Delete some of them."""
        with self._catalog.changing() as connection:
            connection.execute(table.delete().where(table.c.name.in_(names)))

    def starting(self, prefix: str) -> dict[str, bytes]:
        """Those whose names begin with a prefix."""
        with self._catalog.reading() as connection:
            return _starting(connection, prefix)

    def change(self, prefix: str, decide: Decide) -> None:
        """Delete and add some of those that begin with a prefix, as ``decide`` says, in one transaction that no other collector is in."""
        with self._catalog.writing() as connection:
            gone, added = decide(_starting(connection, prefix))
            if gone:
                connection.execute(table.delete().where(table.c.name.in_(gone)))
            for name, value in added.items():
                connection.execute(table.insert().values(name=name, value=value))


def _starting(connection: Connection, prefix: str) -> dict[str, bytes]:
    rows = connection.execute(sql.select(table.c.name, table.c.value).where(table.c.name.startswith(prefix)))
    return {name: bytes(value) for name, value in rows}
