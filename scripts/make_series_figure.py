"""Write docs/figures/series.svg, the noise of a released series against the number of questions, and the example of fpa-vs-lpa.

Lines are closed forms, points are means of 20 releases of a series of zeros, of which nothing is lost. Streams are fixed, so that the same
figures come out again.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import altair as alt
import numpy as np
from figure_frame import FOLDER, log_axes

from deniable.central.gaussian import Gaussian
from deniable.core.chart import Chart
from deniable.lab.experiments.fpa_vs_lpa import example
from deniable.tasks.series import FPA, LPA, Decimation
from deniable.testing import ReplaySource

N, RELEASES, DELTA = 2000, 20, 1e-6
FREQUENCIES = (1, 2, 5, 10, 20, 50, 100, 200)
LINE = [int(count) for count in np.unique(np.geomspace(1, 400, 40).round())]


def main() -> None:
    """Measure and draw."""
    sigma = float(Gaussian(epsilon=1.0, delta=DELTA, sensitivity=1000, neighbors="add-remove").sigma) / 1000  # as of a vector
    theory = {
        "LPA": lambda count: float(N),
        "FPA, scale sqrt(K n)": lambda count: 2 * count / sqrt(pi),
        "FPA": lambda count: (count + sqrt(count)) / sqrt(pi),
        "FPA, Gaussian": lambda count: sqrt(2 / pi) * sigma * sqrt(count),
    }
    lines = [{"mechanism": name, "K": count, "error": error(count)} for name, error in theory.items() for count in LINE]
    points = [point(name, k) for name in (*theory, "decimation") for k in FREQUENCIES]
    _draw(lines, points).save(FOLDER / "series.svg")
    example().save(FOLDER / "lab-fpa-vs-lpa-example.svg")


def point(name: str, k: int) -> dict[str, Any]:
    """The mean absolute noise of some releases with about 2 k - 1 questions."""
    if name == "LPA":
        made: Any = LPA(n=N, epsilon=1.0)
    elif name == "decimation":
        made = Decimation(n=N, epsilon=1.0, every=max(1, N // max(2 * k - 2, 1)))
    else:
        gaussian, plain = name.endswith("Gaussian"), "scale" in name
        made = FPA(n=N, k=k, epsilon=1.0, delta=DELTA if gaussian else 0.0, neighbors="replace" if plain else "add-remove")
    source = ReplaySource.from_key(f"{name} {k}")
    errors = [np.abs(made.release(np.zeros(N), source=source).values).mean() for _ in range(RELEASES)]
    return {"mechanism": name, "K": 2 * k - 1 if name == "LPA" else made.questions, "error": float(np.mean(errors))}


def _draw(lines: list[dict[str, Any]], points: list[dict[str, Any]]) -> Chart:
    def layer(records: list[dict[str, Any]]) -> Any:
        return log_axes(records, "K", "people", title="questions, K").encode(color=alt.Color("mechanism:N", title=None))

    subtitle = f"n = {N:,}, epsilon = 1, delta = {DELTA:g} where Gaussian; lines: theory, points: measured; nothing is lost here"
    title = alt.Title("Mean absolute noise at a point", subtitle=subtitle)
    drawn = layer(lines).mark_line(strokeWidth=1.5) + layer(points).mark_point(filled=True, size=40, opacity=1)
    return Chart(drawn.properties(title=title, width=460, height=320))


if __name__ == "__main__":
    main()
