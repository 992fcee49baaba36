"""Writing an open publication (``verification``) from a collector's store. The manifest comes last: a folder without it is not done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from deniable.collect.analysis.analyst import mixed_in
from deniable.collect.analysis.disclosure import TooFew
from deniable.collect.collector import Collector
from deniable.collect.publication.batches import check_public, sealed_batches, sealed_buckets
from deniable.collect.publication.publication_files import CONTEXT, VERSION
from deniable.collect.publication.publication_folder import ESTIMATES, LOG, MANIFEST, ROUNDS, TASK, check_sizes
from deniable.collect.publication.verification import Publication
from deniable.contract.canonical import canonical_json
from deniable.contract.durable import make_folders, write_durably
from deniable.contract.public_log import LogEntry
from deniable.contract.task import Task
from deniable.errors import ParameterError
from deniable.sealing.identity import sign

PAGE = 1000
"""Entries of the public log that are read at a time."""


def publish_reports(collector: Collector, task_id: bytes, folder: Path, periods: Collection[int] | None = None) -> Publication:
    """Write a task's sealed reports, of some periods or all, into a new folder; TooFew if none of them may be shown.

    Reports of one question, period and stratum that are fewer than the task's minimum batch are withheld. Of a task of several rounds all
    must be there, since each follows from the one before.
    """
    task = collector.task(task_id).task
    check_public(task)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError("folder", str(folder), allowed="a new folder, or an empty one", fix="nothing is ever overwritten")
    numbers = _all_rounds(collector, task, periods) if task.rounds else periods
    batches, tallies, files, withheld = [], {}, {}, 0
    for bucket in sealed_buckets(collector, task, numbers):
        for batch, tally, data in sealed_batches(collector, bucket):
            if batch.reports < task.minimum_batch:
                withheld += 1
                continue
            batches.append(batch)
            tallies[batch.address], files[batch.name] = tally, data
    if not batches or (task.rounds and withheld):
        raise TooFew(task.minimum_batch)
    rounds = collector.store.rounds(task_id)
    states = tuple(collector.registry.state(task_id, stored.number) for stored in rounds)
    mixed = mixed_in(collector, task, {batch.period for batch in batches})
    if task.mixing is not None and mixed is None:
        raise TooFew(task.minimum_batch)
    publication = Publication(task, states, tuple(batches), tallies, withheld, mixed)
    answer = publication.answer()
    if not answer.estimates:
        raise TooFew(task.minimum_batch)
    files[ESTIMATES] = json.dumps(answer.to_json(), indent=1, ensure_ascii=False).encode()
    signature = next(row.signature for row in collector.store.tasks() if row.id == task_id)
    files[TASK] = canonical_json({"task": task.canonical.decode(), "signature": signature.hex()})
    files[LOG] = canonical_json([entry.to_json() for entry in _entries(collector, task)])
    if task.rounds:
        told = [{"round": each.canonical.decode(), "signature": each.signature.hex(), "state": each.state.decode()} for each in rounds]
        files[ROUNDS] = canonical_json(told)
    files[MANIFEST] = _manifest(collector, publication, files)
    check_sizes(files)
    make_folders(folder / "reports")
    for name, data in files.items():
        write_durably(folder / name, data)
    return publication


def _all_rounds(collector: Collector, task: Task, periods: Collection[int] | None) -> list[int]:
    if periods is not None:
        raise ParameterError("periods", periods, allowed="all: a task of several rounds has one result", fix="leave them out")
    return [stored.number for stored in collector.store.rounds(task.id)]


def _entries(collector: Collector, task: Task) -> list[LogEntry]:
    """The public log up to the last entry about the task; it names other tasks by their hashes only."""
    entries: list[LogEntry] = []
    while page := collector.registry.entries(after=len(entries) - 1, most=PAGE):
        entries += page
    last = max(i for i, entry in enumerate(entries) if entry.content.task == task.id)
    return entries[: last + 1]


def _manifest(collector: Collector, publication: Publication, files: dict[str, bytes]) -> bytes:
    content: dict[str, Any] = {
        "version": VERSION,
        "task": publication.task.id.hex(),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        "batches": [batch._asdict() for batch in publication.batches],
        "withheld": publication.withheld,
    }
    if publication.mixed is not None:
        content["mixed"] = [batch._asdict() | {"epsilon": repr(batch.epsilon)} for batch in publication.mixed.batches]
    return canonical_json(content | {"signature": sign(collector.store.signing_key(), CONTEXT, canonical_json(content)).hex()})
