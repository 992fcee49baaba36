"""``deniable rebuild``: count everything again from the reports, and compare with what was counted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from deniable.cli.console import out, plain_errors, print_json, progress_bar
from deniable.cli.extra import server_extra
from deniable.errors import ParameterError

GOOD = ("same", "open", "dropped", "repaired")


def rebuild(
    store: Annotated[str, typer.Option(envvar="DENIABLE_STORE", help="The collector's store: a folder or postgresql://...")],
    repair: Annotated[bool, typer.Option("--repair", help="Replace counts that differ by what the reports say.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Recompute every sealed count from the reports that were kept, and compare to the byte.

    The exit status is 1 if one differs or its reports are damaged. An embedded store must not be in use by a collector.
    """
    with plain_errors():
        with server_extra("deniable rebuild"):
            from deniable.collect.clock import clock_of
            from deniable.collect.collector import Collector
            from deniable.collect.storage.store import Store
        if not store.startswith("postgresql:") and not (Path(store) / "collector.sqlite").exists():
            raise ParameterError("--store", store, allowed="the folder of a collector's store", fix="check its path")
        clock = clock_of(os.environ)
        opened = Store.open(store)
        try:
            collector = Collector(opened, clock=clock)
            total = len(opened.buckets())
            found = []
            with progress_bar("rebuilding", quiet=json_output) as progress:
                for bucket, result in opened.rebuild(collector.questions, repair=repair):
                    found.append({"task": bucket.task.hex(), "period": bucket.period, "result": result})
                    progress(len(found), total)
        finally:
            opened.close()
    if json_output:
        print_json({"buckets": found})
    else:
        table = Table("task", "period", "result")
        for row in found:
            table.add_row(str(row["task"])[:12], str(row["period"]), str(row["result"]))
        out.print(table)
    if not all(str(row["result"]).startswith(GOOD) for row in found):
        raise typer.Exit(1)
