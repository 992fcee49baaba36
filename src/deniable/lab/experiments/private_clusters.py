"""Three clusters of irises: private k-means against k-means without privacy, k-means of noisy records, and one center for all.

Crowds are drawn with replacement from 150 flowers. The error is that of a length, in ranges from -1 to 1, if each flower is taken for its
nearest center.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.flowers import Clustered, Irises

EXPERIMENT = Experiment(
    name="private-clusters",
    title="Three clusters of irises: error of a length, of a range from -1 to 1, if each flower is its center",
    question="How many people does private k-means need?",
    found=(
        "With two lengths at epsilon 4 the error is 0.23 with 1,000 people and 0.138 with 30,000; without privacy it is 0.134. At epsilon "
        "1 it takes 100,000 people for 0.16; with four lengths and 3,000 people the centers (0.48) are worse than one center for all "
        "(0.46). Clusters of records with Laplace noise stay between 0.36 and 0.55 however many people there are."
    ),
    populations=[Irises(features=2), Irises(features=4)],
    mechanisms=[
        Clustered("private", "private k-means"),
        Clustered("noisy records", "naive: k-means of noisy records"),
        Clustered("not private", "not private"),
        Clustered("one center", "one center, not private"),
    ],
    epsilons=[1.0, 4.0],
    people=[1000, 3000, 10_000, 30_000, 100_000],
    repetitions=4,
    metrics=["rmse"],
    against="n",
)
