"""Topics: words that go together, by non-negative factorization, each checked with the answers of people who did not help to find it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self
from warnings import catch_warnings, simplefilter

import numpy as np

from deniable.core.estimate import Estimate
from deniable.core.law import Unknown
from deniable.core.table import row_numbers
from deniable.errors import MissingExtra
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.tasks.text.pairs import PairShares

SHOWN = 5
"""How many words of a topic are shown and checked."""
WHY = "no intervals, since the errors of a topic's pairs depend on each other"


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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Topics(Estimate):
    """Topics as weights of words, and the share of all pairs that are of a topic's first words.

    That share is what people say who did not help to find the topics: an estimate with an error, which no choice has touched. The weights
    themselves have no error that would be known. The part ``pairs`` is what the topics were found in, and are checked with.
    """

    weights: Array
    """Topics x words, in rows that add up to one."""
    quantity: str = "share"

    kind: str = "topics"
    falling: bool = True

    @classmethod
    def of(cls, pairs: PairShares, weights: Array) -> Self:
        """Topics with these weights, checked with the pairs."""
        shares, errors = np.array([_checked(pairs, weights[topic], SHOWN) for topic in range(len(weights))]).T
        words, shown = weights.shape[1], min(SHOWN, weights.shape[1])
        chance = np.full(len(weights), shown * (shown - 1) / words / max(words - 1, 1))
        n, doubt = pairs.n + pairs.parts["check"].n, len(weights) > pairs.visible
        return cls(
            weights=weights,
            values=[tuple(pairs.vocabulary[i] for i in _best(topic, SHOWN)) for topic in weights],
            law=Unknown(n, shares, WHY, errors),
            about=f"topics from {n:,} reports: share of pairs of their {SHOWN} words, checked by others",
            guarantee=pairs.guarantee,
            bias=f"only {pairs.visible} topics can be seen: the others are made of noise" if doubt else None,
            parts={"pairs": pairs},
            details={"by chance": chance},
        )

    def words(self, topic: int, k: int = SHOWN) -> list[str]:
        """The k words of a topic that weigh most."""
        return [self._pairs.vocabulary[i] for i in _best(self.weights[topic], k)]

    def checked(self, topic: int, k: int = SHOWN) -> tuple[float, float]:
        """The share of all pairs that are of a topic's k words, and its standard error, as those say who did not help to find it."""
        return _checked(self._pairs, self.weights[topic], k)

    def select(self, positions: Any) -> Self:
        return replace(super().select(positions), weights=self.weights[row_numbers(positions, len(self.values))])

    @property
    def _pairs(self) -> PairShares:
        pairs: Any = self.parts["pairs"]
        found: PairShares = pairs
        return found


def _best(weights: Array, k: int) -> list[int]:
    found: list[int] = np.argsort(-weights, kind="stable")[:k].tolist()
    return found


def _checked(pairs: PairShares, weights: Array, k: int) -> tuple[float, float]:
    """The share of all pairs that are of the k words that weigh most, by those who check, and its standard error."""
    estimate: Any = pairs.parts["check"]
    size = len(weights)
    at = [a * (2 * size - a - 1) // 2 + b - a - 1 for a, b in combinations(sorted(_best(weights, k)), 2)]
    variance = estimate.law.variance(np.clip(estimate.counts, 0, estimate.n), population=True)[at].sum()
    return float(estimate.frequencies[at].sum()), float(np.sqrt(variance) / max(estimate.n, 1))
