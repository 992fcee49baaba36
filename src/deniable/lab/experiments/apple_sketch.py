"""Apple's count-mean sketch on a Zipf population, at the epsilon that a day of taking part costs and around it.

Apple takes 65,536 functions, for many more people. That is not run here: a tally then has 512 MB, and of 100,000 people each function has
one or two.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.methods import Oracle
from deniable.lab.populations import Zipf

EXPERIMENT = Experiment(
    name="apple-sketch",
    title="Apple's count-mean sketch: 1,024 cells, 2,600 values by Zipf's law, 100,000 people",
    question="How well does Apple's sketch count 2,600 values of a skewed crowd?",
    found=(
        "With 4 hash functions, collisions with frequent values dominate the error, and a larger epsilon does not help. With 1,024 "
        "functions collisions hardly matter for 100,000 people, and the error is that of SUE. OUE and OLH have a smaller error at the "
        "same epsilon."
    ),
    populations=[Zipf(exponent=1.1, size=2600)],
    mechanisms=[
        *(Oracle("CMS", {"hashes": hashes, "width": 1024}, label=f"CMS, {hashes} functions") for hashes in (4, 64, 1024)),
        Oracle("OUE"),
        Oracle("OLH"),
    ],
    epsilons=[1.0, 2.0, 4.0, 8.0],
    people=[100_000],
    repetitions=5,
    metrics=["mse", "max_error"],
)
