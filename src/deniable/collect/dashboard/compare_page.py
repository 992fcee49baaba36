"""The comparison of two periods or two groups of people: what differs, with a test."""

from __future__ import annotations

from deniable.collect.analysis.analyst import Comparisons, TooFew
from deniable.collect.analysis.answer import AskedQuestion
from deniable.collect.analysis.presentation import estimates_in
from deniable.collect.dashboard.answers import SharedAnswers
from deniable.collect.dashboard.charts import chart_figure, chart_name, charts_for
from deniable.collect.dashboard.html import Node, element, quoted
from deniable.collect.dashboard.layout import Visit, facts
from deniable.collect.dashboard.question_view import SHOWN, Told, estimate_table, labelled
from deniable.collect.dashboard.selection_form import SelectionText, period_field, read_selection, stratum_fields
from deniable.collect.dashboard.task_pages import Seen
from deniable.collect.dashboard.words import label
from deniable.collect.web.shapes import CompareQuery
from deniable.contract.readable import epsilon_text
from deniable.contract.task import Task
from deniable.core.figure import Spec
from deniable.core.saved import SavedEstimate
from deniable.core.table import cell_text
from deniable.errors import ParameterError

SIDES = (("first", "From"), ("second", "To"))


def see_comparison(answers: SharedAnswers, task: Task, visit: Visit, query: CompareQuery, raw: str) -> Seen:
    """Return what differs between the two selections, or why that is not shown."""
    first = read_selection(task, SelectionText(query.first, query.stratum_first))
    second = read_selection(task, SelectionText(query.second, query.stratum_second))
    if not visit.sees:
        return _nothing("Only analysts can see estimates: sign in with an access token.")
    try:
        changes = answers.compare(task.id, first, second, query.alpha, public=visit.public)
    except TooFew:
        return _nothing(
            f"One of the two has fewer than {task.minimum_batch:,} reports. The task promises to show nothing below that number."
        )
    except ParameterError as error:
        told = "Choose two selections without common reports: two periods, or two labels." if first.overlaps(second) else str(error)
        return _nothing(told)
    return _told(changes, task, raw)


def compare_body(seen: Seen, task: Task, query: CompareQuery, now: float) -> list[Node]:
    """Return the page of a comparison."""
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


def _told(changes: Comparisons, task: Task, raw: str) -> Seen:
    charts: dict[str, Spec] = {}
    sections: list[Node] = []
    for place, (name, comparison) in enumerate(changes.comparisons.items()):
        picture = f"/tasks/{task.id.hex()}/compare/chart.svg{raw}{'&' if raw else '?'}question={place}"
        asked = AskedQuestion.of(task, name, comparison.first)
        (found,) = estimates_in(asked.answer(comparison.shortened(SHOWN))).values()
        domain = None if asked.spec is None else asked.spec.domain
        changed = [label(value, domain) for value in comparison.changed(changes.alpha_each)]
        told = tell_change(asked, labelled(found, domain), changed, place, picture=picture, titled=len(changes.comparisons) > 1)
        sections.append(told.section)
        charts |= told.drawn(place)
    return Seen(element("div", *sections), charts)


def tell_change(asked: AskedQuestion, shown: SavedEstimate, changed: list[str], place: int, *, picture: str, titled: bool) -> Told:
    """Return what changed, in a sentence, a chart and a table."""
    if shown.single:
        only = cell_text(shown.labels[0])
        verdict = f"The {only} changed" if changed else f"The {only} did not change significantly"
    else:
        verdict = f"{len(changed)} of {shown.family_size:,} values changed" if changed else "No value changed significantly"
    charts = charts_for(shown, SHOWN)
    figures = [
        chart_figure(chart_name(place, number), f"{picture}&figure={number}", f"{told}; dashed: no change")
        for number, (told, _) in enumerate(charts)
    ]
    section = element(
        "section",
        element("h2", quoted(asked.question), id=f"question-{place}") if titled else None,
        element("p", element("strong", verdict, class_="share small"), class_="headline"),
        *figures,
        estimate_table(shown, f"{place}", shown.family_size, marks=dict.fromkeys(changed, "changed")),
        facts(("Epsilon", epsilon_text(asked.guarantee.epsilon)), ("Mechanism", asked.mechanism)),
        class_="question",
    )
    return Told(section, [chart for _, chart in charts])


def _nothing(told: str) -> Seen:
    return Seen(element("div", element("p", told, class_="notice")), {})
