"""The analyst's side of a collector: the status of a task, its estimates, and what has changed.

No statistics of its own: tallies are summed, and the protocol, the estimates and their comparison do the rest.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from deniable.collect.analysis.answer import Answer, Comparisons
from deniable.collect.analysis.disclosure import TooFew, answer_of, by_name, survey_estimates
from deniable.collect.analysis.selection import EVERYTHING, ReportSelection, bucket_label, read_periods, read_strata
from deniable.collect.analysis.shuffled_batches import ShuffledBatches
from deniable.collect.collector import Collector
from deniable.collect.storage.records import StoredBucket
from deniable.contract.admission import TOKEN
from deniable.contract.protocol import Protocol
from deniable.contract.task import Task
from deniable.core.tally import Tally
from deniable.errors import ParameterError, ProtocolError

__all__ = ["Answer", "Comparisons", "ReportSelection", "TooFew", "compare", "estimate", "read_periods", "read_strata", "task_status"]
_HEAVY = threading.Lock()
LEAST_ALPHA = 1e-9
"""Below it, 1 - alpha cannot be distinguished from 1 precisely enough."""


class TaskCount(NamedTuple):
    """A task's tallies by period, question and stratum, and the state of every period with reports."""

    tallies: dict[tuple[int, int, int], Tally]
    states: dict[int, str]


def task_status(collector: Collector, task_id: bytes, *, exact: bool = True) -> dict[str, Any]:
    """Return a task's status: open or closed, the current period or round, and the reports of every period that has some.

    Unless ``exact``, numbers below the task's minimum batch are None, as for analysts.
    """
    live = collector.task(task_id)
    task, now = live.task, collector.clock()
    here = collector.store.open_counts(task_id, once=task.admission == TOKEN)
    buckets = collector.store.buckets(task_id)  # read last: a period that was closed meanwhile has its own count
    stages = [_bucket_status(task, stored, here.get(stored.bucket.number, 0), exact=exact) for stored in buckets]
    closed = live.closed or now >= task.end + task.late
    return {
        "task": task_id.hex(),
        "name": task.name,
        "question": task.question,
        "state": "closed" if closed else "open",
        "rounds": task.rounds,
        "current": None if closed else live.round if task.rounds else task.period_at(now),
        "parked": (live.trouble if exact else bool(live.trouble)) or None,
        "prolonged": live.prolonged.get(live.round, 0),
        "minimum_batch": task.minimum_batch,
        **_trust(collector, task),
        "strata": {name: list(labels) for name, labels in task.strata},
        "periods": stages,
    }


def _trust(collector: Collector, task: Task) -> dict[str, Any]:
    """Return the trust model; for shuffled tasks with the claim, and the epsilon of the batches so far."""
    if task.mixing is None:
        return {"trust": task.model}
    mixed = mixed_in(collector, task)
    claim = {"claim": task.mixing.epsilon, "delta": task.mixing.delta, "local_epsilon": task.epsilon, "minimum": task.mixing.minimum}
    return {"trust": task.model, "shuffle": claim | ({"batches": 0} if mixed is None else mixed.to_json())}


def _bucket_status(task: Task, stored: StoredBucket, here: int, *, exact: bool) -> dict[str, Any]:
    reports = here if stored.state == "open" else stored.reports
    shown = exact or reports >= task.minimum_batch
    return {
        "period": stored.bucket.number,
        "label": bucket_label(task, stored.bucket.number),
        "state": stored.state,
        "reports": reports if shown else None,
        "repeated": stored.repeated if shown else None,
    }


def estimate(collector: Collector, task_id: bytes, selection: ReportSelection = EVERYTHING, *, counted: TaskCount | None = None) -> Answer:
    """Return the estimates from the selected reports; raise TooFew if every question has fewer than the task's minimum batch.

    ``counted`` is an earlier count of a survey, to use instead of counting now.
    """
    task = collector.task(task_id).task
    selection.check(task)
    with _turn(task):
        if task.rounds:
            found, provisional = _result(collector, task), False
        else:
            counted = counted or count(collector, task_id, selection.periods)
            found = survey_estimates(task, counted.tallies, selection)
            provisional = _provisional(collector, task, counted, selection)
        return answer_of(task, found, selection, provisional=provisional, mixed=mixed_in(collector, task, selection.periods))


