"""PrivUnit for many people at once: one row of random words each, turned into one row of grid points.

A row is a word for the coin, one for the component along the direction, and one for each coordinate of the noise. 52 bits of a word make a
uniform number, and the inverse of the normal law makes a normal one of it, in the tails by the law's other side. The 12 bits left over
round a coordinate to the grid at random.
"""

from __future__ import annotations

from math import erfc, sqrt
from typing import Any

import numpy as np

from deniable.contract.source import Source
from deniable.core.estimate import Estimate
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.core.vector import mean_vector
from deniable.kernels.compiled import Array
from deniable.kernels.directions import add_points, perturb_direction
from deniable.local.vector.oracle import VectorOracle
from deniable.local.vector.priv_unit import MIDDLE, RESOLUTION, PrivUnit

_NUMBERS = 1 << 20
"""Numbers to a chunk: one of people would be too long where each sends a thousand."""


def words_of(spec: PrivUnit) -> int:
    """The words behind a report."""
    return spec.dimension + 3


def noisy_points(spec: PrivUnit, rows: Array, words: Array) -> Array:
    """The reports of people who hold these rows of the unit ball, from one row of words each."""
    points = np.zeros((len(words), spec.dimension), dtype=np.uint16)
    perturb_rows(spec, rows, points, words.ravel())
    return points


def perturb_rows(spec: PrivUnit, rows: Array, points: Array, words: Array) -> tuple[int, int]:
    """Write the noisy points of rows of the unit ball, as far as the words reach; return how many people and words were used."""
    cap = spec.cap
    inside = erfc(cap.gamma / sqrt(2)) / 2
    return perturb_direction(rows, np.uint64(spec.thresholds["keep"]), inside, cap.q, float(RESOLUTION), float(MIDDLE), points, words)


class BulkPrivUnit(VectorOracle[PrivUnit]):
    """Points are added up, and their squares."""

    def privatize(self, values: Any, source: Source | None) -> Reports:
        rows = self.spec.domain.matrix(values)
        reports = Reports.empty(self.spec, len(rows))
        points = reports.columns["point"]
        chunk = max(1, _NUMBERS // self.spec.dimension)
        serve_everyone(len(rows), lambda part, words: perturb_rows(self.spec, rows[part], points[part], words), source, chunk=chunk)
        return reports

    def add(self, reports: Reports, part: slice, counters: Array) -> None:
        add_points(reports.columns["point"][part], counters)

    def moments(self, number: Array, square: Array) -> tuple[Array, Array]:
        return (number - MIDDLE) / RESOLUTION, (square - 2 * MIDDLE * number + MIDDLE**2) / RESOLUTION**2

    def estimated(self, n: int, mean: Array, spread: Array) -> Estimate:
        spec, scale = self.spec, self.spec.radius / self.spec.cap.m
        noise = np.full(spec.dimension, scale**2 * max(spec.spread, 1.0) / n)  # the same for every vector where gamma = m
        return mean_vector(spec, n, scale * mean, noise, np.maximum(scale**2 * spread / n, noise))
