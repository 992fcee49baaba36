"""How many people does a prefix search need? The number of people against the score, for four epsilons.

Errors shrink with the root of the number of people and grow about as 1 / epsilon where epsilon is small: half of it takes four times the
people.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.experiments.pem_distributions import pem
from deniable.lab.populations import Poisson

EXPERIMENT = Experiment(
    name="pem-population-size",
    title="People needed by PEM: 16 bits, the nine most frequent values",
    populations=[Poisson(100.0)],
    mechanisms=[
        pem("GRR, 8 equal groups", oracle="GRR", groups=8),
        pem("OUE, 8 equal groups", oracle="OUE", groups=8),
        pem("the defaults", keep=None, allocation="growing"),
    ],
    epsilons=[0.5, 1.0, 2.0, 4.0],
    people=[1000, 3000, 10_000, 30_000],
    repetitions=50,
    metrics=["ndcg", "ncr"],
    against="n",
)
