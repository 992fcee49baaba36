"""Charts of plans: how the error of each oracle falls with epsilon, or changes with the number of values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from deniable.core.chart import Chart
from deniable.errors import ParameterError
from deniable.local.choose import oracles_for, predicted_error

if TYPE_CHECKING:
    from deniable.tasks.plan.counts import Plan

AXES = {"epsilon": np.geomspace(0.1, 10, 41), "domain_size": 2 ** np.arange(1, 21)}
"""What the error is drawn against, and where it is computed."""


def error_chart(plan: Plan, against: str) -> Chart:
    """The standard error of a frequency, one line for each oracle, both axes logarithmic; dashed: the plan and what it aims at."""
    if against not in AXES:
        raise ParameterError("against", against, allowed=f"one of {list(AXES)}", fix="epsilon is the usual one")
    names = [spec.mechanism for spec in plan.specs]
    scale = alt.Scale(type="log", nice=False)
    lines = alt.Chart(alt.InlineData(values=list(_points(plan, against)))).encode(
        x=alt.X(f"{against}:Q", scale=scale, title=against.replace("_", " ")),
        y=alt.Y("error:Q", scale=scale, title="standard error of a frequency"),
        color=alt.Color("oracle:N", sort=names, scale=alt.Scale(scheme="category20"), title=None),
    )
    layers = [lines.mark_line(strokeWidth=1.5)]
    here = getattr(plan.specs[0], against)
    if AXES[against][0] <= here <= AXES[against][-1]:
        layers.append(alt.Chart(alt.InlineData(values=[{against: here}])).mark_rule(strokeDash=[4, 4]).encode(x=f"{against}:Q"))
    if plan.error is not None:
        layers.append(alt.Chart(alt.InlineData(values=[{"error": plan.error}])).mark_rule(strokeDash=[4, 4]).encode(y="error:Q"))
    fixed = f"epsilon = {plan.specs[0].epsilon:.4g}" if against == "domain_size" else plan.values_told
    heading = alt.Title(f"{plan.n:,} people, {fixed}", subtitle="averaged over the values; dashed: the plan")
    return Chart(alt.layer(*layers).properties(title=heading, width=480, height=360))


def _points(plan: Plan, against: str) -> Iterator[dict[str, Any]]:
    for spec in plan.specs:
        for where in AXES[against].tolist():
            given: dict[str, Any] = {"epsilon": spec.epsilon, "domain": spec.domain} if against == "epsilon" else {"epsilon": spec.epsilon}
            able, _ = oracles_for([spec.mechanism], **given | {against: where})
            error = predicted_error(able[0], plan.n) / plan.n if able else np.inf
            if 0 < error < np.inf:
                yield {"oracle": spec.mechanism, against: where, "error": error}
