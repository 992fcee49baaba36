"""``deniable enrol``: what people need to take part: codes for a task with one-time tokens, or the shared secret of a task."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.console import print_json, remark, working
from deniable.cli.options import Json, StoreAddress, Which
from deniable.cli.remote import find_task
from deniable.cli.stores import open_catalog
from deniable.contract.admission import SECRET, SECRET_MARK
from deniable.contract.durable import write_durably
from deniable.contract.task import Task
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.collect.storage.catalog import Catalog


def enrol(
    which: Which,
    store: StoreAddress,
    out: Annotated[Path, typer.Option("--out", help="A new file, readable by you alone.")],
    count: Annotated[int, typer.Option(min=1, help="How many codes, one for each person.")] = 1,
    json_output: Json = False,
) -> None:
    """Write what people need to take part: one code per line for a task with one-time tokens, or the shared secret of a task.

    Codes cannot be shown again. If the command is killed, delete the file and run it again: the codes in it may not work.
    """
    with open_catalog(store) as catalog:
        from deniable.collect.issuer import Issuer

        task, issuer = task_of(catalog, which), Issuer(catalog)
        with working("generating codes"), _new_file(out) as keep:
            if task.admission == SECRET:
                lines = [SECRET_MARK + issuer.secret(task).hex()]
                keep(lines)
            else:
                lines = issuer.add_codes(task, count, keep)
    shared = task.admission == SECRET
    if json_output:
        print_json({"task": task.id.hex(), "name": task.name, "file": str(out), "codes": 0 if shared else len(lines), "secret": shared})
    else:
        remark(f"wrote {out}: {'the shared secret' if shared else f'{len(lines):,} codes, each for one device'}")


@contextmanager
def _new_file(out: Path) -> Iterator[Callable[[list[str]], None]]:
    """Create ``out`` empty, and yield a function that writes all lines or none; delete the file if the block fails."""
    try:
        os.close(os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # fails on a dangling link, too
    except FileExistsError:
        fix = "choose another name, or delete it if a killed run left it: its codes may not work"
        raise ParameterError("--out", str(out), allowed="a new file", fix=fix) from None
    try:
        yield lambda lines: write_durably(out, "".join(f"{line}\n" for line in lines).encode("ascii"), mode=0o600)
    except BaseException:
        out.unlink(missing_ok=True)
        raise


def task_of(catalog: Catalog, which: str) -> Task:
    """Return the task of a store that an id, the beginning of one, or a name stands for."""
    from deniable.collect.storage.inventory import Inventory

    found = {stored.id.hex(): (stored, Task.from_json(stored.canonical)) for stored in Inventory(catalog).tasks()}
    entries = [{"id": name, "name": task.name, "closed": stored.closed} for name, (stored, task) in found.items()]
    return found[find_task(entries, which)["id"]][1]
