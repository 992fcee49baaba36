"""Drawing tallies again and again, to see how far an estimate without a formula for its error may be off."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from deniable.contract.protocol import Progress
from deniable.contract.source import Source
from deniable.core.stream import cores, in_parallel, serve_everyone
from deniable.kernels.compiled import Array
from deniable.kernels.multinomial import draw_tallies

Item = TypeVar("Item")
Result = TypeVar("Result")

REPLICATES = 200
"""Enough for a standard error that is good to a twentieth."""
PATIENCE = 2.0
"""Seconds after which the remaining time is shown."""


def resample(weights: Array, people: int, replicates: int, source: Source | None = None) -> Array:
    """Tallies of so many people, each in a cell at random, one in each row; in time that does not grow with the people.

    >>> from deniable.testing import ReplaySource
    >>> resample(np.array([2.0, 0.0, 3.0, 5.0]), 10**9, 3, ReplaySource.from_key("resample"))
    array([[199981734,         0, 300005766, 500012500],
           [200002520,         0, 300002844, 499994636],
           [199993108,         0, 300005331, 500001561]])
    """
    tallies = np.zeros((replicates, weights.size), dtype=np.int64)
    serve_everyone(replicates, lambda part, words: draw_tallies(weights, people, tallies[part], words), source)
    return tallies


def patiently(work: Callable[[Item], Result], items: Sequence[Item], progress: Progress | None = None) -> list[Result]:
    """Apply a function to items on all cores. After two seconds, show how long it will take."""
    began, told, turn = time.monotonic(), False, 4 * cores()
    results: list[Result] = []
    for start in range(0, len(items), turn):
        results += in_parallel(work, items[start : start + turn])
        if progress is not None:
            progress(len(results), len(items))
        spent = time.monotonic() - began
        if progress is None and not told and spent > PATIENCE and len(results) < len(items):
            left = spent * (len(items) - len(results)) / len(results)
            sys.stderr.write(f"deniable: resampling the tally, {len(results)} of {len(items)} done, about {left:,.0f} s more ...\n")
            told = True
    return results
