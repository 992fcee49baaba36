"""The error of FPA against the number of frequencies kept, and its two parts: noise, and what is lost.

The grid's number of people is here k. Choosing k by looking at the data is not private.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.releases import SeriesRelease
from deniable.lab.series_crowds import Recorded, Switching

CROWDS = (1000, 10_000, 100_000)

EXPERIMENT = Experiment(
    name="fpa-choose-k",
    title="FPA at epsilon = 1: mean absolute error at a point; n: frequencies kept, k",
    question="How many frequencies of a time series should you keep?",
    found=(
        "The noise grows with k and not with the crowd; what the cut loses does the opposite. So the best k moves from 10 (1,000 people) "
        "to 20 (10,000) and 100 (100,000), where k = 2 is worse than noise on every point; for 100,000 people who rise and fall like the "
        "sea, so is every k up to 200. EFPA chooses k privately and stays within twice the best error."
    ),
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
