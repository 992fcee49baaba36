"""``deniable export`` and ``deniable verify``: publish what was collected, and check what was published."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.console import print_json, tell, working
from deniable.cli.exits import DIFFERS, print_error
from deniable.cli.extra import server_extra
from deniable.cli.options import Json, Period, StoreAddress, Which
from deniable.cli.remote import find_task
from deniable.cli.stores import check_store
from deniable.errors import DeniableError, ParameterError


def export(
    which: Which,
    store: StoreAddress,
    target: Annotated[str, typer.Option("--out", help="A new folder; with --dataset any folder, or a URL such as s3://bucket/reports.")],
    public: Annotated[bool, typer.Option("--open", help="Publish everyone's randomized reports, for anyone to read.")] = False,
    dataset: Annotated[bool, typer.Option("--dataset", help="Write all reports as Parquet files, for your own engines.")] = False,
    period: Period = "all",
    json_output: Json = False,
) -> None:
    """Write the reports of a task's closed periods, without ids, times or order: for everyone (--open) or your own engines (--dataset).

    --open writes a folder that anyone can verify. --dataset writes folders task=.../period=.../ and withholds nothing. Stop the collector
    first if its store is a folder.
    """
    with server_extra("deniable export"):
        from deniable.collect.analysis.selection import read_periods
        from deniable.collect.clock import clock_of
        from deniable.collect.collector import Collector
        from deniable.collect.publication.dataset import export_dataset
        from deniable.collect.publication.export import publish_reports
        from deniable.collect.storage.store import Store
    if public == dataset:
        allowed = "--open (reports that were published cannot be called back) or --dataset"
        received = "both" if public else None
        raise ParameterError("--open", received, allowed=allowed, fix="pass one of them; for estimates see: deniable estimate")
    if public and "://" in target:
        raise ParameterError("--out", target, allowed="a folder on this machine", fix="write it here, then copy the whole folder")
    check_store(store)
    clock = clock_of(os.environ)
    opened = Store.open(store)
    try:
        collector = Collector(opened, clock=clock)
        lives = collector.admission.tasks.values()
        entries = [{"id": live.task.id.hex(), "name": live.task.name, "closed": live.closed} for live in lives]
        task = bytes.fromhex(find_task(entries, which)["id"])
        periods = read_periods(collector.task(task).task, period)
        with working("writing reports"):
            written = (
                publish_reports(collector, task, Path(target), periods) if public else export_dataset(collector, task, target, periods)
            )
    finally:
        opened.close()
    _tell(written, target, json_output, "wrote")


def verify(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A published folder.")],
    task: Annotated[str | None, typer.Option(help="The id of the task that you expect; any other is refused.")] = None,
    json_output: Json = False,
) -> None:
    """Check a published folder, without a server: every signature, byte, count and estimate.

    The exit status is 1 if anything differs from what was signed; the error names the file.
    """
    if task is not None and not re.fullmatch(r"[0-9a-f]{64}", task):
        raise ParameterError("--task", task, allowed="an id of 64 digits", fix="see: deniable task list")
    if not folder.is_dir():
        raise ParameterError("FOLDER", str(folder), allowed="a folder that exists", fix="check the path")
    from deniable.collect.publication.verification import verify_publication

    try:
        with working("counting again"):
            published = verify_publication(folder, task=None if task is None else bytes.fromhex(task))
    except DeniableError as error:
        print_error(str(error), "not as published")
        raise typer.Exit(DIFFERS) from error
    _tell(published, str(folder), json_output, "verified")
    if task is None and not json_output:
        tell("The publisher chose the task and its key: compare the id with the one you know, or pass --task.")


def _tell(published: Any, place: str, json_output: bool, done: str) -> None:
    periods = sorted({batch.period for batch in published.batches})
    content = {
        "task": published.task.id.hex(),
        "name": published.task.name,
        "key": published.task.key.hex(),
        "periods": periods,
        "batches": len(published.batches),
        "reports": published.reports,
        "withheld": getattr(published, "withheld", 0),
    }
    if json_output:
        print_json(content)
        return
    tell(f"{done} {place}: {published.reports:,} reports in {len(published.batches):,} files, {len(periods):,} periods")
    tell(f"task {published.task.name} {published.task.id.hex()}")
    tell(f"key {published.task.key.hex()}")
    if content["withheld"]:
        tell(f"{content['withheld']:,} batches are below the task's minimum batch and not shown")
