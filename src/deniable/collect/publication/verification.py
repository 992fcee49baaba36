"""An open publication: a folder with the privatized reports of a task, from which anyone can count and estimate again, without a server.

In the local model a report may be public: it reveals no more about its sender than epsilon allows, to any reader. Everything that could
identify the sender is left out: ids, times except for the period, and the order of arrival; rows are sorted by content. The files::

    task.json         the task and its signature, as the collector serves them
    rounds.json       of a task of several rounds: each round as it was opened, its signature, and the protocol's state behind it
    log.json          the public log up to the last entry about the task
    reports/P-Q-S.parquet    period or round P, question Q, stratum S: the columns of ``Reports.to_arrow``
    estimates.json    the collector's estimates from the reports
    manifest.json     every other file's SHA-256, every batch's number of reports and tally, the epsilon of shuffled batches, signed

Everything is signed with the key in the task, and the task's id is its hash: with the id, readers need to trust nobody.
Reading needs neither a store nor the packages of a server; ``export`` writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isclose, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from deniable.collect.analysis.answer import Answer
from deniable.collect.analysis.disclosure import allowed_of, by_name
from deniable.collect.analysis.selection import EVERYTHING, ReportSelection
from deniable.collect.analysis.shuffled_batches import ShuffledBatches
from deniable.collect.publication.earlier_form import earlier_json, earlier_scales, is_earlier
from deniable.collect.publication.publication_files import (
    PublishedBatch,
    check_log,
    count_again,
    most_bytes,
    question_of,
    read_batches,
    read_estimates,
    read_manifest,
    read_mixed,
    read_rounds,
    read_task,
)
from deniable.collect.publication.publication_folder import ESTIMATES, LOG, MANIFEST, MOST_BYTES, ROUNDS, TASK, PublicationFiles, naming
from deniable.collect.storage.block import total
from deniable.contract.canonical import read_number
from deniable.contract.protocol import Protocol
from deniable.contract.task import Task
from deniable.core.estimate import Estimate
from deniable.core.tally import Tally
from deniable.errors import ProtocolError, WireError

CLOSE = 1e-9
"""Estimates that another machine computed may differ by so much, relative to the numbers beside them or the range of numbers."""
CANCELLED = 1e-3
"""A number that is what is left of larger ones may differ by so much more, relative to it."""
SHORT, SPACIOUS = 1 << 20, 16
"""Published estimates take at most so many bytes, and so many times those of the estimates computed again: white space, an earlier form."""


@dataclass(frozen=True)
class Publication:
    """What was published, with every tally counted again: by period, question and stratum."""

    task: Task
    states: tuple[Protocol, ...]
    batches: tuple[PublishedBatch, ...]
    tallies: Mapping[tuple[int, int, int], Tally]
    withheld: int
    """How many batches were left out because they are smaller than the task's minimum."""
    mixed: ShuffledBatches | None = None
    """Under shuffle trust: the batches in which the reports came from the shuffler."""

    @property
    def reports(self) -> int:
        """How many reports there are."""
        return sum(batch.reports for batch in self.batches)

    def answer(self) -> Answer:
        """What the reports say; ProtocolError if the rounds do not follow from each other, or have no result."""
        if self.task.rounds:
            found, selection = self._result(), EVERYTHING
        else:
            asked = enumerate(self.task.survey.questions)
            found = self.task.survey.close({question.name: total(question, i, self.tallies) for i, question in asked})
            selection = ReportSelection(tuple(sorted({batch.period for batch in self.batches})))
        return allowed_of(self.task, found, selection, mixed=self.mixed)

    def _result(self) -> Mapping[str, Estimate]:
        """Every round is closed again: each must lead to the next one, and the last to the result."""
        after: Any = self.states[0]
        for number, state in enumerate(self.states):
            if not isinstance(after, Protocol) or after.canonical != state.canonical:
                raise ProtocolError(f"round {number}", "another state", allowed="what the rounds before it led to", fix="it was made up")
            tallies = {address: tally for address, tally in self.tallies.items() if address[0] == number}
            after = state.close({question.name: total(question, i, tallies) for i, question in enumerate(state.open().questions)})
        if isinstance(after, Protocol):
            raise ProtocolError(
                f"round {len(self.states)}", "missing", allowed="all rounds of the search", fix="publish it when it is over"
            )
        return by_name(self.task, after)


