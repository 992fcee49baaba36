"""``deniable plan``: what would a survey tell, and what would it cost, before anyone is asked?"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from deniable.cli.console import LEVELS, out, print_json, table, tell, working
from deniable.cli.mechanisms import Mechanism
from deniable.cli.options import Chart, Epsilon, Json, People
from deniable.core.chart import check_ending
from deniable.core.table import cell_text
from deniable.errors import ParameterError
from deniable.tasks.plan import Plan
from deniable.tasks.plan import plan as frequency_plan

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
    judgement = found.verdict.to_json()
    if json_output:
        given = {"domain_size": domain_size, "epsilon": epsilon, "people": people, "error": error}
        print_json(given | {"verdict": judgement, "mechanisms": _records(found), "left_out": list(found.left_out)})
    else:
        rows = found.rows()
        rows["server"] = [steps / 1e9 for steps in rows["server"]]
        told = "±: standard error of a count, of a share; smallest share that is told from zero half of the time"
        out.print(plan_table(rows, TELLS, found.headline(), told))
        cost = "one liar moves a count by so many people; 1 % of liars raise a share by so much"
        out.print(plan_table(rows, COSTS, "Costs and risks", cost))
        tell(judgement["text"], style=LEVELS[judgement["level"]])
        for reason in found.left_out:
            tell(f"left out: {reason}")


def plan_table(rows: dict[str, Any], heads: dict[str, str], title: str, caption: str) -> Table:
    """Some columns of a plan, in rows under their heads."""
    names = [name for name in heads if name in rows]
    made = table(title, (heads[name] for name in names), caption=caption)
    for column in made.columns:
        column.no_wrap = True
    for cells in zip(*(rows[name] for name in names), strict=True):
        made.add_row(*map(cell_text, cells))
    return made


def _records(found: Plan) -> list[dict[str, Any]]:
    rows = found.to_arrow().to_pylist()
    return [{"mechanism": row.pop("value"), **row} for row in rows]
