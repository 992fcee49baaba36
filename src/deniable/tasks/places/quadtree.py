"""Quadtrees: ask about every level, or ask in rounds and split only dense squares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.domain import Integers
from deniable.contract.form import HEXADECIMALS
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol, State
from deniable.contract.question import Question, Round
from deniable.contract.record import STATE, wire
from deniable.contract.work import Work, together
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_people, check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.heavy_hitters.prefixes import LARGEST_LIST, estimate_of, prefix_question, prefix_work
from deniable.tasks.oracles import quick_oracle
from deniable.tasks.places.box import Box, is_column
from deniable.tasks.places.cells import Cells
from deniable.tasks.places.estimate import PlacesEstimate
from deniable.tasks.places.grid import Grid
from deniable.tasks.places.levels import Level, joined
from deniable.tasks.places.morton import DEEPEST, interleaved

SPLIT = sqrt(5)
"""A cell is split if so many standard errors of noise are in it: the root of one more than its parts, as in AHEAD (2021)."""
FIRST = 2
"""The level that an adaptive search begins with: 16 cells."""


class MortonCodes(np.ndarray):
    """The codes of people's cells in a quadtree, as ``QuadTree.read`` gives them."""


@typed
@dataclass(frozen=True, kw_only=True)
class QuadTreeState(State):
    """The squares of an adaptive search, as far as they are split."""

    measured: tuple[Level, ...] = ()
    """What earlier rounds found."""
    cells: tuple[int, ...] = field(default=(), metadata=wire(form=HEXADECIMALS))
    """The squares asked about in this round. None: at first all, and later those of the round before once more."""


