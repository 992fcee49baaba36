"""Stars in two rounds, as in the literature: lists cut to a bound, then noise scaled to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import comb
from typing import Any, ClassVar

import numpy as np

from deniable.central.laplace import Laplace
from deniable.contract.arguments import typed
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import MemoryProtocol, Progress
from deniable.contract.source import SYSTEM, Source
from deniable.core.estimate import NumberEstimate
from deniable.core.run import Steps
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.graphs import bounds
from deniable.tasks.graphs.count import GraphCount, graph_count
from deniable.tasks.graphs.degrees import Degrees
from deniable.tasks.graphs.graph import check_degrees, held_degrees
from deniable.tasks.graphs.privacy import EDGE, GraphGuarantee, check_nodes, promise, split

SHARES = (0.2, 0.8)


@typed
@dataclass(frozen=True, kw_only=True)
class ClippedStars(MemoryProtocol):
    """Count k-stars in two rounds: each person reports a noisy degree, gets a bound D from it, and reports C(min(degree, D), k) with noise.

    For comparison: ``Degrees(...).run(graph).stars(k)`` needs one round and no bound, has no bias, and the smaller error: here 87.

    Guarantee: epsilon for two lists that differ in one entry, over both rounds; 2 epsilon for a tie, which both ends count. One entry
    changes the answer by at most C(D - 1, k - 1), exactly; the literature takes C(D, k - 1).

    Estimator: the sum of all answers; unbiased but for those whose degree is above their bound, by noise 2 in 100 at most.

    Cost: two integers a person.

    >>> from deniable.testing import ReplaySource
    >>> from deniable.tasks.graphs.graph import Graph
    >>> ring = Graph.of([(i, (i + 1) % 900) for i in range(900)], nodes=900)
    >>> found = ClippedStars(nodes=900, epsilon=1.0, k=2).run(ring, source=ReplaySource.from_key("docs"))
    >>> ring.stars(2), round(found.value), round(found.stderr)
    (900, 69, 1168)

    References: Imola, Murakami, Chaudhuri 2021.
    """

    nodes: int
    """The number of people, which is public."""
    epsilon: float
    k: int
    shares: tuple[float, float] = SHARES
    """The parts of epsilon for the two rounds."""

    needs: ClassVar[str] = "two messages from each person, by name: the second depends on the first"
    result: ClassVar[str] = "stars"

    def __post_init__(self) -> None:
        check_nodes(self.nodes)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if type(self.k) is not int or self.k < 1 or comb(self.nodes, self.k) >= 1 << 52:
            raise ParameterError("k", self.k, allowed="an integer from 1 on, with C(nodes, k) below 2^52", fix="try 2 or 3")
        if len(self.shares) != 2:
            raise ParameterError("shares", self.shares, allowed="two numbers", fix=f"use {SHARES}")
        self.noise(max(self.nodes - 1, 2))  # refuses what cannot be, before anyone is asked
        object.__setattr__(self, "shares", tuple(map(float, self.shares)))

    @cached_property
    def epsilons(self) -> tuple[float, ...]:
        """Of degrees and counts."""
        return split(self.epsilon, self.shares)

    @cached_property
    def degrees(self) -> Degrees:
        """The first round."""
        return Degrees(nodes=self.nodes, epsilon=self.epsilons[0])

    def noise(self, bound: int) -> Laplace:
        """Return the noise on the answer of a person with this bound."""
        bounds.check_bound(bound, self.nodes - 1)
        return _noise(self.epsilons[1], max(comb(bound - 1, self.k - 1), 1))

    @property
    def guarantee(self) -> GraphGuarantee:
        """The guarantee for each person over both rounds, and for a tie."""
        return promise(self.epsilon, EDGE, speakers=2)

    def choose(self, reports: Array) -> Array:
        """Return each person's bound from the first round's reports."""
        return bounds.choose(reports, self.degrees.noise, self.nodes - 1)

    def answer(self, degree: Any, bound: Any) -> Array:
        """Return the second round's answer without noise."""
        kept = np.minimum(check_degrees(degree, self.nodes - 1), bound)
        values, place = np.unique(kept, return_inverse=True)
        return np.array([comb(int(value), self.k) for value in values], dtype=np.int64)[place].reshape(kept.shape)

    def randomize_second(self, degree: int, bound: int, source: Source = SYSTEM) -> int:
        """Return one person's second report."""
        noise = self.noise(bound).noise  # first: a refused bound says nothing about the degree
        return int(self.answer(degree, bound)) + noise.draw(source)

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> NumberEstimate:
        """Ask everyone, given as a graph or by degree, in two rounds, and return the estimate."""
        degrees, steps = check_degrees(held_degrees(values, self.nodes), self.nodes - 1), Steps(3, progress)
        chosen = self.choose(self.degrees.privatize(degrees, source=source))
        steps.next()
        counts = self.answer(degrees, chosen)
        for bound in np.unique(chosen).tolist():
            people = np.flatnonzero(chosen == bound)
            counts[people] += self.noise(bound).noise.draws(people.size, source)
        steps.next()
        found = self.estimate(chosen, counts)
        steps.next()
        return found

    def estimate(self, chosen: Array, counts: Any) -> NumberEstimate:
        """Return the number of stars behind the second round's ``counts``, given each person's bound ``chosen``."""
        counts = np.asarray(counts)
        if counts.shape != (self.nodes,) or counts.dtype.kind != "i":
            raise DomainError("counts", f"shape {counts.shape}", allowed=f"{self.nodes} whole numbers", fix="one count for each person")
        rungs, people = np.unique(chosen, return_counts=True)
        variance = sum(self.noise(int(rung)).variance * int(n) for rung, n in zip(rungs, people, strict=True))
        biased = "degrees above their bounds were cut (chance for each person: at most 2 %); stars beyond the cut are missing"
        value = float(counts.sum(dtype=object))
        return graph_count(f"{self.k}-stars", GraphCount(n=self.nodes, number=value, noise=variance), self.guarantee, bias=biased)


@cache
def _noise(epsilon: float, sensitivity: int) -> Laplace:
    return Laplace(epsilon=epsilon, sensitivity=sensitivity, neighbors="replace")
