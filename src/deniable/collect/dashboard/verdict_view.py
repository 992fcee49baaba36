"""How strong a promise is, as pages show it: in words first, and in a color that says the same."""

from __future__ import annotations

from collections.abc import Iterable

from deniable.collect.dashboard.html import Element, element
from deniable.contract.verdict import Verdict


def verdict_list(verdicts: Iterable[Verdict]) -> Element:
    """One line for each condition."""
    return element("ul", *(_line(verdict) for verdict in verdicts), class_="verdicts")


def verdict_class(verdict: Verdict) -> str:
    """What the style sheet colors a verdict by."""
    return f"verdict {verdict.level.replace(' ', '-')}"


def _line(verdict: Verdict) -> Element:
    title = f"{verdict.title[0].upper()}{verdict.title[1:]}"
    when = element("span", f"{verdict.when}: ", class_="condition") if verdict.when else None
    told = " ".join(filter(None, (verdict.guess, verdict.beyond)))
    return element("li", when, element("strong", title), element("span", told), class_=verdict_class(verdict))
