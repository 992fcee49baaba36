"""Write docs/figures/: the standard error of every oracle, theory as lines and measurement as points.

The crowd is flat: every value is held by as many people. Measured is the root mean square error over all values and repetitions; sketches
and Bloom filters draw new hash functions for each repetition. Streams are fixed, so that the same figures come out again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
from figure_frame import FOLDER, log_axes

from deniable.client.bloom_rr import BloomRR
from deniable.client.frequency import FrequencySpec
from deniable.client.longitudinal import Longitudinal
from deniable.client.sketch import SketchProtocol
from deniable.contract.spec import MECHANISMS
from deniable.core.chart import Chart
from deniable.local.choose import planned_variance
from deniable.testing import ReplaySource

PAGES = {"RR": "randomized-response", "SubsetSelection": "subset-selection", "HadamardResponse": "hadamard-response", "BloomRR": "bloom-rr"}
PAGES |= {"LongitudinalGRR": "longitudinal-grr", "LongitudinalUnary": "longitudinal-unary", "DBitFlipPM": "dbit-flip-pm"}
"""Pages that are not named like their mechanism in small letters."""
PEOPLE = 10_240
VALUES = 64
CELLS = 2560
"""Errors behind a point, at least: it is then good to about 1.5 %."""
LINE = [float(epsilon) for epsilon in np.geomspace(0.25, 6, 28)]
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES = (4, 16, 64, 256, 1024)
COLORS = alt.Scale(scheme="category20")


def main() -> None:
    """Measure, then draw one figure for each oracle and one for all."""
    FOLDER.mkdir(exist_ok=True)
    every = [name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec)]
    names = [name for name in every if not issubclass(MECHANISMS[name], Longitudinal)]  # the others' epsilon is about more than one report
    lines = [line(name, "epsilon", epsilon) for name in names for epsilon in LINE]
    for name in set(every) - set(names):
        own = [line(name, "epsilon", epsilon) for epsilon in LINE]
        measured = [point(name, "epsilon", epsilon) for epsilon in EPSILONS]
        _draw(name, lines + own, measured).save(FOLDER / f"{PAGES.get(name, name.lower())}.svg")
    points = []
    for name in names:
        points += [point(name, "epsilon", epsilon) for epsilon in EPSILONS]
        _draw(name, lines, [p for p in points if p["oracle"] == name]).save(FOLDER / f"{PAGES.get(name, name.lower())}.svg")
    names.remove("RR")
    sizes = [line(name, "domain_size", size) for name in names for size in 2 ** np.arange(1, 13)]
    measured = [point(name, "domain_size", size) for name in names for size in SIZES]
    _draw_all(lines, points, sizes, measured).save(FOLDER / "error.svg")


def spec_of(name: str, against: str, where: float) -> FrequencySpec:
    """An oracle with its default parameters at one place of an axis."""
    options: dict[str, Any] = {"epsilon": 1.0, "domain_size": 2 if name == "RR" else VALUES} | {against: where}
    made: FrequencySpec = MECHANISMS[name](**options)  # type: ignore[assignment,call-arg]  # chosen among frequency oracles
    return made


def line(name: str, against: str, where: float) -> dict[str, Any]:
    """What theory says; no error where it has no answer."""
    where = int(where) if against == "domain_size" else where
    spec = spec_of(name, against, where)
    variance = planned_variance(spec, PEOPLE, 1 / spec.domain_size)
    if isinstance(spec, SketchProtocol):  # planning takes the worst crowd; in a flat one collisions add less
        variance += spec.collisions * (PEOPLE**2 / spec.domain_size - PEOPLE**2)
    return {"oracle": name, against: where, "error": variance**0.5 if np.isfinite(variance) else None}


def point(name: str, against: str, where: float) -> dict[str, Any]:
    """What comes out."""
    spec = spec_of(name, against, where)
    held = np.full(spec.domain_size, PEOPLE // spec.domain_size)
    values, source = np.repeat(np.arange(spec.domain_size), held), ReplaySource.from_key(f"{name}/{where}")
    repetitions = max(40, CELLS // spec.domain_size)
    square = 0.0
    for salt in range(repetitions):
        drawn: Any = replace(spec, salt=salt) if isinstance(spec, SketchProtocol | BloomRR) else spec
        square += np.mean((drawn.estimate(drawn.tally(drawn.privatize(values, source=source))).counts - held) ** 2)
    return {"oracle": name, against: where, "error": (square / repetitions) ** 0.5}


def _draw(name: str, lines: Iterable[dict[str, Any]], points: list[dict[str, Any]]) -> Chart:
    values = f"{2 if name == 'RR' else VALUES} values"
    others = [entry for entry in lines if entry["oracle"] not in (name, "RR")]
    own = [entry for entry in lines if entry["oracle"] == name]
    layers = [
        _axes(others).mark_line(color="lightgray", strokeWidth=1).encode(detail="oracle:N"),
        _axes(own).mark_line(color="#4c78a8", strokeWidth=2.5),
        _axes(points).mark_point(color="#e45756", filled=True, size=60, opacity=1),
    ]
    subtitle = f"{PEOPLE:,} people, {values}; line: theory, points: measured, gray: the other oracles"
    return Chart(alt.layer(*layers).properties(title=alt.Title(name, subtitle=subtitle), width=420, height=280))


def _draw_all(
    lines: list[dict[str, Any]], points: list[dict[str, Any]], sizes: list[dict[str, Any]], measured: list[dict[str, Any]]
) -> Chart:
    color = alt.Color("oracle:N", scale=COLORS, title=None)
    panels = []
    for against, both in (("epsilon", (lines, points)), ("domain_size", (sizes, measured))):
        theory, found = ([entry for entry in entries if entry["oracle"] != "RR"] for entries in both)
        curves = _axes(theory, against).mark_line(strokeWidth=1.5).encode(color=color)
        dots = _axes(found, against).mark_point(filled=True, size=30, opacity=1).encode(color=color)
        title = f"{VALUES} values" if against == "epsilon" else "epsilon = 1"
        panels.append((curves + dots).properties(title=title, width=380, height=380))
    heading = alt.Title("Standard error of a count", subtitle=f"{PEOPLE:,} people; lines: theory, points: measured")
    return Chart(alt.hconcat(*panels).properties(title=heading))


def _axes(entries: Iterable[dict[str, Any]], against: str = "epsilon") -> Any:
    return log_axes(entries, against, "people")


if __name__ == "__main__":
    main()
