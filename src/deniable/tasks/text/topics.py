"""Topics: words used together, by non-negative factorization, each checked on reports that did not help to find it."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import numpy as np

from deniable.core.estimate import Estimate
from deniable.core.law import Unknown
from deniable.errors import MissingExtra
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.tasks.text.pairs import PairShares

SHOWN = 5
"""How many words of a topic are shown and checked, unless another number is asked for."""
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


def topics_of(pairs: PairShares, weights: Array, words: int = SHOWN) -> Estimate:
    """Return the share of all pairs that are of each topic's first ``words``; ``weights`` has a row for each topic.

    That share is what people say who did not help to find the topics: an estimate with an error, which no choice has touched. The weights
    themselves, part ``weights``, have no error that would be known. The part ``pairs`` is what the topics were found in.
    """
    listed, shown = len(pairs.vocabulary), min(words, len(pairs.vocabulary))
    best = np.argsort(-weights, axis=1, kind="stable")[:, :shown]
    shares, errors = np.array([_checked(pairs, topic) for topic in best.tolist()]).T
    n, doubt = pairs.n + pairs.parts["check"].n, len(weights) > pairs.visible
    weighed = Estimate(
        kind="topic weights",
        values=[(topic, word) for topic in range(len(weights)) for word in pairs.vocabulary],
        axes=("topic", "word"),
        law=Unknown(pairs.n, weights.ravel(), WHY),
        about=f"weight of each word in {len(weights)} topics",
        guarantee=pairs.guarantee,
        quantity="weight",
        figure={"mark": "matrix", "group": "topic"},
    )
    return Estimate(
        kind="topics",
        values=[tuple(pairs.vocabulary[i] for i in topic) for topic in best],
        law=Unknown(n, shares, WHY, errors),
        about=f"topics from {n:,} reports: share of pairs of their {shown} words, checked on other reports",
        guarantee=pairs.guarantee,
        quantity="share",
        bias=f"only {pairs.visible} topics are visible; the others are noise" if doubt else None,
        falling=True,
        parts={"pairs": pairs, "weights": weighed},
        details={"by chance": np.full(len(weights), shown * (shown - 1) / listed / max(listed - 1, 1))},
    )


def _checked(pairs: PairShares, words: list[int]) -> tuple[float, float]:
    """Return the share of all pairs that are of these words, by those who check, and its standard error."""
    estimate: Any = pairs.parts["check"]
    size = len(pairs.vocabulary)
    at = [a * (2 * size - a - 1) // 2 + b - a - 1 for a, b in combinations(sorted(words), 2)]
    variance = estimate.law.variance(np.clip(estimate.counts, 0, estimate.n), population=True)[at].sum()
    return float(estimate.frequencies[at].sum()), float(np.sqrt(variance) / max(estimate.n, 1))
