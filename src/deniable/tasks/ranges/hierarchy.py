"""The hierarchical histogram: each level of a tree over the line is reported by its own people, and all levels are made consistent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol
from deniable.contract.question import Round
from deniable.contract.record import RESOLVED, UNWRITTEN
from deniable.tasks.checks import check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.ranges.estimate import RangeEstimate
from deniable.tasks.ranges.levels import (
    check_tree,
    checked_widths,
    even_starts,
    level_oracles,
    level_question,
    tree_widths,
)
from deniable.tasks.ranges.tree import TreeLine


@typed
@dataclass(frozen=True, kw_only=True)
class Hierarchy(Protocol):
    """Count people in any range of an ordered domain, with an error that hardly grows with the range.

    People are split at random among the levels of a tree whose nodes have ``branching`` children, and report the node that holds their
    value. A range is then made of few nodes, and not of many values.

    Guarantee: epsilon-local for any two inputs; everybody reports once, about one level.

    Estimator: generalized least squares over all levels, with the total known. With branching B, levels L = log_B D and an oracle whose
    count has the variance n V, a range of r values costs about (B + 1) / 2 log_B(r) L V / n in the square of its share, where counting
    all values (``branching`` of at least the domain's size: flat) costs up to D V / 4 n. Every answer comes with its own exact error.

    Cost: one report of one oracle about at most D nodes.

    ``branching`` may be any number from 2 on; left out, it is the one with the smallest predicted error. ``people`` is how many are
    expected, for the choices of branching and of each level's oracle.

    >>> from deniable.contract.domain import Integers
    >>> from deniable.testing import ReplaySource
    >>> ages = Hierarchy(domain=Integers(0, 127), epsilon=1.0, branching=4, people=60_000)
    >>> ages.widths, [question.spec.mechanism for question in ages.open().questions][:2]
    ((64, 16, 4, 1), ['GRR', 'SubsetSelection'])
    >>> found = ages.run([20 + i % 50 for i in range(60_000)], source=ReplaySource.from_key("ages"))
    >>> found.ranges([(20, 39), (70, 127)])
    60,000 reports, tree of 4 levels, epsilon = 1; low and high: 95 %, noise only
    value       count  stderr     low    high  frequency
    20 to 39   21,928   1,224  19,529  24,327     36.5 %
    70 to 127   1,023   1,259  -1,445   3,490      1.7 %

    References: Cormode, Kulkarni, Srivastava 2019; Hay, Rastogi, Miklau, Suciu 2010 (consistency).
    """

    domain: Domain
    epsilon: float
    branching: int | None = field(default=None, repr=False, metadata=UNWRITTEN)
    oracle: str = "auto"
    people: int = 100_000
    widths: tuple[int, ...] = field(default=None, metadata=RESOLVED)  # type: ignore[arg-type]  # resolved below
    """How many values a node holds on each level, the coarsest first."""

    result: ClassVar[str] = "ranges"

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        check_tree(self.domain, self.oracle, self.people)
        if self.widths is None:
            put("widths", tree_widths(self.domain.size, self._branching()))
        put("widths", checked_widths(self.widths, self.domain.size))
        put("branching", None)  # what was asked for is in widths now; two trees that ask alike are equal
        check_feasible(self, "domain", fix="declare a coarser grid", among=level_oracles())

    def _branching(self) -> int:
        if self.branching is None:
            from deniable.tasks.ranges.choice import best_branching

            return best_branching(self.domain.size, epsilon=self.epsilon, oracle=self.oracle, people=self.people)
        check_whole("branching", self.branching, 2, fix="try 4; the domain's size or more counts every value at once")
        return self.branching

    @cached_property
    def cells(self) -> tuple[tuple[int, ...], ...]:
        """Where the nodes of each level begin."""
        return tuple(even_starts(self.domain.size, width) for width in self.widths)

    @property
    def how(self) -> str:
        """The method, in a few words."""
        return "flat" if len(self.widths) == 1 else f"tree of {len(self.widths)} levels"

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        share = Fraction(1, len(self.widths))
        asking = {"oracle": self.oracle, "epsilon": self.epsilon, "people": self.people, "share": share}
        levels = zip(self.widths, self.cells, strict=True)
        return Round(tuple(level_question(f"width-{width}", self.domain, starts, **asking) for width, starts in levels))  # type: ignore[arg-type]  # as declared

    def close(self, tallies: Mapping[str, Any]) -> RangeEstimate:
        self._round.check_tallies(tallies)
        levels = [question.spec.estimate(tallies[question.name]) for question in self._round.questions]
        return RangeEstimate.of(self.domain, self.how, TreeLine.of(self.domain.size, self.cells, levels), self.guarantee)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, about one level of the tree")
