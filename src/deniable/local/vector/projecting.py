"""ProjUnit for many people at once: seeds, projections and back. A report is unfolded and rounded before it is added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.contract.source import Source
from deniable.core.reports import Reports
from deniable.core.stream import cores, in_parallel, serve_everyone
from deniable.core.tally import WHOLE_DOMAIN, Tally, require_same_spec
from deniable.core.vector import VectorEstimate
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.projections import project, unfold
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


class BulkProjUnit:
    """What reports unfold to is added up, and its squares."""

    def __init__(self, spec: ProjUnit) -> None:
        self.spec = spec

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

    def tally(self, reports: Any, candidates: Any) -> Tally:
        self._refuse(candidates)
        if not isinstance(reports, Reports):
            reports = Reports.collect(self.spec, reports)
        require_same_spec(self.spec, reports.spec)
        reports.check_shapes()
        share = -(-reports.n // cores()) or 1
        parts = [slice(start, start + share) for start in range(0, reports.n, share)]
        counters: Array = sum(in_parallel(lambda part: self._sums(reports, part), parts), np.zeros(2 * self.spec.dimension, dtype=np.int64))
        return Tally(self.spec, reports.n, counters)

    def _sums(self, reports: Reports, part: slice) -> Array:
        sums = np.zeros(2 * self.spec.dimension, dtype=np.int64)
        unfold(
            reports.columns["seed"][part], reports.columns["point"][part], float(MIDDLE), float(UNITS) / RESOLUTION, self.spec.offset, sums
        )
        return sums

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
        mean, square = (sums / n - spec.offset) / UNITS, squares / n / UNITS**2
        if np.any(square < mean**2 - 1e-6):
            raise MergeError("counters", "sums", allowed="sums of numbers and of their squares", fix="the tally was damaged or made up")
        scale = spec.radius / (spec.cap.m * spec.kappa)
        drawn = scale**2 * np.maximum(square - mean**2, 0.0) / n  # the noise is part of it, and not known by itself
        return VectorEstimate(spec, n, scale * mean, drawn, drawn)

    def _refuse(self, candidates: Any) -> None:
        if candidates is not None:
            raise ParameterError("candidates", candidates, allowed="none for vectors", fix="leave them out")
