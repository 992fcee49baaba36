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
from deniable.core.reports import Reports
from deniable.core.stream import cores, in_parallel, serve_everyone
from deniable.core.tally import WHOLE_DOMAIN, Tally, require_same_spec
from deniable.core.vector import VectorEstimate
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.directions import add_points, perturb_direction
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


class BulkPrivUnit:
    """Points are added up, and their squares."""

    def __init__(self, spec: PrivUnit) -> None:
        self.spec = spec

    def privatize(self, values: Any, source: Source | None) -> Reports:
        rows = self.spec.domain.matrix(values)
        reports = Reports.empty(self.spec, len(rows))
        points = reports.columns["point"]
        chunk = max(1, _NUMBERS // self.spec.dimension)
        serve_everyone(len(rows), lambda part, words: perturb_rows(self.spec, rows[part], points[part], words), source, chunk=chunk)
        return reports

    def tally(self, reports: Any, candidates: Any) -> Tally:
        self._refuse(candidates)
        if not isinstance(reports, Reports):
            reports = Reports.collect(self.spec, reports)
        require_same_spec(self.spec, reports.spec)
        reports.check_shapes()
        share = -(-reports.n // cores()) or 1
        parts = [reports.columns["point"][start : start + share] for start in range(0, reports.n, share)]
        counters: Array = sum(in_parallel(_sums, parts), np.zeros(2 * self.spec.dimension, dtype=np.int64))
        return Tally(self.spec, reports.n, counters)

    def estimate(self, tally: Any, candidates: Any) -> VectorEstimate:
        self._refuse(candidates)
        if not isinstance(tally, Tally):
            raise ParameterError("tally", type(tally).__name__, allowed="a Tally", fix="write estimate(oracle.tally(reports))")
        require_same_spec(self.spec, tally.spec)
        spec, n = self.spec, tally.n
        sums, squares = tally.counters[: spec.dimension], tally.counters[spec.dimension :]
        if tally.digest != WHOLE_DOMAIN or squares.size != spec.dimension:
            raise MergeError("counters", tally.counters.size, allowed=f"{2 * spec.dimension} for {spec!r}", fix="tally again")
        if not n:
            return VectorEstimate(spec, 0, np.zeros(spec.dimension), np.full(spec.dimension, np.inf), np.full(spec.dimension, np.inf))
        mean = (sums / n - MIDDLE) / RESOLUTION
        square = (squares / n - 2 * MIDDLE * (sums / n) + MIDDLE**2) / RESOLUTION**2
        if np.any(square < mean**2 - 1e-6):
            raise MergeError("counters", "sums", allowed="sums of numbers and of their squares", fix="the tally was damaged or made up")
        scale = spec.radius / spec.cap.m
        noise = np.full(spec.dimension, scale**2 * max(spec.spread, 1.0) / n)  # the same for every vector where gamma = m
        drawn = scale**2 * np.maximum(square - mean**2, 0.0) / n
        return VectorEstimate(spec, n, scale * mean, noise, np.maximum(drawn, noise))

    def _refuse(self, candidates: Any) -> None:
        if candidates is not None:
            raise ParameterError("candidates", candidates, allowed="none for vectors", fix="leave them out")


def _sums(points: Array) -> Array:
    sums = np.zeros(2 * points.shape[1], dtype=np.int64)
    add_points(points, sums)
    return sums
