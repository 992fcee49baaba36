"""Charts of estimates: one Vega-Lite form for notebooks, files and web pages, and nothing fetched from a network."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.core.comparison import Comparison
    from deniable.core.frequency import FrequencyEstimate

_BAR = "#4c78a8"
_TRUTH = "#e45756"
ENDINGS = (".svg", ".png", ".html", ".json")


@dataclass(frozen=True)
class Chart:
    """An Altair chart that saves and shows itself without a network; ``altair`` is the chart itself, to be changed further."""

    altair: Any

    def save(self, path: str | PathLike[str]) -> None:
        """Write the chart as .svg, .png, .json or self-contained .html."""
        check_ending(path)
        name = fspath(path)
        self.altair.save(name, **({"inline": True} if name.lower().endswith(".html") else {}))

    def _repr_svg_(self) -> str:
        import vl_convert

        svg: str = vl_convert.vegalite_to_svg(self.altair.to_dict())
        return svg


def check_ending(path: str | PathLike[str]) -> None:
    """Refuse a file name that no chart can be written to, before any work is done."""
    if not str(fspath(path)).lower().endswith(ENDINGS):
        raise ParameterError("path", fspath(path), allowed=f"a name that ends in {', '.join(ENDINGS)}", fix="rename it")


def count_chart(estimate: FrequencyEstimate, truth: Any = None, title: str | None = None) -> Chart:
    """Estimated counts as bars with 95 % intervals; ``truth``, where it is known, as ticks."""
    low, high = estimate.interval(0.95, simultaneous=estimate.picked)
    labels = [str(value) for value in estimate.values]
    records = [
        {"value": label, "count": float(count), "low": float(a), "high": float(b)}
        for label, count, a, b in zip(labels, estimate.counts, low, high, strict=True)
    ]
    base = _base(records).encode(y=alt.Y("value:N", sort=labels, title=None))
    layers = [
        base.mark_bar(color=_BAR, opacity=0.75).encode(x=alt.X("count:Q", title="people")),
        base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q"),
    ]
    if truth is not None:
        known = [{"value": label, "truth": float(t)} for label, t in zip(labels, np.asarray(truth), strict=True)]
        ticks = _base(known).mark_tick(color=_TRUTH, thickness=3, size=14)
        layers.append(ticks.encode(y=alt.Y("value:N", sort=labels), x="truth:Q"))
    legend = f"bars: estimate, lines: 95 % interval{'s that hold together' if estimate.picked else ''}" + (
        "" if truth is None else ", red: truth"
    )
    heading = alt.Title(title or estimate.headline(), subtitle=legend)
    return Chart(alt.layer(*layers).properties(title=heading, width=480))


def change_chart(comparison: Comparison, positions: Any) -> Chart:
    """Changes of frequencies as points with intervals that hold together."""
    low, high = comparison.interval(0.95, simultaneous=True)
    labels = [str(comparison.values[i]) for i in positions]
    records = [
        {"value": label, "change": float(comparison.difference[i]), "low": float(low[i]), "high": float(high[i])}
        for label, i in zip(labels, positions, strict=True)
    ]
    base = _base(records).encode(y=alt.Y("value:N", sort=labels, title=None))
    points = base.mark_point(color=_BAR, filled=True, size=50).encode(x=alt.X("change:Q", title="change of frequency"))
    heading = alt.Title("Change of frequency", subtitle="lines: 95 % intervals that hold together")
    return Chart((base.mark_rule().encode(x="low:Q", x2="high:Q") + points).properties(title=heading, width=480))


def _base(records: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.InlineData(values=records))
