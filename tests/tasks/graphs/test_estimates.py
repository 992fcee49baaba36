"""Check values, exact expectations, errors that are as stated, and the smallest graphs. Sources are replayed: no test can flicker."""

from __future__ import annotations

from functools import partial
from math import comb, exp, sqrt

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from deniable.tasks.graphs import ClippedStars, ClippedTriangles, Degrees, Graph, LDPGen, NodeDegrees, Triangles
from deniable.tasks.graphs.bounds import margin
from deniable.tasks.graphs.few import FewTriangles
from deniable.tasks.graphs.noisy import coin_for
from deniable.tasks.graphs.triangles import triples, variance_of
from deniable.testing import ReplaySource

Z = stats.norm.isf(0.5e-6)  # two-sided, alpha = 1e-6
FRIENDS = Graph.of(nx.powerlaw_cluster_graph(70, 9, 0.9, seed=7))
LOOSE = Graph.of(nx.powerlaw_cluster_graph(400, 4, 0.5, seed=3))


def replay(*key):
    return ReplaySource.from_key(f"graphs/{key}")


# --- check values of the literature ---


def test_coefficients_of_one_round():
    stated = [float(weight) for weight in Triangles(nodes=3, epsilon=1.0).coefficients]
    assert stated == pytest.approx([3.95913, -1.45648, 0.53581, -0.19711], abs=5e-6)
    e = exp(0.6)
    reference = [e**3 / (e - 1) ** 3, -(e**2) / (e - 1) ** 3, e / (e - 1) ** 3, -1 / (e - 1) ** 3]
    assert [float(weight) for weight in Triangles(nodes=3, epsilon=0.6).coefficients] == pytest.approx(reference, rel=1e-12)


def test_edges_from_bits_are_thirty_times_worse_than_from_degrees():
    p, q = (float(side) for side in (coin_for(1.0).p, coin_for(1.0).q))
    from_bits = sqrt(comb(1000, 2) * p * (1 - p)) / (p - q)
    from_degrees = Degrees(nodes=1000, epsilon=1.0).estimate(np.zeros(1000, dtype=int)).edges.stderr
    assert from_bits == pytest.approx(678, abs=0.5)
    assert from_degrees < sqrt(1000 * 2) / 2 == pytest.approx(22.4, abs=0.05)  # noise on the integers has less variance than Laplace's
    assert from_degrees == pytest.approx(sqrt(1000 * 2 * exp(-1)) / (1 - exp(-1)) / 2, rel=1e-9)


def test_unsampling_in_steps_is_the_same_estimate():
    """The literature first undoes the sampling of noisy ties, count by count, and then the randomized response."""
    epsilon, kept = 1.2, 0.3
    mechanism = Triangles(nodes=70, epsilon=epsilon, sample=kept)
    noisy = mechanism.privatize(FRIENDS, source=replay("sampled"))
    t3, t2, t1, _ = triples(noisy)
    three = t3 / kept**3
    two = t2 / kept**2 - 3 * (1 - kept) * three
    one = t1 / kept - 2 * (1 - kept) * two - 3 * (1 - kept) ** 2 * three
    none = comb(70, 3) - one - two - three
    e = exp(epsilon)
    stepwise = (e**3 * three - e**2 * two + e * one - none) / (e - 1) ** 3
    assert mechanism.estimate(noisy).value == pytest.approx(stepwise, rel=1e-9)


# --- degrees: exact expectations ---


@pytest.mark.parametrize("epsilon", [0.8, 1.5])
def test_the_second_difference_undoes_the_noise_exactly(epsilon):
    """The expectation of estimates from one report, over the exact law of the noise, for every degree of twelve people."""
    spec = Degrees(nodes=12, epsilon=epsilon)
    noise = range(-int(40 / epsilon), int(40 / epsilon) + 1)
    chances = np.array([float(spec.noise.noise.probability(z)[0]) for z in noise])
    for degree in (0, 1, 6, 11):
        single = [spec.estimate(np.array([degree + z])) for z in noise]
        counts = np.einsum("i,ij->j", chances, [estimate.counts for estimate in single])
        assert counts == pytest.approx(np.eye(12)[degree], abs=1e-9)
        for k in (1, 2, 3):
            assert sum(chances * [estimate.stars(k).value for estimate in single]) == pytest.approx(comb(degree, k), abs=1e-7)
        assert sum(chances * [estimate.between(1, 6).value for estimate in single]) == pytest.approx(float(1 <= degree <= 6), abs=1e-9)


