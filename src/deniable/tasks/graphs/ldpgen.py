"""Synthetic graphs from noisy counts of ties to groups of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deniable.central.laplace import Laplace
from deniable.contract.arguments import typed
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import MemoryProtocol, Progress
from deniable.contract.source import SYSTEM, Source
from deniable.core.estimate import Estimate
from deniable.core.law import Unknown
from deniable.core.run import Steps
from deniable.core.stream import random_words
from deniable.errors import DomainError, ParameterError, shorten
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.graphs.blocks import draw_blocks, group_alike
from deniable.tasks.graphs.graph import Graph, check_graph, check_list
from deniable.tasks.graphs.privacy import EDGE, GraphGuarantee, check_nodes, promise, split

MOST_GROUPS = 256


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SyntheticGraph(Estimate):
    """A generated graph without real ties, and the unbiased numbers of edges within and between groups that it is based on."""

    graph: Graph
    groups: Array
    """The group of each node."""
    quantity: str = "edges"
    axes: tuple[str, ...] = ("group", "other group")
    figure: Mapping[str, Any] = field(default_factory=lambda: {"mark": "matrix", "group": "other group"})

    kind: str = "synthetic graph"

    @cached_property
    def ties(self) -> Array:
        """The numbers of edges as a symmetric matrix, one row per group."""
        size = max(max(pair) for pair in self.values) + 1
        found = np.zeros((size, size))
        for (one, other), number in zip(self.values, self.point, strict=True):
            found[one, other] = found[other, one] = number
        return found


@typed
@dataclass(frozen=True, kw_only=True)
class LDPGen(MemoryProtocol):
    """Two rounds of noisy counts of everybody's ties to each group: random groups, then groups of people who answered alike.

    In each round a person reports how many of their ties lead into each group, with noise on each count. One entry of a list stands in one
    group, so all counts together change by 1. Of the second round's counts, sums over groups say how many edges run between them, and
    the parts of each person say whose they are: edges are drawn with both ends in proportion (Chung and Lu), without loops or repetition.

    Guarantee: epsilon for two lists that differ in one entry, over both rounds; 2 epsilon for a tie, which both ends count. What is drawn
    afterwards costs nothing, however many graphs are drawn.

    Estimator: ``ties`` is unbiased, with ``stderr``. The synthetic graph has about as many edges within and between groups, and degrees
    that are smeared by the noise; it has few triangles beyond those that groups and degrees bring.

    Cost: ``groups`` integers a person and round.

    >>> from deniable.testing import ReplaySource
    >>> blocks = Graph.of([(i, j) for i in range(80) for j in range(i) if i % 2 == j % 2], nodes=80)
    >>> made = LDPGen(nodes=80, epsilon=4.0, groups=2).run(blocks, source=ReplaySource.from_key("docs"))
    >>> blocks.edges, made.graph, made.ties.round().tolist()
    (1560, Graph(80 nodes, 1,557 edges), [[778.0, -4.0], [-4.0, 779.0]])
    >>> made.values, made.stderr.round(1).tolist()
    ([(0, 0), (0, 1), (1, 1)], [1.9, 2.7, 1.9])

    References: Qin, Yu, Yang, Khalil, Xiao, Ren 2017; Chung, Lu 2002.
    """

    nodes: int
    epsilon: float
    groups: int = 8
    share: float = 0.5
    """Of epsilon, for the first round."""

    needs: ClassVar[str] = "named rows, and two messages from each person: the second depends on the first"
    result: ClassVar[str] = "synthetic graph"

    def __post_init__(self) -> None:
        check_nodes(self.nodes)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_whole("groups", self.groups, 1, MOST_GROUPS, fix="try 8, or fewer groups for few people")
        if isinstance(self.share, bool) or not isinstance(self.share, int | float) or not 0 < self.share < 1:
            raise ParameterError("share", self.share, allowed="a number between 0 and 1", fix="0.5 is usual")
        object.__setattr__(self, "share", float(self.share))

    @cached_property
    def noises(self) -> tuple[Laplace, ...]:
        """The noise on each count, by round."""
        parts = split(self.epsilon, (self.share, 1 - self.share))
        return tuple(Laplace(epsilon=each, sensitivity=1, neighbors="replace") for each in parts)

    @property
    def guarantee(self) -> GraphGuarantee:
        """The guarantee for each person over both rounds, and for a tie."""
        return promise(self.epsilon, EDGE, speakers=2)

    def answer(self, ties: Any, groups: Array) -> Array:
        """Return how many of one person's ties lead into each group; groups are checked first, so a refusal reveals nothing."""
        self._check_groups(groups)
        return np.asarray(np.bincount(groups[check_list(ties, self.nodes)], minlength=self.groups))

    def randomize(self, ties: Any, groups: Array, turn: int, source: Source = SYSTEM) -> Array:
        """One person's report in the first (``turn`` 0) or the second round."""
        noise = self._noise(turn)
        return np.asarray(self.answer(ties, groups) + np.array([noise.draw(source) for _ in range(self.groups)]))

    def privatize(self, graph: Graph, groups: Array, turn: int, *, source: Source | None = None) -> Array:
        """Everybody's reports in the first (``turn`` 0) or the second round: the same as ``randomize`` one by one."""
        self._check_groups(groups)
        owners = np.repeat(np.arange(self.nodes), graph.degrees)
        exact = np.bincount(owners * self.groups + groups[graph.ties], minlength=self.nodes * self.groups)
        return np.asarray((exact + self._noise(turn).draws(exact.size, source)).reshape(self.nodes, self.groups))

    def _noise(self, turn: object) -> Any:
        if type(turn) is not int or turn not in (0, 1):
            raise ParameterError("turn", turn, allowed="0 or 1", fix="pass 0 for the first round or 1 for the second")
        return self.noises[turn].noise

    def _check_groups(self, groups: Any) -> None:
        """Raise unless each person has one of the announced groups; this does not look at any ties."""
        whole = isinstance(groups, np.ndarray) and groups.shape == (self.nodes,) and groups.dtype.kind in "iu"
        if not whole or ((groups < 0) | (groups >= self.groups)).any():
            allowed = f"an array of {self.nodes} integers from 0 to {self.groups - 1}"
            raise DomainError("groups", shorten(groups), allowed=allowed, fix="one group for each node")

    def estimate(self, groups: Array, reports: Array) -> tuple[Array, Array]:
        """Return the edges between groups and their standard errors from the second round, in which both ends report each edge."""
        sums = np.zeros((self.groups, self.groups))
        np.add.at(sums, groups, reports)
        sizes = np.bincount(groups, minlength=self.groups)
        ties, variance = (sums + sums.T) / 2, (sizes[:, None] + sizes[None, :]) * self.noises[1].variance / 4
        inside = np.arange(self.groups)
        ties[inside, inside], variance[inside, inside] = sums[inside, inside] / 2, sizes * self.noises[1].variance / 4
        return ties, np.sqrt(variance)

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> SyntheticGraph:
        """Ask everyone in a graph in two rounds, and return one generated graph."""
        graph, steps = check_graph(values, self.nodes), Steps(3, progress)
        random = (random_words(self.nodes, source) % np.uint64(self.groups)).astype(np.int64)  # public, and need not be exactly even
        alike = group_alike(self.privatize(graph, random, 0, source=source), self.groups, source)
        steps.next()
        reports = self.privatize(graph, alike, 1, source=source)
        steps.next()
        ties, stderr = self.estimate(alike, reports)
        drawn = Graph.of(draw_blocks(ties, np.maximum(reports, 0), alike, source), nodes=self.nodes)
        steps.next()
        pairs, promise = np.triu_indices(self.groups), self.guarantee
        return SyntheticGraph(
            graph=drawn,
            groups=alike,
            values=list(zip(*(side.tolist() for side in pairs), strict=True)),
            law=Unknown(self.nodes, ties[pairs], "standard errors only", stderr[pairs]),
            about=f"edges of {self.nodes:,} people in {self.groups:,} groups, epsilon = {promise.epsilon:.4g} for {promise.neighbors}",
            guarantee=promise,
        )
