"""``deniable enrol``: what people need to be counted: codes for a task with one-time tokens, the secret of a task with a shared one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.console import err, plain_errors
from deniable.cli.remote import LEAST_PREFIX
from deniable.cli.token import Address, Database, open_database
from deniable.contract.admission import SECRET, SECRET_MARK
from deniable.contract.task import Task
from deniable.errors import ParameterError


def enrol(
    which: Annotated[str, typer.Argument(metavar="TASK", help="A task: its id, the first six digits of it or more, or its name.")],
    store: Address,
    out: Annotated[Path, typer.Option("--out", help="The file to write, for its owner's eyes only; it must not be there yet.")],
    count: Annotated[int, typer.Option(min=1, help="How many codes: one for each person.")] = 1,
) -> None:
    """Write the codes of a task with tokens, one in a line, or the secret of a task that has one. Codes cannot be shown again."""
    with plain_errors(), open_database(store) as database:
        from deniable.collect.issuing import Issuer

        task, issuer = find_task(database, which), Issuer(database)
        lines = [SECRET_MARK + issuer.secret(task).hex()] if task.admission == SECRET else issuer.add_codes(task, count)
        with os.fdopen(os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.writelines(f"{line}\n" for line in lines)
        told = "the secret that all share" if task.admission == SECRET else f"{len(lines):,} codes, each for one device"
        err.print(f"wrote {out}: {told}", soft_wrap=True)


def find_task(database: Database, which: str) -> Task:
    """The one task of a store that an id, the beginning of one, or a name stands for; of one name, the one that is not closed."""
    import sqlalchemy as sql

    from deniable.collect.storage import database as db

    with database.engine.begin() as connection:
        rows = connection.execute(sql.select(db.task.c.id, db.task.c.name, db.task.c.canonical, db.task.c.closed)).all()
    begun = which if len(which) >= LEAST_PREFIX else "no id begins so"
    found = [row for row in rows if which == row.name or bytes(row.id).hex().startswith(begun)]
    found = [row for row in found if not row.closed] or found
    if len(found) != 1:
        allowed = f"one of {[bytes(row.id).hex()[:12] + ' ' + row.name for row in (found or rows)]}"
        raise ParameterError("task", which, allowed=allowed, fix="give the id" if found else "publish it first: deniable task publish")
    return Task.from_json(bytes(found[0].canonical))
