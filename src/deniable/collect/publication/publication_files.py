"""The files of an open publication, one by one, each read as strictly as it was signed. ``verification`` says what they are."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from deniable.collect.analysis.shuffled_batches import ShuffledBatch, ShuffledBatches
from deniable.collect.publication.pages import check_pages
from deniable.collect.publication.publication_folder import ESTIMATES, LOG, ROUNDS, TASK
from deniable.collect.tasks.limits import check_size
from deniable.contract.admission import TOKEN
from deniable.contract.canonical import parse_canonical, read_number, read_object
from deniable.contract.ed25519 import ROUND_CONTEXT, TASK_CONTEXT, verify
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.public_log import LogEntry, verify_chain
from deniable.contract.question import Question
from deniable.contract.task import OpenedRound, Task
from deniable.core.reports import Reports
from deniable.core.tally import Tally
from deniable.errors import WireError
from deniable.kernels.compiled import Array

CONTEXT = b"deniable publication 1\n"
"""What stands before a manifest when it is signed."""
VERSION = 1
AT_ONCE, BYTES_AT_ONCE = 1 << 18, 1 << 26
"""Reports that are read and counted at a time: so many, or fewer if they are wide."""
OVERHEAD = 1 << 20
"""Bytes of a file of reports, at most, for what Parquet notes about it, but for the spec."""
CLOSE = 1e-6
"""By so much, relatively, another machine may price a batch lower."""
_SIGNATURE = re.compile(rb',"signature":"([0-9a-f]{128})"')
"""In canonical JSON, where quotes in texts are escaped and the name is never the first, this is a field and nothing else."""
_BATCH = re.compile(r"reports/(0|[1-9][0-9]{0,12})-(0|[1-9][0-9]{0,8})-(0|[1-9][0-9]{0,8})\.parquet")


class PublishedBatch(NamedTuple):
    """The reports of one file."""

    period: int
    question: int
    stratum: int
    reports: int
    tally: str
    """SHA-256 of the tally's image, in hex."""

    @property
    def address(self) -> tuple[int, int, int]:
        """Period, question and stratum."""
        return self.period, self.question, self.stratum

    @property
    def name(self) -> str:
        """The file that holds them."""
        return f"reports/{self.period}-{self.question}-{self.stratum}.parquet"


def read_task(data: bytes) -> Task:
    """The task, if it is signed with its own key."""
    content = read_object("task", parse_canonical(data), {"task", "signature"})
    canonical = content["task"].encode()
    task = Task.from_json(canonical)
    require_signature(task.key, TASK_CONTEXT + canonical, content["signature"])
    check_size(task, protocol_from_json(task.protocol))  # collectors publish no others, and readers need the memory, too
    return task


def read_manifest(data: bytes, task: Task) -> dict[str, Any]:
    """The manifest, if the task's key has signed it for this task."""
    found = _SIGNATURE.findall(data)
    if len(found) != 1:
        raise WireError("signature", f"{len(found)} of them", allowed="one signature", fix="it is no manifest")
    require_signature(task.key, CONTEXT + _SIGNATURE.sub(b"", data), found[0].decode())  # before the rest is parsed
    names = {"version", "task", "files", "batches", "withheld", "signature"} | ({"mixed"} if task.mixing is not None else set())
    content = read_object("manifest", parse_canonical(data), names)
    if content["version"] != VERSION or content["task"] != task.id.hex():
        raise WireError("task", content["task"], allowed=f"version {VERSION}, task {task.id.hex()}", fix="it belongs to another folder")
    needed = {TASK, LOG, ESTIMATES} | ({ROUNDS} if task.rounds else set())
    for name in set(read_object("files", content["files"], needed, frozenset(content["files"]))) - needed:
        if not _BATCH.fullmatch(name):
            raise WireError("files", name, allowed="files of a publication", fix="this is none")
    return content


