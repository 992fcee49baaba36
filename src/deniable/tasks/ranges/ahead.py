"""AHEAD: a tree that grows where the people are, round by round; cells that hold hardly anyone stay whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, sqrt
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.guarantee import Guarantee
from deniable.contract.lines import Interval
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol, State
from deniable.contract.question import Question, Round
from deniable.contract.record import RESOLVED, STATE, UNWRITTEN, Plain
from deniable.contract.work import Work, heaviest
from deniable.core.tally import Tally
from deniable.errors import ParameterError
from deniable.tasks.checks import check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.ranges.consistency import LevelTree
from deniable.tasks.ranges.estimate import RangeEstimate
from deniable.tasks.ranges.levels import (
    check_tree,
    checked_widths,
    even_starts,
    level_oracles,
    level_question,
    level_spec,
    tree_widths,
)
from deniable.tasks.ranges.tree import TreeLine


@dataclass(frozen=True)
class ClosedRound(Plain):
    """The cells of a finished round, and the bytes of its tally."""

    noun = "told"
    cells: tuple[int, ...]
    tally: bytes


@typed
@dataclass(frozen=True, kw_only=True)
class AHEADState(State):
    """The tree so far."""

    cells: tuple[int, ...] = ()
    """Where the cells begin that are asked about now; none for those that the settings begin with."""
    told: tuple[ClosedRound, ...] = ()
    """What earlier rounds found."""


@typed
@dataclass(frozen=True, kw_only=True)
class AHEAD(Protocol):
    """Count people in any range of an ordered domain, asking in detail only where there are many.

    People are split at random into groups, one for each level of a tree with ``branching`` children. The first group reports which of a few
    wide cells holds its value. Cells whose share exceeds sqrt((B + 1) Var), as published, are cut into B, and the next group is asked about
    all cells that there are then. Where no cell is cut any more, everybody who is left is asked at once.

    Guarantee: epsilon-local for any two inputs; everybody reports once, in one round. What is asked depends on what others told before.

    Estimator: all rounds together by generalized least squares, as for ``Hierarchy``. Within a cell that was not cut, people are taken to
    be spread evenly, so the counts of ranges that go through it are biased. Their intervals are not: they begin where nobody in the cell is
    in the range, and end where everybody is (``Enclosed``). Errors are those of this tree; intervals are a little longer, because
    cells were cut where noise made them look large (``GROWN``).

    Cost: one report of one oracle; as many rounds as levels, at most.

    >>> from deniable.contract.domain import Integers
    >>> from deniable.testing import ReplaySource
    >>> waits = AHEAD(domain=Integers(0, 255), epsilon=1.0, people=60_000)
    >>> found = waits.run([7 + i % 5 for i in range(60_000)], source=ReplaySource.from_key("waits"))
    >>> found.line.starts.tolist()
    [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 32, 48, 64, 128, 192]
    >>> found.ranges([(7, 11), (0, 6), (100, 255)])
    60,000 reports, AHEAD, 4 rounds, epsilon = 1; low and high: 95 %, noise only
    16 cells for 256 values; people are assumed to be spread evenly within each cell
    value        count  stderr     low    high  frequency
    7 to 11     61,372   1,067  59,154  63,589      102 %
    0 to 6      -1,414   1,061  -3,619     791    -2.36 %
    100 to 255     481     510    -578   1,597    0.802 %

    References: Du, Zhang, Zhu, Chen 2021.
    """

    domain: Domain
    epsilon: float
    branching: int | None = field(default=None, repr=False, metadata=UNWRITTEN)
    oracle: str = "auto"
    people: int = 100_000
    widths: tuple[int, ...] = field(default=None, metadata=RESOLVED)  # type: ignore[arg-type]  # resolved below
    """How many values a cell holds that was cut on every level, the coarsest first."""
    state: AHEADState = field(default=AHEADState(), repr=False, metadata=STATE)

    result: ClassVar[str] = "ranges"

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        check_tree(self.domain, self.oracle, self.people)
        if self.widths is None:
            branching = 4 if self.branching is None else self.branching
            check_whole("branching", branching, 2, fix="4 is usual")
            put("widths", tree_widths(self.domain.size, branching))
        put("widths", checked_widths(self.widths, self.domain.size))
        if self.state == AHEADState():
            put("state", AHEADState(cells=even_starts(self.domain.size, self.widths[0])))
        put("branching", None)  # what was asked for is in widths now
        if not 0 <= self.stage < len(self.widths):
            raise ParameterError(
                "told", f"{self.stage} rounds", allowed=f"fewer than {len(self.widths)}", fix="read the result: the search is over"
            )
        asked = [*(before.cells for before in self.state.told), self.state.cells]
        for cells in asked:
            Interval(self.domain, cells)  # refuses what are no cells of this line
        LevelTree.of_cells([(0,), *asked])  # refuses rounds that do not refine each other
        check_feasible(self, "domain", fix="declare a coarser grid", among=level_oracles())

    def work(self) -> Work:
        """The work of the heaviest round: if every cell is cut, the last round asks about single values."""
        asking = {"domain": self.domain, "oracle": self.oracle, "epsilon": self.epsilon, "people": ceil(self.people / self.scale)}
        return heaviest([super().work(), level_spec(self.domain.size, **asking).finishing(self.domain.size)])  # type: ignore[arg-type]  # as named

    @property
    def stage(self) -> int:
        """The number of finished rounds."""
        return len(self.state.told)

    @property
    def scale(self) -> int:
        return len(self.widths)

    @property
    def last(self) -> bool:
        """True in the last round: of the single values, or of cells of which none was cut."""
        return self.stage == len(self.widths) - 1 or (self.stage > 0 and self.state.cells == self.state.told[-1].cells)

    def open(self) -> Round:
        return Round((self._question,), Fraction(self.stage, self.scale))

    @cached_property
    def _question(self) -> Question:
        rounds = self.scale - self.stage if self.last else 1
        asking = {"oracle": self.oracle, "epsilon": self.epsilon, "people": self.people, "share": Fraction(rounds, self.scale)}
        return level_question(f"round-{self.stage + 1}", self.domain, self.state.cells, **asking)  # type: ignore[arg-type]  # as declared

    def close(self, tallies: Mapping[str, Any]) -> AHEAD | RangeEstimate:
        self.open().check_tallies(tallies)
        tally = tallies[self._question.name]
        told = (*self.state.told, ClosedRound(self.state.cells, tally.to_bytes()))
        if not self.last:
            return self.learned(told=told, cells=self._cut(tally))
        levels = [Tally.from_bytes(before.tally) for before in told]
        estimates = [level.spec.estimate(level) for level in levels]
        how = f"AHEAD, {len(told)} rounds"
        line = TreeLine.of(self.domain.size, [before.cells for before in told], estimates, grown=True)
        return RangeEstimate.of(self.domain, how, line, self.guarantee)

    def _cut(self, tally: Tally) -> tuple[int, ...]:
        """Return the cells of the next round."""
        spec, n = self._question.spec, max(tally.n, 1)
        shares = spec.estimate(tally).counts / n
        width, narrower = self.widths[self.stage], self.widths[self.stage + 1]
        least = sqrt((width // narrower + 1) * spec.variance(n, 0.0)) / n  # type: ignore[attr-defined]  # an oracle
        before, cells = self.state.cells, list[int]()
        for start, end, share in zip(before, (*before[1:], self.domain.size), shares.tolist(), strict=True):
            cut = end - start <= width and share > least  # wider ones were not cut before
            cells += range(start, end, narrower) if cut else [start]
        return tuple(cells)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, in one round")

    @classmethod
    def from_fields(cls, **values: Any) -> AHEAD:
        protocol = cls(**values)
        for before in protocol.state.told:
            if len(before.cells) != Tally.from_bytes(before.tally).spec.domain.size:
                raise ParameterError(
                    "told", f"a tally of {len(before.cells)} cells", allowed="a cell of this round", fix="publish the round again"
                )
        return protocol
