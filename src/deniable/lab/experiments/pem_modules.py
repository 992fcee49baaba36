"""A prefix search with four oracles, by three scores."""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.experiments.pem_distributions import pem
from deniable.lab.populations import Poisson, Zipf

EXPERIMENT = Experiment(
    name="pem-modules",
    title="Oracles inside PEM: 16 bits, 8 groups, the nine most frequent values",
    question="Which oracle should the groups of a prefix search use?",
    found=(
        "At epsilon 1/2 GRR finds next to nothing, since it pays for each of its 37 symbols; from epsilon 4 on it is the best. OUE and "
        "OLH agree, as theory says; SUE is as good at a small epsilon and a little worse at 4. Without `oracle`, PEM takes the one with "
        "the smallest predicted error."
    ),
    populations=[Poisson(5.0), Zipf(exponent=1.5, size=1024)],
    mechanisms=[pem(oracle, oracle=oracle, groups=8) for oracle in ("GRR", "SUE", "OUE", "OLH")],
    epsilons=[0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0],
    people=[1000],
    repetitions=100,
    metrics=["f1", "ncr", "ndcg"],
)
