"""From tallies to an answer, for a collector with its store and for anyone with an open folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deniable.collect.analysis.answer import Answer
from deniable.collect.analysis.selection import ReportSelection
from deniable.collect.analysis.shuffled_batches import ShuffledBatches
from deniable.collect.storage.block import total
from deniable.contract.protocol import protocol_from_json
from deniable.contract.task import Task
from deniable.core.estimate import Estimate
from deniable.core.tally import Tally
from deniable.errors import DeniableError

Tallies = Mapping[tuple[int, int, int], Tally]
"""A task's tallies by period, question and stratum."""


class TooFew(DeniableError):  # noqa: N818  # named like the house's others: BudgetExceeded, MissingExtra
    """Fewer reports than the task's minimum batch: nothing is shown, not even how many there are."""

    def __init__(self, minimum: int) -> None:
        allowed = f"{minimum} or more, as the task promises"
        super().__init__("reports", "fewer", allowed=allowed, fix="select more periods or fewer strata, or wait")


def survey_estimates(task: Task, tallies: Tallies, selection: ReportSelection) -> Mapping[str, Any]:
    """The estimates of a task of one round, by question, from the tallies that were selected."""
    selected = {address: tally for address, tally in tallies.items() if selection.holds(task, address[0], address[2])}
    return task.survey.close({question.name: total(question, i, selected) for i, question in enumerate(task.survey.questions)})


def by_name(task: Task, outcome: Any) -> Mapping[str, Estimate]:
    """What a protocol's last round led to, by name: a survey names its questions, any other protocol its result."""
    return outcome if isinstance(outcome, Mapping) else {protocol_from_json(task.protocol).result: outcome}


def answer_of(
    task: Task,
    found: Mapping[str, Estimate],
    selection: ReportSelection,
    *,
    provisional: bool = False,
    mixed: ShuffledBatches | None = None,
) -> Answer:
    """What may be shown of the estimates; TooFew if every question has fewer reports than the task's minimum batch.

    Of a task of shuffle trust nothing is shown without its batches.
    """
    answer = allowed_of(task, found, selection, provisional=provisional, mixed=mixed)
    if not answer.estimates or (task.mixing is not None and mixed is None):
        raise TooFew(task.minimum_batch)
    return answer


def allowed_of(
    task: Task,
    found: Mapping[str, Estimate],
    selection: ReportSelection,
    *,
    provisional: bool = False,
    mixed: ShuffledBatches | None = None,
) -> Answer:
    """The answer without what rests on fewer reports than the task's minimum batch, questions and parts of them; perhaps of nothing."""
    withheld: list[str] = []
    shown: dict[str, Estimate] = {}
    for name, each in found.items():
        if reports_behind(each) < task.minimum_batch:
            withheld.append(name)
            continue
        few = [part for part, inner in each.parts.items() if inner.n is not None and reports_behind(inner) < task.minimum_batch]
        withheld += [f"{name}: {part}" for part in few]
        shown[name] = replace(each, parts={part: inner for part, inner in each.parts.items() if part not in few}) if few else each
    return Answer(task, selection, shown, tuple(withheld), provisional, mixed)


def reports_behind(estimate: Estimate) -> int:
    """How many reports every number of an estimate rests on, at least; none where it does not say."""
    counted = np.asarray(0 if estimate.n is None else estimate.n)
    if counted.size:
        return int(counted.min())
    return 0 if estimate.screening is None else estimate.screening.people  # a search that named nothing
