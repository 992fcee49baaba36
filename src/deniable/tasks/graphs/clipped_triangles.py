"""Triangles in two rounds: people count triangles in the noisy graph with their own true ties, over lists cut to a bound."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import ceil
from typing import Any, ClassVar

import numpy as np
import scipy

from deniable.central.laplace import Laplace
from deniable.client.rr import RR
from deniable.contract.arguments import typed
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import MemoryProtocol, Progress
from deniable.contract.source import SYSTEM, Source
from deniable.core.estimate import NumberEstimate
from deniable.core.run import Steps
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.graphs import count_among
from deniable.tasks.graphs import bounds
from deniable.tasks.graphs.count import GraphCount, graph_count
from deniable.tasks.graphs.degrees import Degrees
from deniable.tasks.graphs.graph import Graph, check_graph, check_list, check_person
from deniable.tasks.graphs.noisy import LARGEST, NoisyGraph, coin_for, randomize_list, randomize_lists
from deniable.tasks.graphs.privacy import EDGE, GraphGuarantee, check_nodes, promise, split

BITS = 20
"""The coin's probabilities are multiples of 2^-20, so that what people count is a whole number of such steps."""
RARE = 1e-6
"""How likely a node of a list has more noisy ties within it than the second limit, were all of them true."""
SHARES = (0.2, 0.4, 0.4)


@dataclass(frozen=True, eq=False)
class FirstRound:
    """What is public after the first round: each person's bound, from the noisy length of their list, and the noisy graph."""

    lengths: Array
    bounds: Array
    noisy: NoisyGraph


