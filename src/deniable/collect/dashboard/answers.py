"""Estimates for pages that many people look at: computed once for all of them, one at a time, a few seconds old at most.

What everyone sees changes in steps. A task is counted, and until the count has grown by its minimum batch, every selection and comparison
is answered from that count. If it changed with every report, frequent visitors would see when each report came and what it added. The steps
are kept in memory: a restart begins a new one, and so does the end of the task.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from deniable.collect.analysis.analyst import Answer, Comparisons, TaskCount, compare, count, estimate, task_status
from deniable.collect.analysis.integrity import integrity_of
from deniable.collect.analysis.selection import EVERYTHING, ReportSelection
from deniable.collect.collector import Collector
from deniable.core.integrity import IntegrityReport
from deniable.errors import DeniableError

FRESH = 1.0
"""Seconds for which an answer is reused, or ten times as long as it took to compute: counting must not starve collecting."""
MOST = 64
"""The most answers kept. A dropped one is computed again, from the same step for everyone."""


@dataclass
class CountedStep:
    """What everyone sees of an open task until it has grown by its minimum batch, and when to check that."""

    total: int
    counted: TaskCount | None
    """None for a search: it shows only its result, at the end."""
    until: float
    tested: Mapping[str, IntegrityReport] | None = None
    """The result of ``integrity``, if anyone has asked. The tests read every report, so they run once for each step: right after the
    count, except for the first time, which is on request."""


class CachedAnswer(NamedTuple):
    """An answer (or the error), its step, and until when it is reused where there are no steps."""

    outcome: Any
    step: CountedStep | None
    until: float


class SharedAnswers:
    """Estimates, comparisons and counts. ``public``: for everyone, in steps of the minimum batch until the task is over."""

    def __init__(self, collector: Collector, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._collector = collector
        self._clock = clock
        self._turn = threading.Lock()
        self._kept: dict[Hashable, CachedAnswer] = {}
        self._steps: dict[bytes, CountedStep] = {}

    def estimate(self, task: bytes, selection: ReportSelection = EVERYTHING, *, public: bool) -> Answer:
        """Return the estimate from the selected reports; raise TooFew or ProtocolError if there is none yet."""
        found: Answer = self._get(
            task, _key(selection), lambda step: estimate(self._collector, task, selection, counted=step.counted if step else None), public
        )
        return found

    def compare(self, task: bytes, first: ReportSelection, second: ReportSelection, alpha: float, *, public: bool) -> Comparisons:
        """Return what differs between two selections."""
        key = (_key(first), _key(second), alpha)
        found: Comparisons = self._get(
            task, key, lambda step: compare(self._collector, task, first, second, alpha, counted=step.counted if step else None), public
        )
        return found

    def integrity(self, task: bytes, *, public: bool) -> Mapping[str, IntegrityReport]:
        """Return for each question of a survey whether its reports show signs of tampering, if enough of them are kept."""
        found: Mapping[str, IntegrityReport] = self._get(task, "made up", lambda step: self._tested(task, step), public)
        return found

    def total(self, task: bytes, *, public: bool) -> int | None:
        """Return the number of reports of a task; None if it is below the minimum batch."""
        number: int = self._get(task, "total", lambda step: step.total if step else self._total(task), public)
        return number if number >= self._collector.task(task).task.minimum_batch else None

    # --- inside ---

    def _get(self, task: bytes, name: Hashable, compute: Callable[[CountedStep | None], Any], public: bool) -> Any:
        with self._turn:
            step = self._step(task) if public else None
            key = task, name, public
            kept = self._kept.pop(key, None)
            fixed = step is not None and step.counted is not None
            if kept is None or kept.step is not step or (not fixed and self._clock() >= kept.until):
                kept = self._compute(compute, step)
            self._kept[key] = kept  # the last one now
            while len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]
        if isinstance(kept.outcome, DeniableError):
            raise kept.outcome.with_traceback(None)
        return kept.outcome

    def _compute(self, compute: Callable[[CountedStep | None], Any], step: CountedStep | None) -> CachedAnswer:
        begun, outcome = self._clock(), None
        try:
            outcome = compute(step)
        except DeniableError as error:  # raised to everyone who asks
            outcome = error
        return CachedAnswer(outcome, step, self._until(begun))

    def _until(self, begun: float) -> float:
        now = self._clock()
        return now + max(FRESH, 10 * (now - begun))

    def _step(self, task: bytes) -> CountedStep | None:
        """Return the current step of a task; None once it is over, because nothing more will come."""
        live, begun, before = self._collector.task(task), self._clock(), self._steps.get(task)
        if live.closed or self._collector.clock() >= live.task.end + live.task.late:
            self._steps.pop(task, None)
            return None
        if before is not None and begun < before.until:
            return before
        counted = None if live.task.rounds else count(self._collector, task)
        total = self._total(task) if counted is None else sum(tally.n for tally in counted.tallies.values())
        least = live.task.minimum_batch
        if before is not None and before.total >= least and abs(total - before.total) < least:
            before.until = self._until(begun)
            return before
        step = CountedStep(total, counted, begun)
        if before is not None and before.tested is not None:
            self._tested(task, step)  # now: later there would be other reports
        step.until = self._until(begun)
        known = self._collector.admission.tasks
        self._steps = {name: each for name, each in self._steps.items() if name in known} | {task: step}
        return step

    def _tested(self, task: bytes, step: CountedStep | None) -> Mapping[str, IntegrityReport]:
        if step is None:
            return integrity_of(self._collector, task)
        if step.tested is None:
            step.tested = integrity_of(self._collector, task)
        return step.tested

    def _total(self, task: bytes) -> int:
        return sum(period["reports"] for period in task_status(self._collector, task)["periods"])


def _key(selection: ReportSelection) -> Hashable:
    return selection.periods, tuple(sorted(selection.strata.items()))
