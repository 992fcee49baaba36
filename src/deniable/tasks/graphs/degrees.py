"""The distribution of people's number of ties, with noise on each number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deniable.central.laplace import Laplace
from deniable.contract.arguments import typed
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import MemoryProtocol, Progress
from deniable.contract.source import SYSTEM, Source
from deniable.core.run import Steps
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.tasks.graphs.degree_estimate import DegreeEstimate
from deniable.tasks.graphs.graph import check_degrees, held_degrees
from deniable.tasks.graphs.privacy import EDGE, GraphGuarantee, check_nodes, promise


@typed
@dataclass(frozen=True, kw_only=True)
class Degrees(MemoryProtocol):
    """Noisy degrees: each person reports their number of ties plus an integer z with P(z) exactly proportional to e^(-epsilon |z|).

    One entry of a list changes its length by 1; so does nothing else, and no bound on the degrees is needed. For whole lists, see
    ``NodeDegrees``.

    Guarantee: epsilon for two lists that differ in one entry. Both ends of a tie count it: one undirected edge costs 2 epsilon over both
    reports.

    Estimator: see ``DegreeEstimate``; edges have the standard error sqrt(n v) / 2 with v = 2 a / (1 - a)^2 and a = e^-epsilon, whatever the
    graph. Randomized bits for all pairs would have sqrt(n (n - 1) / 2 e^epsilon) / (e^epsilon - 1): 678 instead of 21 for 1,000 people.

    Cost: one integer a person, one random word (three for epsilon below 1 / 64); the collector's work grows with the nodes.

    >>> from deniable.testing import ReplaySource
    >>> from deniable.tasks.graphs.graph import Graph
    >>> graph = Graph.of([(0, 1), (0, 2), (0, 3), (1, 2)], nodes=1000)
    >>> degrees = Degrees(nodes=1000, epsilon=1.0)
    >>> found = degrees.run(graph, source=ReplaySource.from_key("docs"))
    >>> round(found.edges.stderr, 2), found.counts.size, degrees.guarantee.tie_epsilon
    (21.46, 1000, 2.0)

    References: Qin, Yu, Yang, Khalil, Xiao, Ren 2017 (edge and node LDP); Ghosh, Roughgarden, Sundararajan 2012 (geometric noise).
    """

    nodes: int
    epsilon: float

    needs: ClassVar[str] = "respondents who agree to protect one entry of their list, not the whole list, which no task asks of them"
    result: ClassVar[str] = "degrees"

    def __post_init__(self) -> None:
        check_nodes(self.nodes)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))

    @property
    def top(self) -> int:
        """The largest possible degree."""
        return self.nodes - 1

    @cached_property
    def noise(self) -> Laplace:
        """The noise that is added, exactly."""
        return Laplace(epsilon=self.epsilon, sensitivity=1, neighbors="replace")

    @property
    def guarantee(self) -> GraphGuarantee:
        """The guarantee for each person, and for a tie."""
        return promise(self.epsilon, EDGE, speakers=2)

    def answer(self, degree: Any) -> Array:
        """Return the degree without noise; DomainError if it is not a degree."""
        return check_degrees(degree, self.top)

    def randomize(self, degree: int, source: Source = SYSTEM) -> int:
        """Return one person's report."""
        return int(self.answer(degree)) + self.noise.noise.draw(source)

    def privatize(self, degrees: Any, *, source: Source | None = None) -> Array:
        """Return everyone's reports, from a graph or from degrees: the same as ``randomize`` one by one."""
        answers = self.answer(held_degrees(degrees, self.nodes))
        if answers.shape != (self.nodes,):
            raise DomainError("degrees", f"{answers.size} numbers", allowed=f"{self.nodes}, one for each node", fix="align them")
        return answers + self.noise.noise.draws(self.nodes, source)

    def estimate(self, reports: Any) -> DegreeEstimate:
        """Return the distribution of degrees behind some reports; there may be fewer reports than nodes."""
        received = np.asarray(reports)
        if received.ndim != 1 or received.dtype.kind not in "iu" or not 1 <= received.size <= self.nodes:
            shown = f"shape {received.shape} of {received.dtype}"
            raise DomainError("reports", shown, allowed=f"1 to {self.nodes} whole numbers", fix="pass what privatize returned")
        return DegreeEstimate.of(self, received.astype(np.int64))

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> DegreeEstimate:
        """Ask everyone, given as a graph or by degree, and return the estimate."""
        steps = Steps(2, progress)
        reports = self.privatize(values, source=source)
        steps.next()
        found = self.estimate(reports)
        steps.next()
        return found
