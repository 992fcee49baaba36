"""ProjUnit for many people at once: seeds, projections and back. A report is unfolded and rounded before it is added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.contract.source import Source
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.core.vector import VectorEstimate
from deniable.kernels.compiled import Array
from deniable.kernels.projections import project, unfold
from deniable.local.vector.oracle import VectorOracle
from deniable.local.vector.priv_unit import MIDDLE, RESOLUTION
from deniable.local.vector.proj_unit import UNITS, ProjUnit
from deniable.local.vector.sampling import perturb_rows


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

    def estimated(self, n: int, mean: Array, spread: Array) -> VectorEstimate:
        scale = self.spec.radius / (self.spec.cap.m * self.spec.kappa)
        drawn = scale**2 * spread / n  # the noise is part of it, and not known by itself
        return VectorEstimate.of(self.spec, n, scale * mean, drawn, drawn)
