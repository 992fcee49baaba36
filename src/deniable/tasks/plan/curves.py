"""How the error of each oracle of a plan falls with epsilon, or changes with the number of values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.core.figure import Figure
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.choose import oracles_for, predicted_error

if TYPE_CHECKING:
    from deniable.tasks.plan.counts import Plan

AXES = {"epsilon": np.geomspace(0.1, 10, 41), "domain_size": 2 ** np.arange(1, 21)}
"""What the error is drawn against, and where it is computed."""


@dataclass(frozen=True, eq=False, repr=False)
class ErrorCurves(Table):
    """The standard error of a frequency for each oracle of a ``plan``, at many points of "epsilon" or "domain_size" (``against``)."""

    plan: Plan
    against: str

    def __post_init__(self) -> None:
        if self.against not in AXES:
            raise ParameterError("against", self.against, allowed=f"one of {list(AXES)}", fix="epsilon is the usual one")

    def rows(self) -> dict[str, Any]:
        names, places, errors = zip(*self._points(), strict=True)
        return {"oracle": list(names), self.against: list(places), "error": np.array(errors)}

    def headline(self) -> str:
        plan = self.plan
        fixed = f"epsilon = {plan.specs[0].epsilon:.4g}" if self.against == "domain_size" else plan.values_told
        return f"{plan.n:,} people, {fixed}; standard errors averaged over the values; dashed: the plan"

    def order(self) -> Array:
        return np.arange(sum(1 for _ in self._points()))

    def figures(self) -> tuple[Figure, ...]:
        axis, places, here = "standard error of a frequency", AXES[self.against], getattr(self.plan.specs[0], self.against)
        at = (here if places[0] <= here <= places[-1] else None, self.plan.error)
        return (Figure(mark="curve", number="error", axis=axis, label=self.against, group="oracle", interval="", log=True, at=at),)

    def _points(self) -> Iterator[tuple[str, float, float]]:
        for spec in self.plan.specs:
            for where in AXES[self.against].tolist():
                given: dict[str, Any] = {"epsilon": spec.epsilon} | ({"domain": spec.domain} if self.against == "epsilon" else {})
                able, _ = oracles_for([spec.mechanism], **given | {self.against: where})
                error = predicted_error(able[0], self.plan.n) / self.plan.n if able else np.inf
                if 0 < error < np.inf:
                    yield spec.mechanism, where, error
