"""From tallies to an answer, whoever has counted them: a collector from its store, or anyone from an open folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deniable.collect.analysis.answer import Answer
from deniable.collect.analysis.mixed import Mixed
from deniable.collect.analysis.selection import Selection
from deniable.collect.analysis.tables import reports_behind
from deniable.collect.storage.block import total
from deniable.contract.task import Task
from deniable.core.tally import Tally
from deniable.errors import DeniableError

Tallies = Mapping[tuple[int, int, int], Tally]
"""A task's tallies by period, question and stratum."""


class TooFew(DeniableError):  # noqa: N818  # named like the house's others: BudgetExceeded, MissingExtra
    """Fewer reports than the task's minimum batch: nothing is shown, not even how many there are."""

    def __init__(self, minimum: int) -> None:
        allowed = f"{minimum} or more, as the task promises"
        super().__init__("reports", "fewer", allowed=allowed, fix="select more periods or fewer strata, or wait")


def survey_estimates(task: Task, tallies: Tallies, selection: Selection) -> Mapping[str, Any]:
    """The estimates of a task of one round, by question, from the tallies that were selected."""
    selected = {address: tally for address, tally in tallies.items() if selection.holds(task, address[0], address[2])}
    return task.survey.close({question.name: total(question, i, selected) for i, question in enumerate(task.survey.questions)})


def answer_of(task: Task, found: Mapping[str, Any], selection: Selection, *, provisional: bool, mixed: Mixed | None = None) -> Answer:
    """What may be shown of the estimates; TooFew if every question has fewer reports than the task's minimum batch.

    Of a task of shuffle trust nothing is shown without its batches.
    """
    shown = {name: each for name, each in found.items() if reports_behind(each) >= task.minimum_batch}
    if not shown or (task.mixing is not None and mixed is None):
        raise TooFew(task.minimum_batch)
    return Answer(task, selection, shown, tuple(name for name in found if name not in shown), provisional, mixed)
