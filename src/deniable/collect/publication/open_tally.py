"""Counting what devices have posted in open folders (``client.bulletin``), as a collector that received it would have counted it.

No file is trusted, and order does not matter: a report counts if its bytes match its name and the task accepts it. Everyone who counts the
same files gets the same tallies, to the byte. Files that are not counted are listed with a code: the collector's codes, and these::

    not_a_report   another name, a folder, a link: nothing that a device posts
    unfinished     what a device that was stopped has left
    unreadable     a file that cannot be opened or read
    torn           other bytes than the name promises
    malformed      no report at all, although the name fits
    repeated       a report that another folder has as well: it counts once
    conflict       several reports under one id in one period. Honest devices post no such thing, nothing tells which was first: none counts

Arrival has no time here. A period that has not begun is refused, but nothing shows that a report is late: count when all is over.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from deniable.client.bulletin import REPORT, TASK, check_open
from deniable.collect.admission import Admission, LiveTask
from deniable.collect.analysis.answer import Answer
from deniable.collect.analysis.disclosure import answer_of, survey_estimates
from deniable.collect.analysis.selection import EVERYTHING, ReportSelection
from deniable.collect.clock import Moment
from deniable.collect.publication.publication_files import read_task
from deniable.collect.storage.block import ID_BYTES, Block, tally_blocks
from deniable.contract.canonical import canonical_json
from deniable.contract.durable import PART
from deniable.contract.envelope import Envelope, open_batch
from deniable.contract.task import Task
from deniable.core.tally import Tally
from deniable.errors import ParameterError, WireError

LARGEST = 1 << 22
"""The most bytes of a report that are read."""
TOGETHER = 1 << 12
"""Reports looked at together."""
_NAME = re.compile(rf"[0-9a-f]{{64}}{re.escape(REPORT)}")
_Refuse = Callable[[str, str], None]
"""Takes a code and the name of a file."""


@dataclass(frozen=True)
class OpenTally:
    """What open folders say about a task: tallies by period, question and stratum, and by code the files that were not counted."""

    task: Task
    tallies: Mapping[tuple[int, int, int], Tally]
    refused: Mapping[str, tuple[str, ...]]
    now: float

    @property
    def reports(self) -> int:
        """How many reports were counted."""
        return sum(tally.n for tally in self.tallies.values())

    def answer(self, selection: ReportSelection = EVERYTHING) -> Answer:
        """What the reports say, in the collector's words; TooFew if they are fewer than the task shows."""
        selection.check(self.task)
        found = survey_estimates(self.task, self.tallies, selection)
        periods = {address[0] for address in self.tallies} if selection.periods is None else selection.periods
        ends = [self.task.period_span(period)[1] + self.task.late for period in periods]
        return answer_of(self.task, found, selection, provisional=any(self.now < end for end in ends))


def read_open_task(data: bytes) -> Task:
    """A task as a collector serves it, if it is signed with its own key, and can be counted from open folders."""
    return read_served_task(check_open(data))


def read_served_task(data: bytes) -> Task:
    """A task as a collector serves it, if it is signed with its own key, and can be counted without its collector."""
    try:
        parts = json.loads(data)
        data = canonical_json({"task": parts["task"], "signature": parts["signature"]})
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise WireError("task", data, allowed="a task and its signature in JSON", fix="save what the collector serves") from error
    task = read_task(data)
    if task.mixing is not None:
        fix = "its reports go through shufflers: see deniable verify"
        raise ParameterError("task", task.name, allowed="a task of local trust: files show who posted what", fix=fix)
    if task.rounds:
        fix = "a search goes on by what its collector has counted: see deniable verify"
        raise ParameterError("task", task.name, allowed="a task of one round", fix=fix)
    return task


def tally_folders(folders: Sequence[Path], task: Task, now: float) -> OpenTally:
    """Count the reports on a task in open folders, each once."""
    refused: dict[str, list[str]] = {}
    kept: dict[tuple[int, bytes], dict[str, Envelope]] = {}

    def refuse(code: str, name: str) -> None:
        refused.setdefault(code, []).append(name if name.isprintable() else ascii(name))

    admission = Admission()
    admission.tasks[task.id] = LiveTask(task, questions=task.survey.questions)
    posted = _read(folders, refuse)
    whenever = Moment(0.0, now)  # they came at some time until now
    while some := list(islice(posted, TOGETHER)):
        rejected = dict(admission.admit([envelope for _, envelope in some], whenever)[1])
        for position, (name, envelope) in enumerate(some):
            if position in rejected:
                refuse(rejected[position], name)
            else:
                kept.setdefault((envelope.period, envelope.id), {})[name] = envelope
    rows: dict[tuple[int, int, int], list[bytes]] = {}
    for reports in kept.values():
        if len(reports) > 1:
            for name in reports:
                refuse("conflict", name)
            continue
        ((_, envelope),) = reports.items()
        rows.setdefault(envelope[1:4], []).append(envelope.id + envelope.payload)
    tallies = {address: _tally(task, address, parts) for address, parts in sorted(rows.items())}
    return OpenTally(task, tallies, {code: tuple(sorted(names)) for code, names in sorted(refused.items())}, now)


def _read(folders: Sequence[Path], refuse: _Refuse) -> Iterator[tuple[str, Envelope]]:
    """The reports in folders, whole and each once."""
    seen: set[str] = set()
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(TASK) and entry.is_file(follow_symlinks=False):
                    continue
                if name.startswith(".") and name.endswith(PART):
                    refuse("unfinished", name)
                elif not _NAME.fullmatch(name) or not entry.is_file(follow_symlinks=False):  # a pipe would be waited for
                    refuse("not_a_report", name)
                elif (envelope := _open(Path(entry.path), refuse)) is None:
                    continue
                elif name in seen:
                    refuse("repeated", name)
                else:
                    seen.add(name)
                    yield name, envelope


def _open(path: Path, refuse: _Refuse) -> Envelope | None:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError:  # a stranger's, or gone since: it must not keep the others from being counted
        refuse("unreadable", path.name)
        return None
    if hashlib.sha256(data).hexdigest() + REPORT != path.name:
        refuse("torn", path.name)
        return None
    try:
        (envelope,) = open_batch(data, most=1)
    except (WireError, ValueError):  # or none at all
        refuse("malformed", path.name)
        return None
    return envelope


def _tally(task: Task, address: tuple[int, int, int], rows: list[bytes]) -> Tally:
    _, question, stratum = address
    block = Block.of(question, stratum, len(rows[0]) - ID_BYTES, b"".join(rows))
    return tally_blocks(task.survey.questions, [block])[block.address]
