"""What became of following experts, and what every way of following them has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.contract.protocol import MemoryProtocol
from deniable.core.estimate import Estimate
from deniable.core.law import Unknown
from deniable.kernels.compiled import Array

WHY = "these are the choices themselves, so there is no error to bound"


class ExpertProtocol(MemoryProtocol, abstract=True):
    """A curator follows one expert a day; ``run(losses)`` takes the losses of all days, an array of days x experts."""

    trust: ClassVar[str] = "central"
    needs: ClassVar[str] = "a curator who sees the losses of every day and chooses again after each of them"
    result: ClassVar[str] = "play"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Play(Estimate):
    """On how many days each expert was followed. The guarantee covers the choices; losses and the regret are for the curator alone."""

    law: Unknown
    chosen: Array
    """The expert of each day."""
    losses: Array
    """The true loss of each day."""
    best: float
    """The loss of the best expert, over all days."""
    quantity: str = "days"

    kind: str = "play"
    falling: bool = True

    @classmethod
    def of(cls, table: Array, chosen: list[int], *, learner: str, guarantee: Guarantee) -> Self:
        """The outcome of some choices, given the losses of all days."""
        days, experts = table.shape
        picked = np.array(chosen, dtype=np.int64)
        followed = np.bincount(picked, minlength=experts).astype(float)
        return cls(
            values=[f"expert {i}" for i in range(experts)],
            law=Unknown(days, followed, WHY, np.zeros(experts)),
            about=f"{days:,} days, {experts:,} experts, {learner}, epsilon = {guarantee.epsilon:.4g}",
            guarantee=guarantee,
            chosen=picked,
            losses=table[np.arange(days), picked],
            best=float(table.sum(axis=0).min()) if days else 0.0,
        )

    @property
    def regret(self) -> float:
        """How much more was lost than by the best expert, per day."""
        return float((self.losses.sum() - self.best) / max(len(self.losses), 1))
