"""Matching two sets of reports of one device over time: a permanent answer is a fingerprint.

A longer answer is a better one: the bits of a unary encoding tell devices apart that hold the same value. Mechanisms that send something
personal in the open (LOLOHA's hash function) are not shown: two reports match or they do not. A half is pure chance.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.observers import Observer
from deniable.lab.populations import Uniform

EXPERIMENT = Experiment(
    name="linkability",
    title="Are these two sets of reports from one device? 6 values, so many reports in each set",
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
