"""How many ties people have, where the whole list is protected: an ordinary question with few answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.domain import Categories
from deniable.contract.probability import check_epsilon
from deniable.contract.source import SYSTEM, Source
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.choose import frequency_oracle
from deniable.tasks.graphs.graph import check_degrees, check_graph
from deniable.tasks.graphs.privacy import NODE, GraphGuarantee, check_nodes, promise


@typed
@dataclass(frozen=True, kw_only=True)
class NodeDegrees:
    """Everybody says in which class their number of ties falls, through a frequency oracle: no list can be told from any other.

    Noise on the number itself would have to hide up to nodes - 1 ties. A class is a category like any other, and the oracle with the
    smallest error is chosen. ``starts`` are the smallest degrees of the classes; 0, 1, 2, 3, 4, 6, 8, 12 .. if left out.

    Guarantee: epsilon for any two lists of one person. One tie changes two lists: 2 epsilon over both reports, at most.

    Cost: that of the oracle.

    >>> from deniable.testing import ReplaySource
    >>> classes = NodeDegrees(nodes=2000, epsilon=1.0, starts=(0, 1, 10))
    >>> classes.labels, classes.oracle.mechanism
    (('0', '1 to 9', '10 to 1999'), 'GRR')
    >>> found = classes.run(np.repeat([0, 5, 40], [300, 1500, 200]), source=ReplaySource.from_key("docs"))
    >>> found.counts.round().tolist(), found.stderr.round().tolist()
    ([341.0, 1417.0, 242.0], [52.0, 58.0, 52.0])
    """

    nodes: int
    epsilon: float
    starts: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_nodes(self.nodes)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if self.starts is None:
            steps = [0, 1, *(base << power for power in range(self.nodes.bit_length()) for base in (2, 3))]
            object.__setattr__(self, "starts", tuple(sorted(step for step in steps if step < self.nodes)) if self.nodes > 1 else (0,))
        starts = self.starts
        rising = isinstance(starts, tuple) and all(type(start) is int for start in starts) and list(starts) == sorted(set(starts))
        if not rising or not starts or starts[0] != 0 or starts[-1] > self.nodes - 1:
            raise ParameterError("starts", starts, allowed=f"rising integers from 0 to {self.nodes - 1}, 0 first", fix="as in (0, 1, 10)")
        if len(starts) < 2:
            raise ParameterError("starts", starts, allowed="two classes or more", fix="with one class there is nothing to ask")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The classes in words."""
        starts = self.starts or ()
        ends = [*(start - 1 for start in starts[1:]), self.nodes - 1]
        return tuple(str(low) if low == high else f"{low} to {high}" for low, high in zip(starts, ends, strict=True))

    @cached_property
    def oracle(self) -> Any:
        """The frequency oracle that asks."""
        return frequency_oracle(domain=Categories(*self.labels), epsilon=self.epsilon, n=self.nodes).spec

    @property
    def guarantee(self) -> GraphGuarantee:
        """What is promised to each person, and for a tie."""
        return promise(self.epsilon, NODE, speakers=2)

    def classes(self, degrees: Any) -> Array:
        """The class of each degree, as a position."""
        return np.searchsorted(np.array(self.starts), check_degrees(degrees, self.nodes - 1), side="right") - 1

    def randomize(self, degree: int, source: Source = SYSTEM) -> Any:
        """One person's report."""
        return self.oracle.randomize(self.labels[int(self.classes(degree))], source)

    def run(self, graph: Any, *, source: Source | None = None) -> FrequencyEstimate:
        """Ask everyone, given as a graph or by their degrees."""
        degrees = graph if isinstance(graph, np.ndarray) and graph.ndim == 1 else check_graph(graph, self.nodes).degrees
        labels = np.array(self.labels, dtype=object)[self.classes(degrees)].tolist()
        estimate: FrequencyEstimate = self.oracle.estimate(self.oracle.tally(self.oracle.privatize(labels, source=source)))
        return estimate
