"""The shuffle itself: every order of a batch is equally likely, exactly."""

from __future__ import annotations

import numpy as np

from deniable.contract.source import Source
from deniable.core.stream import random_words
from deniable.kernels.compiled import Array


def permutation(count: int, source: Source | None = None) -> Array:
    """The positions 0 .. count - 1 in an order that nobody can predict.

    Each position draws a random word, and words are sorted. If two are equal, everyone draws again: given that all words differ, no order
    is likelier than another. Among a million, that happens once in 40 million shuffles.

    >>> from deniable.testing import ReplaySource
    >>> permutation(3, ReplaySource([7, 9, 7, 30, 10, 20]))
    array([1, 2, 0])
    """
    while True:
        words = random_words(count, source)
        order = np.argsort(words, kind="stable")
        ranked = words[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order
