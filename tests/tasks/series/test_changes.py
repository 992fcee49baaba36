"""Series of people who seldom change: the lemma for every such person of a short series, and the same promise as a stream."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import sqrt

import numpy as np
import pytest

from deniable.accounting.budget import budget_of
from deniable.central.rationals import exact_rate
from deniable.central.square_root import factors_of
from deniable.errors import DomainError, ParameterError
from deniable.lab.series_crowds import Switching
from deniable.tasks.series import RootChanges, TreeChanges, limited
from deniable.testing import ReplaySource

SIGMAS = 4.892  # two-sided alpha = 1e-6
LENGTHS = [1, 2, 3, 7, 8, 9]


def people(n: int, changes: int) -> np.ndarray:
    """Everybody who changes so often at most; holding 1 at first is a change."""
    states = np.array(list(product((0, 1), repeat=n)))
    return states[np.abs(np.diff(states, axis=1, prepend=0)).sum(axis=1) <= changes]


def both(n: int, changes: int, **parts):
    yield TreeChanges(points=n, changes=changes, epsilon=1.0, **parts)
    yield TreeChanges(points=n, changes=changes, epsilon=1.0, delta=1e-6, **parts)
    yield RootChanges(points=n, changes=changes, epsilon=1.0, delta=1e-6, **parts)


@pytest.mark.parametrize("n", LENGTHS)
def test_no_person_moves_more_than_is_paid_for(n):
    """All persons, added or replaced, in whole steps. One more change is more than is paid for, until every part moves."""
    for changes in range(1, n + 1):
        added = people(n, changes)
        for mechanism in both(n, changes):
            moved = np.rint(mechanism.ask(added.astype(float)) * 2**mechanism.bits)
            sizes = np.sqrt((moved**2).sum(axis=1)) if mechanism.delta else np.abs(moved).sum(axis=1)
            assert sizes.max() <= mechanism.steps
            if n <= 7:
                replaced = replace_neighbors(mechanism)
                apart = moved[:, None] - moved[None]
                sizes = np.sqrt((apart**2).sum(axis=2)) if mechanism.delta else np.abs(apart).sum(axis=2)
                assert sizes.max() <= replaced.steps <= 2 * mechanism.steps
        tree = TreeChanges(points=n, changes=changes, epsilon=1.0)
        most = np.abs(tree.ask(people(n, n).astype(float))).sum(axis=1).max()
        if changes == 1:
            assert tree.steps == n.bit_length()
            assert most > tree.steps or n <= 2


def replace_neighbors(mechanism):
    parts = {"points": mechanism.points, "changes": mechanism.changes, "epsilon": 1.0, "delta": mechanism.delta, "neighbors": "replace"}
    return type(mechanism)(**parts)


@pytest.mark.parametrize("n", [5, 9])
def test_signs_that_do_not_alternate_would_cost_more(n):
    """The lemma as it stands, for the columns themselves, and its evil twin: c changes of one sign are beyond the root of c."""
    row = factors_of(n).encode[::-1]
    columns = np.array([np.concatenate([np.zeros(place), row[: n - place]]) for place in range(n)])
    longest = sqrt(float((row**2).sum()))
    for count in range(2, n + 1):
        for places in combinations(range(n), count):
            signs = np.resize([1.0, -1.0], count)
            assert np.linalg.norm(signs @ columns[list(places)]) <= sqrt(count) * longest
    assert np.linalg.norm(columns[:2].sum(axis=0)) > sqrt(2) * longest


@pytest.mark.parametrize("n", [*LENGTHS, 2000])
def test_answers_give_the_series_back(n):
    series = np.arange(n) * 7919.0 % 100_003
    for mechanism in both(n, 3):
        assert np.allclose(mechanism.reconstruct(mechanism.ask(series)), series, rtol=0, atol=1e-5)
        assert mechanism.lossless


def test_noise_is_as_large_as_stated_as_a_whole_and_as_a_stream():
    """1,200 releases of 12 points by each, and 300 streams: variances to 5 standard errors, intervals cover at 95 %."""
    repetitions, truth = 1200, np.array([50.0, 50, 49, 60, 61, 61, 60, 70, 30, 30, 31, 0])
    changes = np.diff(truth, prepend=0).astype(int)
    for number, mechanism in enumerate(both(12, 3)):
        source = ReplaySource.from_key(f"changes {number}")
        released = [mechanism.release(truth, source=source) for _ in range(repetitions)]
        streamed = np.array([mechanism.counter(source).run(changes).point for _ in range(repetitions // 4)])
        for values in (np.array([estimate.point for estimate in released]), streamed):
            errors, spread = values - truth, sqrt((2 + 3) / len(values))
            assert errors.var(axis=0) == pytest.approx(mechanism.stderr**2, rel=5 * spread)
            assert np.abs(errors.mean(axis=0) / mechanism.stderr).max() < SIGMAS / sqrt(len(values)) + 0.02
        low, high = zip(*(estimate.interval() for estimate in released), strict=True)
        covered = ((np.array(low) <= truth) & (truth <= np.array(high))).mean(axis=0)
        assert covered.min() > 0.95 - 5 * sqrt(0.95 * 0.05 / repetitions)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("changes", [1, 4, 8])
def test_a_stream_promises_no_more_than_it_keeps(neighbors, changes):
    """What it says of one change, times what a person moves beyond one change, is within the promise; and its noise is the mechanism's."""
    for mechanism in both(2000, changes, neighbors=neighbors):
        counter = mechanism.counter()
        beyond = Fraction(mechanism.parts, 11) if isinstance(mechanism, TreeChanges) else changes
        if mechanism.delta:
            assert 0.999 < float(counter.exact_rho * beyond / budget_of(1.0, 1e-6, "zCDP").rho) <= 1
        else:
            assert 1 - Fraction(1, 10**12) < exact_rate(counter.epsilon) * beyond <= 1
        times = np.arange(1, 2001)
        roundings = 1 + 1 / sqrt(mechanism.parts) if isinstance(mechanism, TreeChanges) and mechanism.delta else 1 + 1e-3  # to whole steps
        ratio = mechanism.stderr / np.sqrt(counter.variance(times))
        assert 0.999 < ratio.min() <= ratio.max() < roundings


def test_people_are_held_to_their_changes():
    crowd = Switching(steps=500).draw(300, ReplaySource.from_key("held"))
    for most in (1, 2, 3, 50):
        held = limited(crowd.states, most)
        assert np.abs(np.diff(held, axis=1, prepend=0)).sum(axis=1).max() <= most
        assert np.array_equal(held.sum(axis=0), crowd.limited(most))
    assert np.array_equal(held, crowd.states)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: TreeChanges(points=3, changes=0, epsilon=1.0),
        lambda: TreeChanges(points=1 << 16, changes=1, epsilon=1.0),
        lambda: RootChanges(points=3, changes=1, epsilon=1.0),
        lambda: limited(np.array([0, 1]), 0),
    ],
)
def test_mistakes_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()


@pytest.mark.parametrize("series", [[1.0, 2.5], [1.0, 2.0**31], [1.0, -(2.0**31)]])
def test_what_is_no_count_is_refused(series):
    for mechanism in both(2, 1):
        with pytest.raises(DomainError):
            mechanism.release(np.array(series), source=ReplaySource([]))
    with pytest.raises(DomainError):
        limited(np.array([0, 2]), 1)
