"""``deniable plan``: what would a survey tell, of counts or of a mean, and what would it cost, before anyone is asked?"""

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
"""Some columns of a plan with their heads, and what to read below them."""
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
    "influence": "one\nliar",
    "liars": "1 % of\nliars",
}
MEAN_TELLS = {
    "value": "mechanism",
    "error": "±\nmean",
    "sum": "±\nsum",
    "central": "times\ncentral",
    "people": "people\nneeded",
    "epsilon": "epsilon\nneeded",
}
MEAN_COSTS = {"value": "mechanism", "bits": "bits", "influence": "one\nreport", "liars": "1 % of\nliars"}


@plan.callback()
def frequencies(
    context: typer.Context,
    domain_size: Annotated[int | None, typer.Option(help="The number of values that are counted.")] = None,
    epsilon: Epsilon = 1.0,
    people: People = 100_000,
    error: Annotated[float | None, typer.Option(help="The standard error of a share to aim at, 0.001 for instance.")] = None,
    mechanism: Annotated[list[Mechanism] | None, typer.Option(help="A mechanism; say it again for more; all if left out.")] = None,
    chart: Chart = None,
    json_output: Json = False,
) -> None:
    """Compare the mechanisms for counting before any data is collected: errors, people needed, costs, and what liars can do."""
    from deniable.core.chart import check_ending
    from deniable.tasks.plan import plan as frequency_plan

    if context.invoked_subcommand is not None:
        return
    if chart is not None:
        check_ending(chart)
    if domain_size is None:
        fix = "as in: deniable plan --domain-size 1000; for a number: deniable plan mean"
        raise ParameterError("--domain-size", None, allowed="how many answers are possible, from 2 on", fix=fix)
    names = [str(name) for name in mechanism] if mechanism else None
    with working("comparing mechanisms"):
        found = frequency_plan(domain_size=domain_size, epsilon=epsilon, n=people, error=error, oracles=names)
        if chart is not None:
            found.chart().save(chart)
    given = {"domain_size": domain_size, "epsilon": epsilon, "people": people, "error": error}
    told = "±: standard error of a count, of a share; smallest share that is told from zero half of the time"
    cost = "one liar moves a count by so many people; 1 % of liars raise a share by so much"
    _show(found, given, (TELLS, told), (COSTS, cost), json_output)


@plan.command()
def mean(
    low: Annotated[str, typer.Option(help="The smallest number that may be answered; or a date or time, as in 2026-01-31.")] = "0",
    high: Annotated[str, typer.Option(help="The largest.")] = "1",
    epsilon: Epsilon = 1.0,
    people: People = 100_000,
    error: Annotated[float | None, typer.Option(help="The standard error of the mean to aim at; in seconds for dates and times.")] = None,
    json_output: Json = False,
) -> None:
    """Compare the mechanisms for the mean of a number, and a trusted curator, before any data is collected."""
    from deniable.tasks.plan import plan_mean

    ends = read_bound("--low", low), read_bound("--high", high)
    with working("comparing mechanisms"):
        found = plan_mean(low=ends[0], high=ends[1], epsilon=epsilon, n=people, error=error)
    given = {"low": low, "high": high, "epsilon": epsilon, "people": people, "error": error}
    told = "±: standard error, at worst; times central: so many times as large as with a trusted curator"
    cost = "one report can lie so far from the middle; 1 % of liars move the mean by so much"
    _show(found, given, (MEAN_TELLS, told), (MEAN_COSTS, cost), json_output)


def read_bound(name: str, text: str) -> Any:
    """A number, exactly as it is written, or a point in time."""
    for read in (Fraction, datetime.fromisoformat):
        try:
            return read(text)
        except (ValueError, ZeroDivisionError):
            continue
    raise ParameterError(name, text, allowed="a number such as -1, 0.5 or 1/3, or a date such as 2026-01-31", fix="check the spelling")


def _show(found: Plan, given: dict[str, Any], tells: Shown, costs: Shown, json_output: bool) -> None:
    """Print a plan as JSON, or as a table of what mechanisms tell and one of what they cost."""
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
