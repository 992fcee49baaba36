"""Ranges of 256 values: the error of the share of people in a range, averaged over all 32,896 ranges, for every way of asking.

The naive way counts every value and adds up: its error grows with the range. A tree's hardly does. On the evenly spread crowd nothing is
gained by adapting; on the doctor's visits, where nine people of ten lie in the first ten values, AHEAD asks about few cells. What is said
without asking anyone is drawn for scale: an answer that errs more was not worth anyone's report.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.methods import Oracle
from deniable.lab.populations import Uniform
from deniable.lab.ranges import DoctorVisits, Ranges

EXPERIMENT = Experiment(
    name="range-queries",
    title="Share of people in a range of 256 values: root mean squared error over all ranges",
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
