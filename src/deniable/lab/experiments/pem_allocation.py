"""A prefix search with equal, diminishing and growing groups of people."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.lab.experiment import Experiment
from deniable.lab.experiments.pem_distributions import pem
from deniable.lab.populations import Poisson, Uniform

GROUPS = 8
ALLOCATIONS: dict[str, str | Sequence[int]] = {
    "equal": "equal",
    "diminishing: 1 / i": "diminishing",
    "diminishing: linear": tuple(range(GROUPS, 0, -1)),
    "growing: linear": tuple(range(1, GROUPS + 1)),
    "growing: 1.3^i": tuple(round(1000 * 1.3**i) for i in range(GROUPS)),
    "growing: 1.5^i": tuple(round(1000 * 1.5**i) for i in range(GROUPS)),
}
"""Weights of the groups; i counts them."""

EXPERIMENT = Experiment(
    name="pem-allocation",
    title="Groups of different sizes: PEM with GRR, 16 bits, 8 groups, the nine most frequent values",
    question="Should later groups of a prefix search be smaller or larger?",
    found=(
        "Larger: from epsilon 2 on growing groups beat equal ones on all three crowds, and diminishing ones lose. Early prefixes gather "
        "many values, so few people are enough; the last groups separate small gaps and decide the order. At epsilon 1 the steepest "
        "growth, whose first group has twenty people, pays only on the concentrated crowd."
    ),
    populations=[Poisson(5.0), Poisson(100.0), Uniform(0, 14)],
    mechanisms=[pem(label, oracle="GRR", groups=GROUPS, allocation=allocation) for label, allocation in ALLOCATIONS.items()],
    epsilons=[1.0, 2.0, 3.0, 4.0, 6.0],
    people=[1000],
    repetitions=100,
    metrics=["ndcg"],
)
