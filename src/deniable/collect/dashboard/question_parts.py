"""What the answers to all kinds of questions are made of: a section that is written, and a chart that is drawn."""

from __future__ import annotations

from typing import NamedTuple

from deniable.collect.dashboard.html import Element, element
from deniable.core.figure import Spec


class Told(NamedTuple):
    """A question's answer: what is written, and what is drawn."""

    section: Element
    charts: list[Spec]

    def drawn(self, place: int) -> dict[str, Spec]:
        """The charts by their names on the page."""
        return {chart_name(place, number): chart for number, chart in enumerate(self.charts)}


def chart_name(place: int, number: int = 0) -> str:
    """What a chart of the question at a place is called on the page."""
    return f"chart-{place}-{number}" if number else f"chart-{place}"


def chart_figure(name: str, picture: str, caption: str) -> Element:
    """A chart that a script draws, and without script its picture, light or dark."""
    join = "&" if "?" in picture else "?"
    alternative = "Chart; the table below says the same."
    drawn = element(
        "picture",
        element("source", srcset=f"{picture}{join}theme=dark", media="(prefers-color-scheme: dark)"),
        element("img", src=picture, alt=alternative),
    )
    return element(
        "figure",
        element("div", data_chart=name, class_="chart", role="img", aria_label=alternative),
        element("noscript", drawn),
        element("figcaption", caption),
    )
