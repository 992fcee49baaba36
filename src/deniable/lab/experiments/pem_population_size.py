"""How many people does a prefix search need? The number of people against the score, for four epsilons.

Errors shrink with the root of the number of people and grow about as 1 / epsilon where epsilon is small: half of it takes four times the
people.
"""

from __future__ import annotations

from functools import partial

from deniable.lab.experiment import Experiment
from deniable.lab.experiments.pem_distributions import pem
from deniable.lab.methods import Search
from deniable.lab.populations import Poisson

EXPERIMENT = Experiment(
    name="pem-population-size",
    title="People needed by PEM: 16 bits, the nine most frequent values",
    populations=[Poisson(100.0)],
    mechanisms=[
        Search("GRR, 8 equal groups", partial(pem, oracle="GRR", groups=8), k=9),
        Search("OUE, 8 equal groups", partial(pem, oracle="OUE", groups=8), k=9),
        Search("the defaults", partial(pem, keep=None, allocation="growing"), k=9),
    ],
    epsilons=[0.5, 1.0, 2.0, 4.0],
    people=[1000, 3000, 10_000, 30_000],
    repetitions=50,
    metrics=["ndcg", "ncr"],
    against="n",
)
