"""Foretelling ratings that were hidden: how many people a private model of 30 items needs before it beats the items' plain means.

Both baselines are not private, and neither is the fit that no line can be much better than. Items' means are beaten from about 10,000
people on at epsilon 8, and from 30,000 on at epsilon 4. At epsilon 1 not even 100,000 are enough. With one number from each person, as a
collector's rounds ask for, it takes 100,000 at epsilon 4 or 8.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.ratings import RatingCrowd, RatingPrediction

EXPERIMENT = Experiment(
    name="recommend",
    title="Hidden ratings from 1 to 5 foretold: root mean square error in stars",
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
