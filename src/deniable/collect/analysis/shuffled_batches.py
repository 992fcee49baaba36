"""The shuffled batches behind an answer: how many, how large, and what they are worth to the people in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from deniable.contract.guarantee import Guarantee
from deniable.contract.mixing import SHUFFLE
from deniable.contract.task import Task
from deniable.errors import ParameterError

HONEST = "a shuffler that is honest and that neither the collector nor its analysts run,"
UNIT = "one report in a shuffled batch"


class ShuffledBatch(NamedTuple):
    """A batch that was taken: its period, its reports without dummies, and its price."""

    period: int
    reports: int
    epsilon: float


@dataclass(frozen=True)
class ShuffledBatches:
    """The batches of a task of shuffle trust, one or more, by period and size: the order in which they came says nothing."""

    task: Task
    batches: tuple[ShuffledBatch, ...]

    @classmethod
    def of(cls, task: Task, batches: Iterable[tuple[int, int, float]]) -> ShuffledBatches:
        """The batches in their order."""
        found = tuple(sorted(ShuffledBatch(*batch) for batch in batches))
        if not found or task.mixing is None:
            raise ParameterError("batches", len(found), allowed="one or more, of a task of shuffle trust", fix="there is nothing to show")
        return cls(task, found)

    @property
    def guarantee(self) -> Guarantee:
        """What holds for everybody: the promise of the worst batch, and the local one."""
        mixing = self.task.mixing
        worst = max(self.batches, key=lambda batch: batch.epsilon)
        return Guarantee(
            epsilon=worst.epsilon,
            delta=mixing.delta if mixing else 1.0,
            model=SHUFFLE,
            unit=UNIT,
            honest=HONEST,
            certificate="priced when it was taken",
            local_epsilon=self.task.epsilon,
            people=mixing.people(worst.reports) if mixing else 0,
        )

    def to_json(self) -> dict[str, Any]:
        """Both epsilons, the sizes of the batches, and the promise in words. By hand: nothing of it is a field, all of it is worked out."""
        promise = self.guarantee
        return {
            "epsilon": promise.epsilon,
            "delta": promise.delta,
            "local_epsilon": self.task.epsilon,
            "claim": self.task.mixing.epsilon if self.task.mixing else promise.epsilon,
            "batches": len(self.batches),
            "sizes": [batch.reports for batch in self.batches],
            "people": promise.people,
            "promise": promise.statement(),
        }


def in_words(told: dict[str, Any]) -> str:
    """The batches behind an answer in one sentence, from their JSON.

    >>> in_words({"batches": 2, "sizes": [1000, 1200], "epsilon": 0.31, "delta": 1e-6, "local_epsilon": 2.0})
    '2 shuffled batches of 1,000 to 1,200 reports: epsilon = 0.31 (delta = 1e-06) with an honest shuffler, 2 without'
    """
    sizes = told["sizes"]
    span = f"{min(sizes):,}" if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,}"
    batches = "1 shuffled batch" if told["batches"] == 1 else f"{told['batches']:,} shuffled batches"
    return (
        f"{batches} of {span} reports: epsilon = {told['epsilon']:.4g} (delta = {told['delta']:g}) with an honest shuffler, "
        f"{told['local_epsilon']:.4g} without"
    )
