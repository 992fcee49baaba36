"""What can be learned about a graph if nobody shows their list? Edges and stars from a hundred people on, triangles only at a price.

Edges come from noisy degrees, and hardly from randomized bits, which are noise about every pair of people. Triangles need such bits. In
graphs whose degrees do not grow, one round gets worse with every person, and two rounds do not: they meet at some thousand people. At
epsilon = 1 both are then about as good as saying 0.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.graphs import WAYS, Friends, GraphCounting

EXPERIMENT = Experiment(
    name="graph-counts",
    title="Counts of a graph under edge-local privacy: error over the true count (1 is what saying 0 gives)",
    populations=[Friends()],
    mechanisms=[GraphCounting(way) for way in WAYS],
    epsilons=[1.0, 2.0, 4.0],
    people=[100, 300, 1000, 3000],
    repetitions=12,
    metrics=["relative_error"],
    against="n",
)