def test_a_liar_moves_a_sum_no_further_than_the_ends_do():
    spec = Degrees(nodes=12, epsilon=1.0)
    honest = np.array([3] * 11)
    ends, far = (spec.estimate(np.append(honest, lie)) for lie in (14, 2**62))
    assert far.stars(2).value == ends.stars(2).value
    assert far.counts.tolist() == ends.counts.tolist()
    assert np.isfinite(far.stars(2).stderr)


def test_margins_cut_as_rarely_as_stated():
    for epsilon in (0.1, 0.5, 2.0):
        noise = Degrees(nodes=9, epsilon=epsilon).noise
        below = sum(float(noise.noise.probability(z)[0]) for z in range(-400, -margin(noise)))
        assert below <= 0.02 < below + float(noise.noise.probability(-margin(noise))[0])


# --- errors as stated ---

RUNS = 60


def scores(run, truth):
    source = replay("runs")
    found = [run(source=source) for _ in range(RUNS)]
    return np.array([(estimate.value - truth) / estimate.stderr for estimate in found])


DEGREES = Degrees(nodes=400, epsilon=1.0)
WAYS = {
    "edges": (lambda source: DEGREES.run(LOOSE, source=source).edges, LOOSE.edges),
    "2-stars": (lambda source: DEGREES.run(LOOSE, source=source).stars(2), LOOSE.stars(2)),
    "3-stars": (lambda source: DEGREES.run(LOOSE, source=source).stars(3), LOOSE.stars(3)),
    "clipped 2-stars": (partial(ClippedStars(nodes=400, epsilon=2.0, k=2).run, LOOSE), LOOSE.stars(2)),
    "triangles": (partial(Triangles(nodes=70, epsilon=1.5).run, FRIENDS), FRIENDS.triangles),
    "sampled triangles": (partial(Triangles(nodes=70, epsilon=2.0, sample=0.5).run, FRIENDS), FRIENDS.triangles),
    "clipped triangles": (partial(ClippedTriangles(nodes=70, epsilon=3.0).run, FRIENDS), FRIENDS.triangles),
}


@pytest.mark.parametrize("way", WAYS, ids=list(WAYS))
def test_estimates_are_off_by_what_they_say(way):
    """Mean and spread of standardized errors, 60 runs. A shift by one standard error, or one of 60 % in their size, is seen in all but
    one of a thousand cases."""
    z = scores(*WAYS[way])
    assert abs(z.mean()) < Z / sqrt(RUNS)
    assert stats.chi2.ppf(0.5e-6, RUNS - 1) / RUNS < z.var() < stats.chi2.isf(0.5e-6, RUNS - 1) / RUNS * 1.15  # normal only nearly


