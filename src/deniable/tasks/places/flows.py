"""Movement between cells as it was estimated: transition probabilities with errors, and tracks made up from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.contract.source import Source
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits
from deniable.core.postprocess import norm_sub
from deniable.core.stream import random_numbers
from deniable.core.table import Table
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.places.grid import Grid
from deniable.tasks.places.tracks import Tracks

if TYPE_CHECKING:
    from deniable.core.chart import Chart

DRAWN = 4
"""How many walks are drawn for each track that is kept, so that ends can be matched."""


@dataclass(frozen=True)
class Moves:
    """Moves as numbers: the cell, times how many ways lead out of it, plus the way; then jumps; then no move at all.

    >>> from deniable.tasks.places.box import Box
    >>> moves = Moves(Grid(Box(0, 0, 3, 3, plane=True), 3, 3), reach=1)
    >>> moves.ways, moves.number(4, 5), moves.number(0, 8) == moves.jump, moves.size
    (9, 41, True, 83)
    """

    grid: Grid
    reach: int

    @property
    def ways(self) -> int:
        """How many ways lead out of a cell, staying included."""
        return (2 * self.reach + 1) ** 2

    @property
    def jump(self) -> int:
        """The number of all moves that go too far."""
        return self.grid.size * self.ways

    @property
    def none(self) -> int:
        """The number of a track without a move."""
        return self.jump + 1

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.jump + 2

    @property
    def elsewhere(self) -> int:
        """The cell that stands for everywhere outside of the box, and for the start and the end of whoever went nowhere."""
        return self.grid.size

    def number(self, start: int, end: int) -> int:
        """The number of one move."""
        return int(self.numbers(np.array([start]), np.array([end]))[0])

    def numbers(self, starts: Array, ends: Array) -> Array:
        """The numbers of many moves; those from or to outside of the box are jumps."""
        rows, columns = ends // self.grid.columns - starts // self.grid.columns, ends % self.grid.columns - starts % self.grid.columns
        inside = (starts < self.elsewhere) & (ends < self.elsewhere)
        near = inside & (np.abs(rows) <= self.reach) & (np.abs(columns) <= self.reach)
        way = (rows + self.reach) * (2 * self.reach + 1) + columns + self.reach
        return np.where(near, starts * self.ways + way, self.jump)

    @cached_property
    def targets(self) -> Array:
        """Where each way out of each cell leads; -1 for out of the box."""
        row, column = np.divmod(np.arange(self.grid.size), self.grid.columns)
        steps = np.arange(-self.reach, self.reach + 1)
        rows, columns = row[:, None] + np.repeat(steps, steps.size), column[:, None] + np.tile(steps, steps.size)
        inside = (rows >= 0) & (rows < self.grid.rows) & (columns >= 0) & (columns < self.grid.columns)
        return np.where(inside, rows * self.grid.columns + columns, -1)


@dataclass(frozen=True, eq=False, repr=False)
class Flows(Table):
    """Estimates of starts, ends, moves and lengths. Each is unbiased by itself; the matrix and the tracks are made from them.

    The last value of ``start`` and ``end`` counts people who were outside of the box or went nowhere, and that of ``length`` the latter.
    """

    moves: Moves
    start: FrequencyEstimate
    end: FrequencyEstimate
    move: FrequencyEstimate
    length: FrequencyEstimate | None
    known: Array | None
    """How many tracks have each number of moves, where that is public."""
    guarantee: Guarantee
    """What a person's answer costs."""

    @property
    def n(self) -> int:
        """How many reports told of a move."""
        return self.move.n

    @cached_property
    def shares(self) -> Array:
        """The share of each way out of each cell among all reports about moves: unbiased, and negative now and then.

        At the user level these are the people who were asked for a move. Those who made none, and those who jumped, are among them, so
        that shares add up to less than one. At the event level they are all moves.
        """
        return np.asarray(self.move.frequencies[: self.moves.jump].reshape(self.moves.grid.size, self.moves.ways))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each of the shares, for the noise."""
        low, high = (side[: self.moves.jump] / max(self.n, 1) for side in self.move.interval(level, simultaneous=simultaneous))
        return low.reshape(self.shares.shape), high.reshape(self.shares.shape)

    @cached_property
    def _likely(self) -> Array:
        """Shares that are not negative and lead somewhere, by norm-sub."""
        possible = self.moves.targets >= 0
        shares = np.zeros(possible.shape)
        inside = self.shares[possible]
        total = float(np.clip(inside.sum(), 0.0, 1.0))
        shares[possible] = norm_sub(inside, total) if total > 0 else 0.0
        return shares

    @cached_property
    def matrix(self) -> Array:
        """The probability of each way out of each cell, in rows that add up to one; where no move was seen, people stay."""
        leaving = self._likely.sum(axis=1, keepdims=True)
        stay = np.zeros_like(self._likely)
        stay[:, self.moves.ways // 2] = 1.0
        return np.where(leaving > 0, self._likely / np.where(leaving > 0, leaving, 1.0), stay)

    @cached_property
    def matrix_stderr(self) -> Array:
        """The standard error of each probability, before norm-sub, to first order: noise over the share of moves out of the cell.

        With v the variance of a share, m that of all moves out of the cell, k ways and probability p: v / m^2 (1 - 2 p + k p^2).
        """
        noise = self.move.frequency_stderr[: self.moves.jump].reshape(self.shares.shape) ** 2
        leaving = self._likely.sum(axis=1, keepdims=True)
        ways = (self.moves.targets >= 0).sum(axis=1, keepdims=True)
        factor = np.maximum(1 - 2 * self.matrix + ways * self.matrix**2, 0.0)
        return np.asarray(np.where(leaving > 0, np.sqrt(noise * factor) / np.where(leaving > 0, leaving, 1.0), 1.0))

    @property
    def lengths(self) -> Array:
        """The share of tracks with each number of moves, not negative; the last entry is for all longer ones, too.

        At the event level whoever went nowhere is among those with no moves: only the number of moves is public.
        """
        counts = self.known if self.known is not None else _distribution(self.length)[:-1]  # type: ignore[arg-type]  # one of them is there
        return _normal(counts)

    def tracks(self, count: int, *, source: Source | None = None) -> Tracks:
        """So many tracks that nobody walked, from the estimates alone: free of further cost.

        A walk stays in the box. It starts as people start, makes as many moves as they do, and each by the matrix, whatever came before.
        Four times as many are drawn, and kept so that they end as people end.
        """
        check_whole("count", count, 0, fix="say how many tracks to make")
        walks = DRAWN * count
        longest = len(self.lengths) - 1
        moves = _pick(np.cumsum(self.lengths), walks, source)
        cells = np.full((longest + 1, walks), -1, dtype=np.int64)
        cells[0] = _pick(np.cumsum(_normal(_distribution(self.start)[:-1])), walks, source)
        rows = np.cumsum(self.matrix, axis=1)
        flat = (rows / rows[:, -1:] + np.arange(rows.shape[0])[:, None]).ravel()  # row i from i to i + 1: one search for all
        for step in range(1, longest + 1):
            going = np.flatnonzero(moves >= step)
            if not going.size:
                break
            here = cells[step - 1, going]
            way = np.searchsorted(flat, here + random_numbers(going.size, source), side="right") - here * self.moves.ways
            cells[step, going] = self.moves.targets[here, np.minimum(way, self.moves.ways - 1)]
        last = cells[moves, np.arange(walks)]
        kept = self._matched(last, count, source)
        chosen = cells[:, kept].T
        return Tracks(chosen[chosen >= 0], np.concatenate([[0], np.cumsum(moves[kept] + 1)]))

    def _matched(self, last: Array, count: int, source: Source | None) -> Array:
        """Walks drawn again in proportion to how often people end where they end, over how often walks do."""
        wanted = _normal(_distribution(self.end)[:-1])
        drawn = np.bincount(last, minlength=wanted.size) / max(last.size, 1)
        weights = np.where(drawn > 0, wanted / np.where(drawn > 0, drawn, 1.0), 0.0)[last]
        weights = weights if weights.sum() > 0 else np.ones(last.size)
        return _pick(np.cumsum(weights), count, source) if last.size else np.zeros(0, dtype=np.int64)

    def rows(self) -> dict[str, Any]:
        start, way = np.divmod(np.arange(self.moves.jump), self.moves.ways)
        end = self.moves.targets[start, way]
        real = np.flatnonzero(end >= 0)
        share, error = self.shares.ravel()[real], self.move.frequency_stderr[real]
        named = [f"{a} > {b}" for a, b in zip(start[real], end[real], strict=True)]
        return {"value": named, "share": share, "stderr": error, "probability": self.matrix.ravel()[real]}

    def headline(self) -> str:
        return f"moves between {self.moves.grid.size:,} cells, from {self.n:,} reports; share of these, and probability in its row"

    def order(self) -> Array:
        return np.argsort(-self.rows()["share"], kind="stable")

    def chart(self, k: int = 40) -> Chart:
        """The k most frequent moves from one cell to another, as lines that are thicker the more people move; staying is not drawn."""
        from deniable.tasks.places.chart import flow_chart

        return flow_chart(self, k)


def _distribution(estimate: FrequencyEstimate) -> Array:
    """Counts that are not negative and add up to the number of reports."""
    return norm_sub(estimate.counts, float(estimate.n)) if estimate.n else np.zeros(len(estimate.values))


def _normal(counts: Array) -> Array:
    """Counts as shares; equal ones if there is nothing."""
    return np.asarray(counts / counts.sum() if counts.sum() > 0 else np.full(counts.size, 1 / counts.size))


def _pick(cumulative: Array, count: int, source: Source | None) -> Array:
    """Positions drawn by cumulative shares."""
    found = np.searchsorted(cumulative / cumulative[-1], random_numbers(count, source), side="right")
    return np.asarray(np.minimum(found, cumulative.size - 1))
