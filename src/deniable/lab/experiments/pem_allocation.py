"""How should people be split among the groups of a prefix search? The slides ask whether later groups may be smaller.

They should be larger. Early prefixes gather many values, so few people are enough to see which are frequent; the last groups separate
small gaps, and their order is the result.
"""

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
    populations=[Poisson(5.0), Poisson(100.0), Uniform(0, 14)],
    mechanisms=[pem(label, oracle="GRR", groups=GROUPS, allocation=allocation) for label, allocation in ALLOCATIONS.items()],
    epsilons=[1.0, 2.0, 3.0, 4.0, 6.0],
    people=[1000],
    repetitions=100,
    metrics=["ndcg"],
)
