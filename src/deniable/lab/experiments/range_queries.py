"""Ranges of 256 values: the root mean squared error of a share over all 32,896 ranges, for every way of asking."""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.methods import Oracle
from deniable.lab.populations import Uniform
from deniable.lab.ranges import DoctorVisits, Ranges

EXPERIMENT = Experiment(
    name="range-queries",
    title="Share of people in a range of 256 values: root mean squared error over all ranges",
    question="How accurately can you count the people in a range of values?",
    found=(
        "At epsilon 1, of the doctor's visits of 100,000 people, counting every value is off by 5.1 % of all people, trees by 2.0 to 2.3 "
        "% and AHEAD, which asks in rounds, by 0.6 %. Trees hardly differ, and one bit (HaarHRR) is enough at epsilon 1 and not at 4. "
        "With 1,000 people at epsilon 1 every method in one round is off by about 20 % or more and AHEAD by 6 to 10 %: too much to be of "
        "use."
    ),
    populations=[DoctorVisits(), Uniform(0, 255)],
    mechanisms=[
        Oracle("OUE", label="naive: counts of all values"),
        Ranges("flat, total known", 1),
        Ranges("B = 2", 2),
        Ranges("B = 4", 4),
        Ranges("B = 8", 8),
        Ranges("B = 16", 16),
        Ranges("HaarHRR", 0),
        Ranges("AHEAD", -1),
        Ranges("evenly spread, no data", None),
    ],
    epsilons=[1.0, 4.0],
    people=[1000, 10_000, 100_000],
    repetitions=20,
    metrics=["range_error"],
    against="n",
)
