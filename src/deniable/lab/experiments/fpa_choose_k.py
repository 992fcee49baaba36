"""Choosing the right k: the error of FPA against the number of frequencies kept, and what it is made of.

The grid's number is here k, the number of frequencies. More of them bring more noise and lose less of the series, so there is a best k. It
depends on the number of people, since the noise does not grow with them and what is lost does: for people who switch it is about 10 at
1,000 of them, 20 at 10,000 and 100 at 100,000, where k = 2 is worse than noise on every point. At so many people the yearly waves of the
sea need so many frequencies that no k up to 200 pays. Looking at the data to choose is not private. EFPA does it privately, and is off by
about half as much again as the best k.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.releases import SeriesRelease
from deniable.lab.series_crowds import Recorded, Switching

CROWDS = (1000, 10_000, 100_000)

EXPERIMENT = Experiment(
    name="fpa-choose-k",
    title="FPA at epsilon = 1: mean absolute error at a point; n: frequencies kept, k",
    populations=[*(Switching(people=people) for people in CROWDS), Recorded(people=CROWDS[-1], name="elnino")],
    mechanisms=[
        SeriesRelease("FPA", "FPA"),
        SeriesRelease("FPA", "its noise alone", part="noise"),
        SeriesRelease("FPA", "what it loses alone", part="lost"),
        SeriesRelease("FPA", "FPA, Gaussian", {"delta": 1e-6}),
        SeriesRelease("LPA", "LPA"),
        SeriesRelease("EFPA", "EFPA"),
    ],
    epsilons=[1.0],
    people=[1, 2, 5, 10, 20, 50, 100, 200],
    repetitions=10,
    metrics=["mae"],
    against="n",
)
