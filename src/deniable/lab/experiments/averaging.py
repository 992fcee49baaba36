"""Why answers are kept: what an observer knows after so many reports, of devices that keep their permanent answers and of some that do not.

Fresh noise averages out, and the value is known. Noise that was drawn once does not: the line stays below the bound of epsilon for good.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.observers import Observer
from deniable.lab.populations import Uniform

EXPERIMENT = Experiment(
    name="averaging",
    title="Which of 4 values is it? How often an observer is right after so many reports",
    populations=[Uniform(0, 3)],
    mechanisms=[
        Observer("value", "LongitudinalGRR", label="LongitudinalGRR", first=0.8),
        Observer("value", "LongitudinalUnary", label="LongitudinalUnary", first=0.8),
        Observer("value", "LongitudinalGRR", label="LongitudinalGRR, nothing kept", first=0.8, forgetful=True),
        Observer("value", "LongitudinalUnary", label="LongitudinalUnary, nothing kept", first=0.8, forgetful=True),
    ],
    epsilons=[1.0],
    people=[1, 3, 10, 30, 100, 300],
    repetitions=10,
    metrics=["observed"],
    against="n",
)
