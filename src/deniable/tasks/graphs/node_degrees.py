"""The distribution of ties with the whole list protected: an ordinary question with few answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.contract.domain import Integers
from deniable.contract.guarantee import TOOK_PART
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol
from deniable.contract.question import Round
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.tasks.feasible import check_feasible
from deniable.tasks.graphs.graph import held_degrees
from deniable.tasks.graphs.privacy import NODE, GraphGuarantee, check_nodes, promise
from deniable.tasks.ranges.levels import level_oracles, level_question

ASKED = "degrees"
"""The name of the question."""


@typed
@dataclass(frozen=True, kw_only=True)
class NodeDegrees(Protocol):
    """Count people by the class of their number of ties, through a frequency oracle: the report hides the whole list.

    A person holds a number of ties, from 0 to nodes - 1, and answers once with its class. Noise on the number itself would have to hide
    up to nodes - 1 ties; a class is a category like any other.

    Guarantee: epsilon for any two lists of one person. One tie changes two lists: 2 epsilon over both reports, at most.

    Estimator: that of the oracle; unbiased counts of people for each class.

    Cost: one report of one oracle over as many values as there are classes; one round.

    >>> import numpy as np
    >>> from deniable.testing import ReplaySource
    >>> classes = NodeDegrees(nodes=2000, epsilon=1.0, starts=(0, 1, 10))
    >>> classes.labels, classes.open().questions[0].spec.mechanism
    (('0', '1 to 9', '10 to 1999'), 'GRR')
    >>> found = classes.run(np.repeat([0, 5, 40], [300, 1500, 200]), source=ReplaySource.from_key("docs"))
    >>> found.counts.round().tolist(), found.stderr.round().tolist()
    ([341.0, 1417.0, 242.0], [52.0, 58.0, 52.0])

    References: Qin, Yu, Yang, Khalil, Xiao, Ren 2017 (edge and node LDP).
    """

    nodes: int
    """The number of people, which is public."""
    epsilon: float
    starts: tuple[int, ...] = None  # type: ignore[assignment]  # resolved below
    """The smallest degree of each class; 0, 1, 2, 3, 4, 6, 8, 12 .. if left out."""
    oracle: str = "auto"

    derived: ClassVar[tuple[str, ...]] = ("domain",)
    result: ClassVar[str] = "degrees"

    def __post_init__(self) -> None:
        check_nodes(self.nodes)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if self.starts is None:
            steps = [0, 1, *(base << power for power in range(self.nodes.bit_length()) for base in (2, 3))]
            object.__setattr__(self, "starts", tuple(sorted(step for step in steps if step < self.nodes)) if self.nodes > 1 else (0,))
        starts = self.starts
        rising = all(type(start) is int for start in starts) and all(low < high for low, high in pairwise(starts))
        if not rising or not starts or starts[0] != 0 or starts[-1] > self.nodes - 1:
            raise ParameterError(
                "starts", starts, allowed=f"increasing integers from 0 to {self.nodes - 1}, 0 first", fix="write, for example, (0, 1, 10)"
            )
        if len(starts) < 2:
            raise ParameterError("starts", starts, allowed="two classes or more", fix="name at least two classes")
        check_feasible(self, "starts", fix="name fewer classes", among=level_oracles())

    @property
    def domain(self) -> Integers:
        """The domain of what a device holds: its owner's number of ties."""
        return Integers(0, self.nodes - 1)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The classes in words."""
        ends = [*(start - 1 for start in self.starts[1:]), self.nodes - 1]
        return tuple(str(low) if low == high else f"{low} to {high}" for low, high in zip(self.starts, ends, strict=True))

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        asking = {"oracle": self.oracle, "epsilon": self.epsilon, "people": self.nodes, "share": Fraction(1)}
        return Round((level_question(ASKED, self.domain, self.starts, **asking),))  # type: ignore[arg-type]  # as declared

    def close(self, tallies: Mapping[str, Any]) -> FrequencyEstimate:
        self._round.check_tallies(tallies)
        found: FrequencyEstimate = self._round.questions[0].spec.estimate(tallies[ASKED])
        return FrequencyEstimate.of(found.spec, self.labels, found.law, guarantee=self.guarantee, family_size=found.family_size)

    @property
    def guarantee(self) -> GraphGuarantee:
        found = promise(self.epsilon, NODE, speakers=2)
        tie = ceil(found.tie_epsilon * 1e4) / 1e4  # up: a promise is not rounded down
        seen = f"{TOOK_PART}, and a tie beyond epsilon = {tie:g}, against anyone who sees both people's reports"
        return replace(found, exposed=seen)

    def read(self, values: Any) -> Any:
        """Return each person's degree, from a graph or from a column of degrees."""
        return held_degrees(values, self.nodes)
