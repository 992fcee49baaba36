"""Vectors times matrices of normal numbers that a seed stands for: floating-point, as ``local.vector.proj_unit`` says.

Entry j of the matrix, counted row by row, is the normal quantile of a word: the seed's j-th of SplitMix64 (Steele, Lea, Flood 2014). The
matrix is public; the seed must be drawn at random, and is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.directions import normal_quantile, uniform

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@inlined
def entry(seed: Any, place: Any) -> Any:
    """An entry of a seed's matrix."""
    word = seed + (place + np.uint64(1)) * _STEP
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return normal_quantile(uniform(word ^ (word >> _31)))


@kernel
def project(rows: Array, seeds: Array, out: Array) -> None:
    """The directions of the projections of rows of the unit ball, each made a direction of one dimension more."""
    dimension, projected = rows.shape[1], out.shape[1]
    for i in range(rows.shape[0]):
        length = 0.0
        for j in range(dimension):
            length += rows[i, j] * rows[i, j]
        rest = math.sqrt(max(1.0 - length, 0.0))
        square, place = 0.0, np.uint64(0)
        for k in range(projected):
            total = 0.0
            for j in range(dimension + 1):
                total += entry(seeds[i], place) * (rows[i, j] if j < dimension else rest)
                place += np.uint64(1)
            out[i, k] = total
            square += total * total
        for k in range(projected):
            out[i, k] /= math.sqrt(square)


@kernel
def unfold(seeds: Array, points: Array, middle: float, scale: float, offset: int, sums: Array) -> None:
    """Multiply reports by their matrices again, round, and add up: sums of coordinates above -offset, then of the coordinates' squares."""
    projected, dimension = points.shape[1], sums.size // 2
    row = np.empty(dimension)
    for i in range(seeds.size):
        row[:] = 0.0
        place = np.uint64(0)
        for k in range(projected):
            report = (np.float64(points[i, k]) - middle) * scale
            for j in range(dimension):
                row[j] += entry(seeds[i], place) * report
                place += np.uint64(1)
            place += np.uint64(1)  # of the dimension that was added
        for j in range(dimension):
            rounded = np.int64(np.rint(row[j]))
            sums[j] += rounded + offset
            sums[dimension + j] += rounded * rounded
