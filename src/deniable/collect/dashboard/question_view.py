"""The answer to one question as people read it: the number and its interval, the charts, the table, and how far to trust them.

Everything comes from the JSON of an estimate, of any kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from math import ceil, isfinite
from typing import Any, NamedTuple

from deniable.client.frequency import FrequencySpec
from deniable.collect.analysis.answer import AskedQuestion
from deniable.collect.analysis.presentation import estimates_in, first_rows, table_text, unfolded
from deniable.collect.dashboard.charts import chart_figure, chart_name, charts_for
from deniable.collect.dashboard.html import Element, element, quoted, table
from deniable.collect.dashboard.layout import facts
from deniable.collect.dashboard.words import label, signs
from deniable.contract.domain import Domain
from deniable.contract.readable import between, confidence, digits, epsilon_text, percent
from deniable.contract.spec import Spec
from deniable.core.estimate import Estimate
from deniable.core.figure import Spec as Chart
from deniable.core.integrity import IntegrityReport
from deniable.core.saved import SavedEstimate
from deniable.core.table import cell_text
from deniable.tasks.plan import detectable

SHOWN = 20
"""The most values that are listed and drawn."""
YES = "1 (yes)"


class Told(NamedTuple):
    """A question's answer: its section of the page and its charts."""

    section: Element
    charts: list[Chart]

    def drawn(self, place: int) -> dict[str, Chart]:
        """The charts by their names on the page."""
        return {chart_name(place, number): chart for number, chart in enumerate(self.charts)}


class Lead(NamedTuple):
    """The headline: its label, the number, its interval (if any) and the interval's width."""

    label: str
    number: str
    interval: str | None
    width: float | None


def tell(
    asked: AskedQuestion, estimate: Estimate, place: int, *, picture: str, titled: bool, tested: IntegrityReport | None = None
) -> Told:
    """Return the answer to the question at this place; ``picture`` is the address of its chart for pages without script."""
    answer, sizes = asked.answer(first_rows(estimate, SHOWN)), {name: len(each.values) for name, each in unfolded(asked.question, estimate)}
    domain = None if asked.spec is None else asked.spec.domain
    parts, charts = list[Element | None](), list[Chart]()
    for number, (name, found) in enumerate(estimates_in(answer).items()):
        shown, key = labelled(found, domain), f"{place}-{number}" if number else f"{place}"
        if shown.falling and shown.family_size > 2:  # the largest come first, so readers select from all of them
            shown = shown.jointly()
        lead = lead_of(shown)
        parts += [element("h3" if number else "h2", quoted(name), id=f"question-{key}") if number or titled else None]
        parts += [_headline(shown, lead, key), *_figures(shown, place, picture, charts), estimate_table(shown, key, sizes[name])]
        parts += [_trust(asked, shown, lead, key, tested) if not number else None]
    named = f"question-{place}" if titled else None
    return Told(element("section", *parts, aria_labelledby=named, class_="question"), charts)


def labelled(estimate: Estimate, domain: Domain | None) -> SavedEstimate:
    """Return the estimate with its values as pages write them."""
    if not isinstance(estimate, SavedEstimate):
        raise TypeError("expected an estimate read from JSON")
    if "value" not in estimate.columns or any(isinstance(value, tuple) for value in estimate.values):
        return estimate
    return replace(estimate, columns={**estimate.columns, "value": [label(value, domain) for value in estimate.columns["value"]]})


def lead_of(estimate: SavedEstimate) -> Lead | None:
    """Return the headline: "yes" of yes and no, else the largest or only value; None if no value can stand for the others."""
    brief = estimate.brief()
    if brief is not None:
        names, numbers, *_ = brief.values()
        limits = f"{brief['low'][0]} to {brief['high'][0]}" if names and {"low", "high"} <= set(brief) else None
        return Lead(names[0], numbers[0], limits, _width(estimate.parts.get(names[0], estimate), estimate.covers)) if names else None
    if not len(estimate.values) or not (estimate.falling or estimate.single):
        return None
    rows = estimate.rows()
    names = [cell_text(each) for each in next(iter(rows.values()))]
    place = names.index(YES) if YES in names else int(estimate.order()[0])
    number, ends = rows[estimate.quantity][place], [rows[name][place] for name in ("low", "high") if name in rows]
    width = ends[1] - ends[0] if ends else None
    if estimate.out_of:
        low, high = [each / estimate.out_of for each in ends] or (0.0, 0.0)
        decimals = digits(high - low)
        return Lead(names[place], percent(number / estimate.out_of, decimals), between(low, high, decimals) if ends else None, width)
    return Lead(names[place], cell_text(number), " to ".join(map(cell_text, ends)) or None, width)


