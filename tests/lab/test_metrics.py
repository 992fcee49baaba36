"""Metrics: worked values, other people's implementations, the floors of a random guess, and the mistakes they are known for."""

from __future__ import annotations

from itertools import permutations
from math import log2

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon
from sklearn.metrics import ndcg_score

from deniable.errors import ParameterError
from deniable.lab import distances, metrics
from deniable.testing import ReplaySource

TRUTH = list("abcdefghi")  # k = 9


def test_worked_lists():
    found = list("bazcyx")
    assert metrics.precision(found, TRUTH) == 3 / 6
    assert metrics.recall(found, TRUTH) == 3 / 9
    assert metrics.f1(found, TRUTH) == 6 / 15
    assert metrics.ncr(found, TRUTH) == (8 + 9 + 7) / 45
    gain = 8 / log2(2) + 9 / log2(3) + 7 / log2(5)
    assert metrics.ndcg(found, TRUTH) == pytest.approx(gain / metrics.ideal_gain(9))
    assert [metrics.precision([], TRUTH), metrics.f1([], TRUTH), metrics.ncr([], TRUTH), metrics.ndcg([], TRUTH)] == [0, 0, 0, 0]


def test_the_relevance_is_that_of_the_true_rank():
    """The slip of the slides: relevance by position in the reported list is the same for every list. Ours is not."""
    lists = [list("ihgfedcba"), TRUTH, list("zyxwvutsr")]
    by_position = {sum(9 - i for i, _ in enumerate(found)) for found in lists}
    assert len(by_position) == 1
    assert [round(metrics.ncr(found, TRUTH), 4) for found in lists] == [1, 1, 0]
    assert [round(metrics.ndcg(found, TRUTH), 4) for found in lists] == [0.6735, 1, 0]


def test_false_negatives_count():
    """Without them a list of one right value would score 1."""
    assert metrics.f1(["a"], TRUTH) == 0.2


def test_ndcg_agrees_with_scikit_learn():
    source = ReplaySource.from_key("ndcg")
    for k, values in ((1, 5), (9, 15), (9, 101), (20, 30)):
        truth = list(range(k))
        relevance = np.array([k - v if v < k else 0 for v in range(values)])
        for _ in range(20):
            scores = np.array(source.words(values), dtype=float)
            found = np.argsort(-scores)[:k].tolist()
            assert metrics.ndcg(found, truth) == pytest.approx(ndcg_score([relevance], [scores], k=k), rel=1e-12)


def test_random_guesses_have_a_floor():
    assert metrics.guessed_ndcg(9, 15) == pytest.approx(0.502054, abs=5e-7)
    assert metrics.guessed_ndcg(9, 101) == pytest.approx(0.074562, abs=5e-7)
    assert metrics.guessed_ndcg(4, 4) == pytest.approx(np.mean([metrics.ndcg(guess, list("abcd")) for guess in permutations("abcd")]))
    every = [metrics.ndcg(guess, list("abc")) for guess in permutations("abcdef", 3)]
    assert metrics.guessed_ndcg(3, 6) == pytest.approx(np.mean(every))


def test_true_ties_go_to_the_smaller_value_and_others_to_chance():
    assert metrics.most_frequent([5, 3, 4, 1], [7, 7, 9, 7], k=3) == [4, 1, 3]
    assert metrics.most_frequent(["b", "a"], [1, 1], k=1) == ["a"]
    source = ReplaySource.from_key("ties")
    firsts = [metrics.most_frequent(range(10), np.ones(10), 1, source)[0] for _ in range(2000)]
    assert stats.chisquare(np.bincount(firsts, minlength=10)).pvalue > 1e-6
    twin = [first if first < 9 else 0 for first in firsts]  # twin: the last of ten equals is never first
    assert stats.chisquare(np.bincount(twin, minlength=10)).pvalue < 1e-6
    assert type(metrics.most_frequent(np.arange(3), [1, 2, 3], 1)[0]) is int


