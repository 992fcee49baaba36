"""Predicting hidden ratings: a private model of 30 items against the items' plain means, one constant, and a fit without privacy."""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.ratings import RatingCrowd, RatingPrediction

EXPERIMENT = Experiment(
    name="recommend",
    title="Hidden ratings from 1 to 5 foretold: root mean square error in stars",
    question="How many people does a private recommender need?",
    found=(
        "It beats the items' plain means from 10,000 people on at epsilon 8 and from 30,000 on at epsilon 4; at epsilon 1 not even "
        "100,000 are enough. With 3,000 people it is worse than one constant at every epsilon. With one number from each person, as in a "
        "collector's rounds, it takes 100,000 people at epsilon 4 or 8."
    ),
    populations=[RatingCrowd(items=30, rated=10)],
    mechanisms=[
        RatingPrediction("private", "gradients by PrivUnit"),
        RatingPrediction("asked", "one number a person, in rounds"),
        RatingPrediction("not private", "the same without privacy"),
        RatingPrediction("item means", "items' means, not private"),
        RatingPrediction("constant", "one constant, not private"),
    ],
    epsilons=[1.0, 4.0, 8.0],
    people=[3000, 10_000, 30_000, 100_000],
    repetitions=2,
    metrics=["rmse"],
    against="n",
)
