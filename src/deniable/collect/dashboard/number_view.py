"""The answer to a question about a number: the mean and its interval, in the units that people typed, and where there is one the curve."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from deniable.collect.analysis.answer import MANNERS, picked_rows
from deniable.collect.analysis.number_table import NumberTable, changes_table, estimate_table, row_width
from deniable.collect.analysis.numbers import biased_in_words, read
from deniable.collect.dashboard.html import Element, element, quoted, table
from deniable.collect.dashboard.layout import facts
from deniable.collect.dashboard.pictures import change_chart, curve_chart, number_chart
from deniable.collect.dashboard.question_parts import Told, chart_figure
from deniable.collect.dashboard.words import epsilon_in_words, signs
from deniable.collect.tasks.number_asking import mean_of
from deniable.core.integrity import IntegrityReport


def tell_number(name: str, estimate: Any, place: int, *, picture: str, titled: bool, tested: IntegrityReport | None = None) -> Told:
    """The answer to the question at this place; ``picture`` is the address of its chart for pages without script."""
    answer = MANNERS[estimate.kind].estimate_json(name, estimate)
    told, mean = estimate_table(answer), picked_rows(answer, 1)[0]
    lines = [[value, found, f"{low} to {high}"] for value, found, _, low, high in told.lines]
    curve = [row | {"value": read(row["value"])} for row in answer.get("curve", ())]
    drawn = "Shares of people at or below each point, and their intervals." if curve else "Point: the estimate; line: its interval."
    section = element(
        "section",
        element("h2", quoted(name), id=f"question-{place}") if titled else None,
        _headline(told, place),
        chart_figure(f"chart-{place}", picture, drawn),
        table(
            element("span", f"{told.caption}.", data_live=f"caption-{place}"),
            ["value", "estimate", "interval"],
            lines,
            live=f"rows-{place}",
        ),
        _trust(estimate, told, mean, place, tested),
        aria_labelledby=f"question-{place}" if titled else None,
        class_="question",
    )
    domain = estimate.domain
    ends = [domain.shown(float(end)) for end in (domain.start, domain.start + domain.width)]
    return Told(section, curve_chart(curve) if curve else number_chart(ends, mean))


def tell_change(answer: Mapping[str, Any], place: int, *, picture: str, titled: bool) -> Told:
    """How a mean changed, from one question's part of the JSON."""
    told, rows = changes_table(answer), picked_rows(answer, 1)
    verdict = "The mean changed" if told.changed else "The mean did not change so much that chance could not explain it"
    counted = f"{answer['n_before']:,} and {answer['n_after']:,} reports, {answer['mechanism']}"
    lines = [[*line[:4], f"{line[4]} to {line[5]}", "changed" if told.changed else "–"] for line in told.lines]
    section = element(
        "section",
        element("h2", quoted(answer["question"]), id=f"question-{place}") if titled else None,
        element("p", element("strong", verdict, class_="share small"), class_="headline"),
        chart_figure(f"chart-{place}", picture, "The change of the mean. Point: estimate; line: interval; dashed: no change."),
        table(f"{told.caption}. {counted}.", ["value", "before", "after", "change", "interval", "test"], lines),
        class_="question",
    )
    title = f"change of the mean{', seconds' if answer['seconds'] else ''}"
    return Told(section, change_chart(rows, [row["value"] for row in rows], title=title, form="+,.4~g"))


def _headline(told: NumberTable, place: int) -> Element:
    value, found, _, low, high = told.lines[0]
    return element(
        "p",
        element("span", value, class_="value", data_live=f"value-{place}"),
        element("strong", found, class_="share", data_live=f"share-{place}"),
        element("span", f"{low} to {high}", class_="interval", data_live=f"interval-{place}"),
        element("span", f"interval: {told.reach}", class_="reach"),
        class_="headline",
    )


def _trust(estimate: Any, told: NumberTable, mean: Mapping[str, Any], place: int, tested: IntegrityReport | None) -> Element:
    """What the number rests on."""
    spec = mean_of(estimate.spec)
    false = f"{ceil(row_width(mean) * estimate.n / spec.influence):,} of {estimate.n:,}" if spec is not None else None
    return facts(
        ("Reports", element("span", f"{estimate.n:,}", data_live=f"n-{place}")),
        ("Epsilon", epsilon_in_words(estimate.spec.epsilon)),
        ("Mechanism", estimate.spec.mechanism),
        ("Answers", estimate.domain.describe()),
        ("Standard error", element("span", told.lines[0][2], data_live=f"error-{place}")),
        ("Biased", biased_in_words(estimate)),
        ("Liars who would move the mean by its interval", element("span", false, data_live=f"liars-{place}") if false else None),
        ("Signs of made-up reports", element("span", signs(tested), data_live=f"made-up-{place}") if tested else None),
    )
