"""Running a protocol on a crowd held in memory, round by round, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.contract.arguments import typed
from deniable.contract.protocol import Progress, Protocol
from deniable.contract.source import Source
from deniable.contract.subsets import Subsets
from deniable.core.sets import ItemSets
from deniable.core.stream import serve_everyone
from deniable.core.values import keys_of
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import fill_below

CHUNK = 1 << 18
"""People asked at a time: memory stays flat however large the crowd is. What replayed people say depends on it where encoders draw."""
BYTES = 1 << 26
"""Reports that are tallied together, since some mechanisms transform all counters for each tally."""


@typed
def run(protocol: Protocol, values: Any, *, source: Source | None, progress: Progress | None) -> Any:
    """Run a protocol on a crowd, round after round, and return its estimate."""
    held = protocol.read(values)
    tickets = draw_tickets(protocol, crowd_size(held), source)
    state: Any = protocol
    while isinstance(state, Protocol):
        state = state.close(ask(state, held, tickets, source=source, progress=progress))
    return state


def draw_tickets(protocol: Protocol, people: int, source: Source | None = None) -> Array:
    """Everyone's ticket, as ``Protocol.ticket`` draws it. A run that stops between rounds keeps them for the next."""
    tickets = np.zeros(people, dtype=np.uint32)
    if protocol.scale > 1:
        serve_everyone(people, lambda part, words: fill_below(np.uint64(protocol.scale), tickets[part], words), source)
    return tickets


def ask(
    protocol: Protocol, values: Any, tickets: Array | None = None, *, source: Source | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """The current round: each question goes to the people whose tickets lie in its interval, and its reports are tallied."""
    people = crowd_size(values)
    asked = protocol.open()
    if tickets is None:
        tickets = draw_tickets(protocol, people, source)
    groups = [np.flatnonzero((tickets >= start) & (tickets < end)) for start, end in pairwise(asked.edges(protocol.scale))]
    total, served = sum(group.size for group in groups), 0
    tallies = {}
    for question, group in zip(asked.questions, groups, strict=True):
        column = question.encoder.column(values)
        if crowd_size(column) != people:
            raise DomainError(
                "values",
                f"{crowd_size(column)} values of {question.name!r}",
                allowed=f"{people}, one for each person",
                fix="align the columns",
            )
        if not asked.first and not question.encoder.checks_column:
            # everyone's value is checked before anyone's is drawn, also of people who are asked in later rounds
            domain = getattr(question.encoder, "domain", question.spec.domain)
            ItemSets.of(domain, column) if isinstance(domain, Subsets) else keys_of(domain, column)
        tally, held = None, []
        for start in range(0, max(group.size, 1), CHUNK):
            chunk = group[start : start + CHUNK]
            held.append(question.spec.privatize(question.encoder.encode_many(take(column, chunk), source), source=source))
            served += chunk.size
            if start + CHUNK >= group.size or sum(reports.nbytes for reports in held) >= BYTES:
                part = question.spec.tally(_together(held), candidates=question.candidates if question.spec.candidates_at_tally else None)
                tally, held = part if tally is None else tally + part, []
            if progress is not None:
                progress(served, total)
        tallies[question.name] = tally
    return tallies


def _together(parts: list[Any]) -> Any:
    """Reports of one spec as one batch."""
    first, *rest = parts
    if not rest:
        return first
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in first.columns}
    return replace(first, n=sum(part.n for part in parts), columns=columns)


def crowd_size(values: Any) -> int:
    """The number of people behind a column, or behind the columns of a mapping."""
    if isinstance(values, Mapping):
        sizes = {name: _length(name, column) for name, column in values.items()}
        if len(set(sizes.values())) != 1:
            raise DomainError("values", sizes, allowed="columns of one length", fix="give one value per person in every column")
        return next(iter(sizes.values()))
    return _length("values", values)


def _length(name: object, column: Any) -> int:
    try:
        return len(column)
    except TypeError as error:  # also of an array without dimensions
        received = type(column).__name__
        raise DomainError(str(name), received, allowed="a column of known length", fix="make it a list first") from error


def take(column: Any, positions: Array) -> Any:
    """Some rows of a column, whatever holds it."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column.take(pa.array(positions))
    if hasattr(column, "iloc"):  # pandas: by position, never by its labels
        return column.iloc[positions]
    if isinstance(column, Sequence | memoryview):
        return [column[i] for i in positions]
    return column[positions]


class Steps:
    """A count of the steps of a run, which calls ``progress`` after each of them.

    >>> steps = Steps(2, lambda done, total: print(f"{done} of {total}"))
    >>> steps.next()
    1 of 2
    >>> steps.next()
    2 of 2
    """

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def next(self) -> None:
        """Count a step as done."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)
