"""Releases of time series: noise on every point, on a few coefficients, and the baselines that papers left out.

People who hold 0 or 1 and switch now and then, and three measured series (CO2 in the air, sunspots, the sea at El Nino).
"""

from __future__ import annotations

from deniable.core.chart import Chart
from deniable.lab.experiment import Experiment
from deniable.lab.releases import SeriesRelease
from deniable.lab.series_crowds import Recorded, Switching

GAUSSIAN = {"delta": 1e-6}


def example() -> Chart:
    """The truth, LPA, FPA and EFPA, for few people and for many."""
    from deniable.lab.series_chart import example_chart

    ways = [EXPERIMENT.mechanisms[place] for place in (0, 3, 8)]
    return example_chart([(Switching(), 1000), (Recorded(name="sunspots"), 100_000)], ways)


EXPERIMENT = Experiment(
    name="fpa-vs-lpa",
    title="Releases of a time series at epsilon = 1 (delta = 1e-6 where Gaussian): mean absolute error at a point",
    question="Should you add noise to every point of a time series, or to a few coefficients?",
    found=(
        "With 1,000 people who switch, noise on each of 2,000 points is off by 2,000 people; 20 frequencies are 75 times better, every "
        'hundredth point is 103 times better, and saying "half of them" 21 times. With 100,000 people the order turns around on the '
        "measured series: 20 frequencies of the sunspots are off by 15,187 people, 49 times more than noise on every point. EFPA adapts "
        "and is never far off; Gaussian noise on every point, with a delta, is the best there."
    ),
    populations=[Switching(), Recorded(name="co2"), Recorded(name="sunspots"), Recorded(name="elnino")],
    mechanisms=[
        SeriesRelease("LPA", "LPA"),
        SeriesRelease("LPA", "LPA, Gaussian", GAUSSIAN),
        SeriesRelease("FPA", "FPA, k = 20, as published", {"k": 20, "neighbors": "replace"}),
        SeriesRelease("FPA", "FPA, k = 20", {"k": 20}),
        SeriesRelease("FPA", "FPA, k = 10", {"k": 10}),
        SeriesRelease("FPA", "FPA, k = 20, Gaussian", {"k": 20} | GAUSSIAN),
        SeriesRelease("FPA", "cosines, 20", {"k": 20, "basis": "cosine"}),
        SeriesRelease("FPA", "cosines, 20, Gaussian", {"k": 20, "basis": "cosine"} | GAUSSIAN),
        SeriesRelease("EFPA", "EFPA"),
        SeriesRelease("decimation", "every 100th point", {"every": 100}),
        SeriesRelease("decimation", "every 200th point", {"every": 200}),
        SeriesRelease("FPA", "mean only (k = 1)", {"k": 1}),
        SeriesRelease("constant", "half, no data"),
        SeriesRelease("root", "8 changes, square root, Gaussian", {"changes": 8} | GAUSSIAN),
        SeriesRelease("root", "8 changes, square root, 20 cosines", {"changes": 8} | GAUSSIAN, smooth=20),
        SeriesRelease("tree", "4 changes, tree", {"changes": 4}),
    ],
    epsilons=[1.0],
    people=[1000, 10_000, 100_000],
    repetitions=30,
    metrics=["mae"],
    against="n",
    leave_out=True,
    example=example,
)
