"""k-means by rounds: blobs are found, errors are right, the clipping bound is asked for, and centers that nobody is near stay."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deniable.contract.features import HALF
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.core.features import FeatureTable
from deniable.core.run import ask, draw_tickets
from deniable.errors import DomainError, ParameterError, WireError
from deniable.tasks.learning import KMeans
from deniable.tasks.learning.k_means import KMeansState, clipping
from deniable.testing import ReplaySource

ALPHA = 1e-6
BLOBS = np.array([[-0.1, 0.05], [0.12, 0.1], [0.0, -0.12]])
RANGES = {"east": (-1, 1), "north": (-1, 1)}


def crowd(n, seed=0):
    draws = np.random.default_rng(seed)
    points = BLOBS[draws.integers(0, 3, n)] + draws.normal(0, 0.02, (n, 2))
    return {"east": points[:, 0], "north": points[:, 1]}


def search(**options):
    return KMeans(**{"features": RANGES, "clusters": 3, "epsilon": 4.0} | options)


def test_blobs_are_found_after_the_bound_was_asked_for():
    """All of them lie in a quarter of the range; each state is stored and read between rounds."""
    people, state = FeatureTable(crowd(30_000), search().features), search(people=30_000)
    source, stages = ReplaySource.from_key("blobs"), []
    tickets = draw_tickets(state, 30_000, source)
    while isinstance(state, Protocol):
        state = protocol_from_json(state.canonical)
        stages.append((state.state.stage, state.state.bound, len(state.open().questions)))
        state = state.close(ask(state, people, tickets, source=source))
    assert stages == [(0, None, 1), *((stage, 2, 2) for stage in range(1, 6))]
    found = state
    nearest = np.argmin(((found.centers[:, None] - BLOBS) ** 2).sum(axis=2), axis=1)
    assert sorted(nearest) == [0, 1, 2]
    assert np.all(np.abs(found.centers - BLOBS[nearest]) < 5 * found.center_stderr)
    assert np.abs(found.shares - 1 / 3).max() < 0.05
    assert len(set(found.predict({"east": BLOBS[:, 0], "north": BLOBS[:, 1]}).tolist())) == 3
    assert found.spread(crowd(1000, seed=1)) < 3 * 2 * 0.02**2
    assert "clipping bound" in repr(found)
    assert found.to_arrow().num_rows == 3
    assert "<svg" in found.chart()._repr_svg_()


def test_a_center_that_nobody_is_near_begins_again_beside_the_largest():
    """All people are nearest to one of three centers at first; after some rounds each blob has one."""
    people = crowd(20_000)
    start = [[0.0, 0.0], [0.9, -0.9], [0.9, 0.9]]
    found = search(clip=0, start=start, rounds=6).run(people, source=ReplaySource.from_key("again"))
    nearest = np.argmin(((found.centers[:, None] - BLOBS) ** 2).sum(axis=2), axis=1)
    assert sorted(nearest) == [0, 1, 2]
    stuck = search(clip=0, start=start, rounds=1).run(people, source=ReplaySource.from_key("again"))
    assert np.isinf(stuck.center_stderr).any(axis=1).tolist() == [False, True, True]


@pytest.mark.parametrize(("clusters", "epsilon"), [(1, 0.5), (3, 2.0)], ids=["one", "three"])
def test_errors_are_as_large_as_they_are_said_to_be(clusters, epsilon):
    """One round from the blobs' own centers, 100 times: 200 squared deviations of a cluster's coordinates from the exact means, or 600, and
    of shares. Errors a third too small, or a fifth, are rejected with a power of 0.99. With one cluster the two sides know of each other:
    a twin for which they do not has errors that are too small by 1.4."""
    people = FeatureTable(crowd(4000), search().features)
    start = BLOBS.tolist() if clusters == 3 else [[0.0, 0.0]]
    protocol = search(clusters=clusters, rounds=1, clip=2, start=start, epsilon=epsilon)
    points, grid = people.points, np.array(protocol.state.centers)
    owner = np.argmin(((points[:, None] - grid) ** 2).sum(axis=2), axis=1)
    limit, squares = HALF >> 2, 200 * clusters
    exact = np.array([np.clip(points[owner == c], -limit, limit).mean(axis=0) for c in range(clusters)])
    shares = np.bincount(owner) / owner.size
    runs = [protocol.run(people, source=ReplaySource.from_key(f"errors/{i}")) for i in range(100)]
    centers = sum(float((((np.array(run.grid) - exact) ** 2) / run.steps_noise).sum()) for run in runs)
    assert stats.chi2.ppf(ALPHA, squares) < centers < stats.chi2.isf(ALPHA, squares)
    assert centers / (0.8 if clusters == 3 else 2 / 3) ** 2 > stats.chi2.isf(ALPHA, squares)
    told = sum(float((((run.shares - shares) ** 2) / run.stderr**2).sum()) for run in runs)
    assert told < stats.chi2.isf(ALPHA, squares / 2)
    assert "in which round" in protocol.guarantee.statement()


def test_the_bound_leaves_a_twentieth_outside():
    sure = np.full(9, 1.0)
    assert clipping(np.array([4.0, 0, 0, 1, 2, 3, 30, 30, 30]), sure, 100) == 4
    assert clipping(np.array([6.0, 0, 0, 0, 0, 0, 0, 0, 94]), sure, 100) == 0
    assert clipping(np.array([0.0] * 8 + [50]), sure, 50) == 8
    assert clipping(np.zeros(9), sure, 0) == 0


def test_a_bound_that_noise_would_draw_is_none():
    """80 crowds of 300 at epsilon 1, of whom 30 say how far out they are: chosen by these alone, a bound would leave nearly all outside now
    and then."""
    outside = []
    for i in range(80):
        source, protocol = ReplaySource.from_key(f"few/{i}"), search(epsilon=1.0, people=300)
        people = FeatureTable(crowd(300, seed=i), protocol.features)
        limit = HALF >> protocol.close(ask(protocol, people, draw_tickets(protocol, 300, source), source=source)).state.bound
        outside.append(np.mean(np.abs(people.points).max(axis=1) > limit))
    assert max(outside) < 0.25


def test_crowds_with_nothing_to_find():
    nobody = search().run({"east": [], "north": []})
    assert nobody.n == 0
    assert np.isinf(nobody.center_stderr).all()
    assert np.isfinite(nobody.centers).all()
    assert nobody.spread({"east": [], "north": []}) == 0.0
    start = [[0.5, 0.5], [-0.9, -0.9]]
    same = {"east": np.full(4000, 0.25), "north": np.full(4000, 0.25)}
    alone = search(clusters=2, clip=0, start=start, rounds=1).run(same, source=ReplaySource.from_key("constant"))
    assert np.abs(alone.centers[0] - 0.25).max() < 5 * alone.center_stderr[0].max()
    assert alone.centers[1] == pytest.approx([-0.9, -0.9], abs=1e-3)  # nobody is near: it stays, and says that it knows nothing
    assert np.isinf(alone.center_stderr[1]).all()


def test_what_is_no_search_is_refused():
    bad = [
        {"clusters": 0},
        {"clusters": 257},
        {"rounds": 0},
        {"clip": 9},
        {"start": [[0, 0]]},
        {"start": [[0, 0, 0]] * 3},
        {"start": 5},
    ]
    for options in (
        *bad,
        {"start": [1, 2, 3]},
        {"state": KMeansState(stage=1)},
        {"clip": 0, "state": KMeansState(stage=5, bound=0, centers=((0, 0),) * 3)},
        {"clip": 0, "state": KMeansState(bound=1, centers=((0, 0),) * 3)},
        {"state": KMeansState(centers=((0, 0),) * 2)},
        {"clip": 0, "state": KMeansState(bound=0, centers=((0, 5000),) * 3)},
        {"epsilon": -1},
    ):
        with pytest.raises(ParameterError):
            search(**options)
    for beyond in ({"start": [[0, 2]] * 3}, {"start": [[0, "x"]] * 3}):
        with pytest.raises(DomainError):
            search(**beyond)
    state = search(clip=1)
    for wrong in (state.canonical.replace(b'"stage":0', b'"stage":9'), state.canonical.replace(b'"clusters":3', b'"clusters":2')):
        with pytest.raises(WireError):
            protocol_from_json(wrong)
