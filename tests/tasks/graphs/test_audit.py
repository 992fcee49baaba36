"""Every mechanism on graphs small enough to enumerate: all lists, all neighbors, all noisy graphs, in rational arithmetic.

Additive noise has P(z) proportional to e^(-linear |z|), exactly, so two answers that are a steps apart are told apart by e^(linear a) at
most, and by no less: the audit is then of the answers, all of them. That the noise is what is added is replayed in ``test_graph``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest

from deniable.contract.probability import exact_epsilon, exp_below
from deniable.tasks.graphs import ClippedStars, ClippedTriangles, Degrees, Graph, LDPGen, NodeDegrees, Triangles
from deniable.tasks.graphs.bounds import ladder
from deniable.tasks.graphs.clipped_triangles import BITS
from deniable.tasks.graphs.noisy import NoisyGraph, coin_for, randomize_list
from deniable.tasks.graphs.triangles import triples, variance_of
from deniable.testing import law_of

PAIRS = list(combinations(range(4), 2))
TRUTHS = {
    "empty": [],
    "path": [(0, 1), (1, 2), (2, 3)],
    "triangle and a loner": [(0, 1), (0, 2), (1, 2)],
    "star": [(0, 3), (1, 3), (2, 3)],
    "clique": PAIRS,
}


def lists(nodes, person):
    """All lists that a person can have."""
    others = [other for other in range(nodes) if other != person]
    return [tuple(other for other, bit in zip(others, bits, strict=True) if bit) for bits in product((0, 1), repeat=len(others))]


def neighbors(nodes, person):
    """All pairs of lists of a person that differ in one entry."""
    for mine in lists(nodes, person):
        for other in range(nodes):
            if other != person and other not in mine:
                yield mine, tuple(sorted((*mine, other)))


def noisy_graph(coin, edges, nodes):
    rows = np.zeros((nodes, 1), dtype=np.uint64)
    for a, b in edges:
        rows[a, 0] |= np.uint64(1 << b)
        rows[b, 0] |= np.uint64(1 << a)
    return NoisyGraph(coin, rows)


def ratio(laws):
    """The worst factor between two laws, either way."""
    one, other = laws
    return max(one.ratio(other), other.ratio(one))


# --- randomized lists ---


@pytest.mark.parametrize(("epsilon", "sample"), [(1.0, 1.0), (0.3, 1.0), (1.0, 0.2)])
def test_one_entry_of_a_randomized_list_costs_epsilon_and_so_does_a_tie(epsilon, sample):
    mechanism = Triangles(nodes=4, epsilon=epsilon, sample=sample)
    laws = {(i, mine): law_of(partial(mechanism.randomize, i, mine)) for i in range(4) for mine in lists(4, i)}
    assert {law.total for law in laws.values()} == {Fraction(1)}
    worst = {i: max(ratio((laws[i, a], laws[i, b])) for a, b in neighbors(4, i)) for i in range(1, 4)}
    assert exp_below(epsilon - 1e-9) < min(worst.values())  # nobody pays for privacy that is not used
    assert max(worst.values()) <= exp_below(epsilon)
    assert len(laws[0, ()]) == 1  # nobody is smaller than 0, who says nothing
    for low, high in PAIRS:  # a tie changes two lists, and only one of them is told
        changed = [ratio((laws[i, ()], laws[i, (j,)])) for i, j in ((low, high), (high, low))]
        assert changed[0] == 1 < changed[1] <= exp_below(epsilon)


def test_the_twin_that_lets_both_ends_speak_costs_twice():
    """Everybody sends bits about everyone, which is what a matrix of randomized bits is if nobody thinks of the other half of it."""
    coin = coin_for(1.0)
    whole = [law_of(partial(randomize_list, coin, 3, mine)) for mine in ((), (0,))]  # of three others: a whole list of four people
    tie = ratio(whole) ** 2
    assert exp_below(1.0) < exp_below(1.999) < tie <= exp_below(2.0)


@pytest.mark.parametrize("truth", TRUTHS, ids=list(TRUTHS))
@pytest.mark.parametrize("sample", [1.0, 0.4])
def test_triangles_are_exactly_unbiased_and_so_is_their_variance(truth, sample):
    """Over all 64 noisy graphs of four people."""
    mechanism = Triangles(nodes=4, epsilon=1.0, sample=sample)
    edges, coin = TRUTHS[truth], mechanism.coin
    mean, square, stated = Fraction(0), Fraction(0), 0.0
    for bits in product((0, 1), repeat=6):
        chance = Fraction(1)
        for pair, bit in zip(PAIRS, bits, strict=True):
            yes = coin.p if pair in edges else coin.q
            chance *= yes if bit else 1 - yes
        noisy = noisy_graph(coin, [pair for pair, bit in zip(PAIRS, bits, strict=True) if bit], 4)
        value = sum(weight * count for weight, count in zip(mechanism.coefficients, triples(noisy), strict=True))
        assert mechanism.estimate(noisy).value == pytest.approx(float(value))
        mean, square = mean + chance * value, square + chance * value**2
        stated += float(chance) * sum(variance_of(noisy, float(value)).values())
    assert mean == Graph.of(edges, nodes=4).triangles
    assert stated == pytest.approx(float(square - mean**2), rel=1e-9)


# --- noise on numbers ---


def gap(answer):
    """By how much neighboring lists change an answer, at most."""
    return max(int(np.abs(answer(a) - answer(b)).sum()) for person in range(4) for a, b in neighbors(4, person))


def kept(linear, steps, epsilon):
    return linear * steps <= Fraction(exact_epsilon(epsilon))


def test_degrees_and_group_counts_keep_epsilon_and_use_it():
    degrees = Degrees(nodes=4, epsilon=0.7)
    assert gap(lambda mine: degrees.answer(len(mine))) == 1
    assert kept(degrees.noise.noise.linear, 1, 0.7)
    assert not kept(degrees.noise.noise.linear, 1, 0.7 - 1e-9)
    assert not kept(degrees.noise.noise.linear, 3, 0.7)  # whole lists are told apart: that takes NodeDegrees
    made = LDPGen(nodes=4, epsilon=0.7, groups=2)
    for groups in product((0, 1), repeat=4):
        assert gap(lambda mine, groups=groups: made.answer(mine, np.array(groups))) == 1  # in all groups together
    first, second = (noise.noise.linear for noise in made.noises)
    assert Fraction(exact_epsilon(0.7 - 1e-9)) < first + second <= Fraction(exact_epsilon(0.7))
    assert (degrees.guarantee.tie_epsilon, made.guarantee.tie_epsilon) == (1.4, 1.4)


def test_whole_lists_keep_epsilon_where_that_is_promised():
    classes = NodeDegrees(nodes=4, epsilon=1.0, starts=(0, 1, 3))
    (asked,) = classes.open().questions
    laws = [law_of(partial(asked.answer, degree)) for degree in range(4)]
    assert max(ratio(pair) for pair in product(laws, repeat=2)) <= exp_below(1.0)
    assert classes.guarantee.relation == "node"


@pytest.mark.parametrize("k", [1, 2, 3])
def test_stars_keep_epsilon_over_both_rounds_only_with_the_clipping(k):
    stars = ClippedStars(nodes=12, epsilon=1.0, k=k)
    first = stars.degrees.noise.noise.linear
    for bound in ladder(11).tolist():
        linear = stars.noise(bound).noise.linear
        apart = np.abs(np.diff(stars.answer(np.arange(12), bound)))
        assert first + linear * int(apart.max()) <= Fraction(exact_epsilon(1.0))
        unclipped = np.abs(np.diff(stars.answer(np.arange(12), 11)))  # the twin: noise for the bound, and no bound
        assert (first + linear * int(unclipped.max()) > Fraction(exact_epsilon(1.0))) == (k > 1 and bound < 11)


# --- triangles in two rounds ---

FIVE = [(mine, other) for mine, other in neighbors(5, 4)]
AMONG = [[pair for pair, bit in zip(PAIRS, bits, strict=True) if bit] for bits in product((0, 1), repeat=6)]


@pytest.mark.parametrize(("sample", "limits"), [(1.0, (1, 2, 3)), (0.0005, (1, 1, 1))], ids=["every bit", "few bits"])
def test_counting_in_a_noisy_graph_keeps_epsilon_only_with_both_limits(sample, limits):
    """Person 4 of five, all 16 lists, all 64 noisy graphs of the others, all bounds. Twins: one limit left out, entries only added."""
    mechanism = ClippedTriangles(nodes=5, epsilon=2.0, sample=sample)
    noisy = [noisy_graph(mechanism.coin, edges, 5) for edges in AMONG]
    assert tuple(mechanism.limit(bound) for bound in (2, 3, 4)) == limits
    worst = {}
    for bound in (2, 3, 4):
        answers = {(g, mine): mechanism.answer_second(4, mine, bound, noisy[g]) for g in range(64) for mine in lists(5, 4)}
        worst[bound] = max(abs(answers[g, a] - answers[g, b]) for g in range(64) for a, b in FIVE)
        assert worst[bound] <= mechanism.steps(bound)
        assert kept(mechanism.noise(bound).noise.linear, mechanism.steps(bound), mechanism.epsilons[2])
        if bound < 4 and sample == 1.0:  # an entry that pushes out another one costs more than one that only comes
            assert worst[bound] > (bound - 1) * max(1 - mechanism.coin.q, mechanism.coin.q) * 2**BITS
    everything = {(g, mine): mechanism.answer_second(4, mine, 4, noisy[g]) for g in range(64) for mine in lists(5, 4)}
    without = max(abs(everything[g, a] - everything[g, b]) for g in range(64) for a, b in FIVE)
    if sample == 1.0:
        assert without > mechanism.steps(2)  # lists that are not cut, with the noise of those that are
    else:
        plain = {(g, mine): count_all(mechanism, mine, AMONG[g]) for g in range(64) for mine in lists(5, 4)}
        assert max(abs(plain[g, a] - plain[g, b]) for g in range(64) for a, b in FIVE) > mechanism.steps(4)


def test_rows_that_contradict_each_other_cost_no_more():
    """Person 4 of five, the limit K = 1, all 4,096 ways in which a collector can set bits among the four others.

    Node 0 comes to the list of all others, which has room for it or not. The twin takes rows at their word: where all others name 0, no
    row has more than one bit, and 0 moves the answer by up to 2 where the noise is for 1.
    """
    mechanism = ClippedTriangles(nodes=5, epsilon=2.0, sample=0.0005)
    ways = [(a, b) for a in range(4) for b in range(4) if a != b]
    trusting = 0
    for bits in product((0, 1), repeat=12):
        rows = np.zeros((5, 1), dtype=np.uint64)
        for (a, b), bit in zip(ways, bits, strict=True):
            rows[a, 0] |= np.uint64(bit << b)
        noisy = NoisyGraph(mechanism.coin, rows)
        for bound in (3, 4):
            without, with_it = (mechanism.answer_second(4, mine, bound, noisy) for mine in ((1, 2, 3), (0, 1, 2, 3)))
            assert abs(without - with_it) <= mechanism.steps(bound)
        matrix = np.array([[noisy.has(a, b) for b in range(4)] for a in range(4)])
        if matrix.sum(axis=1).max() <= mechanism.limit(4):  # the twin sees nothing to cut
            trusting = max(trusting, (matrix.sum() - matrix[1:, 1:].sum()) / 2)
    assert trusting == 2 > mechanism.limit(4)  # the three others name 0, and 0 names one of them


def count_all(mechanism, mine, edges):
    """What would be told without the second limit."""
    pairs = list(combinations(mine, 2))
    return sum(pair in edges for pair in pairs) * 2**BITS - len(pairs) * int(mechanism.coin.q * 2**BITS)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.3, 10.0])
def test_both_rounds_together_cost_no_more_than_epsilon_for_a_list_and_for_a_tie(epsilon):
    mechanism = ClippedTriangles(nodes=50, epsilon=epsilon)
    length, count = mechanism.lengths.noise.noise.linear, mechanism.noise(6).noise.linear * mechanism.steps(6)
    assert length + Fraction(exact_epsilon(mechanism.coin.epsilon)) + count <= Fraction(exact_epsilon(epsilon))
    assert mechanism.guarantee.tie_epsilon == mechanism.guarantee.epsilon == epsilon
    graph = Graph.of([(0, 1)], nodes=50)
    assert graph.before_degrees.tolist()[:2] == [0, 1]  # only the larger end counts the tie; with whole degrees it would cost twice
