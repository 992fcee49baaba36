"""Which oracle should the groups of a prefix search use? Four of them, by three scores.

GRR pays for every candidate: it finds next to nothing where epsilon is small, and is the best from epsilon 4 on. OUE and OLH have the
same error and differ in what is sent. SUE is as good as both where epsilon is small, and a little worse where it is large.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.experiments.pem_distributions import pem
from deniable.lab.populations import Poisson, Zipf

EXPERIMENT = Experiment(
    name="pem-modules",
    title="Oracles inside PEM: 16 bits, 8 groups, the nine most frequent values",
    populations=[Poisson(5.0), Zipf(exponent=1.5, size=1024)],
    mechanisms=[pem(oracle, oracle=oracle, groups=8) for oracle in ("GRR", "SUE", "OUE", "OLH")],
    epsilons=[0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0],
    people=[1000],
    repetitions=100,
    metrics=["f1", "ncr", "ndcg"],
)
