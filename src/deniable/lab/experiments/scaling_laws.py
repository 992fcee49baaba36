"""What trust is worth: the error of a share against the number of people, with a trusted curator, a shuffler, or nobody.

A curator's noise does not depend on the crowd, so the error of the share falls like 1 / n. In the local model everyone's noise adds up, and
it falls like 1 / sqrt(n). A shuffler gets back to 1 / n: with one message each the error is about six times a curator's, and with split
and mixed shares it is the curator's own.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.populations import Multinomial
from deniable.lab.trust import ReferenceLine, Trust

EXPERIMENT = Experiment(
    name="scaling-laws",
    title="How many say yes: the error of the share, for three kinds of trust (epsilon = 1; delta = 1e-6 with a shuffler)",
    populations=[Multinomial([0.7, 0.3])],
    mechanisms=[
        Trust("central", "central: Laplace"),
        Trust("split and mix", "shuffle: split and mix"),
        Trust("shuffle", "shuffle: binary sum"),
        Trust("local", "local: RR"),
        ReferenceLine("local", "1 / n", power=-1.0),
        ReferenceLine("local", "1 / sqrt(n)", power=-0.5),
    ],
    epsilons=[1.0],
    people=[300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
    repetitions=20,
    metrics=["tv"],
    against="n",
)
