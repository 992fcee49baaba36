"""The error of the share of people in 120 boxes of three sizes, at the 3,069 airports of the contiguous United States."""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.places import Airports, PlaceCounting

EXPERIMENT = Experiment(
    name="places",
    title="Share of people in a box: mean absolute error over 120 boxes",
    question="How accurately can you count the people in a box on a map?",
    found=(
        "At epsilon 1 with a million people a grid of 64 x 64 cells counted by GRR is off by 40 % of all people, the best oracle on it by "
        "2.2 %, a quadtree by 1.3 %, an adaptive quadtree by 0.6 % and 16 x 16 cells by 0.5 %. The fewer people, the coarser the best "
        "map; an adaptive tree is the best or close to it everywhere. With 1,000 people at epsilon 1 its error is 5.3 %, where assuming "
        "that people are spread evenly gives 6.0 % without any report; 10,000 people give 3.0 %, and 1,000 at epsilon 4 give 1.6 %."
    ),
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
