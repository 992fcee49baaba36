"""Counts of squares, one size per group of people, joined into one tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from deniable.contract.form import HEXADECIMALS
from deniable.contract.record import Plain, wire
from deniable.core.frequency import FrequencyEstimate
from deniable.core.postprocess import norm_sub
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.places.joint import GroupErrors, Joint
from deniable.tasks.places.morton import blocks_of
from deniable.tasks.places.tree import MeasuredTree


@dataclass(frozen=True)
class Level(Plain):
    """The squares of one level that were asked about, in rising order: counts among the n people of the group, and variances.

    ``together`` is how the counts of two squares vary together if all people were in neither of them, and if all were in one.
    """

    noun = "measured"
    level: int
    n: int
    cells: tuple[int, ...] = field(metadata=wire(form=HEXADECIMALS))
    counts: tuple[float, ...]
    noise: tuple[float, ...]
    together: tuple[float, float]

    def __post_init__(self) -> None:
        numbers = (*self.counts, *self.noise, *self.together)
        fitting = len(self.cells) == len(self.counts) == len(self.noise) and len(self.together) == 2
        if not fitting or not all(isfinite(each) for each in numbers):
            raise ParameterError(
                "measured", len(self.cells), allowed="a count and a variance for each cell", fix="pass what close() returned"
            )

    @classmethod
    def of(cls, level: int, cells: tuple[int, ...], estimate: FrequencyEstimate) -> Level:
        """Return the level from a group's estimate."""
        counts = estimate.counts if estimate.n else np.zeros(len(cells))
        noise = np.maximum(estimate.law.variance(np.clip(counts, 0, estimate.n)), 0.0)
        neither, one = estimate.spec.pair_covariances
        return cls(level, estimate.n, cells, tuple(counts.tolist()), tuple(noise.tolist()), (estimate.n * neither, estimate.n * one))

    def with_more(self, other: Level) -> Level:
        """Return the same squares with the counts of one more group."""
        if (other.level, other.cells) != (self.level, self.cells):
            raise ParameterError("measured", other.level, allowed=f"the squares of level {self.level}", fix="pass what close() returned")
        pairs = ((self.counts, other.counts), (self.noise, other.noise), (self.together, other.together))
        counts, noise, together = (tuple(np.add(*pair).tolist()) for pair in pairs)
        return Level(self.level, self.n + other.n, self.cells, counts, noise, together)

    def dense(self, errors: float, outside: bool, most: int) -> tuple[int, ...]:
        """The squares whose counts are above so many standard errors; of more than ``most``, those with the largest counts."""
        cells = self.cells[:-1] if outside else self.cells
        numbers = zip(cells, self.counts, self.noise, strict=False)  # everywhere else, the last one, is no square
        found = [(-count, cell) for cell, count, noise in numbers if self.n and count > errors * noise**0.5]
        return tuple(sorted(cell for _, cell in sorted(found)[:most]))

    def scaled(self, n: int, start: int) -> tuple[Array, Array, list[GroupErrors]]:
        """Counts among all n people; variances, of the noise and of drawing the group at random; and what errors have in common.

        The squares are the nodes from ``start`` on. Of a group of nobody all are taken to be equal, with errors as large as the crowd.
        What one group drew too much of, the others have too little of; as if drawn independently, errors come out somewhat too large.
        """
        if not self.n:
            return np.full(len(self.cells), n / max(len(self.cells), 1)), np.full(len(self.cells), float(n) ** 2), []
        counts, factor, (apart, own) = np.array(self.counts), (n / self.n) ** 2, self.together
        total = float(np.clip(counts.sum() / self.n, 0.0, 1.0))
        shares = norm_sub(counts / self.n, total) if total > 0 else np.zeros(counts.size)  # more than all people share no errors
        drawn = self.n * (1 - self.n / n)
        diagonal = np.array(self.noise) - apart - 2 * (own - apart) * shares + drawn * shares
        common = GroupErrors(start, shares, apart * factor, own * factor, drawn * factor)
        return counts * n / self.n, np.maximum(diagonal, 0.0) * factor, [common]


def joined(levels: tuple[Level, ...], depth: int, outside: bool) -> tuple[Joint, Array, int]:
    """All levels as one tree under a root with everybody in it; the blocks that its leaves are; and how many people there are.

    The number of people in all groups is known, so the root's is. Each level's cells are children of the cell of the level before whose
    code is their prefix.

    >>> coarse = Level(1, 9, (0, 1, 2, 3), (9.0, 0.0, 0.0, 0.0), (4.0,) * 4, (0.0, 0.0))
    >>> fine = Level(2, 0, (0, 1, 2, 3), (0.0,) * 4, (0.0,) * 4, (0.0, 0.0))
    >>> tree, blocks, n = joined((coarse, fine), depth=2, outside=False)
    >>> n, blocks.tolist()[-2:], tree.counts[tree.leaves].round(2).tolist()
    (9, [[0, 1, 1, 2], [1, 1, 2, 2]], [0.0, 0.0, 0.0, 2.25, 2.25, 2.25, 2.25])
    """
    n = sum(level.n for level in levels)
    parents, counts, variances = [np.zeros(1, dtype=np.int64)], [np.array([float(n)])], [np.zeros(1)]
    common: list[GroupErrors] = []
    above, start, known = np.zeros(1, dtype=np.uint64), 0, 0
    for level in levels:
        cells = np.array(level.cells, dtype=np.uint64)
        prefixes = cells >> np.uint64(2 * (level.level - known)) if known else np.zeros(cells.size, dtype=np.uint64)
        parents.append(start + np.searchsorted(above, prefixes))
        told, spread, shared = level.scaled(n, sum(map(len, parents[:-1])))
        common += shared
        counts.append(told)
        variances.append(spread)
        start, above, known = sum(map(len, parents[:-1])), cells, level.level
    tree = Joint(MeasuredTree(np.concatenate(parents), np.concatenate(counts), np.concatenate(variances)), tuple(common))
    blocks = np.concatenate([np.zeros((1, 4), dtype=np.int64), *(blocks_of(np.array(each.cells), each.level, depth) for each in levels)])
    leaves = tree.leaves[:-1] if outside else tree.leaves
    return tree, blocks[leaves], n
