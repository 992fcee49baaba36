"""How many people are in a box? The error of their share, over 120 boxes of three sizes, at the airports of the United States.

The naive way is a fine grid of generalized randomized response, whose cells are added up: its noise is in every cell of the box. A chosen
oracle, and that the number of people is known, take most of that away. A quadtree asks about large squares too. An adaptive one looks
closely only where people are. "Evenly spread" is what is said without asking anyone: an answer that errs more was worth nobody's report.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.places import Airports, PlaceCounting

EXPERIMENT = Experiment(
    name="places",
    title="Share of people in a box: mean absolute error over 120 boxes",
    populations=[Airports()],
    mechanisms=[
        PlaceCounting("naive: 64 x 64 cells, GRR", "grid", 64, "GRR", naive=True),
        PlaceCounting("64 x 64 cells", "grid", 64),
        PlaceCounting("16 x 16 cells", "grid", 16),
        PlaceCounting("quadtree of 64 x 64", "quadtree", 64),
        PlaceCounting("adaptive quadtree", "adaptive", 64),
        PlaceCounting("evenly spread, no data", "guess"),
    ],
    epsilons=[1.0, 4.0],
    people=[1000, 10_000, 100_000, 1_000_000],
    repetitions=10,
    metrics=["mae"],
    against="n",
)
