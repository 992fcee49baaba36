"""PrivUnit behind a random projection: the mean of long vectors from short reports. Floating-point, like PrivUnit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, lgamma, sqrt
from typing import Any, ClassVar

import numpy as np

from deniable.contract.source import SYSTEM, Source
from deniable.contract.spec import BulkHalf
from deniable.contract.wire import Column, Layout
from deniable.core.estimate import Estimate
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.core.vector import mean_vector
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.projections import project, unfold
from deniable.local.vector.oracle import VectorOracle
from deniable.local.vector.priv_unit import MIDDLE, RESOLUTION, PrivUnit
from deniable.local.vector.sampling import perturb_rows

UNITS = 4
"""Steps of the tally's grid for a unit. What a report adds to a coordinate is of the size of the root of ``projected``, in units."""
USUAL = 128
"""The coordinates of a projection: at epsilon 4 its error is then 2 % above that of PrivUnit."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ProjUnit(PrivUnit):
    """Project the own vector to a few random directions, and send these like ``PrivUnit``, with the seed of the directions.

    A vector of the ball becomes a direction u of one dimension more. The seed, 64 random bits, stands for a matrix W of normal numbers with
    ``projected`` rows. What is sent is the ``PrivUnit`` noise around W u / |W u|. The collector multiplies it by W again.

    Guarantee: ``PrivUnit``'s, since the seed is drawn whatever the vector is; floating-point, with the same label.

    Estimator: W^T report / (m kappa), where kappa is the mean length of ``projected`` normal numbers. Normal numbers look the same from all
    directions, so that it is unbiased for every vector, exactly. One report's squared error is about d (1 + (gamma m + 1/2) / k) / m^2.

    Cost: 64 bits and 16 for each of the k projected coordinates; k (d + 1) normal numbers, for the device and for the collector.

    >>> long, short = PrivUnit(dimension=1000, epsilon=4.0), ProjUnit(dimension=1000, projected=64, epsilon=4.0)
    >>> long.report_bits, short.report_bits, round(short.variance(n=1) / long.variance(n=1), 3)
    (16000, 1088, 1.044)

    References: Asi, Feldman, Nelson, Nguyen, Talwar 2023 (ProjUnit).
    """

    projected: int = USUAL

    mechanism: ClassVar[str] = "ProjUnit"

    def __post_init__(self) -> None:
        if type(self.projected) is not int or not 2 <= self.projected <= 1024:
            allowed = "an integer from 2 to 1024"
            raise ParameterError(
                "projected",
                self.projected,
                allowed=allowed,
                fix="choose a number in this range: more are a little more accurate, and take longer to send",
            )
        super().__post_init__()

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1].replace('PrivUnit', 'ProjUnit')}, projected={self.projected})"

    @property
    def layout(self) -> Layout:
        return (Column("seed", limit=1 << 64), Column("point", limit=2 * MIDDLE, count=self.projected))

    @property
    def largest_count(self) -> int:
        return self.offset**2

    @property
    def offset(self) -> int:
        """Added to what a report unfolds to, in units of the tally: 16 standard deviations times 9, summed up, are less than that."""
        return UNITS * 16 * 16 * self.projected

    @cached_property
    def kappa(self) -> float:
        """The mean length of ``projected`` normal numbers."""
        return sqrt(2) * exp(lgamma((self.projected + 1) / 2) - lgamma(self.projected / 2))

    def randomize(self, value: Any, source: Source = SYSTEM) -> tuple[int, tuple[int, ...]]:
        """One person's report about the vector ``value``."""
        from deniable.local.vector.proj_unit import projected_points, words_behind

        row = self._row(value)
        words = np.array(source.words(words_behind(self)), dtype=np.uint64)[None, :]
        seeds, points = projected_points(self, row, words)
        return int(seeds[0]), tuple(int(point) for point in points[0])

    def variance(self, n: int) -> float:
        """The expected squared distance of the estimated mean from the mean of n vectors, at worst."""
        super().variance(n)  # refuses what is no number of people
        cap, k, scale = self.cap, self.projected, self.radius / (self.cap.m * self.kappa)
        along, across = k * (1 + cap.gamma * cap.m), k + cap.gamma * cap.m  # of E|V|^2: along the vector, and along each other direction
        longest, center = along + (self.dimension - 1) * across - (cap.m * self.kappa) ** 2, self.dimension * across
        return float(scale**2 * max(longest, center)) / n

    @cached_property
    def _bulk(self) -> BulkHalf:
        from deniable.local.vector.proj_unit import BulkProjUnit

        return BulkProjUnit(self)


def words_behind(spec: ProjUnit) -> int:
    """The words behind a report: the seed, and those of PrivUnit on the projection."""
    return spec.projected + 4


def projected_points(spec: ProjUnit, rows: Array, words: Array) -> tuple[Array, Array]:
    """Seeds and points of people who hold these rows of the unit ball, from one row of words each."""
    seeds = np.ascontiguousarray(words[:, 0])
    flat, points = np.empty((len(words), spec.projected)), np.zeros((len(words), spec.projected), dtype=np.uint16)
    project(rows, seeds, flat)
    perturb_rows(spec, flat, points, np.ascontiguousarray(words[:, 1:]).ravel())
    return seeds, points


class BulkProjUnit(VectorOracle[ProjUnit]):
    """What reports unfold to is added up, and its squares."""

    def privatize(self, values: Any, source: Source | None) -> Reports:
        rows, width = self.spec.domain.matrix(values), words_behind(self.spec)
        reports = Reports.empty(self.spec, len(rows))

        def serve(part: slice, words: Array) -> tuple[int, int]:
            served = min(part.stop - part.start, words.size // width)
            some = slice(part.start, part.start + served)
            seeds, points = projected_points(self.spec, rows[some], words[: served * width].reshape(served, width))
            reports.columns["seed"][some], reports.columns["point"][some] = seeds, points
            return served, served * width

        serve_everyone(len(rows), serve, source, chunk=max(1, (1 << 20) // (self.spec.dimension + self.spec.projected)))
        return reports

    def add(self, reports: Reports, part: slice, counters: Array) -> None:
        seeds, points = reports.columns["seed"][part], reports.columns["point"][part]
        unfold(seeds, points, float(MIDDLE), float(UNITS) / RESOLUTION, self.spec.offset, counters)

    def moments(self, number: Array, square: Array) -> tuple[Array, Array]:
        return (number - self.spec.offset) / UNITS, square / UNITS**2

    def estimated(self, n: int, mean: Array, spread: Array) -> Estimate:
        scale = self.spec.radius / (self.spec.cap.m * self.spec.kappa)
        drawn = scale**2 * spread / n  # the noise is part of it, and not known alone
        return mean_vector(self.spec, n, scale * mean, drawn, drawn)
