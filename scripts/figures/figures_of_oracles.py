"""The figures of frequency oracles: the standard error of each, theory as lines and measurement as points, and one picture of all.

The crowd is flat: every value is held by as many people. Measured is the root mean square error over all values and repetitions; sketches
and Bloom filters draw new hash functions for each repetition. Streams are fixed, so that the same figures come out again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import altair as alt
import numpy as np
from figure_frame import Entry, Recipe, framed, lines_and_points, log_axes

from deniable.client.bloom_rr import BloomRR
from deniable.client.frequency import FrequencySpec
from deniable.client.longitudinal import Longitudinal
from deniable.client.sketch import SketchProtocol
from deniable.contract.spec import MECHANISMS
from deniable.core.chart import Chart
from deniable.local.oracle_choice import planned_variance
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
EVERY = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec))
OF_ONE_REPORT = [name for name in EVERY if not issubclass(MECHANISMS[name], Longitudinal)]
"""The others' epsilon is about more than one report: no picture of one has a line of theirs."""
COMPARED = [name for name in OF_ONE_REPORT if name != "RR"]
"""RR has two values; all others are drawn with the same number."""

NAMED = ["GRR", "SubsetSelection", "OUE", "OLH", "HRR", "CMS"]
"""Drawn in color where all are compared."""


def of_one(name: str) -> Chart:
    """One oracle, the others in gray."""
    own = [line(name, "epsilon", epsilon) for epsilon in LINE]
    others = [line(other, "epsilon", epsilon) for other in COMPARED if other != name for epsilon in LINE]
    points = [point(name, "epsilon", epsilon) for epsilon in EPSILONS]
    layers = [
        log_axes(others, "epsilon", "people").mark_line(color="lightgray", strokeWidth=1).encode(detail="name:N"),
        log_axes(own, "epsilon", "people").mark_line(color="#4c78a8", strokeWidth=2.5),
        log_axes(points, "epsilon", "people").mark_point(color="#e45756", filled=True, size=60, opacity=1),
    ]
    values = f"{2 if name == 'RR' else VALUES} values"
    subtitle = [f"{PEOPLE:,} people, {values}", "line: theory, points: measured, gray: other mechanisms"]
    return framed(alt.layer(*layers), name, subtitle, width=420, height=280)


def of_all() -> Chart:
    """All oracles, against epsilon and against the number of values: a few in color, the others in gray."""
    axes: dict[str, tuple[Any, Any]] = {"epsilon": (LINE, EPSILONS), "domain_size": (2 ** np.arange(1, 13), SIZES)}
    color = alt.Color("name:N", scale=alt.Scale(domain=NAMED, scheme="tableau10"), title=None)
    panels = []
    for against, (everywhere, somewhere) in axes.items():
        theory = [line(name, against, where) for name in COMPARED for where in everywhere]
        found = [point(name, against, where) for name in NAMED for where in somewhere]
        title = f"{VALUES} values" if against == "epsilon" else "epsilon = 1"
        gray = log_axes((entry for entry in theory if entry["name"] not in NAMED), against, "people")
        few, measured = ([entry for entry in some if entry["name"] in NAMED] for some in (theory, found))
        drawn = lines_and_points(few, measured, against, "people", color=color, size=30)
        others = gray.mark_line(color="lightgray", strokeWidth=1).encode(detail="name:N")
        panels.append(alt.layer(others, drawn).properties(title=title, width=380, height=380))
    heading = alt.Title("Standard error of a count", subtitle=f"{PEOPLE:,} people; lines: theory, points: measured, gray: other mechanisms")
    return Chart(alt.hconcat(*panels).properties(title=heading, padding={"left": 5, "top": 5, "bottom": 5, "right": 20}))


def spec_of(name: str, against: str, where: float) -> FrequencySpec:
    """An oracle with its default parameters at one place of an axis."""
    options: dict[str, Any] = {"epsilon": 1.0, "domain_size": 2 if name == "RR" else VALUES} | {against: where}
    made: FrequencySpec = MECHANISMS[name](**options)  # type: ignore[assignment,call-arg]  # chosen among frequency oracles
    return made


@cache
def line(name: str, against: str, where: float) -> Entry:
    """What theory says; no error where it has no answer."""
    where = int(where) if against == "domain_size" else where
    spec = spec_of(name, against, where)
    variance = planned_variance(spec, PEOPLE, 1 / spec.domain_size)
    if isinstance(spec, SketchProtocol):  # planning takes the worst crowd; in a flat one collisions add less
        variance += spec.collisions * (PEOPLE**2 / spec.domain_size - PEOPLE**2)
    return {"name": name, against: where, "error": variance**0.5 if np.isfinite(variance) else None}


@cache
def point(name: str, against: str, where: float) -> Entry:
    """What comes out."""
    spec = spec_of(name, against, where)
    held = np.full(spec.domain_size, PEOPLE // spec.domain_size)
    values, source = np.repeat(np.arange(spec.domain_size), held), ReplaySource.from_key(f"{name}/{where}")
    repetitions = max(40, CELLS // spec.domain_size)
    square = 0.0
    for salt in range(repetitions):
        drawn: Any = replace(spec, salt=salt) if isinstance(spec, SketchProtocol | BloomRR) else spec
        square += np.mean((drawn.estimate(drawn.tally(drawn.privatize(values, source=source))).counts - held) ** 2)
    return {"name": name, against: where, "error": (square / repetitions) ** 0.5}


FIGURES: dict[str, Recipe] = {PAGES.get(name, name.lower()): partial(of_one, name) for name in EVERY} | {"error": of_all}
