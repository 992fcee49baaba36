"""What an analyst asks about: some periods of a task, some of its people, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from deniable.collect.tasks.spans import moment_in_words
from deniable.contract.task import Task
from deniable.errors import ParameterError

DAY = 86_400
MOST_PERIODS = 1 << 16
"""So many can be named; ``all`` has no limit."""
_NUMBER = re.compile(r"[0-9]{1,13}")
_NUMBERS = re.compile(r"([0-9]{1,13})-([0-9]{1,13})")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class ReportSelection:
    """Some periods (None: all of them) and some people: ``strata`` fixes some of the labels, and the others are summed over."""

    periods: tuple[int, ...] | None = None
    strata: Mapping[str, str] = field(default_factory=dict)

    def check(self, task: Task) -> None:
        """ParameterError naming what there is, if a task has no such periods or labels."""
        if task.rounds and self != EVERYTHING:
            allowed = "all rounds and all people: they were asked for one result"
            raise ParameterError("selection", self.to_json(), allowed=allowed, fix="leave out periods and strata")
        if self.periods is not None:
            if not self.periods:
                raise ParameterError("periods", self.periods, allowed="one period or more", fix="None selects all of them")
            for period in self.periods:
                _check_period(task, period, period)
        known = dict(task.strata)
        for name, label in self.strata.items():
            if name not in known:
                raise ParameterError("stratum", name, allowed=f"one of {list(known)}" if known else "none", fix="as the task names them")
            if label not in known[name]:
                raise ParameterError(f"stratum {name}", label, allowed=f"one of {list(known[name])}", fix="as the task names them")

    def holds(self, task: Task, period: int, stratum: int) -> bool:
        """Whether reports of a period and a stratum are meant."""
        if self._named is not None and period not in self._named:
            return False
        return not self.strata or self.strata.items() <= task.stratum_labels(stratum).items()

    @cached_property
    def _named(self) -> frozenset[int] | None:
        return None if self.periods is None else frozenset(self.periods)

    def overlaps(self, other: ReportSelection) -> bool:
        """Whether a report could be in both."""
        apart = any(other.strata.get(name, label) != label for name, label in self.strata.items())
        shared = self.periods is None or other.periods is None or set(self.periods) & set(other.periods)
        return bool(shared) and not apart

    def to_json(self) -> dict[str, Any]:
        """The selection as people name it in an answer: all periods are "all". By hand: it is shown, and never read back."""
        return {"periods": "all" if self.periods is None else list(self.periods), "strata": dict(self.strata)}


EVERYTHING = ReportSelection()


def read_periods(task: Task, text: str) -> tuple[int, ...] | None:
    """The periods behind what a person wrote; None for ``all``.

    Numbers count from 0: ``3`` or ``0-6``. Dates and times are UTC unless they say otherwise: ``2026-12-03``, ``2026-12-03T10:00+01:00``
    or, from the first to the last, ``2026-12-01..2026-12-07``. A date means the periods that begin on it, or else the one that it lies in.
    """
    if text == "all":
        return None
    if task.rounds:
        raise ParameterError("period", text, allowed="all: a task of several rounds has one result", fix="leave it out")
    numbers = _NUMBERS.fullmatch(text)
    ends = numbers.groups() if numbers else text.split("..")
    if len(ends) > 2:
        raise _unreadable(text)
    first, last = _read_end(task, ends[0])[0], _read_end(task, ends[-1])[1]
    if not 0 <= last - first < MOST_PERIODS:
        raise ParameterError("period", text, allowed=f"the first and the last of at most {MOST_PERIODS} periods", fix="or all")
    return tuple(range(first, last + 1))


def read_strata(task: Task, texts: Iterable[str]) -> dict[str, str]:
    """The labels behind texts like ``platform:phone``; ``ReportSelection.check`` says whether they exist."""
    strata: dict[str, str] = {}
    for text in texts:
        known = [name for name, _ in task.strata if text.startswith(f"{name}:")]  # a name may have a colon of its own
        name = max(known, key=len, default=text.partition(":")[0])
        label = text[len(name) + 1 :]
        if strata.setdefault(name, label) != label:
            raise ParameterError(f"stratum {name}", label, allowed="one label of each name", fix="leave it out to sum over all labels")
    return strata


def bucket_label(task: Task, number: int) -> str:
    """A period or a round as people know it: from when to when, or its number."""
    return f"round {number}" if task.rounds else "/".join(_moment(end) for end in task.period_span(number))


def _read_end(task: Task, text: str) -> tuple[int, int]:
    """The first and the last period that a number, a date or a time stands for."""
    if _NUMBER.fullmatch(text):
        return _check_period(task, int(text), text)
    try:
        moment = datetime.fromisoformat(text)
        seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError) as error:
        raise _unreadable(text) from error
    if _DATE.fullmatch(text):
        first = max(-((task.start - seconds) // task.period), 0)
        last = min(-((task.start - seconds - DAY) // task.period), task.period_count) - 1
        if first <= last:
            return first, last
    period = task.period_at(seconds)
    return _check_period(task, -1 if period is None else period, text)


def _check_period(task: Task, period: int, received: object) -> tuple[int, int]:
    if type(period) is not int or not 0 <= period < task.period_count:
        allowed = f"0 to {task.period_count - 1}, from {_moment(task.start)} to {_moment(task.end)}"
        raise ParameterError("period", received, allowed=allowed, fix="see the status of the task")
    return period, period


def _unreadable(text: str) -> ParameterError:
    allowed = "a number, a date or a time, two of them with .. in between, or all"
    return ParameterError("period", text, allowed=allowed, fix="as in 3, 0-6, 2026-12-03 or 2026-12-01..2026-12-07")


def _moment(seconds: int) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):  # a task may end after the year 9999
        return moment_in_words(seconds)
    return moment.isoformat(timespec="seconds" if seconds % 60 else "minutes").replace("+00:00", "Z")