def estimate_table(shown: SavedEstimate, key: str, size: int, *, marks: Mapping[str, str] | None = None) -> Element:
    """Return the table of an estimate, or of the first rows of one of this ``size``; ``marks`` fills a last column."""
    names, lines, remarks = table_text(shown, SHOWN)
    if len(shown.values) < size:
        remarks = [*remarks, f"the first {len(shown.values):,} of {size:,} rows"]
    if marks is not None:
        names, lines = [*names, "test"], [[*line, marks.get(line[0], "–")] for line in lines]
    caption = element("span", f"{'; '.join(remarks)}.", data_live=f"caption-{key}")
    return table(caption, names, lines, live=f"rows-{key}")


def _figures(estimate: Estimate, place: int, picture: str, charts: list[Chart]) -> list[Element]:
    """Return the figures of an estimate, and add their charts to ``charts``."""
    told = []
    for caption, chart in charts_for(estimate, SHOWN):
        told.append(chart_figure(chart_name(place, len(charts)), f"{picture}&figure={len(charts)}", caption))
        charts.append(chart)
    return told


def _width(estimate: Estimate, covers: str) -> float | None:
    """Return the width of one number's interval, in its unit or in seconds."""
    if not estimate.single or estimate.shown_level is None:
        return None
    low, high = estimate.interval(estimate.shown_level, population="sampling" in covers)
    width = high - low
    return float(width.total_seconds() if isinstance(width, timedelta) else width)


def _headline(estimate: SavedEstimate, lead: Lead | None, key: str) -> Element | None:
    if lead is None:
        why = "; ".join(estimate.notes()) if not len(estimate.values) else ""
        return element("p", f"{why[:1].upper()}{why[1:]}.", data_live=f"value-{key}") if why else None
    return element(
        "p",
        element("span", quoted(lead.label), class_="value", data_live=f"value-{key}"),
        element("strong", lead.number, class_="share", data_live=f"share-{key}"),
        element("span", lead.interval, class_="interval", data_live=f"interval-{key}") if lead.interval else None,
        element("span", f"interval: {_reach(estimate)}", class_="reach") if lead.interval else None,
        class_="headline",
    )


def _reach(estimate: Estimate) -> str:
    together = f" for all {estimate.family_size:,} values together" if estimate.together else ""
    return f"{confidence(estimate.shown_level or 0.95)}{together}, {estimate.covers}"


def _trust(asked: AskedQuestion, estimate: Estimate, lead: Lead | None, key: str, tested: IntegrityReport | None) -> Element:
    """Return what the numbers rest on: reports, privacy, and what false reports can do."""
    n = estimate.n if isinstance(estimate.n, int) else None
    smallest = smallest_share(asked.spec, n)
    moving = liars(asked.spec, n, lead.width) if lead is not None and lead.width is not None and isfinite(lead.width) else None
    return facts(
        ("Reports", element("span", f"{n:,}", data_live=f"n-{key}") if n is not None else None),
        ("Epsilon", epsilon_text(asked.guarantee.epsilon)),
        ("Mechanism", asked.mechanism),
        ("Answers", asked.spec.domain.describe() if asked.spec is not None else None),
        ("Privacy unit", asked.guarantee.unit),
        ("Neighboring inputs", asked.guarantee.neighbors),
        ("Smallest detectable share", _live("smallest", key, percent(smallest, digits(smallest))) if smallest is not None else None),
        (
            "False reports needed to move the headline by one interval",
            _live("liars", key, f"{moving:,} of {n:,}") if moving is not None else None,
        ),
        ("Signs of tampering", _live("made-up", key, signs(tested)) if tested else None),
    )


def smallest_share(spec: Spec | None, n: int | None) -> float | None:
    """Return the smallest share that n reports detect with 50 % power; None if unknown or if nothing is hidden."""
    return detectable(spec, n) if isinstance(spec, FrequencySpec) and n else None


def liars(spec: Spec | None, n: int | None, width: float) -> int | None:
    """Return how many false reports move a number by the width of its interval; None if unknown."""
    if isinstance(spec, FrequencySpec):
        return ceil(width / spec.influence)
    mean: Any = None if spec is None else spec.mean_spec
    return None if mean is None or not n else ceil(width * n / mean.influence)


def _live(name: str, key: str, text: str) -> Element:
    return element("span", text, data_live=f"{name}-{key}")
