"""Estimated movement between cells: transition probabilities with errors, and synthetic tracks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.contract.source import Source
from deniable.contract.tracks import DrawnMove
from deniable.core.estimate import Estimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits
from deniable.core.law import CountLaw, Law
from deniable.core.postprocess import norm_sub
from deniable.core.stream import random_numbers
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.places.grid import Grid
from deniable.tasks.places.tracks import Tracks

DRAWN = 4
"""How many walks are drawn for each track that is kept, so that ends can be matched."""


@dataclass(frozen=True)
class Moves:
    """Moves as numbers (``DrawnMove``): the cell, times how many ways lead out of it, plus the way; then jumps; then no move at all.

    >>> from deniable.tasks.places.box import Box
    >>> moves = Moves(Grid(Box(0, 0, 3, 3, plane=True), 3, 3), reach=1)
    >>> moves.ways, moves.number(4, 5), moves.number(0, 8) == moves.jump, moves.size
    (9, 41, True, 83)
    """

    grid: Grid
    reach: int

    @cached_property
    def encoder(self) -> DrawnMove:
        """What a device draws a move with."""
        return DrawnMove(self.grid.track, self.grid.columns, self.reach)

    @property
    def ways(self) -> int:
        """How many ways lead out of a cell, staying included."""
        return self.encoder.ways

    @property
    def jump(self) -> int:
        """The number of all moves that go too far."""
        return self.encoder.jump

    @property
    def none(self) -> int:
        """The number of a track without a move."""
        return self.encoder.none

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.encoder.inputs

    def number(self, start: Any, end: Any) -> Any:
        """The number of a move, or of each of many moves in arrays; those from or to outside of the box are jumps."""
        return self.encoder.number(start, end)

    @cached_property
    def targets(self) -> Array:
        """Where each way out of each cell leads; -1 for out of the box."""
        row, column = np.divmod(np.arange(self.grid.size), self.grid.columns)
        steps = np.arange(-self.reach, self.reach + 1)
        rows, columns = row[:, None] + np.repeat(steps, steps.size), column[:, None] + np.tile(steps, steps.size)
        inside = (rows >= 0) & (rows < self.grid.rows) & (columns >= 0) & (columns < self.grid.columns)
        return np.where(inside, rows * self.grid.columns + columns, -1)


@dataclass(frozen=True, eq=False)
class Shares(Law):
    """Counts of people as shares of all who reported."""

    counts: CountLaw

    @property
    def n(self) -> int:
        """How many people reported."""
        return self.counts.n

    @property
    def point(self) -> Array:
        return np.asarray(self.counts.point / max(self.n, 1))

    @property
    def stderr(self) -> Array:
        return np.asarray(self.counts.stderr / max(self.n, 1))

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.asarray(self.counts.variance(at * self.n, population=population) / max(self.n, 1) ** 2)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        low, high = self.counts.limits(alpha, family=family, population=population)
        return low / max(self.n, 1), high / max(self.n, 1)

    def select(self, positions: Array) -> Shares:
        return Shares(self.counts.select(positions))  # type: ignore[arg-type]  # parts of counts are counts

    def change(self, other: Law) -> Law:
        return self.counts.change(other.counts) if isinstance(other, Shares) else super().change(other)

    def settled(self) -> Shares:
        return Shares(self.counts.settled())  # type: ignore[arg-type]  # so are settled ones


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Flows(Estimate):
    """The share of each move from one cell to another (or the same) among all reports about moves: unbiased, and negative now and then.

    At the user level these are the people who were asked for a move. Those who made none, and those who jumped, are among them, so that
    shares add up to less than one. At the event level they are all moves. Values are pairs of cells.

    ``parts`` has the estimates of starts, ends, moves and lengths, by the names "start", "end", "move" and "length". Each is unbiased on
    its own; the matrix and the tracks are made from them. The last value of start and end counts people who were outside of the box or went
    nowhere, and that of length the latter.
    """

    moves: Moves
    counted: Mapping[str, FrequencyEstimate]
    """The parts as they were estimated, whatever is shown of them."""
    quantity: str = "share"
    axes: tuple[str, ...] = ("start", "end")
    known: Array | None = None
    """How many tracks have each number of moves, where that is public."""

    kind: str = "flows"
    falling: bool = True

    @classmethod
    def of(cls, moves: Moves, counted: Mapping[str, FrequencyEstimate], known: Array | None, guarantee: Guarantee) -> Self:
        """The movement behind the estimates of starts, ends, moves and, unless they are ``known``, lengths."""
        real, move = np.flatnonzero(moves.targets.ravel() >= 0), counted["move"]
        values = list(zip((real // moves.ways).tolist(), moves.targets.ravel()[real].tolist(), strict=True))
        about = f"moves between {moves.grid.size:,} cells, from {move.n:,} reports; share of these, and probability in its row"
        law = Shares(move.law.select(real))  # type: ignore[arg-type]  # parts of counts are counts
        figure = {"mark": "flows", "axis": "share of reports", "interval": "", **moves.grid.box.frame}
        told: dict[str, Any] = {"about": about, "guarantee": guarantee, "parts": dict(counted), "figure": figure}
        return cls(moves=moves, values=values, law=law, counted=counted, known=known, **told)

    @cached_property
    def shares(self) -> Array:
        """The share of each way out of each cell, a row for each cell; ways out of the box are among them."""
        return self._ways(self.counted["move"].frequencies)

    def _ways(self, numbers: Array) -> Array:
        return np.asarray(numbers[: self.moves.jump].reshape(self.moves.grid.size, self.moves.ways))

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
        """Return the probability of each way out of each cell, in rows that add up to one; where no move was seen, people stay."""
        leaving = self._likely.sum(axis=1, keepdims=True)
        stay = np.zeros_like(self._likely)
        stay[:, self.moves.ways // 2] = 1.0
        return np.where(leaving > 0, self._likely / np.where(leaving > 0, leaving, 1.0), stay)

    @cached_property
    def matrix_stderr(self) -> Array:
        """The standard error of each probability, before norm-sub, to first order: noise over the share of moves out of the cell.

        With v the variance of a share, m that of all moves out of the cell, k ways and probability p: v / m^2 (1 - 2 p + k p^2).
        """
        noise = self._ways(self.counted["move"].frequency_stderr) ** 2
        leaving = self._likely.sum(axis=1, keepdims=True)
        ways = (self.moves.targets >= 0).sum(axis=1, keepdims=True)
        factor = np.maximum(1 - 2 * self.matrix + ways * self.matrix**2, 0.0)
        return np.asarray(np.where(leaving > 0, np.sqrt(noise * factor) / np.where(leaving > 0, leaving, 1.0), 1.0))

    @property
    def lengths(self) -> Array:
        """The share of tracks with each number of moves, not negative; the last entry is for all longer ones, too.

        At the event level, people who went nowhere are among those with no moves: only the number of moves is public.
        """
        return _normal(self._likely_counts("length")[:-1] if self.known is None else self.known)

    def tracks(self, count: int, *, source: Source | None = None) -> Tracks:
        """Return this many synthetic tracks, drawn from the estimates alone at no further privacy cost.

        A walk stays in the box. It starts as people start, makes as many moves as they do, and each by the matrix, whatever came before.
        Four times as many are drawn, and kept so that they end as people end.
        """
        check_whole("count", count, 0, fix="pass the number of tracks to generate")
        walks = DRAWN * count
        longest = len(self.lengths) - 1
        moves = _pick(np.cumsum(self.lengths), walks, source)
        cells = np.full((longest + 1, walks), -1, dtype=np.int64)
        cells[0] = _pick(np.cumsum(_normal(self._likely_counts("start")[:-1])), walks, source)
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
        wanted = _normal(self._likely_counts("end")[:-1])
        drawn = np.bincount(last, minlength=wanted.size) / max(last.size, 1)
        weights = np.where(drawn > 0, wanted / np.where(drawn > 0, drawn, 1.0), 0.0)[last]
        weights = weights if weights.sum() > 0 else np.ones(last.size)
        return _pick(np.cumsum(weights), count, source) if last.size else np.zeros(0, dtype=np.int64)

    def _likely_counts(self, part: str) -> Array:
        """Counts of a part that are not negative and add up to the number of reports."""
        found = self.counted[part]
        return norm_sub(found.point, float(found.n)) if found.n else np.zeros(len(found.values))

    # --- what people see ---

    def further(self) -> dict[str, Any]:
        starts, ends = np.array(self.values, dtype=np.int64).reshape(-1, 2).T
        ways, centers = self.moves.number(starts, ends), self.moves.grid.centers
        (west, south), (east, north) = centers[starts].T, centers[ends].T
        return {"probability": self.matrix.ravel()[ways], "west": west, "south": south, "east": east, "north": north}


def _normal(counts: Array) -> Array:
    return np.asarray(counts / counts.sum() if counts.sum() > 0 else np.full(counts.size, 1 / counts.size))  # equal shares of nothing


def _pick(cumulative: Array, count: int, source: Source | None) -> Array:
    """Positions drawn by cumulative shares."""
    return np.minimum(np.searchsorted(cumulative / cumulative[-1], random_numbers(count, source), side="right"), cumulative.size - 1)
