"""The sparse vector: private by enumeration, and every version in print that is not is caught by the same enumeration."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product
from math import inf, log, nan

import pytest
from scipy.optimize import minimize_scalar

from deniable.accounting import Pure
from deniable.central.exact_noise import ExactNoise
from deniable.central.sparse_vector import SparseVector
from deniable.errors import DomainError, ParameterError, ProtocolError
from deniable.testing import ReplaySource, law_of
from tests.central.noises import Lazy, Listed, Silent

EPSILON = 3.0


def audited(kind):
    """The same code with noise that can be walked."""

    class Audited(kind):
        threshold_noise = property(lambda self: Silent() if kind is NoThresholdNoise else Listed(super().threshold_noise))
        query_noise = property(lambda self: Silent() if kind is NoQueryNoise else Lazy(super().query_noise))

    return Audited


def law(kind, values, *, answers=1, monotone=False, told=bool):
    """What is said about some numbers, and how likely it is."""

    def answered(source):
        vector = audited(kind)(
            epsilon=EPSILON, answers=answers, sensitivity=1, neighbors="add-remove", monotone=monotone, threshold=0, source=source
        )
        said = []
        for value in values:
            if not vector.left:
                break
            said.append(told(vector.ask(value)))
        return tuple(said)

    return law_of(answered)


def loss(one, other):
    """The largest ln-ratio of two laws, in either direction."""
    ratios = [first.ratio(second) for first, second in ((one, other), (other, one))]
    return inf if None in ratios else log(max(ratios))


# --- the mutants ---


class NoThresholdNoise(SparseVector):
    """The threshold is as it is."""


class NoQueryNoise(SparseVector):
    """Numbers are compared as they are (Stoddard, Chen, Machanavajjhala 2014)."""


class NoEnd(SparseVector):
    """Answers above are not counted (Chen, Xiao, Zhang, Xu 2015)."""

    left = property(lambda self: 1)


class NotScaled(SparseVector):
    """Noise for one answer, however many are given (Lee, Clifton 2014)."""

    query_noise = property(lambda self: ExactNoise(linear=self.budgets[1] / 2))


class Released(SparseVector):
    """The noisy number is told when it is above (Roth 2011)."""

    def ask(self, value):
        noisy = value + self.query_noise.draw(self.source)
        above = noisy >= self._progress.noisy_threshold
        self._progress.above += above
        return int(noisy) if above else None


# --- privacy ---


@pytest.mark.parametrize(("answers", "monotone"), [(1, False), (2, False), (1, True), (2, True)])
def test_no_pair_of_neighbors_is_told_apart_by_more_than_epsilon(answers, monotone):
    """Three questions, all numbers around the threshold, all neighbors."""
    steps = (0, 1) if monotone else (-1, 0, 1)
    starts = [(0, 0, 0), (-1, 1, 0), (1, 0, -1)]
    laws, worst = {}, 0.0
    for start in starts:
        for moved in product(steps, repeat=3):
            pair = start, tuple(a + b for a, b in zip(start, moved, strict=True))
            for values in pair:
                if values not in laws:
                    laws[values] = law(SparseVector, values, answers=answers, monotone=monotone)
                    assert 1 - laws[values].total < Fraction(1, 10**8)  # what lies beyond the reach of the walk
            worst = max(worst, loss(*(laws[values] for values in pair)))
    assert 0.3 * EPSILON < worst <= EPSILON


WORST = ((2, 2, 2, -2), (3, 3, 3, -3))
"""Three numbers that are below by luck and one above, and neighbors for which both takes more: hardly any loss is larger."""
TWICE, THRICE = ((2, 2, 2, -2, -2), (3, 3, 3, -3, -3)), ((2, 2, -2, -2, -2), (3, 3, -3, -3, -3))


def number(said):
    """What a mutant tells, but for the far ends, where the walk has an edge."""
    return said if said is None or abs(said) <= 10 else "far"


@pytest.mark.parametrize(
    ("kind", "pair", "answers", "told"),
    [
        (NoThresholdNoise, WORST, 1, bool),
        (NoQueryNoise, ((0, 1), (1, 0)), 1, bool),
        (NoEnd, TWICE, 1, bool),
        (NotScaled, THRICE, 3, bool),
        (Released, WORST, 1, number),
    ],
)
def test_mutants_are_caught(kind, pair, answers, told):
    sound = loss(*(law(SparseVector, values, answers=answers) for values in pair))
    assert sound <= EPSILON
    assert loss(*(law(kind, values, answers=answers, told=told) for values in pair)) > 1.2 * EPSILON


def test_the_whole_epsilon_is_used():
    assert 0.99 * EPSILON < loss(*(law(SparseVector, values) for values in WORST)) <= EPSILON


def test_claiming_monotone_numbers_that_are_not_is_caught():
    assert loss(*(law(SparseVector, values, answers=2, monotone=True) for values in TWICE)) > 1.2 * EPSILON


@pytest.mark.parametrize("answers", [1, 5, 100])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_split_makes_the_comparison_least_noisy(answers, monotone):
    vector = SparseVector(epsilon=1.0, answers=answers, sensitivity=1, neighbors="add-remove", monotone=monotone, threshold=0)
    first, second = vector.budgets
    assert first + second == 1
    factor = answers * (1 if monotone else 2)
    assert vector.query_noise.linear == second / factor
    best = minimize_scalar(lambda share: 1 / share**2 + (factor / (1 - share)) ** 2, bounds=(1e-6, 1 - 1e-6), options={"xatol": 1e-9}).x
    assert float(first) == pytest.approx(best, abs=1e-5)


# --- what it says ---


@pytest.mark.parametrize("level", [0.9, 0.99])
def test_numbers_beyond_the_margin_are_told_right(level):
    probe = SparseVector(epsilon=EPSILON, answers=1, sensitivity=1, neighbors="add-remove", threshold=0)
    margin = probe.margin(3, level)
    right, nearer = (law(SparseVector, (-far, -far, far))[False, False, True] for far in (margin, margin / 4))
    assert nearer < level <= right


def test_it_stops_when_its_answers_are_spent():
    vector = SparseVector(
        epsilon=1.0, answers=2, sensitivity=2.5, neighbors="replace", threshold=7.25, grid=0.5, source=ReplaySource.from_key("stop")
    )
    assert [vector.ask(value) for value in (-900, 1000.5, Fraction(-2001, 2), 990)] == [False, True, False, True]
    assert (vector.asked, vector.left, vector.event) == (4, 0, Pure(epsilon=1.0))
    with pytest.raises(ProtocolError, match="2 answers above the threshold"):
        vector.ask(0)
    assert vector.threshold_noise.linear == vector.budgets[0] / 5  # 2.5 is five steps


def test_many_threads_get_no_more_answers_than_one():
    vector = SparseVector(epsilon=1.0, answers=5, sensitivity=1, neighbors="add-remove", threshold=0)

    def ask(_):
        try:
            return vector.ask(10**6)
        except ProtocolError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(200))) == 5


def test_it_cannot_be_copied():
    vector = SparseVector(epsilon=1.0, answers=1, sensitivity=1, neighbors="add-remove", threshold=0)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ProtocolError, match="for each budget"):
            duplicate(vector)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"answers": 0}, "answers"),
        ({"answers": 1.0}, "answers"),
        ({"sensitivity": -1}, "sensitivity"),
        ({"epsilon": inf}, "epsilon"),
        ({"neighbors": ""}, "neighbors"),
        ({"grid": 0}, "grid"),
        ({"monotone": True, "neighbors": "replace"}, "monotone"),
    ],
)
def test_bad_parameters_are_refused(change, words):
    with pytest.raises(ParameterError, match=words):
        SparseVector(**{"epsilon": 1.0, "answers": 1, "sensitivity": 1, "neighbors": "add-remove", "threshold": 0} | change)


def test_bad_numbers_are_refused_and_cost_nothing():
    vector = SparseVector(epsilon=1.0, answers=1, sensitivity=1, neighbors="add-remove", threshold=0)
    for bad in (nan, inf, "7", True, None):
        with pytest.raises(DomainError, match="value"):
            vector.ask(bad)
    assert vector.asked == 0
    with pytest.raises(DomainError, match="threshold"):
        SparseVector(epsilon=1.0, answers=1, sensitivity=1, neighbors="add-remove", threshold=nan)
