"""``deniable enrol``: what people need to be counted: codes for a task with one-time tokens, the secret of a task with a shared one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.console import print_json, remark, working
from deniable.cli.options import Json, StoreAddress, Which
from deniable.cli.remote import find_task
from deniable.cli.stores import Database, open_database
from deniable.contract.admission import SECRET, SECRET_MARK
from deniable.contract.durable import write_durably
from deniable.contract.task import Task
from deniable.errors import ParameterError


def enrol(
    which: Which,
    store: StoreAddress,
    out: Annotated[Path, typer.Option("--out", help="The file to write, for its owner's eyes only; it must not be there yet.")],
    count: Annotated[int, typer.Option(min=1, help="How many codes: one for each person.")] = 1,
    json_output: Json = False,
) -> None:
    """Write what people need to be counted: the codes of a task with tokens, one in a line, or the secret of a task that has one.

    Codes cannot be shown again. If the command is killed, delete the file that it left, and run it again: its codes may not work.
    """
    with open_database(store) as database:
        from deniable.collect.issuer import Issuer

        task, issuer = task_of(database, which), Issuer(database.engine)
        with working("making codes"), _new_file(out) as keep:
            if task.admission == SECRET:
                lines = [SECRET_MARK + issuer.secret(task).hex()]
                keep(lines)
            else:
                lines = issuer.add_codes(task, count, keep)
    shared = task.admission == SECRET
    if json_output:
        print_json({"task": task.id.hex(), "name": task.name, "file": str(out), "codes": 0 if shared else len(lines), "secret": shared})
    else:
        remark(f"wrote {out}: {'the secret that all share' if shared else f'{len(lines):,} codes, each for one device'}")


@contextmanager
def _new_file(out: Path) -> Iterator[Callable[[list[str]], None]]:
    """Create ``out`` empty, and yield what puts lines into it, all of them or none; it is deleted again if the block fails."""
    try:
        os.close(os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # not a dangling link either
    except FileExistsError:
        fix = "choose another name; if a run that was killed left it, delete it: its codes may not work"
        raise ParameterError("--out", str(out), allowed="a file that is not there yet", fix=fix) from None
    try:
        yield lambda lines: write_durably(out, "".join(f"{line}\n" for line in lines).encode("ascii"), mode=0o600)
    except BaseException:
        out.unlink(missing_ok=True)
        raise


def task_of(database: Database, which: str) -> Task:
    """The one task of a store that is meant, as ``find_task`` finds it."""
    import sqlalchemy as sql

    from deniable.collect.storage import tables as db

    with database.engine.begin() as connection:
        rows = connection.execute(sql.select(db.task.c.id, db.task.c.name, db.task.c.canonical, db.task.c.closed)).all()
    entries = [{"id": bytes(row.id).hex(), "name": row.name, "closed": row.closed, "canonical": bytes(row.canonical)} for row in rows]
    return Task.from_json(find_task(entries, which)["canonical"])
