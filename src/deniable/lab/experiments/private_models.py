"""Telling malignant from benign tumors: how many people a logistic model needs whose gradients are private, against one that is not.

A crowd drawn with replacement from 379 real records, and a test on 190 others. Gradients are sent coordinate by coordinate, exactly, or
as a whole, in floating point. The model that is not private and the larger class are on the same chart: between them is what there is to
learn.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.models import Fitted, Tumors

EXPERIMENT = Experiment(
    name="private-models",
    title="Tumors told apart by a logistic model: accuracy on records that nobody was asked about",
    populations=[Tumors(features=10), Tumors(features=30)],
    mechanisms=[
        Fitted("private", "private gradients"),
        Fitted("whole", "whole gradients (PrivUnit)"),
        Fitted("rotating", "5 rotating models"),
        Fitted("not private", "not private"),
        Fitted("majority", "the larger class"),
    ],
    epsilons=[1.0, 4.0],
    people=[300, 1000, 3000, 10_000, 30_000],
    repetitions=4,
    metrics=["accuracy"],
    against="n",
)
