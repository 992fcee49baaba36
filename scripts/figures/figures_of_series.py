"""The figure of series: the noise of a released series against the number of questions.

Lines are closed forms, points are means over releases of a series of zeros, of which nothing is lost. Streams are fixed, so that the same
figure comes out again.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np
from figure_frame import Entry, Recipe, framed, lines_and_points

from deniable.central.gaussian import Gaussian
from deniable.core.chart import Chart
from deniable.tasks.series import FPA, LPA, Decimation
from deniable.testing import ReplaySource

N, RELEASES, DELTA = 2000, 20, 1e-6
FREQUENCIES = (1, 2, 5, 10, 20, 50, 100, 200)
LINE = [int(count) for count in np.unique(np.geomspace(1, 400, 40).round())]


def series() -> Chart:
    """Measure and draw."""
    sigma = float(Gaussian(epsilon=1.0, delta=DELTA, sensitivity=1000, neighbors="add-remove").sigma) / 1000  # as of a vector
    theory = {
        "LPA": lambda count: float(N),
        "FPA, scale sqrt(K n)": lambda count: 2 * count / sqrt(pi),
        "FPA": lambda count: (count + sqrt(count)) / sqrt(pi),
        "FPA, Gaussian": lambda count: sqrt(2 / pi) * sigma * sqrt(count),
    }
    lines = [{"name": name, "K": count, "error": error(count)} for name, error in theory.items() for count in LINE]
    points = [point(name, k) for name in (*theory, "decimation") for k in FREQUENCIES]
    what = f"n = {N:,}, epsilon = 1, delta = {DELTA:g} where Gaussian; nothing is lost here"
    drawn = lines_and_points(lines, points, "K", "people", title="questions, K")
    return framed(drawn, "Mean absolute noise at a point", f"{what}; lines: theory, points: measured, {RELEASES} releases")


def point(name: str, k: int) -> Entry:
    """The mean absolute noise of some releases with about 2 k - 1 questions."""
    if name == "LPA":
        made: Any = LPA(points=N, epsilon=1.0)
    elif name == "decimation":
        made = Decimation(points=N, epsilon=1.0, every=max(1, N // max(2 * k - 2, 1)))
    else:
        gaussian, plain = name.endswith("Gaussian"), "scale" in name
        made = FPA(points=N, k=k, epsilon=1.0, delta=DELTA if gaussian else 0.0, neighbors="replace" if plain else "add-remove")
    source = ReplaySource.from_key(f"{name} {k}")
    errors = [np.abs(made.release(np.zeros(N), source=source).point).mean() for _ in range(RELEASES)]
    return {"name": name, "K": 2 * k - 1 if name == "LPA" else made.questions, "error": float(np.mean(errors))}


FIGURES: dict[str, Recipe] = {"series": series}