def compare(
    collector: Collector,
    task_id: bytes,
    first: ReportSelection,
    second: ReportSelection,
    alpha: float = 0.05,
    *,
    counted: TaskCount | None = None,
) -> Comparisons:
    """Return what changed between two selections, with a test; raise TooFew if no question has the minimum batch in both."""
    task = collector.task(task_id).task
    if not LEAST_ALPHA <= alpha < 1:
        raise ParameterError("alpha", alpha, allowed=f"a number from {LEAST_ALPHA} to below 1", fix="use 0.05, the usual value")
    if task.rounds:
        raise ParameterError(
            "task", task.name, allowed="a task of one round", fix="publish another search to compare with: a search has one result"
        )
    for side in (first, second):
        side.check(task)
    if first.overlaps(second):
        received, fix = (first.to_json(), second.to_json()), "name other periods or other labels for the second"
        raise ParameterError("selections", received, allowed="two without common reports, so that they are independent", fix=fix)
    asked = None if first.periods is None or second.periods is None else {*first.periods, *second.periods}
    with _turn(task):
        counted = counted or count(collector, task_id, asked)
        before, after = (survey_estimates(task, counted.tallies, side) for side in (first, second))
        shown = {name: before[name].compare(after[name]) for name in before if min(before[name].n, after[name].n) >= task.minimum_batch}
    if not shown:
        raise TooFew(task.minimum_batch)
    provisional = any(_provisional(collector, task, counted, side) for side in (first, second))
    withheld, mixed = tuple(name for name in before if name not in shown), mixed_in(collector, task, asked)
    return Comparisons(task, first, second, shown, alpha, withheld, provisional, mixed)


def mixed_in(collector: Collector, task: Task, periods: Collection[int] | None = None) -> ShuffledBatches | None:
    """Return the shuffled batches of some periods or all; None if there are none, or the task is local. Call it after counting."""
    if task.mixing is None:
        return None
    found = collector.batches.listed(task.id, periods)
    return ShuffledBatches.of(task, [(batch.period, batch.reports, batch.epsilon) for batch in found]) if found else None


def count(collector: Collector, task_id: bytes, periods: Collection[int] | None = None) -> TaskCount:
    """Return a task's tallies of some periods or all, with all its states: read again if a period was closed in between."""
    while True:
        states = _states(collector, task_id)
        tallies = collector.tallies(task_id, periods)
        if states == _states(collector, task_id):
            return TaskCount(tallies, states)


def _turn(task: Task) -> AbstractContextManager[object]:
    """Return a lock for estimates that take much memory: those are computed one at a time, for everyone."""
    heavy = not task.rounds and task.survey.work().heavy  # rounds that are heavy have a process of their own
    return _HEAVY if heavy else nullcontext()


def _states(collector: Collector, task_id: bytes) -> dict[int, str]:
    return {stored.bucket.number: stored.state for stored in collector.store.buckets(task_id)}


def _provisional(collector: Collector, task: Task, counted: TaskCount, selection: ReportSelection) -> bool:
    """Return True if more reports may come for the selection. Without selected periods, it is about those that have reports."""
    now = collector.clock()
    if collector.task(task.id).closed or now >= task.end + task.late:
        return False
    if selection.periods is None:
        return "open" in counted.states.values()
    ahead = (period not in counted.states and now < task.period_span(period)[1] + task.late for period in selection.periods)
    return any(ahead) or any(counted.states.get(period) == "open" for period in selection.periods)


def _result(collector: Collector, task: Task) -> Mapping[str, Any]:
    """Return the result of a task of several rounds; raise ProtocolError while a round is open."""
    last = collector.store.last_round(task.id)  # read now: another collector may just have closed a round
    number = 0 if last is None else last[0]
    found = {each.bucket.number: each for each in collector.store.buckets(task.id)}.get(number)
    counted = found is not None and found.state != "open"
    allowed, live, stored = "a task whose last round was closed", collector.task(task.id), collector.store.task(task.id)
    if live.trouble:
        fix = "look up the reason in the task's status as an admin, then advance it again"
        raise ProtocolError("task", f"round {number} could not be closed", allowed=allowed, fix=fix)
    closed = stored is not None and stored.closed  # until then, another thread or collector is closing it: nobody does it twice
    outcome: Any = collector.outcome(task.id, number) if closed and counted else None
    if isinstance(outcome, Protocol):
        raise ProtocolError("task", f"closed in round {number}", allowed=allowed, fix="publish it again: it has no result")
    if outcome is not None:
        return by_name(task, outcome)
    reports = found.reports if found is not None and counted else collector.reports_now(live)
    reported = f"{reports:,}" if reports >= task.minimum_batch else f"fewer than {task.minimum_batch:,}"
    raise ProtocolError("task", f"round {number} is open", allowed=allowed, fix=f"wait, or advance it: it has {reported} reports")
