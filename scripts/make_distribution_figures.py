"""Write the figures of distributions and vectors: how far estimates are from the truth, and a distribution beside its truth.

Streams are fixed, so that the same figures come out again.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
from figure_frame import FOLDER, log_axes
from scipy import stats

import deniable as dn
from deniable.core.chart import Chart
from deniable.core.distribution_chart import distribution_chart
from deniable.kernels.compiled import Array
from deniable.local.vector.caps import best_cap, sphere_cap
from deniable.testing import ReplaySource

PEOPLE, REPETITIONS, STEPS, COARSE = 100_000, 8, 255, 31
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
DIMENSION = 100


def main() -> None:
    """Draw all of them."""
    people = stats.beta.ppf((np.arange(PEOPLE) + 0.5) / PEOPLE, 5, 2)
    found = [distance(method, epsilon, people) for method in ("EMS", "EM", "OUE, 32 points") for epsilon in EPSILONS]
    _lines(found, "SquareWave: mean difference of the cumulative shares", f"{PEOPLE:,} people, Beta(5, 2); measured").save(
        FOLDER / "square-wave.svg"
    )
    spec = dn.SquareWave(low=0, high=1, epsilon=1.0)
    estimate = spec.estimate(spec.tally(spec.privatize(people, source=ReplaySource.from_key("picture"))))
    truth = np.bincount(np.floor(people * spec.steps + 0.5).astype(int), minlength=spec.steps + 1) / PEOPLE
    distribution_chart(estimate.resampled(source=ReplaySource.from_key("picture again")), truth).save(FOLDER / "distribution.svg")
    errors = [error(name, epsilon) for name in ("PrivUnit", "bound", "one coordinate each, Hybrid") for epsilon in EPSILONS]
    errors += [measured(epsilon) for epsilon in EPSILONS]
    _lines(errors, f"PrivUnit: distance from the mean of {DIMENSION} dimensions", f"{PEOPLE:,} unit vectors; points: measured").save(
        FOLDER / "priv-unit.svg"
    )


def distance(method: str, epsilon: float, people: Array) -> dict[str, Any]:
    """The mean difference of the cumulative shares from the truth, over a range of length 1."""
    gaps = []
    for i in range(REPETITIONS):
        source = ReplaySource.from_key(f"{method} {epsilon} {i}")
        if method.startswith("OUE"):
            oracle = dn.OUE(domain=dn.Numbers(0, 1, steps=COARSE), epsilon=epsilon)
            shares = oracle.estimate(oracle.tally(oracle.privatize(people, source=source))).distribution().frequencies
            steps = COARSE
        else:
            wave = dn.SquareWave(low=0, high=1, steps=STEPS, epsilon=epsilon)
            shares = wave.estimate(wave.tally(wave.privatize(people, source=source))).using(method.lower()).frequencies
            steps = STEPS
        truth = np.searchsorted(people, (np.arange(steps + 1) + 0.5) / steps) / PEOPLE
        gaps.append(np.abs(np.cumsum(shares) - truth).mean())
    return {"name": method, "epsilon": epsilon, "error": float(np.mean(gaps))}


def error(name: str, epsilon: float) -> dict[str, Any]:
    """The expected distance, by theory."""
    if name == "PrivUnit":
        square = dn.PrivUnit(dimension=DIMENSION, epsilon=epsilon).variance(n=PEOPLE)
    elif name == "bound":
        square = (best_cap(lambda p: sphere_cap(p, epsilon, DIMENSION)).m ** -2 - 1) / PEOPLE
    else:  # of unit vectors in random directions, each coordinate asked of one in so many people
        square = DIMENSION**2 * (dn.Hybrid(low=-1, high=1, epsilon=epsilon).variance(n=1, value=0) + 1 / DIMENSION) / PEOPLE
    return {"name": name, "epsilon": epsilon, "error": square**0.5}


def measured(epsilon: float) -> dict[str, Any]:
    """What comes out."""
    spec = dn.PrivUnit(dimension=DIMENSION, epsilon=epsilon)
    people = np.zeros((PEOPLE, DIMENSION))
    people[np.arange(PEOPLE), np.arange(PEOPLE) % DIMENSION] = 1.0
    found = spec.estimate(spec.tally(spec.privatize(people, source=ReplaySource.from_key(f"vectors {epsilon}"))))
    return {"name": "measured", "epsilon": epsilon, "error": float(np.linalg.norm(found.mean - people.mean(axis=0)))}


def _lines(entries: list[dict[str, Any]], title: str, subtitle: str) -> Chart:
    base = log_axes(entries, "epsilon", None).encode(color=alt.Color("name:N", title=None))
    points = base.mark_point(filled=True, size=50, opacity=1)
    lines = base.transform_filter("datum.name != 'measured'").mark_line()
    return Chart((lines + points).properties(title=alt.Title(title, subtitle=subtitle), width=420, height=280))


if __name__ == "__main__":
    main()
