"""The figure of means: the standard error of every mechanism for a mean, theory as lines and measurement as points.

Half of the people hold the middle of the range and half an end. Measured is the root mean square error over repetitions, on fixed streams.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
from figure_frame import Recipe, framed, lines_and_points

import deniable as dn
from deniable.core.chart import Chart
from deniable.testing import ReplaySource

NAMES = ("OneBitMean", "SignRR", "Piecewise", "Hybrid", "DiscreteLaplace")
PEOPLE, REPETITIONS = 10_000, 400
LINE = [float(epsilon) for epsilon in np.geomspace(0.25, 8, 28)]
EPSILONS = (0.5, 1.0, 2.0, 4.0)


def means() -> Chart:
    """Measure, then draw."""
    lines = [{"name": name, "epsilon": epsilon, "error": theory(name, epsilon)} for name in NAMES for epsilon in LINE]
    points = [{"name": name, "epsilon": epsilon, "error": measured(name, epsilon)} for name in NAMES for epsilon in EPSILONS]
    drawn = lines_and_points(lines, points, "epsilon", "standard error", color=alt.Color("name:N", title=None, sort=list(NAMES)))
    who = f"{PEOPLE:,} people, half at an end and half in the middle (SignRR: at both ends)"
    title = "Standard error of a mean on a range from -1 to 1"
    return framed(drawn, title, f"{who}; lines: theory, points: measured, {REPETITIONS} runs", height=340)


def crowd(name: str) -> Any:
    """Half at 1, half at 0; signs have no middle."""
    return np.repeat([1.0, -1.0 if name == "SignRR" else 0.0], PEOPLE // 2)


def spec_of(name: str, epsilon: float) -> Any:
    """A mechanism with its default parameters."""
    return getattr(dn, name)(low=-1, high=1, epsilon=epsilon)


def theory(name: str, epsilon: float) -> float:
    """What the closed forms say."""
    spec, values = spec_of(name, epsilon), crowd(name)
    return float(((spec.variance(1, values[0]) + spec.variance(1, values[-1])) / 2 / PEOPLE) ** 0.5)


def measured(name: str, epsilon: float) -> float:
    """What comes out."""
    spec, values, source = spec_of(name, epsilon), crowd(name), ReplaySource.from_key(f"means/{name}/{epsilon}")
    errors = [spec.estimate(spec.tally(spec.privatize(values, source=source))).value - float(values.mean()) for _ in range(REPETITIONS)]
    return float(np.mean(np.square(errors)) ** 0.5)


FIGURES: dict[str, Recipe] = {"means": means}
