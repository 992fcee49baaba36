"""The figure of delta: the variance of local Gaussian noise and of OUE, against delta and against the number of reports.

Everything is computed, nothing is drawn at random.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
from figure_frame import Recipe

import deniable as dn
from deniable.accounting import Pure, Repeated, account, calibrate
from deniable.central import LocalGaussianHistogram
from deniable.core.chart import Chart

DELTA = 1e-6


def delta() -> Chart:
    """Two panels: one report, and several that keep a promise together."""
    one = [
        {"epsilon": f"{epsilon:g}", "delta": delta, "variance": gaussian(epsilon, delta) / oue(epsilon)}
        for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0)
        for delta in np.geomspace(1e-10, 0.1, 28).tolist()
    ]
    many = []
    for k in np.unique(np.round(np.geomspace(1, 1000, 22))).astype(int).tolist():
        ways = {"OUE, epsilons added": oue(1 / k), "OUE, composed exactly": oue(largest(k)), "Gaussian": k * gaussian(1.0, DELTA)}
        many += [{"way": way, "reports": k, "variance": variance} for way, variance in ways.items()]
    log = alt.Scale(type="log")
    left = _panel(one, "One report: variance, OUE = 1", 280).encode(
        x=alt.X("delta:Q", scale=log, axis=alt.Axis(format="~e", tickCount=5)),
        y=alt.Y("variance:Q", title="times OUE", scale=log),
        color=alt.Color("epsilon:N", legend=alt.Legend(title="epsilon")),
    )
    right = _panel(many, f"k reports, together (1, {DELTA:g}): variance of a count, per person", 320).encode(
        x=alt.X("reports:Q", title="reports of a person", scale=log),
        y=alt.Y("variance:Q", title="variance", scale=log, axis=alt.Axis(format="~s")),
        color=alt.Color("way:N", legend=alt.Legend(title=None)),
    )
    return Chart(alt.hconcat(left, right).resolve_scale(color="independent"))


def oue(epsilon: float) -> float:
    """The variance of one report about a rare value."""
    return dn.OUE(domain_size=16, epsilon=epsilon).variance(n=1)


def gaussian(epsilon: float, delta: float) -> float:
    """The same with Gaussian noise."""
    return LocalGaussianHistogram(domain_size=2, epsilon=epsilon, delta=delta).variance(n=1)


def largest(times: int) -> float:
    """The epsilon of each of several pure reports that are (1, 1e-6) together."""

    def keeps(epsilon: float) -> bool:
        return account(Repeated(event=Pure(epsilon=epsilon), times=times), delta=DELTA, rules=("basic", "exact")).epsilon <= 1

    return calibrate(keeps, safe=1 / times / 1.001, risky=1.1, tolerance=1e-6)


def _panel(entries: list[dict[str, Any]], title: str, width: int) -> Any:
    return alt.Chart(alt.InlineData(values=entries), title=title).mark_line().properties(width=width, height=260)


FIGURES: dict[str, Recipe] = {"delta": delta}
