"""The result of following experts, and the base of every way to follow them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from deniable.central.grid import as_numbers
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.protocol import MemoryProtocol
from deniable.core.estimate import Estimate
from deniable.core.law import Unknown
from deniable.errors import ParameterError

WHY = "these are the choices themselves, so they have no error"


class ExpertProtocol(MemoryProtocol, abstract=True):
    """A curator follows one expert a day; ``run(losses)`` takes the losses of all days, an array of days x experts.

    The result shows on how many days each expert was followed; its part ``days`` shows which expert was followed on each day. The guarantee
    covers these choices. The losses are for the curator alone, and so is what follows from them: ``regret(losses, result)``.
    """

    trust: ClassVar[str] = "central"
    needs: ClassVar[str] = "a curator who sees the losses of every day and chooses again after each of them"
    result: ClassVar[str] = "play"


def play_of(chosen: list[int], experts: int, *, learner: str, guarantee: Guarantee) -> Estimate:
    """Return on how many days each of so many experts was followed, from the expert of each day."""
    days, picked = len(chosen), np.array(chosen, dtype=np.int64)
    told: dict[str, Any] = {
        "about": f"{days:,} days, {experts:,} experts, {learner}, epsilon = {guarantee.epsilon:.4g}",
        "guarantee": guarantee,
    }
    daily = Estimate(
        kind="play by day", values=range(days), law=Unknown(days, picked.astype(float), WHY, np.zeros(days)), quantity="expert", **told
    )
    return Estimate(
        kind="play",
        values=[f"expert {i}" for i in range(experts)],
        law=Unknown(days, np.bincount(picked, minlength=experts).astype(float), WHY, np.zeros(experts)),
        quantity="days",
        falling=True,
        parts={"days": daily},
        **told,
    )


@typed
def regret(losses: Any, play: Estimate) -> float:
    """Return how much more a ``play`` lost per day than the best expert; ``run(losses)`` returns the play.

    >>> from deniable.tasks.learning import WeightedMajority
    >>> losses = [[0, 1]] * 4
    >>> 0 <= regret(losses, WeightedMajority(experts=2, days=4, epsilon=1.0, neighbors="replace").run(losses)) <= 1
    True
    """
    if "days" not in play.parts:
        raise ParameterError("play", play.kind, allowed="a play", fix="pass what run(losses) returned")
    table, days = as_numbers("losses", losses), play.parts["days"]
    if table.shape != (len(days.values), len(play.values)):
        allowed = f"{len(days.values)} days x {len(play.values)} experts"
        raise ParameterError("losses", table.shape, allowed=allowed, fix="pass the same losses as to run(losses)")
    if not table.size:
        return 0.0
    followed = table[np.arange(len(table)), days.point.astype(np.int64)]
    return float((followed.sum() - table.sum(axis=0).min()) / len(table))