def test_the_score_of_a_tied_estimate_does_not_depend_on_labels():
    """Ties by value would favor small numbers: with all estimates equal, the mean over draws is the floor, wherever the truth lies."""
    for truth in ([0, 1, 2], [12, 13, 14]):
        source = ReplaySource.from_key(f"labels/{truth}")
        scores = [metrics.ndcg(metrics.most_frequent(range(15), np.zeros(15), 3, source), truth) for _ in range(4000)]
        error = np.std(scores) / len(scores) ** 0.5
        assert abs(np.mean(scores) - metrics.guessed_ndcg(3, 15)) < 4.9 * error
    by_value = metrics.ndcg(metrics.most_frequent(range(15), np.zeros(15), 3), [0, 1, 2])
    assert by_value == 1.0  # the trap


def test_distances_agree_with_scipy():
    source = ReplaySource.from_key("distances")
    for size in (2, 7, 50):
        p, q = (np.array(source.words(size), dtype=float) for _ in range(2))
        p, q = p / p.sum(), q / q.sum()
        values = np.sort(np.array(source.words(size), dtype=np.uint64) % 1000).astype(int)
        assert distances.kullback_leibler(p, q) == pytest.approx(stats.entropy(p, q), rel=1e-9)
        assert distances.jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q) ** 2, rel=1e-9)
        assert distances.wasserstein(p, q, values) == pytest.approx(stats.wasserstein_distance(values, values, p, q), rel=1e-9)
        assert distances.wasserstein(p, q, values[::-1]) == pytest.approx(
            stats.wasserstein_distance(values[::-1], values[::-1], p, q), rel=1e-9
        )
        assert distances.total_variation(p, q) == pytest.approx(np.maximum(p - q, 0).sum(), rel=1e-9)
        assert distances.total_variation(p, q) == distances.total_variation(q, p)
        assert distances.jensen_shannon(p, p) == distances.kullback_leibler(p, p) == distances.wasserstein(p, p) == 0


def test_errors_of_counts():
    assert distances.mse([1.0, -2.0], [0, 0]) == 2.5
    assert distances.max_error([1.0, -2.0], [0, 0]) == 2.0
    assert distances.total_variation([-0.5, 1.0], [0, 1]) == 0.25  # raw frequencies may be negative


MISTAKES = {
    "found twice": (lambda: metrics.f1(["a", "a"], TRUTH), ["found", "once"]),
    "found as one string": (lambda: metrics.f1("ab", TRUTH), ["found", "'ab'"]),
    "nothing true": (lambda: metrics.recall(["a"], []), ["truth", "one or more"]),
    "more than k": (lambda: metrics.ncr(list("abcdefghij"), TRUTH), ["found", "10 values", "at most 9"]),
    "k": (lambda: metrics.most_frequent([1], [1], 0), ["k: got 0"]),
    "counts of another length": (lambda: metrics.most_frequent([1, 2], [1], 1), ["counts", "2 numbers"]),
    "a guess among too few": (lambda: metrics.guessed_ndcg(9, 8), ["values", "from 9 on"]),
    "two lengths": (lambda: distances.mse([1, 2], [1]), ["estimated", "(2,)", "(1,)"]),
    "negative frequencies": (lambda: distances.jensen_shannon([-0.1, 1.1], [0.5, 0.5]), ["frequencies", "-0.1", "norm-sub"]),
    "frequencies of more than all": (lambda: distances.kullback_leibler([0.5, 0.5], [0.7, 0.7]), ["frequencies", "1.4"]),
    "a distance of labels": (lambda: distances.wasserstein([0, 1], [1, 0], ["a", "b"]), ["values", "total_variation"]),
}


@pytest.mark.parametrize(("mistake", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(mistake, words):
    with pytest.raises(ParameterError) as caught:
        mistake()
    assert all(word in str(caught.value) for word in words), caught.value
