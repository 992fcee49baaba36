"""What an observer of one device's reports learns if the device keeps its permanent answer, and if it does not."""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.observers import Observer
from deniable.lab.populations import Uniform

EXPERIMENT = Experiment(
    name="averaging",
    title="Which of 4 values is it? How often an observer is right after so many reports",
    question="Why do devices keep their answers?",
    found=(
        "If a device keeps its permanent answer, an observer names its value no more often than epsilon = 1 allows (the line), after 300 "
        "reports as after 3. If it draws new noise for each report, the observer knows the value after 100 reports."
    ),
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