def read_publication(folder: str | Path, *, task: bytes | None = None) -> Publication:
    """Every tally of a published folder, counted again from its reports; WireError naming the file if anything in it is not as signed.

    Give the id of the task that you mean, if you know it: a folder with another task and another key could be signed as well as this one.
    """
    files = PublicationFiles(Path(folder))
    with naming(TASK):
        published = read_task(files.read(TASK))
        if task is not None and task != published.id:
            raise WireError("id", published.id.hex(), allowed=f"the task {task.hex()}", fix="this is another publication")
    with naming(MANIFEST):
        manifest = read_manifest(files.read(MANIFEST), published)
        batches, withheld = read_batches(manifest, published), read_number("withheld", manifest["withheld"])
        mixed = read_mixed(manifest, published, batches)
    signed = manifest["files"]
    files.check_names(signed)
    for name in sorted(signed.keys() & MOST_BYTES.keys()):
        files.check(name, signed[name], MOST_BYTES[name])
    with naming(ROUNDS):
        states = tuple(read_rounds(files.read(ROUNDS), published)) if published.rounds else ()
    with naming(LOG):
        check_log(files.read(LOG), published, states)
    questions, tallies = {}, {}
    for batch in batches:
        with naming(batch.name):
            question = questions[batch.address] = question_of(batch, published, states)
            files.check(batch.name, signed[batch.name], most_bytes(batch, question))
    for batch in batches:
        with naming(batch.name), files.open(batch.name) as file:
            tallies[batch.address] = count_again(batch, file, questions[batch.address])
    return Publication(published, states, batches, tallies, withheld, mixed)


def verify_publication(folder: str | Path, *, task: bytes | None = None) -> Publication:
    """As ``read_publication``, and the published estimates are computed again; WireError naming the first that is another one."""
    publication = read_publication(folder, task=task)
    with naming(ROUNDS if publication.task.rounds else ESTIMATES):
        answer = publication.answer()
        recomputed = json.dumps(answer.to_json())
    with naming(ESTIMATES):
        most = min(MOST_BYTES[ESTIMATES], SHORT + SPACIOUS * len(recomputed))
        published = read_estimates(PublicationFiles(Path(folder)).read(ESTIMATES, most))
        scales = [_scale(each) for each in answer.estimates.values()]
        if is_earlier(published):
            recomputed, scales = json.dumps(earlier_json(answer, published)), earlier_scales(answer)
        where = _first_difference(published, json.loads(recomputed), scales)
        if where is not None:
            raise WireError(f"{ESTIMATES}{where}", "another estimate", allowed="what follows from the reports", fix="it was made up")
    return publication


def _scale(estimate: Estimate) -> float:
    """How large the numbers of an estimate can be where they nearly cancel: the width of a range, or a little of the largest number."""
    if estimate.unit is not None:
        return float(estimate.unit.width)
    return CANCELLED * max((abs(number) for number in np.ravel(estimate.point).tolist() if isfinite(number)), default=1.0)


def _first_difference(published: Any, recomputed: dict[str, Any], scales: list[float]) -> str | None:
    """Where two answers differ, each question being measured by what its estimates can be."""
    told, found = published.get("answers") if isinstance(published, dict) else None, recomputed["answers"]
    if not isinstance(told, list) or len(told) != len(found):
        return ", answers"
    pairs = [(", answers, " + str(i), *pair) for i, pair in enumerate(zip(told, found, scales, strict=True))]
    parts = (difference(first, second, CLOSE * scale, where) for where, first, second, scale in pairs)
    one, other = ({name: each for name, each in whole.items() if name not in ("answers", "version")} for whole in (published, recomputed))
    return next((where for where in parts if where is not None), difference(one, other, 0.0))


def difference(first: Any, second: Any, slack: float, where: str = "") -> str | None:
    """Where two answers differ, as a path; None if they are the same. Numbers of a list may differ by a little of the largest of them.

    >>> difference({"n": 3, "rows": [{"count": 1.0}]}, {"n": 3, "rows": [{"count": 1.5}]}, slack=0.1)
    ', rows, 0, count'
    """
    if _is_time(first) and _is_time(second):
        first, second = (datetime.fromisoformat(each["time"]).replace(tzinfo=UTC).timestamp() for each in (first, second))
        return None if isclose(first, second, rel_tol=0.0, abs_tol=max(slack, 1e-3)) else where
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        pairs = [(f"{where}, {name}", first[name], second[name]) for name in first]
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        slack = max([slack, *(CLOSE * abs(each) for each in second if isinstance(each, float))])
        pairs = [(f"{where}, {i}", one, other) for i, (one, other) in enumerate(zip(first, second, strict=True))]
    elif isinstance(first, float) and isinstance(second, float):
        return None if isclose(first, second, rel_tol=CLOSE, abs_tol=slack) else where
    else:
        return None if type(first) is type(second) and first == second else where
    return next((found for path, one, other in pairs if (found := difference(one, other, slack, path)) is not None), None)


def _is_time(plain: Any) -> bool:
    return isinstance(plain, dict) and set(plain) == {"time"} and isinstance(plain["time"], str)
