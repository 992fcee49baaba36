"""Estimates for pages that many people look at: computed once for all of them, one at a time, a few seconds old at most.

What is shown to everyone changes in steps of the task's minimum batch. If it changed with every report, whoever looks often enough would
see when each report came, and what it added.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from deniable.collect.analysis.analyst import Answer, Changes, compare, estimate, task_status
from deniable.collect.analysis.integrity import integrity_of
from deniable.collect.analysis.selection import EVERYTHING, Selection
from deniable.collect.collector import Collector
from deniable.core.integrity import IntegrityReport
from deniable.errors import DeniableError

FRESH = 1.0
"""For so many seconds an answer is given again as it is, or for ten times as long as it took: counting must not starve collecting."""
MOST = 64


class Kept(NamedTuple):
    """An answer or why there is none, how many reports it is about, and until when it is given again."""

    outcome: Any
    size: int
    until: float


class Answers:
    """Estimates, comparisons and counts. ``public``: for everyone, in steps of the minimum batch."""

    def __init__(self, collector: Collector, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._collector = collector
        self._clock = clock
        self._turn = threading.Lock()
        self._kept: dict[Hashable, Kept] = {}

    def estimate(self, task: bytes, selection: Selection = EVERYTHING, *, public: bool) -> Answer:
        """What the selected reports say; TooFew or ProtocolError if they say nothing yet."""
        key = (task, _key(selection), public)
        found: Answer = self._get(key, lambda: estimate(self._collector, task, selection), _reports, task)
        return found

    def compare(self, task: bytes, first: Selection, second: Selection, alpha: float, *, public: bool) -> Changes:
        """What differs between two selections."""
        key = (task, _key(first), _key(second), alpha, public)
        found: Changes = self._get(key, lambda: compare(self._collector, task, first, second, alpha), _both, task)
        return found

    def integrity(self, task: bytes, *, public: bool) -> Mapping[str, IntegrityReport]:
        """For each question of a survey, if enough reports are kept, whether they show signs of having been made up."""
        found: Mapping[str, IntegrityReport] = self._get(
            ("made up", task, public), lambda: integrity_of(self._collector, task), _tested, task
        )
        return found

    def total(self, task: bytes, *, public: bool) -> int | None:
        """How many reports a task has; None if they are fewer than its minimum batch."""
        count: int = self._get((task, public), lambda: _count(self._collector, task), lambda count: count, task)
        return count if count >= self._collector.task(task).task.minimum_batch else None

    def _get(self, key: tuple[Any, ...], compute: Callable[[], Any], size: Callable[[Any], int], task: bytes) -> Any:
        with self._turn:
            kept = self._kept.pop(key, None)
            if kept is None or self._clock() >= kept.until:
                kept = self._renew(kept, compute, size, self._step(task) if key[-1] else 0)
            self._kept[key] = kept  # the last one now
            while len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]
        if isinstance(kept.outcome, DeniableError):
            raise kept.outcome.with_traceback(None)
        return kept.outcome

    def _renew(self, before: Kept | None, compute: Callable[[], Any], size: Callable[[Any], int], step: int) -> Kept:
        begun, outcome, count = self._clock(), None, 0
        try:
            outcome = compute()
            count = size(outcome)
        except DeniableError as error:  # told to whoever asks
            outcome = error
        now = self._clock()
        until = now + max(FRESH, 10 * (now - begun))
        if before is not None and not isinstance(before.outcome, DeniableError) and 0 <= count - before.size < step:
            return before._replace(until=until)
        return Kept(outcome, count, until)

    def _step(self, task: bytes) -> int:
        """By how many reports what everyone sees must have grown: by nothing once all of them are there."""
        live = self._collector.task(task)
        over = live.closed or self._collector.clock() >= live.task.end + live.task.late
        return 0 if over else live.task.minimum_batch


def _key(selection: Selection) -> Hashable:
    return selection.periods, tuple(sorted(selection.strata.items()))


def _reports(answer: Answer) -> int:
    return sum(found.n for found in answer.estimates.values())


def _tested(found: Mapping[str, IntegrityReport]) -> int:
    return sum(report.n for report in found.values())


def _both(changes: Changes) -> int:
    return sum(found.first.n + found.second.n for found in changes.comparisons.values())


def _count(collector: Collector, task: bytes) -> int:
    return sum(period["reports"] for period in task_status(collector, task)["periods"])
