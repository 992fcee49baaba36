"""Matching two sets of reports, half of which come from one device.

Mechanisms that send something personal in the open (LOLOHA's hash function) are not shown: two reports match or they do not.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.observers import Observer
from deniable.lab.populations import Uniform

EXPERIMENT = Experiment(
    name="linkability",
    title="Are these two sets of reports from one device? 6 values, so many reports in each set",
    question="Can an observer tell that two sets of reports come from one device?",
    found=(
        "A permanent answer is a fingerprint: with ten reports in each set an observer is right in 84 to 92 of 100 cases, where guessing "
        "gives 50. Devices that keep nothing have no fingerprint, but then the value itself shows, and links the reports."
    ),
    populations=[Uniform(0, 5)],
    mechanisms=[
        Observer("link", "LongitudinalGRR"),
        Observer("link", "LongitudinalUnary"),
        Observer("link", "LongitudinalUnary", label="LongitudinalUnary, first = epsilon / 4", first=0.25),
        Observer("link", "LongitudinalUnary", label="LongitudinalUnary, nothing kept", forgetful=True),
    ],
    epsilons=[2.0],
    people=[1, 3, 10, 30, 100],
    repetitions=20,
    metrics=["observed"],
    against="n",
)
