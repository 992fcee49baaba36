"""The error of a share against the number of people, with a trusted curator, a shuffler, or nobody."""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.populations import Multinomial
from deniable.lab.trust import ReferenceLine, Trust

EXPERIMENT = Experiment(
    name="scaling-laws",
    title="How many say yes: the error of the share, for three kinds of trust (epsilon = 1; delta = 1e-6 with a shuffler)",
    question="What is trust worth?",
    found=(
        "For a tenth of the error the local model needs a hundred times as many people; a curator needs ten times as many, and so does a "
        "shuffler. With one bit each a shuffler's error is six times a curator's; with split and mixed shares it is the curator's own."
    ),
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
