"""Writing an open publication (``verification``) from a collector's store. The manifest comes last: a folder without it is not done."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection, Iterator
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from deniable.collect.analysis.analyst import mixed_in
from deniable.collect.analysis.counted import TooFew
from deniable.collect.collector import Collector
from deniable.collect.publication.published import CONTEXT, ESTIMATES, LOG, MANIFEST, ROUNDS, TASK, VERSION, Batch, keys_of_rows
from deniable.collect.publication.verification import Publication
from deniable.collect.storage.block import ID_BYTES, Block, Bucket, tally_blocks
from deniable.collect.storage.log import StorageError
from deniable.contract.canonical import canonical_json
from deniable.contract.public_log import LogEntry
from deniable.contract.question import Question
from deniable.contract.task import Task
from deniable.core.reports import Reports
from deniable.core.tally import Tally
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
    _check_public(task)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError("folder", str(folder), allowed="a new folder, or an empty one", fix="nothing is ever overwritten")
    batches, tallies, files, withheld = [], {}, {}, 0
    for bucket in _sealed(collector, task, periods):
        for batch, tally, data in _batches(collector, bucket):
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
    (folder / "reports").mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return publication


def _check_public(task: Task) -> None:
    """Refuse reports that are not private by themselves. Sorted by content, shuffled ones show what the collector was sent, and no more."""
    if task.epsilon == inf:
        received = f"the model {task.model!r} with epsilon {task.epsilon}"
        raise ParameterError(task.name, received, allowed="reports that were privatized on the device", fix="publish estimates only")


def _sealed(collector: Collector, task: Task, periods: Collection[int] | None) -> Iterator[Bucket]:
    """The buckets to publish; ParameterError naming one that was asked for and cannot be."""
    if task.rounds and periods is not None:
        raise ParameterError("periods", periods, allowed="all: a task of several rounds has one result", fix="leave them out")
    states = {stored.bucket.period: stored.state for stored in collector.store.buckets(task.id)}
    wanted = sorted(states) if periods is None else sorted(set(periods))
    wanted = [stored.number for stored in collector.store.rounds(task.id)] if task.rounds else wanted
    for period in wanted:
        state = states.get(period, "without reports")
        if state == "sealed":
            yield Bucket(task.id, period)
        elif periods is not None or task.rounds:
            fix = "wait until it is over" if state == "open" else "publish before the retention time is over"
            raise ParameterError("period", f"{period}, which is {state}", allowed="sealed periods whose reports are kept", fix=fix)


def _batches(collector: Collector, bucket: Bucket) -> Iterator[tuple[Batch, Tally, bytes]]:
    """Each batch of a bucket with its tally and its file. What would give another tally than was sealed is damaged."""
    questions = collector.questions(bucket)
    with collector.store.reading() as connection:
        blocks = collector.store.log.read_sealed(connection, bucket)
    sealed = collector.store.tallies(bucket.task, [bucket.period])
    for block in blocks:
        tally = tally_blocks(questions, [block])[block.address]
        if sealed.get((bucket.period, *block.address)) != tally:
            raise StorageError(
                str(bucket), "reports that give another tally", allowed="those that were sealed", fix="see: deniable rebuild"
            )
        digest = hashlib.sha256(tally.to_bytes()).hexdigest()
        yield Batch(bucket.period, *block.address, len(block.rows), digest), tally, _parquet(questions[block.question], block)


def _parquet(question: Question, block: Block) -> bytes:
    """The reports without their ids, sorted by content: what two collectors write of the same reports is the same, byte for byte."""
    import pyarrow.parquet as pq  # a collector starts without it

    rows = np.ascontiguousarray(block.rows[:, ID_BYTES:])
    reports = Reports.from_rows(question.spec, rows[np.argsort(keys_of_rows(rows), kind="stable")].tobytes())
    target = io.BytesIO()
    pq.write_table(reports.to_arrow(), target, compression="zstd", use_dictionary=False)
    return target.getvalue()


def _entries(collector: Collector, task: Task) -> list[LogEntry]:
    """The public log up to the last entry about the task; it names other tasks by their hashes only."""
    entries: list[LogEntry] = []
    while page := collector.registry.entries(after=len(entries) - 1, most=PAGE):
        entries += page
    last = max(i for i, entry in enumerate(entries) if entry.content["task"] == task.id.hex())
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
