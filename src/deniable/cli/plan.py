"""``deniable plan``: what a survey of counts or of a mean would show, and what it would cost, before you ask anyone."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from deniable.cli.console import LEVELS, out, print_json, table, tell, working
from deniable.cli.mechanisms import Mechanism
from deniable.cli.options import Chart, Epsilon, Json, People
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.tasks.plan import Plan

Shown = tuple[dict[str, str], str]
"""Some columns of a plan with their heads, and the text below them."""
plan = typer.Typer(invoke_without_command=True, subcommand_metavar="")
TELLS = {
    "value": "mechanism",
    "error": "±\npeople",
    "frequency": "±\nshare",
    "people": "people\nneeded",
    "epsilon": "epsilon\nneeded",
    "detectable": "smallest\nshare",
}
COSTS = {
    "value": "mechanism",
    "bits": "bits",
    "device": "random\nwords",
    "server": "server\nseconds",
    "guess": "best\nguess",
    "influence": "one\nfalse",
    "liars": "1 %\nfalse",
}
MEAN_TELLS = {
    "value": "mechanism",
    "error": "±\nmean",
    "sum": "±\nsum",
    "central": "times\ncentral",
    "people": "people\nneeded",
    "epsilon": "epsilon\nneeded",
}
MEAN_COSTS = {"value": "mechanism", "bits": "bits", "influence": "one\nreport", "liars": "1 %\nfalse"}


@plan.callback()
def frequencies(
    context: typer.Context,
    domain_size: Annotated[int | None, typer.Option(help="How many different answers there are.")] = None,
    epsilon: Epsilon = 1.0,
    people: People = 100_000,
    error: Annotated[float | None, typer.Option(help="The standard error of a share to aim at, such as 0.001.")] = None,
    mechanism: Annotated[list[Mechanism] | None, typer.Option(help="A mechanism; repeat it for more; all if left out.")] = None,
    chart: Chart = None,
    json_output: Json = False,
) -> None:
    """Compare mechanisms for counting before you collect data: errors, people needed, costs, and the effect of false reports."""
    from deniable.core.chart import check_ending
    from deniable.tasks.plan import plan as frequency_plan

    if context.invoked_subcommand is not None:
        return
    if chart is not None:
        check_ending(chart)
    if domain_size is None:
        fix = "pass it, as in deniable plan --domain-size 1000; for a number: deniable plan mean"
        raise ParameterError("--domain-size", None, allowed="how many answers are possible, from 2 on", fix=fix)
    names = [str(name) for name in mechanism] if mechanism else None
    with working("comparing mechanisms"):
        found = frequency_plan(domain_size=domain_size, epsilon=epsilon, n=people, error=error, oracles=names)
        if chart is not None:
            found.chart().save(chart)
    given = {"domain_size": domain_size, "epsilon": epsilon, "people": people, "error": error}
    legend = "±: standard error of a count, of a share; smallest share: detected half of the time"
    cost = "one false report moves a count by this many people; 1 % false reports raise a share by this much"
    _show(found, given, (TELLS, legend), (COSTS, cost), json_output)


@plan.command()
def mean(
    low: Annotated[str, typer.Option(help="The smallest possible answer: a number, or a date or time such as 2026-01-31.")] = "0",
    high: Annotated[str, typer.Option(help="The largest possible answer.")] = "1",
    epsilon: Epsilon = 1.0,
    people: People = 100_000,
    error: Annotated[float | None, typer.Option(help="The standard error of the mean to aim at; in seconds for dates and times.")] = None,
    json_output: Json = False,
) -> None:
    """Compare mechanisms for the mean of a number with a trusted curator, before you collect data."""
    from deniable.tasks.plan import plan_mean

    ends = read_bound("--low", low), read_bound("--high", high)
    with working("comparing mechanisms"):
        found = plan_mean(low=ends[0], high=ends[1], epsilon=epsilon, n=people, error=error)
    given = {"low": low, "high": high, "epsilon": epsilon, "people": people, "error": error}
    legend = "±: standard error at worst; times central: how many times as large as with a trusted curator"
    cost = "one report: how far from the middle it can be; 1 % false reports move the mean by this much"
    _show(found, given, (MEAN_TELLS, legend), (MEAN_COSTS, cost), json_output)


def read_bound(name: str, text: str) -> Any:
    """Return a number, exactly as written, or a point in time."""
    for read in (Fraction, datetime.fromisoformat):
        try:
            return read(text)
        except (ValueError, ZeroDivisionError):
            continue
    raise ParameterError(name, text, allowed="a number such as -1, 0.5 or 1/3, or a date such as 2026-01-31", fix="check the spelling")


def _show(found: Plan, given: dict[str, Any], tells: Shown, costs: Shown, json_output: bool) -> None:
    """Print a plan as JSON, or as a table of errors and one of costs."""
    judgement = found.verdict.to_json()
    if json_output:
        rows = [{"mechanism": row.pop("value"), **row} for row in found.to_arrow().to_pylist()]
        print_json(given | {"verdict": judgement, "mechanisms": rows, "left_out": list(found.left_out)})
        return
    columns = found.rows()
    if "server" in columns:
        columns["server"] = [steps / 1e9 for steps in columns["server"]]
    out.print(_table(columns, tells, found.headline(), found.percentages()))
    out.print(_table(columns, costs, "Costs and risks", found.percentages()))
    tell(judgement["text"], style=LEVELS[judgement["level"]])
    for reason in found.left_out:
        tell(f"left out: {reason}")


def _table(columns: dict[str, Any], shown: Shown, title: str, percentages: tuple[str, ...]) -> Table:
    from deniable.core.table import cell_text

    heads, caption = shown
    names = [name for name in heads if name in columns]
    made = table(title, (heads[name] for name in names), caption=caption)
    for column in made.columns:
        column.no_wrap = True
    for cells in zip(*(columns[name] for name in names), strict=True):
        made.add_row(*(cell_text(cell, share=name in percentages) for name, cell in zip(names, cells, strict=True)))
    return made
