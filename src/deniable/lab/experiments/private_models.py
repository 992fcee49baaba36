"""A logistic model of private gradients, against one without privacy and the larger class: malignant or benign tumors.

Crowds are drawn with replacement from 379 records, so a larger crowd only averages more noise out; the test is on 190 others.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.models import Fitted, Tumors

EXPERIMENT = Experiment(
    name="private-models",
    title="Tumors told apart by a logistic model: accuracy on records that nobody was asked about",
    question="How many people does a private logistic model need?",
    found=(
        "At epsilon 4, 1,000 people give 92 % accuracy on records that nobody was asked about, and 30,000 give 93 % with 10 features and "
        "96 % with 30; without privacy it is 93 and 98 %, and the larger class alone gives 60 %. At epsilon 1, 1,000 people are not "
        "enough (one of four fits to 30 features is right on 50 %), and 10,000 give about 90 %. Five rotating models are worse than one "
        "everywhere."
    ),
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
