"""Bounds for each person's list, chosen from a noisy report of its length; later noise is scaled to these bounds.

A person whose noisy length is y gets the smallest bound on a public ladder that is at least y + margin. The margin keeps the
probability that noise cuts a list at or below ``cut``. Bounds depend on noisy reports only, so they are public and cost nothing more.
"""

from __future__ import annotations

from math import ceil, log
from typing import Any

import numpy as np

from deniable.central.laplace import Laplace
from deniable.errors import ParameterError, shorten
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole

CUT = 0.02
"""The chance that noise cuts a list."""


def ladder(top: int) -> Array:
    """Return all possible bounds: 2, 3, 4, 6, 8, 12 .. and the largest length.

    >>> ladder(20).tolist(), ladder(1).tolist()
    ([2, 3, 4, 6, 8, 12, 16, 20], [2])
    """
    rungs = [base * 2**power for power in range(1, max(top, 2).bit_length()) for base in (1, 1.5)]
    return np.unique([*(int(rung) for rung in rungs if 2 <= rung < top), max(top, 2)])


def margin(noise: Laplace, cut: float = CUT) -> int:
    """Return the smallest margin with P(noise < -margin) <= cut: a^(margin + 1) / (1 + a) <= cut.

    >>> margin(Laplace(epsilon=1.0, sensitivity=1, neighbors="replace"))
    3
    """
    ratio = np.exp(-1 / noise.scale)
    return max(0, ceil(noise.scale * -log(cut * (1 + ratio))) - 1)


def choose(reports: Array, noise: Laplace, top: int) -> Array:
    """Return each person's bound."""
    rungs = ladder(top)
    wanted = np.clip(np.clip(reports, -rungs[-1], rungs[-1]) + margin(noise), rungs[0], rungs[-1])
    return np.asarray(rungs[np.searchsorted(rungs, wanted)])


def check_bound(bound: object, top: int) -> None:
    """Raise unless ``bound`` is on the ladder: a device checks what the collector sends before it looks at its own list."""
    check_whole("bound", bound, 2, max(top, 2), fix="pass a bound that the first round returned")


def check_bounds(bounds: Any, nodes: int) -> None:
    """Raise unless all bounds are on the ladder."""
    top = max(nodes - 1, 2)
    whole = isinstance(bounds, np.ndarray) and bounds.shape == (nodes,) and bounds.dtype.kind in "iu"
    if not whole or ((bounds < 2) | (bounds > top)).any():
        raise ParameterError(
            "bounds", shorten(bounds), allowed=f"{nodes} integers from 2 to {top}", fix="pass the bounds that the first round returned"
        )