@typed
@dataclass(frozen=True, kw_only=True)
class QuadTree(Protocol):
    """Count people on a map by squares of several sizes.

    People are split at random into groups, one for each level, and each names the square of that level that they are in. Squares add up to
    larger ones, so least squares makes all levels agree. With ``adaptive=True`` the groups are asked one after another, and only squares
    that stand out of the noise are split for the next: wide cells where few live, and narrow ones where many do. Where none does, all
    groups that are left are asked once more about the squares of the last one.

    Guarantee: epsilon-local for any two places; everybody reports once, in one group.

    Estimator: unbiased counts of the smallest squares asked about, with errors for any region. An adaptive tree was split by the same
    reports that count it, so squares that were split by luck come out a little too large; intervals are a little longer for that. Within a
    square that was not split, people are assumed to be spread evenly. So the counts of regions that go through it are biased, and their
    intervals are not (``Enclosed``).

    Cost: one report of one oracle over at most 4^level squares. Without ``adaptive`` one round, else one for each level.

    >>> from deniable.testing import ReplaySource
    >>> search = QuadTree(box=Box(0, 0, 16, 16, plane=True), depth=4, epsilon=2.0, people=30_000, adaptive=True)
    >>> search.levels, search.open().questions[0].spec
    ((2, 3, 4), SubsetSelection(domain_size=16, epsilon=2.0, size=2))
    >>> found = search.run(np.tile([[3.5, 3.5], [3.5, 3.5], [12.5, 1.5]], (10_000, 1)), source=ReplaySource.from_key("squares"))
    >>> town = found.count(Box(2, 2, 4, 4, plane=True))
    >>> len(found.blocks), round(town.value), round(town.stderr)
    (31, 20614, 258)
    """

    box: Box
    """The box that people are in."""
    depth: int
    """How often squares are split in four: the smallest are 2^-depth of the box wide."""
    epsilon: float
    people: int = 100_000
    adaptive: bool = False
    oracle: str = "auto"
    outside: str = "refuse"
    """What happens to a point outside of the box: "refuse", or "count" all of them together."""
    levels: tuple[int, ...] = None  # type: ignore[assignment]  # resolved below
    state: QuadTreeState = field(default=QuadTreeState(), repr=False, metadata=STATE)
    derived: ClassVar[tuple[str, ...]] = ("domain",)
    """The domain of what a device holds: the device checks there whether everyone can answer."""
    result: ClassVar[str] = "places"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_whole("depth", self.depth, 1, DEEPEST, fix="try 8, which makes 256 cells on a side")
        if not isinstance(self.adaptive, bool):
            raise ParameterError("adaptive", self.adaptive, allowed="True or False", fix="pass True to ask in rounds")
        check_people(self.people)
        Grid(self.box, 1, 1, self.outside)  # its checks are ours
        if self.levels is None:
            object.__setattr__(self, "levels", tuple(range(min(FIRST, self.depth) if self.adaptive else 1, self.depth + 1)))
        rising = all(type(level) is int for level in self.levels) and all(low < high for low, high in pairwise((0, *self.levels)))
        if not rising or not self.levels or self.levels[-1] != self.depth:
            allowed = f"increasing integers from 1 on, the last one {self.depth}"
            raise ParameterError("levels", self.levels, allowed=allowed, fix="leave out levels to use all of them")
        measured, cells = self.state.measured, self.state.cells
        before = self.levels[: len(measured)] if len(measured) < len(self.levels) else ()
        known = tuple(level.level for level in measured) == before and (bool(before) or not cells)
        if not known or (before and not self.adaptive) or any(low >= high for low, high in pairwise(cells)):
            raise ParameterError("measured", len(measured), allowed="the rounds before this one", fix="pass what close() returned")
        check_feasible(self, "depth, levels", fix="use a smaller depth, or adaptive=True")

    def work(self) -> Work:
        most = [1 << 2 * level for level in self.levels]
        sizes = [most[0], *(min(size, LARGEST_LIST) for size in most[1:])] if self.adaptive else most
        asking = {"oracle": self.oracle, "epsilon": self.epsilon, "people": self.people // len(self.levels)}
        extra = self.outside == "count"
        levels = zip(self.levels, sizes, strict=True)
        return together(prefix_work(2 * level + extra, size, **asking) for level, size in levels)  # type: ignore[arg-type]  # as named

    # --- from points to codes ---

    @cached_property
    def grid(self) -> Grid:
        """The finest cells."""
        return Grid(self.box, 1 << self.depth, 1 << self.depth, self.outside)

    @property
    def domain(self) -> Integers:
        """The codes of the finest cells, and one more for everywhere else if that is counted."""
        return Integers(0, (1 << 2 * self.depth) - (self.outside == "refuse"))

    def codes(self, points: Any) -> Array:
        """What the people at these points hold: the code of the finest cell, as ``morton`` says."""
        return self._codes_of(self.grid.cells(points))

    def _codes_of(self, cells: Array) -> Array:
        row, column = np.divmod(cells, self.grid.columns)
        return np.where(cells == self.grid.size, np.uint64(1 << 2 * self.depth), interleaved(column, row))

    def read(self, values: Any) -> Any:
        """Return everyone's code, from points in rows of x and y or in two columns, or from a column of integers: the grid's cells.

        What it has returned stays as it is; no other array is taken for codes, since cells are integers, too.
        """
        if isinstance(values, MortonCodes):
            return values
        codes = self._codes_of(self.grid.checked(values)) if is_column(values) else self.codes(values)
        return codes.view(MortonCodes)

    # --- asking ---

    def open(self) -> Round:
        return Round(self._questions, Fraction(len(self.state.measured), len(self.levels)))

    @property
    def scale(self) -> int:
        return len(self.levels)

    def asked(self, level: int) -> tuple[int, ...]:
        """The squares of a level that its group is asked about; the last one is everywhere else, if that is counted."""
        if self.last:
            return self.state.measured[-1].cells
        return self.state.cells or tuple(range((1 << 2 * level) + (self.outside == "count")))

    @property
    def last(self) -> bool:
        """True if no square was dense, so that everyone left is asked about the squares of the last round."""
        return bool(self.state.measured) and not self.state.cells

    @property
    def _now(self) -> tuple[int, ...]:
        """The levels asked about in this round."""
        if self.last:
            return (self.state.measured[-1].level,)
        return self.levels[len(self.state.measured) :][:1] if self.adaptive else self.levels

    @cached_property
    def _questions(self) -> tuple[Question, ...]:
        groups = len(self.levels) - len(self.state.measured) if self.last else 1
        share, people = Fraction(groups, len(self.levels)), self.people * groups // len(self.levels)
        extra = self.outside == "count"  # one more bit in front tells everywhere else from the box
        questions = []
        for level in self._now:
            asked = self.asked(level)
            others = len(asked) < 1 << 2 * level + extra
            oracle = quick_oracle(self.oracle, max(len(asked) + others, 2), self.epsilon, people).mechanism
            parts = {"oracle": oracle, "epsilon": self.epsilon, "people": people, "share": share}
            questions.append(prefix_question(f"level-{level}{'-rest' * self.last}", self.domain, 2 * level + extra, asked, **parts))  # type: ignore[arg-type]  # as named
        return tuple(questions)

    def close(self, tallies: Mapping[str, Any]) -> QuadTree | PlacesEstimate:
        self.open().check_tallies(tallies)
        now = tuple(
            Level.of(level, self.asked(level), estimate_of(question, tallies[question.name], self.asked(level)))
            for level, question in zip(self._now, self._questions, strict=True)
        )
        before = self.state.measured
        measured = (*before[:-1], before[-1].with_more(now[0])) if self.last else (*before, *now)
        if len(measured) < len(self.levels) and not self.last:
            step = self.levels[len(measured)] - now[-1].level
            dense = now[-1].dense(SPLIT, self.outside == "count", LARGEST_LIST >> 2 * step)
            cells = tuple(cell << 2 * step | part for cell in dense for part in range(1 << 2 * step))
            if dense and self.outside == "count":
                cells = (*cells, 1 << 2 * self.levels[len(measured)])
            return self.learned(measured=measured, cells=cells)
        how = f"{'adaptive ' * self.adaptive}quadtree of {len(measured)} level{'s' * (len(measured) != 1)}, epsilon = {self.epsilon:.4g}"
        tree, blocks, n = joined(measured, self.depth, self.outside == "count")
        fewest = min(level.n for level in measured)
        law = Cells(n=n, tree=tree, fewest=fewest, outside=self.outside == "count", grown=self.adaptive)
        return PlacesEstimate.of(self.grid, blocks, law, how, self.guarantee)

    @property
    def guarantee(self) -> Guarantee:
        exposed = "that the person took part, and in which group"
        return Guarantee(epsilon=self.epsilon, unit="one report, about one level of the tree", exposed=exposed)
