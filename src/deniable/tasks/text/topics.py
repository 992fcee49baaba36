"""Topics: words that go together, by non-negative factorization, each checked with the answers of people who did not help to find it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import numpy as np

from deniable.core.table import Table
from deniable.errors import MissingExtra
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.tasks.text.pairs import PairCounts

SHOWN = 5
"""How many words of a topic are shown and checked."""


def factorize(matrix: Array, k: int) -> Array:
    """The k rows of a non-negative factorization of a symmetric matrix, each adding up to one (scikit-learn, extra ``lab``)."""
    try:
        from sklearn.decomposition import NMF  # type: ignore[import-untyped]  # it has no types
        from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]  # scikit-learn has no types
    except ModuleNotFoundError as error:
        raise MissingExtra("topics", "lab", error.name) from error
    if not matrix.any():  # nothing was seen: every word is as good as another
        return np.full((k, len(matrix)), 1 / len(matrix))
    model = NMF(k, init="nndsvda", random_state=0, max_iter=5000)  # the same matrix has the same topics
    with catch_warnings():
        simplefilter("ignore", ConvergenceWarning)  # noise is factorized slowly; topics are checked by other people's answers, not by this
        left = model.fit_transform(matrix / matrix.max())
    weights = left.T * np.linalg.norm(model.components_, axis=1)[:, None] + model.components_ * np.linalg.norm(left, axis=0)[:, None]
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1 / len(matrix)))


@dataclass(frozen=True, eq=False, repr=False)
class Topics(Table):
    """Topics as weights of words. ``checked`` is what the others say to them: an estimate with an error, which no choice has touched.

    The weights themselves have no error that would be known.
    """

    vocabulary: tuple[str, ...]
    """The words that were asked about."""
    weights: Array
    """Topics x words, in rows that add up to one."""
    visible: int
    """How many topics so many people show, at most."""
    counts: PairCounts
    """What the topics were found in, and are checked with."""

    def words(self, topic: int, k: int = SHOWN) -> list[str]:
        """The k words of a topic that weigh most."""
        return [self.vocabulary[i] for i in self._best(topic, k)]

    def checked(self, topic: int, k: int = SHOWN) -> tuple[float, float]:
        """The share of all pairs that are of a topic's k words, and its standard error, as those say who did not help to find it."""
        estimate, size = self.counts.checking, len(self.vocabulary)
        pairs = [a * (2 * size - a - 1) // 2 + b - a - 1 for a, b in combinations(sorted(self._best(topic, k)), 2)]
        variance = estimate.variance(np.clip(estimate.counts, 0, estimate.n), population=True)[pairs].sum()
        return float(estimate.frequencies[pairs].sum()), float(np.sqrt(variance) / max(estimate.n, 1))

    def _best(self, topic: int, k: int) -> list[int]:
        found: list[int] = np.argsort(-self.weights[topic], kind="stable")[:k].tolist()
        return found

    def rows(self) -> dict[str, Any]:
        checked = [self.checked(topic) for topic in range(len(self.weights))]
        by_chance = min(SHOWN, len(self.vocabulary)) * (min(SHOWN, len(self.vocabulary)) - 1) / len(self.vocabulary)
        by_chance /= max(len(self.vocabulary) - 1, 1)
        return {
            "value": [", ".join(self.words(topic)) for topic in range(len(self.weights))],
            "share": np.array([share for share, _ in checked]),
            "stderr": np.array([error for _, error in checked]),
            "by chance": np.full(len(self.weights), by_chance),
        }

    def headline(self) -> str:
        doubt = "" if len(self.weights) <= self.visible else f"; ONLY {self.visible} CAN BE SEEN, the others are made of noise"
        return f"{len(self.weights)} topics from {self.counts.n:,} reports; share of pairs of their {SHOWN} words, checked by others{doubt}"

    def order(self) -> Array:
        return np.argsort(-self.rows()["share"], kind="stable")
