"""``deniable rebuild``: recount all reports, and compare with the stored counts."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from deniable.cli.console import out, print_json, progress_bar, table
from deniable.cli.exits import DIFFERS
from deniable.cli.extra import server_extra
from deniable.cli.options import Json, StoreAddress
from deniable.cli.stores import check_store

GOOD = ("same", "open", "dropped", "repaired")


def rebuild(
    store: StoreAddress,
    repair: Annotated[bool, typer.Option("--repair", help="Replace counts that differ with the recount.")] = False,
    json_output: Json = False,
) -> None:
    """Recount every closed period from its reports, and compare to the byte.

    The exit status is 1 if a count differs or its reports are damaged. Stop the collector first if its store is a folder.
    """
    with server_extra("deniable rebuild"):
        from deniable.collect.clock import clock_of
        from deniable.collect.collector import Collector
        from deniable.collect.storage.store import Store
    check_store(store)
    clock = clock_of(os.environ)
    opened = Store.open(store)
    try:
        collector = Collector(opened, clock=clock)
        total = len(opened.buckets())
        found = []
        with progress_bar("recounting", quiet=json_output) as progress:
            for bucket, result in opened.rebuild(collector.questions, repair=repair):
                found.append({"task": bucket.task.hex(), "period": bucket.number, "result": result})
                progress(len(found), total)
    finally:
        opened.close()
    if json_output:
        print_json({"buckets": found})
    else:
        rows = table("Recount", ("task", "period", "result"), words=("result",), whole=("task",))
        for row in found:
            rows.add_row(str(row["task"])[:12], str(row["period"]), str(row["result"]))
        out.print(rows)
    if not all(str(row["result"]).startswith(GOOD) for row in found):
        raise typer.Exit(DIFFERS)
