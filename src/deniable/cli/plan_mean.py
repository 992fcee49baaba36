"""``deniable plan mean``: what would the mean of a number tell, and what does it cost that nobody has to be trusted?"""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Annotated, Any

import typer

from deniable.cli.console import LEVELS, out, print_json, tell, working
from deniable.cli.options import Epsilon, Json, People
from deniable.cli.plan import frequencies, plan, plan_table
from deniable.errors import ParameterError
from deniable.tasks.plan import plan_mean

TELLS = {
    "value": "mechanism",
    "error": "±\nmean",
    "sum": "±\nsum",
    "central": "times\ncentral",
    "people": "people\nneeded",
    "epsilon": "epsilon\nneeded",
}
COSTS = {"value": "mechanism", "bits": "bits", "influence": "one\nreport", "liars": "1 % of\nliars"}
__all__ = ["frequencies", "mean", "plan"]


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
    ends = read_bound("--low", low), read_bound("--high", high)
    with working("comparing mechanisms"):
        found = plan_mean(low=ends[0], high=ends[1], epsilon=epsilon, n=people, error=error)
    judgement = found.verdict.to_json()
    if json_output:
        rows = [{"mechanism": row.pop("value"), **row} for row in found.to_arrow().to_pylist()]
        given = {"low": low, "high": high, "epsilon": epsilon, "people": people, "error": error}
        print_json(given | {"verdict": judgement, "mechanisms": rows, "left_out": list(found.left_out)})
        return
    told = "±: standard error, at worst; times central: so many times as large as with a trusted curator"
    out.print(plan_table(found.rows(), TELLS, found.headline(), told))
    cost = "one report can lie so far from the middle; 1 % of liars move the mean by so much"
    out.print(plan_table(found.rows(), COSTS, "Costs and risks", cost))
    tell(judgement["text"], style=LEVELS[judgement["level"]])
    for reason in found.left_out:
        tell(f"left out: {reason}")


def read_bound(name: str, text: str) -> Any:
    """A number, exactly as it is written, or a point in time."""
    for read in (Fraction, datetime.fromisoformat):
        try:
            return read(text)
        except (ValueError, ZeroDivisionError):
            continue
    raise ParameterError(name, text, allowed="a number such as -1, 0.5 or 1/3, or a date such as 2026-01-31", fix="check the spelling")
