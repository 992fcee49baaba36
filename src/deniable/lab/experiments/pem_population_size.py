"""A prefix search: the number of people against the score, for four epsilons."""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.experiments.pem_distributions import pem
from deniable.lab.populations import Poisson

EXPERIMENT = Experiment(
    name="pem-population-size",
    title="People needed by PEM: 16 bits, the nine most frequent values",
    question="How many people does a prefix search need?",
    found=(
        "Half the epsilon takes more than three times the people: 30,000 at epsilon 1/2 score about as well as 1,000 at epsilon 2. The "
        "defaults (few long steps, growing groups) lead at epsilon 4; at 1/2 they are level with eight groups of OUE or behind them, "
        "since long steps give noise too many candidates."
    ),
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