@typed
@dataclass(frozen=True, kw_only=True)
class ClippedTriangles(MemoryProtocol):
    """Count triangles in two rounds: noisy lists and lengths, then each person's count of noisy ties among their true neighbors.

    Person i has the neighbors j < i, cut to the first D of them. In round two i counts the pairs of these that are tied in the noisy graph,
    t, subtracts q times the number of all pairs, and adds noise. Each triangle is counted by its largest number, through two true
    ties and one noisy one: the error grows with sqrt(n) times the bounds, and not with n^1.5.

    **Two limits.** D is each person's own: the smallest rung of a ladder above their noisy length and a margin. K(D) is how many noisy ties
    a node of the list may have within the list; beyond it, t is the largest sum of weights from 0 to 1 on the noisy ties with at most
    K at each node. So one node more or less changes t by 0 to K. One entry more or less in a list changes t - q pairs by at most
    max(K, q (D - 1)), also where it pushes another entry out of the first D.

    Guarantee: epsilon for two lists that differ in one entry, over both rounds: the ``shares`` are for lengths, bits and counts. Only the
    larger end of a tie speaks about it, in both rounds, so a tie costs epsilon too.

    Estimator: the sum of all counts over p - q; unbiased but for lists that the noise cut, 2 in 100 at most, whose triangles are missing.

    Cost: person i sends i bits and two integers, and receives the noisy ties among smaller numbers; ``sample`` makes these fewer.

    >>> from deniable.testing import ReplaySource
    >>> clique = Graph.of([(i, j) for i in range(60) for j in range(i)], nodes=60)
    >>> found = ClippedTriangles(nodes=60, epsilon=4.0).run(clique, source=ReplaySource.from_key("docs"))
    >>> clique.triangles, round(found.value), round(found.stderr)
    (34220, 33658, 691)

    References: Imola, Murakami, Chaudhuri 2021, 2022 (two rounds, double clipping); Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013
    (bounded weights, which are safe where dropping ties in some order is not).
    """

    nodes: int
    epsilon: float
    sample: float = 1.0
    shares: tuple[float, float, float] = SHARES

    needs: ClassVar[str] = "named rows, and two messages from each person: the second depends on the first"
    result: ClassVar[str] = "triangles"

    def __post_init__(self) -> None:
        check_nodes(self.nodes, LARGEST)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if len(self.shares) != 3:
            raise ParameterError("shares", self.shares, allowed="three numbers above 0 that add up to 1", fix=f"use {SHARES}")
        self.noise(max(self.nodes - 1, 2))  # refuses what cannot be, before anyone is asked
        object.__setattr__(self, "sample", float(self.sample))
        object.__setattr__(self, "shares", tuple(map(float, self.shares)))

    # --- what each part costs ---

    @cached_property
    def epsilons(self) -> tuple[float, ...]:
        """Of lengths, bits and counts."""
        return split(self.epsilon, self.shares)

    @cached_property
    def lengths(self) -> Degrees:
        """How lengths are reported: of smaller numbers only, so that one end of a tie speaks."""
        return Degrees(nodes=self.nodes, epsilon=self.epsilons[0])

    @cached_property
    def coin(self) -> RR:
        """The coin that randomizes every bit."""
        return coin_for(self.epsilons[1], self.sample, BITS)

    def limit(self, bound: int) -> int:
        """K of a bound: more noisy ties of one node within a list are rarer than one in a million, were all of them true."""
        return _limit(bound, float(self.coin.p))

    def steps(self, bound: int) -> int:
        """By how many steps of 2^-20 two lists that differ in one entry can differ in what is counted."""
        return max(self.limit(bound) << BITS, ceil(self.coin.q * (bound - 1) * (1 << BITS)))

    def noise(self, bound: int) -> Laplace:
        """Return the noise on the count of a person with this bound."""
        bounds.check_bound(bound, self.nodes - 1)
        return _noise(self.epsilons[2], self.steps(bound))

    @property
    def guarantee(self) -> GraphGuarantee:
        """The guarantee for each person over both rounds, and for a tie."""
        return promise(self.epsilon, EDGE, speakers=1)

    # --- one person ---

    def randomize_first(self, person: int, ties: Any, source: Source = SYSTEM) -> tuple[int, int]:
        """Return one person's noisy length and bits."""
        check_person(person, self.nodes)
        before = [int(j) for j in check_list(ties, self.nodes, person) if j < person]
        return self.lengths.randomize(len(before), source), randomize_list(self.coin, person, before, source)

    def answer_second(self, person: int, ties: Any, bound: int, noisy: NoisyGraph) -> int:
        """Return one person's count before noise, in steps. It is safe for any bound and any noisy graph that a collector may send.

        All of what was sent is checked before the list is read, so that a refusal says nothing about it. A pair counts as tied only if both
        rows say so: the limit per node holds for symmetric ties.
        """
        check_person(person, self.nodes)
        bounds.check_bound(bound, self.nodes - 1)
        noisy.check_shape(self.nodes)
        mine = check_list(ties, self.nodes, person)
        kept = mine[mine < person][:bound]
        return int(self._steps_of(twice_bounded(noisy.among(kept), self.limit(bound)), kept.size * (kept.size - 1) // 2))

    def randomize_second(self, person: int, ties: Any, bound: int, noisy: NoisyGraph, source: Source = SYSTEM) -> int:
        """Return one person's noisy count, in steps."""
        noise = self.noise(bound).noise  # first: it may refuse the bound
        return self.answer_second(person, ties, bound, noisy) + noise.draw(source)

    def _steps_of(self, twice: Any, pairs: Any) -> Any:
        return twice * (1 << BITS - 1) - pairs * int(self.coin.q * (1 << BITS))

    # --- everyone ---

    def first_round(self, graph: Any, *, source: Source | None = None) -> FirstRound:
        """Return everyone's noisy lengths and bits, and the bounds that follow."""
        graph = check_graph(graph, self.nodes)
        lengths = self.lengths.privatize(graph.before_degrees, source=source)
        noisy = randomize_lists(self.coin, graph, source)
        return FirstRound(lengths, bounds.choose(lengths, self.lengths.noise, self.nodes - 1), noisy)

    def answers(self, graph: Graph, first: FirstRound) -> Array:
        """Return everyone's counts before noise, in steps."""
        first.noisy.check_shape(self.nodes)
        bounds.check_bounds(first.bounds, self.nodes)
        counts, pairs, over = (np.zeros(self.nodes, dtype=kind) for kind in (np.int64, np.int64, np.bool_))
        rungs, place = np.unique(first.bounds, return_inverse=True)
        limits = np.array([self.limit(int(rung)) for rung in rungs])[place]
        count_among(graph.starts, graph.ties, first.bounds, limits, first.noisy.rows, counts, pairs, over)
        answers = np.asarray(self._steps_of(counts, pairs))
        for person in np.flatnonzero(over).tolist():  # hardly anyone: those with a node above the limit
            answers[person] = self.answer_second(person, graph.list_of(person), int(first.bounds[person]), first.noisy)
        return answers

    def second_round(self, graph: Any, first: FirstRound, *, source: Source | None = None) -> Array:
        """Return everyone's noisy counts, in steps; noise is drawn bound by bound."""
        counts = self.answers(check_graph(graph, self.nodes), first)
        for bound in np.unique(first.bounds).tolist():
            people = np.flatnonzero(first.bounds == bound)
            counts[people] += self.noise(bound).noise.draws(people.size, source)
        return counts

    def estimate(self, first: FirstRound, counts: Any) -> NumberEstimate:
        """Return the number of triangles behind both rounds."""
        counts = np.asarray(counts)
        if counts.shape != (self.nodes,) or counts.dtype.kind != "i":
            raise DomainError("counts", f"shape {counts.shape}", allowed=f"{self.nodes} whole numbers", fix="one count for each person")
        gap = float(self.coin.p - self.coin.q)
        rungs, people = np.unique(first.bounds, return_counts=True)
        noise = sum(self.noise(int(rung)).variance * int(n) for rung, n in zip(rungs, people, strict=True)) / (gap * (1 << BITS)) ** 2
        bits = self._bits_variance(first)
        value = float(int(counts.sum(dtype=object))) / (1 << BITS) / gap
        biased = "lists longer than their bounds were cut (chance for each list: at most 2 %); triangles beyond the cut are missing"
        return graph_count("triangles", GraphCount(n=self.nodes, number=value, noise=noise + bits), self.guarantee, bias=biased)

    def _bits_variance(self, first: FirstRound) -> float:
        """What the noisy bits add: s sum c^2, c being how many people count a pair. Estimated, between what the lists' lengths allow."""
        (tied, apart), common = first.noisy.spreads, first.noisy.common_later
        rising = np.sort(first.bounds).astype(float)
        most = float((rising * (rising - 1) / 2 * (2 * np.arange(self.nodes, 0, -1) - 1)).sum())  # of each pair of people, the shorter list
        squares = float(np.clip(common.squares, max(self.lengths.estimate(first.lengths).stars(2).value, 0.0), most))
        return apart * squares + (tied - apart) * float(np.clip(common.squares_of_tied, 0.0, squares))

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> NumberEstimate:
        """Ask everyone in a graph in two rounds, and return the estimate."""
        graph, steps = check_graph(values, self.nodes), Steps(3, progress)
        first = self.first_round(graph, source=source)
        steps.next()
        counts = self.second_round(graph, first, source=source)
        steps.next()
        found = self.estimate(first, counts)
        steps.next()
        return found


def twice_bounded(tied: Array, limit: int) -> int:
    """Twice the largest sum of weights from 0 to 1 on symmetric ties, at most ``limit`` at each node: a flow through two copies of all.

    >>> star = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    >>> twice_bounded(star, 3), twice_bounded(star, 2), twice_bounded(np.zeros((0, 0), dtype=int), 1)
    (6, 4, 0)
    """
    if tied.size == 0 or tied.sum(axis=1).max() <= limit:
        return int(tied.sum())
    nodes = len(tied)
    start, end, each = 2 * nodes, 2 * nodes + 1, np.arange(nodes)
    one, other = np.nonzero(tied)
    tails, heads = np.concatenate([np.full(nodes, start), one, nodes + each]), np.concatenate([each, nodes + other, np.full(nodes, end)])
    room = np.repeat(np.array([limit, 1, limit], dtype=np.int32), [nodes, one.size, nodes])
    network = scipy.sparse.csr_array((room, (tails, heads)), shape=(end + 1, end + 1))
    return int(scipy.sparse.csgraph.maximum_flow(network, start, end).flow_value)


@cache
def _limit(bound: int, chance: float) -> int:
    return max(1, min(bound - 1, int(scipy.stats.binom.isf(RARE, bound - 1, chance))))


@cache
def _noise(epsilon: float, steps: int) -> Laplace:
    return Laplace(epsilon=epsilon, sensitivity=steps, neighbors="replace")
