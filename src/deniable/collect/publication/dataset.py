"""A task's sealed reports as a Parquet dataset for the engines, on this machine or wherever pyarrow and fsspec can write.

The folders are partition keys, as Hive, Spark, DuckDB and Polars know them, and the columns are those of the reports and nothing else: no
ids, no time but the period, no order but that of their content::

    task=ID/period=P/reports.parquet                          a task of one question, without strata
    task=ID/period=P/question=Q/stratum=S/reports.parquet     question: where there are several, or several rounds; stratum: likewise

Each file appears whole or not at all. A sealed period never changes, so writing it again writes the same: several hosts may export from
one database, at once or after a crash.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import fs

from deniable.collect.collector import Collector
from deniable.collect.publication.batches import check_public, sealed_batches, sealed_buckets
from deniable.collect.publication.publication_files import PublishedBatch
from deniable.contract.durable import PART, make_folders, write_durably
from deniable.contract.source import SYSTEM
from deniable.contract.task import Task
from deniable.engines.dataset import locate
from deniable.errors import ParameterError

FILE = "reports.parquet"


@dataclass(frozen=True)
class Exported:
    """What was written: the batches, each in a file of its own."""

    task: Task
    batches: tuple[PublishedBatch, ...]

    @property
    def reports(self) -> int:
        """How many reports there are."""
        return sum(batch.reports for batch in self.batches)


def export_dataset(
    collector: Collector, task_id: bytes, target: str | Path | tuple[str, Any], periods: Collection[int] | None = None
) -> Exported:
    """Write a task's sealed reports, of some periods or all, below a folder, a URL or (path, filesystem).

    Nothing is withheld: the tallies are those that the collector has, those of small groups too. So this is for the collector's operator;
    what everybody may see is written by ``export``.
    """
    task = collector.task(task_id).task
    check_public(task)
    filesystem, base, wild = locate(target)
    if wild:
        raise ParameterError("target", target, allowed="a folder or a URL without wildcards", fix="name one place")
    written = []
    for bucket in sealed_buckets(collector, task, periods):
        for batch, _, data in sealed_batches(collector, bucket):
            _write(filesystem, "/".join((base.rstrip("/"), *folders_of(task, batch))), data)
            written.append(batch)
    return Exported(task, tuple(written))


def folders_of(task: Task, batch: PublishedBatch) -> list[str]:
    """The folders of a batch, from the outermost to the innermost."""
    keys = {"task": task.id.hex(), "period": batch.period}
    if task.rounds or len(task.survey.questions) > 1:  # rounds may have several questions, and not all rounds equally many
        keys["question"] = batch.question
    if task.stratum_count > 1:
        keys["stratum"] = batch.stratum
    return [f"{name}={key}" for name, key in keys.items()]


def _write(filesystem: Any, folder: str, data: bytes) -> None:
    """Under a name of its own that readers pass over, then moved. On this machine it is durable then; elsewhere its keeper sees to it."""
    if isinstance(filesystem, fs.LocalFileSystem):
        make_folders(Path(folder))
        write_durably(Path(folder, FILE), data)
        return
    filesystem.create_dir(folder, recursive=True)
    unfinished = f"{folder}/.{SYSTEM.word():016x}{PART}"
    with filesystem.open_output_stream(unfinished) as file:
        file.write(data)
    filesystem.move(unfinished, f"{folder}/{FILE}")
