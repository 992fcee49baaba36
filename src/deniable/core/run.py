"""Running a protocol on a crowd held in memory, round by round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.contract.protocol import Protocol, Question, Round
from deniable.contract.source import Source
from deniable.core.stream import serve_everyone
from deniable.core.values import keys_of
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import fill_below

Progress = Callable[[int, int], None]
CHUNK = 1 << 18
"""People asked at a time: memory stays flat however large the crowd is."""


def run(protocol: Protocol, values: Any, *, source: Source | None, progress: Progress | None) -> dict[str, Any]:
    """Ask everyone, round after round, until the protocol has its result."""
    state: Protocol | dict[str, Any] = protocol
    while isinstance(state, Protocol):
        state = state.close(ask(state.open(), values, source=source, progress=progress))
    return state


def ask(asked: Round, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> dict[str, Any]:
    """One round: people are split at random among the questions, and each question's reports are tallied."""
    people = crowd_size(values)
    groups = split(asked, people, source)
    total, served = sum(group.size for group in groups), 0
    tallies = {}
    for question, group in zip(asked.questions, groups, strict=True):
        inputs = question.encoder.encode_many(values, source)
        if crowd_size(inputs) != people:
            raise DomainError(
                "values",
                f"{crowd_size(inputs)} values of {question.name!r}",
                allowed=f"{people}, one for each person",
                fix="align the columns",
            )
        keys_of(question.spec.domain, inputs)  # everyone's value is checked before anyone's is drawn, whoever is asked
        tally = None
        for start in range(0, max(group.size, 1), CHUNK):
            chunk = group[start : start + CHUNK]
            part = answer(question, take(inputs, chunk), source)
            tally = part if tally is None else tally + part
            served += chunk.size
            if progress is not None:
                progress(served, total)
        tallies[question.name] = tally
    return tallies


def answer(question: Question, inputs: Any, source: Source | None = None) -> Any:
    """The tally of one question over some people's inputs."""
    reports = question.spec.privatize(inputs, source=source)
    return question.spec.tally(reports, candidates=question.candidates if question.spec.candidates_at_tally else None)


def split(asked: Round, people: int, source: Source | None) -> list[Array]:
    """The positions of the people each question asks, by the draw of ``Round.choose`` for each person."""
    *ends, scale = asked.steps
    if scale == 1:
        return [np.arange(people)]
    draws = np.empty(people, dtype=np.uint64)
    serve_everyone(people, lambda part, words: fill_below(np.uint64(scale), draws[part], words), source)
    chosen = np.searchsorted(np.array(ends, dtype=draws.dtype), draws, side="right")
    return [np.flatnonzero(chosen == i) for i in range(len(asked.questions))]


def crowd_size(values: Any) -> int:
    """The number of people behind a column, or behind the columns of a mapping."""
    if isinstance(values, Mapping):
        sizes = {name: len(column) for name, column in values.items()}
        if len(set(sizes.values())) != 1:
            raise DomainError("values", sizes, allowed="columns of one length", fix="give one value per person in every column")
        return next(iter(sizes.values()))
    if not hasattr(values, "__len__"):
        raise DomainError("values", type(values).__name__, allowed="a column of known length", fix="make it a list first")
    return len(values)


def take(column: Any, positions: Array) -> Any:
    """Some rows of a column, whatever holds it."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column.take(pa.array(positions))
    if hasattr(column, "iloc"):  # pandas: by position, never by its labels
        return column.iloc[positions]
    if isinstance(column, list | tuple):
        return [column[i] for i in positions]
    return column[positions]
