"""Triangles from one round of randomized lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any, ClassVar

from deniable.client.rr import RR
from deniable.contract.arguments import typed
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import MemoryProtocol, Progress
from deniable.contract.source import SYSTEM, Source
from deniable.core.estimate import NumberEstimate
from deniable.core.interval import NORMAL_FROM
from deniable.core.run import Steps
from deniable.errors import DomainError
from deniable.tasks.graphs.count import GraphCount, graph_count
from deniable.tasks.graphs.few import FEW_EVENTS, FewTriangles, too_few
from deniable.tasks.graphs.graph import check_graph, check_list, check_person
from deniable.tasks.graphs.noisy import LARGEST, NoisyGraph, coin_for, gather_lists, randomize_list, randomize_lists
from deniable.tasks.graphs.privacy import EDGE, GraphGuarantee, check_nodes, promise

FEWEST_WRONG = 10.0
"""How many wrong bits make errors normal. With fewer, as at a large epsilon, errors come in jumps, so intervals are Chebyshev's."""


@typed
@dataclass(frozen=True, kw_only=True)
class Triangles(MemoryProtocol):
    """Count triangles in one round: each person sends a noisy bit for each smaller number, and the count in the noisy graph is corrected.

    Guarantee: epsilon for two lists that differ in one entry, and epsilon for a tie as well: only its larger end speaks about it. If both
    ends did, a tie would cost 2 epsilon.

    Estimator: a "yes" stands for x = (1 - q) / (p - q), a "no" for y = -q / (p - q). With T_i the noisy triples that have i ties, the sum
    over all triples of the product of what their bits stand for is x^3 T_3 + x^2 y T_2 + x y^2 T_1 + y^3 T_0, unbiased. For sample = 1 that
    is (e^(3 epsilon) T_3 - e^(2 epsilon) T_2 + e^epsilon T_1 - T_0) / (e^epsilon - 1)^3.

    Variance: exact for a given graph. With s the variance of what one bit stands for, m edges and c_e the common neighbors of a pair e:
    s sum c_e^2 + s^2 m (n - 2) + s^3 n (n - 1) (n - 2) / 6. The last term does not depend on the graph, and makes small or sparse graphs
    unusable; the first grows with the 4-cycles. All of them are estimated without bias from the same bits. Where ties are seen with less
    than 0.8 and fewer than 200 noisy triangles are, that says too little: ``stderr`` is then the largest that the number of ties allows,
    and ``interval`` goes from 0 to the most triangles that it allows.

    Cost: i bits for person i; the collector compares all pairs of rows, n^3 / 128 steps.

    >>> from deniable.testing import ReplaySource
    >>> from deniable.tasks.graphs.graph import Graph
    >>> clique = Graph.of([(i, j) for i in range(60) for j in range(i)], nodes=60)
    >>> found = Triangles(nodes=60, epsilon=2.0).run(clique, source=ReplaySource.from_key("docs"))
    >>> clique.triangles, round(found.value), round(found.stderr)
    (34220, 34274, 1041)

    References: Imola, Murakami, Chaudhuri 2021 (one round), 2022 (sampling).
    """

    nodes: int
    """The number of people, which is public."""
    epsilon: float
    sample: float = 1.0

    needs: ClassVar[str] = "named rows: a list of bits from each person, with the number of the person"
    result: ClassVar[str] = "triangles"

    def __post_init__(self) -> None:
        check_nodes(self.nodes, LARGEST)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        self.coin  # noqa: B018  # refuses what cannot be
        object.__setattr__(self, "sample", float(self.sample))

    @cached_property
    def coin(self) -> RR:
        """The coin that randomizes every bit."""
        return coin_for(self.epsilon, self.sample)

    @property
    def guarantee(self) -> GraphGuarantee:
        """The guarantee for each person, and for a tie."""
        return promise(self.epsilon, EDGE, speakers=1)

    @cached_property
    def coefficients(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """What noisy triples with 3, 2, 1 and 0 ties count for."""
        p, q = self.coin.p, self.coin.q
        x, y = (1 - q) / (p - q), -q / (p - q)
        return x**3, x**2 * y, x * y**2, y**3

    def randomize(self, person: int, ties: Any, source: Source = SYSTEM) -> int:
        """Return one person's report: bit j is about person j."""
        check_person(person, self.nodes)
        return randomize_list(self.coin, person, check_list(ties, self.nodes, person), source)

    def privatize(self, graph: Any, *, source: Source | None = None) -> NoisyGraph:
        """Return everyone's reports as a noisy graph."""
        return randomize_lists(self.coin, check_graph(graph, self.nodes), source)

    def gather(self, reports: Sequence[int]) -> NoisyGraph:
        """Return the noisy graph of single reports, one from each person, in the order of their numbers."""
        if len(reports) != self.nodes:
            raise DomainError(
                "reports",
                f"{len(reports)} reports",
                allowed=f"{self.nodes}",
                fix="pass one report for each node, and leave out people who did not answer",
            )
        return gather_lists(self.coin, reports)

    def estimate(self, noisy: NoisyGraph) -> NumberEstimate:
        """Return the number of triangles behind a noisy graph."""
        if noisy.nodes != self.nodes or noisy.coin != self.coin:
            received = f"{noisy.nodes} nodes, {noisy.coin!r}"
            raise DomainError(
                "noisy", received, allowed=f"{self.nodes} nodes, {self.coin!r}", fix="estimate with the Triangles that randomized the lists"
            )
        seen = triples(noisy)
        value = float(sum(weight * count for weight, count in zip(self.coefficients, seen, strict=True)))
        if too_few(noisy, seen[0]):
            return graph_count("triangles", FewTriangles.of(noisy, value), self.guarantee, covers=FEW_EVENTS)
        noise = sum(max(part, 0.0) for part in variance_of(noisy, value).values())
        wrong = comb(self.nodes, 2) * float(self.coin.q)  # bits that are expected to say "yes" although there is no tie
        enough = seen[0] >= NORMAL_FROM and wrong >= FEWEST_WRONG
        return graph_count("triangles", GraphCount(n=self.nodes, number=value, noise=noise, normal=enough), self.guarantee)

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> NumberEstimate:
        """Ask everyone in a graph, and return the estimate."""
        steps = Steps(2, progress)
        noisy = self.privatize(values, source=source)
        steps.next()
        found = self.estimate(noisy)
        steps.next()
        return found


def triples(noisy: NoisyGraph) -> tuple[int, int, int, int]:
    """Return how many triples of people have 3, 2, 1 and 0 noisy ties, from triangles, degrees and edges."""
    nodes = noisy.nodes
    three = noisy.common.closed // 3
    two = int((noisy.degrees * (noisy.degrees - 1) // 2).sum()) - 3 * three
    one = int(noisy.degrees.sum()) // 2 * (nodes - 2) - 2 * two - 3 * three if nodes > 2 else 0
    return three, two, one, comb(nodes, 3) - one - two - three


def variance_of(noisy: NoisyGraph, triangles: float) -> dict[str, float]:
    """The variance by its three parts, for unequal coins too: s is s_0 where there is no tie, and ``more`` above it where there is one.

    What a bit stands for is the truth plus noise. The parts are of products with one, two and three noises, unbiased, perhaps negative.
    """
    nodes, (tied, apart) = noisy.nodes, noisy.spreads
    more, common = tied - apart, noisy.common
    edges, paths = noisy.edges * max(nodes - 2, 0), common.total  # triples with a given tie, and pairs of ties at a person
    one = apart * common.squares + more * common.squares_of_tied
    two = apart**2 * edges + 2 * apart * more * paths + 3 * more**2 * triangles
    three = apart**3 * comb(nodes, 3) + apart**2 * more * edges + apart * more**2 * paths + more**3 * triangles
    return {"common neighbors": one, "pairs of bits": two, "triples of bits": three}