def read_rounds(data: bytes, task: Task) -> Iterator[Protocol]:
    """The protocol's state in each round, if the rounds are signed, in order, and were opened from these states."""
    for number, entry in enumerate(_list(data)):
        parts = read_object("round", entry, {"round", "signature", "state"})
        canonical = parts["round"].encode()
        opened, state = OpenedRound.from_json(canonical), protocol_from_json(parts["state"].encode())
        require_signature(task.key, ROUND_CONTEXT + canonical, parts["signature"])
        expected = opened_round(task, number, state)
        if opened != expected or (number == 0 and state.canonical != task.protocol):
            raise WireError(f"round {number}", parts["round"], allowed="the round of its state", fix="it was made up")
        yield state


def opened_round(task: Task, number: int, state: Protocol) -> OpenedRound:
    """A round as a collector opens it."""
    digest = hashlib.sha256(state.canonical).digest()
    return OpenedRound(task=task.id, number=number, scale=state.scale, round=state.open(), state=digest)


def read_estimates(data: bytes) -> Any:
    """The estimates as they were published."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise WireError("json", "lists in lists", allowed="the estimates of a task", fix="it was made up") from error


def check_log(data: bytes, task: Task, states: tuple[Protocol, ...]) -> None:
    """Refuse a log that is not the collector's, or does not have the task and each of its rounds."""
    entries = [LogEntry.from_json(entry) for entry in _list(data)]
    verify_chain(entries, task.key)
    logged = {(entry.content.kind, entry.content.published) for entry in entries if entry.content.task == task.id}
    published = [("task", task.canonical)] + [("round", opened_round(task, i, state).canonical) for i, state in enumerate(states)]
    for kind, canonical in published:
        if (kind, hashlib.sha256(canonical).digest()) not in logged:
            raise WireError(kind, "no entry", allowed="an entry for the task and each of its rounds", fix="ask for the whole log")


def read_batches(manifest: Mapping[str, Any], task: Task) -> tuple[PublishedBatch, ...]:
    """The batches, if they are the files that are listed, and none is smaller than the task promises."""
    batches = tuple(_batch(entry) for entry in manifest["batches"])
    if sorted(batch.name for batch in batches) != sorted(name for name in manifest["files"] if _BATCH.fullmatch(name)) or not batches:
        raise WireError("batches", [batch.name for batch in batches], allowed="one or more, and each file once", fix="it was made up")
    small = [batch.name for batch in batches if batch.reports < task.minimum_batch]
    if small:
        raise WireError(small[0], "fewer reports", allowed=f"{task.minimum_batch} or more, as the task promises", fix="it says nothing")
    return batches


def read_mixed(manifest: Mapping[str, Any], task: Task, batches: Iterable[PublishedBatch]) -> ShuffledBatches | None:
    """The shuffled batches behind the reports, if each is worth what it says, keeps the task's claim, and together they hold them all."""
    if task.mixing is None:
        return None
    from deniable.collect.tasks.batch_price import price  # here: most publications are read without

    entries = [read_object("mixed", entry, {"period", "reports", "epsilon"}) for entry in manifest["mixed"]]
    found = [
        ShuffledBatch(read_number("period", each["period"]), read_number("reports", each["reports"]), float(each["epsilon"]))
        for each in entries
    ]
    for each in found:
        least = price(task, each.reports).epsilon if each.reports >= task.mixing.minimum else inf
        if not least * (1 - CLOSE) <= each.epsilon <= task.mixing.epsilon:
            allowed = f"an epsilon from {least:.4g} to {task.mixing.epsilon:g}, as the task claims"
            raise WireError("mixed", each, allowed=allowed, fix="it promises what does not hold")
    held = Counter(dict.fromkeys({batch.period for batch in batches}, 0))
    for each in found:
        held[each.period] += each.reports
    for batch in batches:  # a token that was spent in two periods is left out of one of them when it is sealed, not when it comes
        told = held[batch.period]
        if batch.reports > told or (batch.reports < told and task.admission != TOKEN):
            allowed = f"the {batch.reports} reports of period {batch.period}"
            raise WireError("mixed", told, allowed=allowed, fix="it was made up")
    return ShuffledBatches.of(task, found)


def most_bytes(batch: PublishedBatch, question: Question) -> int:
    """The size above which no collector has written a file of so many reports.

    Parquet keeps an integer in 4 or 8 bytes and a length of 4 before each string of bytes, and names the spec twice, once in base 64. Twice
    as much leaves room for the headers and limits of its pages.
    """
    layout = question.spec.layout
    return OVERHEAD + 4 * len(question.spec.canonical) + 2 * batch.reports * (_width(question) + 8 * len(layout))


