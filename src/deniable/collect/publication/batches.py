"""The sealed reports of a store, batch by batch (a question, period and stratum): a Parquet file, and the tally that was sealed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Iterator
from math import inf

import numpy as np

from deniable.collect.collector import Collector
from deniable.collect.publication.publication_files import PublishedBatch, keys_of_rows
from deniable.collect.storage.block import ID_BYTES, Block, Bucket, tally_blocks
from deniable.collect.storage.log import StorageError
from deniable.contract.question import Question
from deniable.contract.task import Task
from deniable.core.reports import Reports
from deniable.core.tally import Tally
from deniable.errors import ParameterError

PAGE_BYTES = 1 << 20
"""A page of a file has twice as many bytes at most, but for a wider report: a reader unpacks whole pages."""


def check_public(task: Task) -> None:
    """Refuse reports that are not private by themselves. Sorted by content, shuffled ones show what the collector was sent, and no more."""
    if task.epsilon == inf:
        received = f"the model {task.model!r} with epsilon {task.epsilon}"
        raise ParameterError(task.name, received, allowed="reports that were privatized on the device", fix="publish estimates only")


def sealed_buckets(collector: Collector, task: Task, numbers: Collection[int] | None) -> Iterator[Bucket]:
    """The buckets to write, of some periods or rounds or all; ParameterError naming one that was asked for and cannot be."""
    states = {stored.bucket.number: stored.state for stored in collector.store.buckets(task.id)}
    for number in sorted(states if numbers is None else set(numbers)):
        state = states.get(number, "without reports")
        if state == "sealed":
            yield Bucket(task.id, number)
        elif numbers is not None:
            fix = "wait until it is over" if state == "open" else "publish before the retention time is over"
            raise ParameterError("period", f"{number}, which is {state}", allowed="sealed periods whose reports are kept", fix=fix)


def sealed_batches(collector: Collector, bucket: Bucket) -> Iterator[tuple[PublishedBatch, Tally, bytes]]:
    """Each batch of a bucket with its tally and its file. What would give another tally than was sealed is damaged."""
    questions = collector.questions(bucket)
    blocks = collector.store.sealed_reports(bucket)
    sealed = collector.store.tallies(bucket.task, [bucket.number])
    for block in blocks:
        tally = tally_blocks(questions, [block])[block.address]
        if sealed.get((bucket.number, *block.address)) != tally:
            raise StorageError(
                str(bucket), "reports that give another tally", allowed="those that were sealed", fix="see: deniable rebuild"
            )
        digest = hashlib.sha256(tally.to_bytes()).hexdigest()
        yield PublishedBatch(bucket.number, *block.address, len(block.rows), digest), tally, _parquet(questions[block.question], block)


def _parquet(question: Question, block: Block) -> bytes:
    """The reports without their ids, sorted by content: what two collectors write of the same reports is the same, byte for byte."""
    import pyarrow.parquet as pq  # a collector starts without it

    rows = np.ascontiguousarray(block.rows[:, ID_BYTES:])
    reports = Reports.from_rows(question.spec, rows[np.argsort(keys_of_rows(rows), kind="stable")].tobytes())
    target = io.BytesIO()
    at_once = max(1, min(1024, PAGE_BYTES // rows.shape[1]))  # the size of a page is looked at after so many rows
    pq.write_table(
        reports.to_arrow(), target, compression="zstd", use_dictionary=False, data_page_size=PAGE_BYTES, write_batch_size=at_once
    )
    return target.getvalue()
