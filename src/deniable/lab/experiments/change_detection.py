"""How well an observer tells *that* a value changed, by the number of reports before and after, with and without noise of their own.

Bits that are sent as they were kept show a change whenever they differ, from the first report on. With noise of its own for each report the
observer needs more reports, but comes to know the permanent answers all the same: noise makes it slower, not impossible. What it cannot
see is a change between values whose permanent answers happen to be equal. A half is pure chance.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.observers import Observer
from deniable.lab.populations import Uniform

EXPERIMENT = Experiment(
    name="change-detection",
    title="Did the value change? How often an observer is right: 4 values, so many reports before and after",
    populations=[Uniform(0, 3)],
    mechanisms=[
        Observer("change", "DBitFlipPM", {"bits": 4}, label="DBitFlipPM, as kept", first=None),
        Observer("change", "DBitFlipPM", {"bits": 4}, label="DBitFlipPM, first = epsilon / 2"),
        Observer("change", "DBitFlipPM", {"bits": 4}, label="DBitFlipPM, first = epsilon / 4", first=0.25),
        Observer("change", "LongitudinalGRR", label="LongitudinalGRR, first = epsilon / 2"),
        Observer("change", "LongitudinalUnary", label="LongitudinalUnary, first = epsilon / 2"),
    ],
    epsilons=[1.0],
    people=[1, 3, 10, 30, 100],
    repetitions=20,
    metrics=["observed"],
    against="n",
)
