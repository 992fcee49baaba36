"""The answer to one question as people read it: the number and its interval, the chart, the table, and how far to trust them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deniable.collect.dashboard.figures import SHOWN, Row, headline_of, liars, reach, rows_of, smallest_share
from deniable.collect.dashboard.html import Element, element, quoted, table
from deniable.collect.dashboard.layout import facts
from deniable.collect.dashboard.number_view import tell_number
from deniable.collect.dashboard.pictures import share_chart
from deniable.collect.dashboard.question_parts import Told, chart_figure
from deniable.collect.dashboard.words import between, digits, epsilon_in_words, number, percent, signs
from deniable.core.frequency import FrequencyEstimate
from deniable.core.integrity import IntegrityReport


def tell(name: str, estimate: Any, place: int, *, picture: str, titled: bool, tested: IntegrityReport | None = None) -> Told:
    """The answer to the question at this place; ``picture`` is the address of its chart for pages without script."""
    return TELLERS[estimate.kind](name, estimate, place, picture=picture, titled=titled, tested=tested)


def tell_shares(
    name: str, estimate: FrequencyEstimate, place: int, *, picture: str, titled: bool, tested: IntegrityReport | None = None
) -> Told:
    """The answer in shares of the people who hold each value."""
    rows = rows_of(estimate)
    decimals = digits(max((row.width for row in rows), default=0.0))
    lines = [[row.label, _share(row, decimals), between(row.low, row.high, decimals), number(round(row.count))] for row in rows]
    more = f" The {SHOWN} largest of {estimate.family_size:,}." if estimate.family_size > len(rows) else ""
    noise = " Shares that may be noise: so few reports cannot tell them from zero." if any(not row.significant for row in rows) else ""
    dropped = "".join(f" {note[:1].upper()}{note[1:]}." for note in estimate.notes())
    section = element(
        "section",
        element("h2", quoted(name), id=f"question-{place}") if titled else None,
        _headline(estimate, place),
        chart_figure(f"chart-{place}", picture, "Estimated shares. Bars: estimates; lines: intervals."),
        table(
            element("span", f"Estimated shares; intervals: {reach(estimate)}.{more}{noise}{dropped}", data_live=f"caption-{place}"),
            ["value", "share", "interval", "people"],
            lines,
            live=f"rows-{place}",
        ),
        _trust(estimate, place, tested),
        aria_labelledby=f"question-{place}" if titled else None,
        class_="question",
    )
    return Told(section, share_chart(rows))


def _share(row: Row, decimals: int) -> str:
    return percent(row.share, decimals) + ("" if row.significant else " (may be noise)")


def _headline(estimate: FrequencyEstimate, place: int) -> Element | None:
    row = headline_of(estimate)
    if row is None:
        why = "; ".join(estimate.notes())
        return element("p", f"{why[:1].upper()}{why[1:]}." if why else "No value was found.", data_live=f"value-{place}")
    decimals = digits(row.width)
    return element(
        "p",
        element("span", quoted(row.label), class_="value", data_live=f"value-{place}"),
        element("strong", percent(row.share, decimals), class_="share", data_live=f"share-{place}"),
        element("span", between(row.low, row.high, decimals), class_="interval", data_live=f"interval-{place}"),
        element("span", f"interval: {reach(estimate)}; it covers the randomness of the reports", class_="reach"),
        class_="headline",
    )


def _trust(estimate: FrequencyEstimate, place: int, tested: IntegrityReport | None) -> Element:
    """What the number rests on."""
    smallest, moving = smallest_share(estimate), liars(estimate)
    told = f"{percent(smallest, digits(smallest))}" if smallest is not None else None
    false = f"{moving:,} of {estimate.n:,}" if moving is not None else None
    return facts(
        ("Reports", element("span", f"{estimate.n:,}", data_live=f"n-{place}")),
        ("Epsilon", epsilon_in_words(estimate.epsilon)),
        ("Mechanism", estimate.spec.mechanism),
        ("Smallest share told from zero", element("span", told, data_live=f"smallest-{place}") if told else None),
        ("Liars who would move the headline by its interval", element("span", false, data_live=f"liars-{place}") if false else None),
        ("Signs of made-up reports", element("span", signs(tested), data_live=f"made-up-{place}") if tested else None),
    )


TELLERS: dict[str, Callable[..., Told]] = {"frequency": tell_shares, "mean": tell_number, "distribution": tell_number}
"""By the kind of an estimate."""
