"""Scores for a list of the most frequent values, and the score of a random guess to compare with.

``truth`` is the list of the k most frequent values, the most frequent first, and ``found`` the list that was reported, in its order. With
the rank r of a value in the truth, its relevance is k + 1 - r; values outside of the truth have none::

    precision   |found and truth| / |found|
    recall      |found and truth| / |truth|
    F1          2 |found and truth| / (|found| + |truth|)
    NCR         the relevance of all that was found, over k (k + 1) / 2: the normalized cumulative rank, blind to the order of ``found``
    nDCG        sum over i = 1..k of relevance(found_i) / log2(i + 1), over the same sum for the true order

The rank is always the true one. Slides and code that take the position in ``found`` for it get a constant, whatever was found; those that
leave the false negatives out of F1 reward short lists.

Ties. ``most_frequent`` breaks them toward the smaller value, so that the truth of a crowd is one list; given a source, it breaks them at
random. Estimates should be ranked at random: where many counts are equal, favoring the smaller value looks like skill if frequent values
happen to be small numbers (Poisson(5), epsilon = 1, 1,000 people: an nDCG of .26 for a prefix tree that earns .18).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import log2
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.source import Source
from deniable.core.stream import random_words
from deniable.errors import ParameterError

LONGEST_LIST = 10**7

Values = Sequence[Hashable]


@typed
def most_frequent(values: Sequence[Any], counts: Any, k: int, source: Source | None = None) -> list[Any]:
    """The k values with the largest counts, the largest first; equal counts by the smaller value, or at random where a source is given.

    >>> most_frequent(["tea", "milk", "cocoa", "water"], [9, 3, 3, 0], k=2)
    ['tea', 'cocoa']
    """
    check_k(k)
    numbers = np.asarray(counts)
    if numbers.shape != (len(values),):
        raise ParameterError("counts", f"shape {numbers.shape}", allowed=f"{len(values)} numbers", fix="pass one number for each value")
    ties = np.argsort(np.argsort(np.asarray(values), kind="stable"), kind="stable") if source is None else random_words(len(values), source)
    order = np.lexsort((ties, -numbers))[:k]
    return [_plain(values[i]) for i in order]


@typed
def precision(found: Values, truth: Values) -> float:
    """The share of what was found that is in ``truth``; 0 if nothing was found.

    >>> precision(found=["tea", "wine"], truth=["tea", "coffee", "water"])
    0.5
    """
    return _hits(found, truth) / len(found) if len(found) else 0.0


@typed
def recall(found: Values, truth: Values) -> float:
    """The share of the truth that was found.

    >>> round(recall(found=["tea", "wine"], truth=["tea", "coffee", "water"]), 4)
    0.3333
    """
    return _hits(found, truth) / len(truth)


@typed
def f1(found: Values, truth: Values) -> float:
    """The harmonic mean of precision and recall of what was found, given the truth. With one hit among two found and three true: 2 / 5.

    >>> f1(found=["tea", "wine"], truth=["tea", "coffee", "water"])
    0.4
    """
    return 2 * _hits(found, truth) / (len(found) + len(truth))


@typed
def ncr(found: Values, truth: Values) -> float:
    """The normalized cumulative rank: relevances, in ``truth``, of what was found over the largest sum.

    Here (3 + 1) / (3 + 2 + 1), in any order.

    >>> round(ncr(found=["water", "wine", "tea"], truth=["tea", "coffee", "water"]), 4)
    0.6667
    """
    _hits(found, truth)
    k = len(truth)
    if len(found) > k:
        raise ParameterError("found", f"{len(found)} values", allowed=f"at most {k}, as in the truth", fix="pass the first k values")
    relevance = relevances(truth)
    return 2 * sum(relevance.get(value, 0) for value in found) / (k * (k + 1))


@typed
def ndcg(found: Values, truth: Values) -> float:
    """The normalized discounted cumulative gain; of ``found``, as many as in ``truth`` count. Right values in a wrong order lose a little.

    >>> truth = ["tea", "coffee", "water"]
    >>> round(ndcg(["coffee", "tea", "water"], truth), 4), round(ndcg(["wine", "tea"], truth), 4), ndcg(truth, truth)
    (0.9225, 0.3975, 1.0)
    """
    _hits(found, truth)
    k = len(truth)
    relevance = relevances(truth)
    gain = sum(relevance.get(value, 0) / log2(i + 2) for i, value in enumerate(found[:k]))
    return gain / ideal_gain(k)


def guessed_ndcg(k: int, values: int) -> float:
    """The expected nDCG of k values picked at random among as many as there are: (k + 1) k / (2 values) S / IDCG, S = sum 1 / log2(i + 1).

    The floor of an experiment: with k = 9 of 15 equally likely values, 0.5 is not half-way but nothing.

    >>> round(guessed_ndcg(k=9, values=15), 6), round(guessed_ndcg(k=9, values=101), 6)
    (0.502054, 0.074562)
    """
    check_k(k)
    if type(values) is not int or values < k:
        raise ParameterError("values", values, allowed=f"an integer from {k} on", fix="pass how many values can be guessed")
    return (k + 1) * k / (2 * values) * sum(1 / log2(i + 1) for i in range(1, k + 1)) / ideal_gain(k)


@typed
def relevances(truth: Values) -> dict[Hashable, int]:
    """K + 1 - rank for each value of the truth.

    >>> relevances(["tea", "coffee"])
    {'tea': 2, 'coffee': 1}
    """
    return {value: len(truth) - i for i, value in enumerate(truth)}


@typed
def ideal_gain(k: int) -> float:
    """The discounted gain of the true order: sum over i of (k + 1 - i) / log2(i + 1).

    >>> round(ideal_gain(9), 4)
    25.4225
    """
    check_k(k)
    return sum((k + 1 - i) / log2(i + 1) for i in range(1, k + 1))


def check_k(k: object) -> None:
    """Refuse a length k of a list that is none."""
    if type(k) is not int or not 1 <= k <= LONGEST_LIST:
        raise ParameterError("k", k, allowed=f"an integer from 1 to {LONGEST_LIST:,}", fix="ask for at least one value")


def _hits(found: Values, truth: Values) -> int:
    """How many values are in both; each list names a value once."""
    for name, values in (("found", found), ("truth", truth)):
        if isinstance(values, str) or len(set(values)) < len(values):
            raise ParameterError(name, values, allowed="a list that names each value once", fix="remove repeated values")
    if not len(truth):
        raise ParameterError("truth", truth, allowed="one or more values", fix="pass a truth with at least one value")
    return len(set(found) & set(truth))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
