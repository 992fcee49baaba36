"""Three clusters of irises: how many people private k-means needs, against k-means that is not private, and against noisy records.

Crowds drawn with replacement from 150 real flowers. The error is that of taking a flower for its nearest center. One center for all, the
mean, is on the same chart: centers that are worse were worth nobody's report.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.flowers import Clustered, Irises

EXPERIMENT = Experiment(
    name="private-clusters",
    title="Three clusters of irises: error of a length, of a range from -1 to 1, if each flower is its center",
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
