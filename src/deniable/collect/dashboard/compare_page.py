"""Two periods, or two kinds of people, beside each other: what differs, with a test."""

from __future__ import annotations

from typing import Any

from deniable.collect.analysis.analyst import Changes, TooFew
from deniable.collect.analysis.answer import picked_rows
from deniable.collect.dashboard.answers import Answers
from deniable.collect.dashboard.figures import SHOWN
from deniable.collect.dashboard.html import Element, Node, element, quoted, table
from deniable.collect.dashboard.layout import Visit
from deniable.collect.dashboard.number_view import tell_change
from deniable.collect.dashboard.pictures import Spec, change_chart
from deniable.collect.dashboard.question_parts import chart_figure
from deniable.collect.dashboard.selecting import Choice, period_field, read_selection, stratum_fields
from deniable.collect.dashboard.task_page import Seen
from deniable.collect.dashboard.words import between, digits, label, percent
from deniable.collect.web.shapes import CompareQuery
from deniable.contract.task import Task
from deniable.core.rounding import level_text
from deniable.errors import ParameterError

SIDES = (("first", "From"), ("second", "To"))


def see_comparison(answers: Answers, task: Task, visit: Visit, query: CompareQuery, raw: str) -> Seen:
    """What differs between the two selections, or why that is not shown."""
    first = read_selection(task, Choice(query.first, query.stratum_first))
    second = read_selection(task, Choice(query.second, query.stratum_second))
    if not visit.sees:
        return _nothing("Estimates are for this collector's analysts: sign in with a token to see them.")
    try:
        changes = answers.compare(task.id, first, second, query.alpha, public=visit.public)
    except TooFew:
        return _nothing(f"One of the two has fewer than {task.minimum_batch:,} reports: nothing is shown below that, as the task promises.")
    except ParameterError as error:
        told = "Choose two that have no reports in common: two periods, or two labels." if first.overlaps(second) else str(error)
        return _nothing(told)
    return _told(changes, task, raw)


def compare_body(seen: Seen, task: Task, query: CompareQuery, now: float) -> list[Node]:
    """The page of a comparison."""
    here = f"/tasks/{task.id.hex()}"
    sides = []
    for name, told in SIDES:
        chosen = getattr(query, f"stratum_{name}")
        fields: list[Node] = [*stratum_fields(task, name=f"stratum_{name}", identity=f"stratum-{name}", told="", chosen=chosen)]
        periods = period_field(task, now, name=name, identity=f"period-{name}", told="Period", chosen=getattr(query, name))
        sides.append(element("fieldset", element("legend", told), *([periods] if periods else []), *fields))
    buttons = element("div", element("button", "Compare"), class_="actions")
    return [
        element("p", element("a", "Tasks", href="/"), " / ", element("a", quoted(task.name), href=here), " / compare", class_="trail"),
        element("h1", quoted(task.question)),
        element("form", *sides, buttons, method="get", action=f"{here}/compare", class_="choice", aria_label="What is compared"),
        element("div", seen.result, id="result"),
    ]


def _told(changes: Changes, task: Task, raw: str) -> Seen:
    content = changes.to_json()
    charts: dict[str, Spec] = {}
    sections: list[Node] = []
    for place, answer in enumerate(content["answers"]):
        picture = f"/tasks/{task.id.hex()}/compare/chart.svg{raw}{'&' if raw else '?'}question={place}"
        if "kind" in answer:
            told = tell_change(answer, place, picture=picture, titled=len(content["answers"]) > 1)
            sections.append(told.section)
            charts |= told.drawn(place)
            continue
        rows = picked_rows(answer, SHOWN)
        domain = changes.comparisons[answer["question"]].first.spec.domain
        labels = [label(row["value"], domain) for row in rows]
        sections.append(_section(answer, rows, labels, place, picture, titled=len(content["answers"]) > 1))
        charts[f"chart-{place}"] = change_chart(rows, labels)
    return Seen(element("div", *sections), charts)


def _section(answer: dict[str, Any], rows: list[dict[str, Any]], labels: list[str], place: int, picture: str, *, titled: bool) -> Element:
    changed = [text for row, text in zip(rows, labels, strict=True) if row["changed"]]
    told = (
        f"{len(changed)} of {answer['values']:,} values changed" if changed else "No value changed so much that chance could not explain it"
    )
    decimals = digits(max((row["high"] - row["low"] for row in rows), default=0.0))
    lines = [
        [
            text,
            *(percent(row[name], decimals) for name in ("before", "after", "change")),
            between(row["low"], row["high"], decimals),
            "changed" if row["changed"] else "–",
        ]
        for row, text in zip(rows, labels, strict=True)
    ]
    counted = f"{answer['n_before']:,} and {answer['n_after']:,} reports, {answer['mechanism']}"
    level = f"{level_text(1 - answer['alpha'])}, for all {answer['values']:,} values together"
    caption = f"Shares before and after; intervals of the change: {level}, for noise and sampling. {counted}."
    return element(
        "section",
        element("h2", quoted(answer["question"]), id=f"question-{place}") if titled else None,
        element("p", element("strong", told, class_="share small"), class_="headline"),
        chart_figure(f"chart-{place}", picture, "Changes of shares. Points: estimates; lines: intervals; dashed: no change."),
        table(caption, ["value", "before", "after", "change", "interval", "test"], lines),
        class_="question",
    )


def _nothing(told: str) -> Seen:
    return Seen(element("div", element("p", told, class_="notice")), {})
