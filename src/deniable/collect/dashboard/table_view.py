"""A result of any kind as people read it: its own chart, its own table, and what it cost those who took part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deniable.collect.analysis.table_text import table_text
from deniable.collect.dashboard.figures import SHOWN
from deniable.collect.dashboard.html import Element, element, quoted, table
from deniable.collect.dashboard.layout import facts
from deniable.collect.dashboard.question_parts import Told, chart_figure
from deniable.collect.dashboard.words import epsilon_in_words


def tell_table(answer: Mapping[str, Any], place: int, *, picture: str, titled: bool) -> Told:
    """A result from its part of the JSON; ``picture`` is the address of its chart for pages without script."""
    told, chart = table_text(answer, SHOWN), answer.get("chart")
    section = element(
        "section",
        element("h2", quoted(answer["question"]), id=f"question-{place}") if titled else None,
        chart_figure(f"chart-{place}", picture, "The result with its errors.") if chart else None,
        table(element("span", f"{told.caption}.", data_live=f"caption-{place}"), list(told.names), told.lines, live=f"rows-{place}"),
        facts(("Reports", element("span", f"{answer['n']:,}", data_live=f"n-{place}"))),
        aria_labelledby=f"question-{place}" if titled else None,
        class_="question",
    )
    return Told(section, chart)


def tell_cost(answer: Mapping[str, Any]) -> Element:
    """What all results of a protocol have cost those who took part, once for all of them."""
    promise = answer["guarantee"]
    return facts(
        ("Protocol", answer["mechanism"]),
        ("Epsilon", epsilon_in_words(answer["epsilon"])),
        ("Holds for", promise["unit"]),
        ("Hidden among each other", promise["neighbors"]),
    )