def test_the_twin_that_forgets_the_chance_ties_is_rejected():
    """Counting noisy ties among one's friends without subtracting those that are there by chance."""
    mechanism = ClippedTriangles(nodes=70, epsilon=3.0)

    def forgetful(source):
        first = mechanism.first_round(FRIENDS, source=source)
        counts = mechanism.second_round(FRIENDS, first, source=source)
        before = np.minimum(FRIENDS.before_degrees, first.bounds)
        return mechanism.estimate(first, counts + before * (before - 1) // 2 * int(mechanism.coin.q * 2**20))

    assert abs(scores(forgetful, FRIENDS.triangles).mean()) > Z / sqrt(RUNS)


def test_intervals_of_degree_counts_cover():
    """50 runs. Each interval covers with 95 % at least, so that fewer than 35 inside at any of 400 degrees cannot be luck."""
    truth = np.bincount(LOOSE.degrees, minlength=400)
    inside = []
    source = replay("cover")
    for _ in range(50):
        low, high = Degrees(nodes=400, epsilon=1.0).run(LOOSE, source=source).interval()
        inside.append((low <= truth) & (truth <= high))
    assert np.sum(inside, axis=0).min() >= 35
    assert np.mean(inside) > 0.95


KARATE = Graph.of(nx.karate_club_graph())
CLIQUE = Graph.of(nx.complete_graph(12))
COVERS = {
    "karate, few are left": (KARATE, Triangles(nodes=34, epsilon=4.0, sample=0.3)),
    "karate, hardly any are left": (KARATE, Triangles(nodes=34, epsilon=8.0, sample=0.2)),
    "friends, few are left": (FRIENDS, Triangles(nodes=70, epsilon=4.0, sample=0.2)),
    "all that a few people can have": (CLIQUE, Triangles(nodes=12, epsilon=4.0, sample=0.5)),
    "karate, every bit": (KARATE, Triangles(nodes=34, epsilon=4.0)),
    "friends, every bit": (FRIENDS, Triangles(nodes=70, epsilon=1.0)),
    "two rounds": (FRIENDS, ClippedTriangles(nodes=70, epsilon=2.0)),
}


@pytest.mark.parametrize("case", COVERS, ids=list(COVERS))
def test_intervals_of_triangles_cover_however_few_are_left(case):
    """150 runs. With 95 % each, 127 or fewer inside are no luck; a true coverage of 75 % is seen in all but two of a thousand cases.

    The twin takes the estimated variance with its negative parts cut, and Chebyshev's factor, where few noisy triangles are left.
    """
    (graph, mechanism), source, runs = COVERS[case], replay("triangles"), 150
    least = stats.binom.ppf(1e-6, runs, 0.95)
    found = [mechanism.run(graph, source=source) for _ in range(runs)]
    assert sum(low <= graph.triangles <= high for low, high in (estimate.interval() for estimate in found)) > least
    few = "left" in case or "few" in case
    assert all(isinstance(estimate.law, FewTriangles) == few for estimate in found)
    if not few:
        return
    assert all("upper bound" in repr(estimate) for estimate in found)
    errors = np.array([estimate.value for estimate in found]) - graph.triangles
    sure = sqrt(stats.chi2.isf(1e-6, runs - 1) / runs)
    assert all(estimate.stderr * sure > errors.std() for estimate in found)  # an upper limit, which the clique attains
    assert all(estimate.interval(0.8)[1] <= estimate.interval(0.99)[1] <= comb(graph.nodes, 3) for estimate in found)
    if "karate" in case:
        assert not any(estimate.value > 2 * estimate.stderr for estimate in found)
        noisy = [mechanism.privatize(graph, source=source) for _ in range(runs)]
        values = [mechanism.estimate(each).value for each in noisy]
        parts = [variance_of(each, value).values() for each, value in zip(noisy, values, strict=True)]
        reach = np.sqrt([sum(max(part, 0.0) for part in each) for each in parts]) / sqrt(0.05)
        assert np.sum(np.abs(np.array(values) - graph.triangles) <= reach) <= least


def test_few_wrong_bits_make_no_normal_error():
    """Twenty of forty people are all tied: 1,140 triangles, whatever epsilon. At epsilon = 8 one bit in four crowds is wrong, and the
    error comes in jumps of whole rows of triangles; at 2 it is 93 bits."""
    tied = Graph.of(nx.disjoint_union(nx.complete_graph(20), nx.empty_graph(20)))
    for epsilon, normal in ((8.0, False), (2.0, True)):
        found = Triangles(nodes=40, epsilon=epsilon).run(tied, source=replay("jumps"))
        low, high = found.interval(0.95)
        assert found.law.normal is normal
        assert (high - low) / found.stderr == pytest.approx(2 * (stats.norm.isf(0.025) if normal else 20**0.5))


def test_errors_of_large_stars_are_not_those_of_rounding():
    """A ring of 200, 5-stars: the exact standard error, over the law of the noise. A Fourier transform's rounding makes it 400."""
    spec = Degrees(nodes=200, epsilon=2.0)
    law = {z: float(spec.noise.noise.probability(z)[0]) for z in range(-25, 26)}
    exact = sqrt(200 * sum(chance * spec.estimate(np.array([2 + z])).stars(5).value ** 2 for z, chance in law.items()))
    ring = Graph.of([(i, (i + 1) % 200) for i in range(200)], nodes=200)
    source = replay("rounding")
    stated = [spec.run(ring, source=source).stars(5).stderr for _ in range(20)]
    assert exact / 4 < np.median(stated) < 4 * exact
    assert max(stated) < 12 * exact


def test_noise_alone_decides_who_is_cut_and_the_bias_is_small():
    mechanism = ClippedTriangles(nodes=400, epsilon=2.0)
    first = mechanism.first_round(LOOSE, source=replay("bounds"))
    assert np.mean(LOOSE.before_degrees > first.bounds) < 0.02 + Z * sqrt(0.02 * 0.98 / 400)
    assert first.bounds.max() < 399


# --- synthetic graphs ---


def test_synthetic_graphs_have_the_groups_and_the_edges():
    blocks = Graph.of(nx.planted_partition_graph(2, 60, 0.5, 0.02, seed=5))
    made = LDPGen(nodes=120, epsilon=6.0, groups=8).run(blocks, source=replay("made"))
    alike = [np.bincount(np.arange(120)[made.groups == group] // 60, minlength=2).max() for group in range(8)]
    assert sum(alike) > 0.8 * 120  # a coin would give 0.6
    of_truth = np.zeros((8, 8))
    for a, b in blocks.pairs:
        of_truth[made.groups[a], made.groups[b]] += 1
    of_truth += of_truth.T
    of_truth[np.arange(8), np.arange(8)] /= 2
    assert np.all(np.abs(made.point - of_truth[np.triu_indices(8)]) < Z * made.stderr)
    assert made.chart().to_dict()["mark"] == {"type": "rect"}
    assert made.graph.edges == pytest.approx(np.rint(np.maximum(made.ties, 0))[np.triu_indices(8)].sum(), rel=0.02)
    assert (made.graph.nodes, made.guarantee.tie_epsilon) == (120, 12.0)
    drawn = [LDPGen(nodes=400, epsilon=2.0, groups=g).run(LOOSE, source=replay("large", g)).graph for g in (1, 20)]
    assert [graph.edges for graph in drawn] == pytest.approx([LOOSE.edges] * 2, rel=0.1)


# --- the smallest graphs ---


@pytest.mark.parametrize("nodes", [1, 2, 3, 40])
def test_graphs_without_ties_have_estimates_near_nothing(nodes):
    empty = Graph.of([], nodes=nodes)
    assert (empty.edges, empty.triangles, empty.stars(2)) == (0, 0, 0)
    found = Degrees(nodes=nodes, epsilon=3.0).run(empty, source=replay("empty"))
    few = [found.edges, found.stars(2), ClippedStars(nodes=nodes, epsilon=3.0, k=2).run(empty, source=replay(0))]
    few += [cls(nodes=nodes, epsilon=3.0).run(empty, source=replay(1)) for cls in (Triangles, ClippedTriangles)]
    for estimate in few:
        low, high = estimate.interval(0.9999)
        assert low <= 0 <= high
        assert np.isfinite(estimate.stderr)
        assert "epsilon = 3" in repr(estimate)
    if nodes < 3:
        assert (few[3].value, few[3].stderr) == (0.0, 0.0)  # there is nothing to be wrong about
    made = LDPGen(nodes=nodes, epsilon=3.0).run(empty, source=replay("made"))
    assert made.graph.nodes == nodes
    assert found.counts.size == nodes
    assert found.likely.sum() == pytest.approx(nodes)


def test_isolated_people_are_counted():
    graph = Graph.of([(0, 1), (1, 2), (0, 2)], nodes=1000)
    found = Degrees(nodes=1000, epsilon=2.0).run(graph, source=replay("alone"))
    assert abs(found.counts[0] - 997) < Z * found.stderr[0]
    classes = NodeDegrees(nodes=1000, epsilon=2.0, starts=(0, 1)).run(graph, source=replay("alone"))
    assert abs(classes.counts[0] - 997) < Z * classes.stderr[0]
    assert found.chart().altair.to_dict()["layer"]
    assert found.edges.chart().altair.to_dict()["layer"]
