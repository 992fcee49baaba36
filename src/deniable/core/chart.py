"""Charts of estimates: one Vega-Lite form for notebooks, files and web pages, and nothing fetched from a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from deniable.core.rounding import level_text
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
        """Write the chart to a path that ends in .svg, .png, .json or .html; the last needs no other file."""
        check_ending(path)
        ending = fspath(path).lower().rpartition(".")[2]  # altair itself takes no capitals
        self.altair.save(fspath(path), format=ending, **({"inline": True} if ending == "html" else {}))

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
    return bar_chart(estimate.values, estimate.counts, low, high, title=title or estimate.headline(), together=estimate.picked, truth=truth)


def bar_chart(
    values: Any, counts: Any, low: Any, high: Any, *, title: str, together: bool, truth: Any = None, axis: str = "people"
) -> Chart:
    """Counts as bars with 95 % intervals, which hold together or one by one."""
    labels = [_label(value) for value in values]
    records = [
        {"value": label, "count": float(count), "low": float(a), "high": float(b)}
        for label, count, a, b in zip(labels, counts, low, high, strict=True)
    ]
    base = _base(records).encode(y=alt.Y("value:N", sort=labels, title=None))
    layers = [
        base.mark_bar(color=_BAR, opacity=0.75).encode(x=alt.X("count:Q", title=axis)),
        base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q"),
    ]
    if truth is not None:
        known = [{"value": label, "truth": float(t)} for label, t in zip(labels, np.asarray(truth), strict=True)]
        ticks = _base(known).mark_tick(color=_TRUTH, thickness=3, size=14)
        layers.append(ticks.encode(y=alt.Y("value:N", sort=labels), x="truth:Q"))
    legend = f"bars: estimate, lines: 95 % interval{'s that hold together' if together else ''}" + ("" if truth is None else ", red: truth")
    return Chart(alt.layer(*layers).properties(title=alt.Title(title, subtitle=legend), width=480))


def change_chart(comparison: Comparison, positions: Any) -> Chart:
    """Changes of frequencies as points with intervals that hold together."""
    low, high = comparison.interval(0.95, simultaneous=True)
    values = [comparison.values[i] for i in positions]
    return point_chart(values, *(column[positions] for column in (comparison.difference, low, high)))


def point_chart(values: Any, changes: Any, low: Any, high: Any, *, title: str = "Change of frequency", level: float = 0.95) -> Chart:
    """Changes as points with intervals that hold together."""
    labels = [_label(value) for value in values]
    records = [
        {"value": label, "change": float(change), "low": float(a), "high": float(b)}
        for label, change, a, b in zip(labels, changes, low, high, strict=True)
    ]
    base = _base(records).encode(y=alt.Y("value:N", sort=labels, title=None))
    points = base.mark_point(color=_BAR, filled=True, size=50).encode(x=alt.X("change:Q", title="change of frequency"))
    heading = alt.Title(title, subtitle=f"lines: {level_text(level)} intervals that hold together")
    return Chart((base.mark_rule().encode(x="low:Q", x2="high:Q") + points).properties(title=heading, width=480))


def stacked(charts: Sequence[Chart]) -> Chart:
    """Charts below one another, as one."""
    return charts[0] if len(charts) == 1 else Chart(alt.vconcat(*(chart.altair for chart in charts)))


def _label(value: Any) -> str:
    text = str(value)
    return text if text.isprintable() else repr(text)  # a control character would end the process: SVG cannot hold it


def _base(records: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.InlineData(values=records))