def count_again(batch: PublishedBatch, file: BufferedReader, question: Question) -> Tally:
    """The tally of a file, if it holds as many reports as were signed, on that question, sorted, and they give the signed tally.

    What the file says about itself is checked before any of it is unpacked, and then so many rows at a time: a few bytes can unpack to
    more than there is memory. The number of rows in its footer may be wrong, so the rows themselves are counted, too.
    """
    import pyarrow.parquet as pq

    source = pq.ParquetFile(file)
    told, n = Reports.from_arrow(source.schema_arrow.empty_table()).spec, source.metadata.num_rows
    if told != question.spec or n != batch.reports:
        allowed = f"{batch.reports} reports of {question.spec!r}"
        raise WireError("reports", f"{n} reports of {told!r}", allowed=allowed, fix="the file was made up")
    check_pages(file, source.metadata, _width(question))
    candidates = question.candidates if question.spec.candidates_at_tally else None
    tally: Tally = question.spec.tally(Reports.empty(question.spec, 0), candidates=candidates)
    last = keys_of_rows(np.zeros((0, 1), np.uint8))
    found = 0
    for part in source.iter_batches(min(AT_ONCE, max(1, BYTES_AT_ONCE // _width(question)))):
        found += len(part)
        if found > batch.reports:
            break
        reports = Reports.from_arrow(pa.Table.from_batches([part]).replace_schema_metadata(source.schema_arrow.metadata))
        ordered = keys_of_rows(reports.rows())
        if np.any(ordered[1:] < ordered[:-1]) or np.any(ordered[:1] < last):
            raise WireError("rows", "another order", allowed="rows sorted by content", fix="their order could tell when they came")
        tally, last = tally + question.spec.tally(reports, candidates=candidates), ordered[-1:]
    if found != batch.reports:
        received = f"{'fewer' if found < batch.reports else 'more'} rows than its footer says"
        raise WireError("reports", received, allowed=f"{batch.reports} reports", fix="the file was made up")
    if hashlib.sha256(tally.to_bytes()).hexdigest() != batch.tally:
        raise WireError("tally", batch.tally, allowed="the tally of these reports", fix="the manifest tells another count")
    return tally


def require_signature(key: bytes, message: bytes, signature: str) -> None:
    """WireError unless this is the key's signature of the message."""
    if bytes.fromhex(signature).hex() != signature or not verify(key, message, bytes.fromhex(signature)):  # one spelling, not several
        raise WireError("signature", signature, allowed="a signature under the task's key", fix="it is not what was published")


def keys_of_rows(rows: Array) -> Array:
    """Encoded reports as byte strings of one length, to be compared and sorted."""
    return np.ascontiguousarray(rows).view(f"S{rows.shape[1]}").ravel()


def question_of(batch: PublishedBatch, task: Task, states: tuple[Protocol, ...]) -> Question:
    """The question that the reports of a batch answer; WireError if the task does not ask it."""
    count, kind = (len(states), "rounds") if task.rounds else (task.period_count, "periods")
    if batch.period >= count or batch.stratum >= task.stratum_count:
        raise WireError("batch", batch.address, allowed=f"below {count} {kind} and {task.stratum_count} strata", fix="it was made up")
    asked = states[batch.period].open().questions if task.rounds else task.survey.questions
    if batch.question >= len(asked):
        raise WireError("batch", batch.address, allowed=f"below {len(asked)} questions", fix="it was made up")
    return asked[batch.question]


def _width(question: Question) -> int:
    """The bytes of one report."""
    return sum(column.row_bytes for column in question.spec.layout)


def _batch(entry: Any) -> PublishedBatch:
    content = read_object("batch", entry, set(PublishedBatch._fields))
    tally = content.pop("tally")
    return PublishedBatch(**{name: read_number(name, number) for name, number in content.items()}, tally=tally)


def _list(data: bytes) -> list[Any]:
    content = parse_canonical(data)
    if not isinstance(content, list):
        raise WireError("json", content, allowed="a list", fix="it was made up")
    return content
