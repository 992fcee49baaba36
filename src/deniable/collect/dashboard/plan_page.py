"""The planner: the errors to expect from a survey before anyone is asked, and the price of trusting nobody."""

from __future__ import annotations

from typing import NamedTuple

from deniable.collect.dashboard.charts import chart_figure, error_chart
from deniable.collect.dashboard.html import Element, Node, element, table
from deniable.collect.dashboard.plan_figures import LARGEST_DOMAIN, MOST_PEOPLE, Planned, PlanQuery, plan_for
from deniable.collect.dashboard.promise import verdict_class
from deniable.collect.dashboard.task_pages import Seen
from deniable.contract.probability import LARGEST_EPSILON, SMALLEST_EPSILON
from deniable.contract.readable import digits, number, percent
from deniable.contract.verdict import Verdict


class Field(NamedTuple):
    """A setting of the plan: its name and label, the values allowed, and the range of its slider."""

    name: str
    told: str
    least: float
    most: float
    step: str
    slides: tuple[float, float]


FIELDS = (
    Field("n", "Number of respondents", 1, MOST_PEOPLE, "1", (100, 10_000_000)),
    Field("epsilon", "Epsilon (privacy cost)", SMALLEST_EPSILON, LARGEST_EPSILON, "any", (0.1, 10)),
    Field("domain_size", "Number of possible values", 2, LARGEST_DOMAIN, "1", (2, LARGEST_DOMAIN)),
)


def see_plan(query: PlanQuery, raw: str) -> Seen:
    """Return the figures of a plan."""
    found = plan_for(query)
    best = found.best
    width = 4 * best["frequency"]
    verdict = Verdict(query.epsilon, when="One answer at this epsilon")
    lines = [
        [
            row["value"],
            f"± {percent(row['frequency'])}",
            number(row["frequency"] / found.central),
            percent(row["detectable"]),
            f"{row['bits']:,}",
            percent(row["liars"]),
        ]
        for row in found.rows
    ]
    told = (
        "Expected error of each mechanism: the standard error of a share, averaged over the values. × trusted: compared with a trusted "
        "collector. Smallest share: detectable with 50 % power. 1 % false: how far 1 % false reports can raise a share."
    )
    result = element(
        "div",
        element(
            "p",
            element("span", best["value"], class_="value", data_live="value"),
            element("strong", f"± {percent(best['frequency'])}", class_="share", data_live="share"),
            element("span", f"95 % interval about {percent(width, digits(width))} wide", class_="interval", data_live="interval"),
            element("span", "standard error of a share with the best mechanism, in the local model", class_="reach"),
            class_="headline",
        ),
        element("p", str(verdict), class_=verdict_class(verdict), id="verdict", data_live="verdict"),
        _price(found),
        chart_figure("chart-plan", f"/plan/chart.svg{raw}", "Standard error of a share against epsilon, both logarithmic."),
        _legend(found),
        table(told, ["mechanism", "error", "× trusted", "smallest share", "bits", "1 % false"], lines, live="rows"),
        element("p", _left_out(found), class_="note", data_live="left-out"),
    )
    return Seen(result, {"chart-plan": error_chart(found.points, query.epsilon)})


def plan_body(seen: Seen, query: PlanQuery) -> list[Node]:
    """Return the planner's page."""
    fields = [_field(field, getattr(query, field.name)) for field in FIELDS]
    return [
        element("h1", "Planner"),
        element("p", "How accurate would a survey be? All figures are closed forms, not simulations.", class_="when"),
        element(
            "form",
            *fields,
            element("div", element("button", "Compute"), class_="actions"),
            method="get",
            action="/plan",
            class_="choice plan",
            aria_label="Settings of the plan",
        ),
        element("div", seen.result, id="result"),
    ]


def _price(found: Planned) -> Element:
    times = number(found.best["frequency"] / found.central)
    told = (
        f"A trusted collector that sees every answer and adds the noise itself would have a standard error of ± {percent(found.central)}. "
        f"Trusting nobody costs {times} times that. With an honest shuffler, the whole batch keeps this epsilon (delta = 10⁻⁶) if each "
        f"device spends {found.local_epsilon:.2g}, and the error is ± {percent(found.shuffled)}. If shuffler and collector work together, "
        f"only that larger epsilon holds: {Verdict(found.local_epsilon).title}."
    )
    return element("p", told, class_="price", data_live="price")


def _legend(found: Planned) -> Element:
    entries = (
        ("best", f"best: {found.best['value']}", "legend-best"),
        ("other", "other mechanisms", None),
        ("shuffled", "best, with an honest shuffler", None),
        ("central", "trusted collector", None),
    )
    items = [
        element("li", element("span", class_=f"swatch {kind}", aria_hidden="true"), element("span", told, data_live=live))
        for kind, told, live in entries
    ]
    return element("ul", *items, class_="legend")


def _left_out(found: Planned) -> str:
    return f"Left out: {'; '.join(found.left_out)}." if found.left_out else "All mechanisms can count these values."


def _field(field: Field, value: float) -> Element:
    box = element(
        "input",
        type="number",
        id=field.name,
        name=field.name,
        value=f"{value:g}" if isinstance(value, float) else value,
        min=field.least,
        max=field.most,
        step=field.step,
        required=True,
        data_slide_from=field.slides[0],
        data_slide_to=field.slides[1],
    )
    return element("div", element("label", field.told, for_=field.name), box, class_="field")
