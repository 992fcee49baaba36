"""The tokens of analysts and admins, and the codes of people who enrol: kept as digests, and handed out once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import sqlalchemy as sql

from deniable.collect.storage import tables as db
from deniable.collect.storage.catalog import Catalog


class Tokens:
    """What opens the API and the dashboard: a digest with a role, under a label."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def add(self, digest: bytes, role: str, label: str) -> bool:
        """Keep a token; False if another has its label."""
        with self._catalog.changing() as connection:
            if connection.execute(sql.select(db.token.c.label).where(db.token.c.label == label)).first():
                return False
            connection.execute(db.token.insert().values(digest=digest, role=role, label=label))
        return True

    def remove(self, label: str) -> bool:
        """Delete a token; False if there is none with this label."""
        with self._catalog.changing() as connection:
            return bool(connection.execute(db.token.delete().where(db.token.c.label == label)).rowcount)

    def listed(self) -> list[tuple[str, str]]:
        """Label and role of each, by label."""
        with self._catalog.reading() as connection:
            rows = connection.execute(sql.select(db.token.c.label, db.token.c.role).order_by(db.token.c.label))
            return [(label, role) for label, role in rows]

    def roles(self) -> list[tuple[bytes, str]]:
        """Digest and role of each."""
        with self._catalog.reading() as connection:
            rows = connection.execute(sql.select(db.token.c.digest, db.token.c.role)).all()
        return [(bytes(digest), role) for digest, role in rows]


class Codes:
    """What people enrol with: the digest of a code and, once it was redeemed, that of the request which it was redeemed with."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def add(self, task: bytes, digests: Iterable[bytes], keep: Callable[[], object]) -> None:
        """Store a task's codes; none if ``keep``, which is called before the end of the transaction, raises."""
        with self._catalog.changing() as connection:
            connection.execute(db.enrolment.insert(), [{"task": task, "code": digest} for digest in digests])
            keep()

    def redeem(self, task: bytes, code: bytes, request: bytes) -> bool:
        """True if a code is there and was not redeemed with another request: then it is redeemed with this one."""
        table = db.enrolment
        mine = (table.c.task == task, table.c.code == code, sql.or_(table.c.request.is_(None), table.c.request == request))
        with self._catalog.reading() as connection:  # people who guess must not keep reports waiting for the database
            if connection.execute(sql.select(table.c.code).where(*mine)).first() is None:
                return False
        with self._catalog.changing() as connection:  # one statement decides, even if others ask at the same time
            return bool(connection.execute(table.update().where(*mine).values(request=request)).rowcount)
