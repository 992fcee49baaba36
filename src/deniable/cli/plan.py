"""``deniable plan``: what would a survey tell, and what would it cost, before anyone is asked?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from deniable.cli.console import Mechanism, out, plain_errors, print_json
from deniable.core.chart import check_ending
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
    epsilon: Annotated[float, typer.Option(help="The privacy parameter: smaller is more private.")] = 1.0,
    n: Annotated[int, typer.Option("--n", help="How many people will report.")] = 100_000,
    error: Annotated[float | None, typer.Option(help="The standard error of a share to aim at, 0.001 for instance.")] = None,
    oracle: Annotated[list[Mechanism] | None, typer.Option(help="A mechanism; say it again for more; all if left out.")] = None,
    chart: Annotated[Path | None, typer.Option(help="Save a chart, error against epsilon: .svg, .png, .html or .json.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Compare the mechanisms for counting before any data is collected: errors, people needed, costs, and what liars can do."""
    if context.invoked_subcommand is not None:
        return
    with plain_errors():
        if chart is not None:
            check_ending(chart)
        names = [str(name) for name in oracle] if oracle else None
        found = frequency_plan(domain_size=domain_size, epsilon=epsilon, n=n, error=error, oracles=names)
        if chart is not None:
            found.chart().save(chart)
        if json_output:
            given = {"domain_size": domain_size, "epsilon": epsilon, "n": n, "error": error}
            print_json(given | {"oracles": _records(found), "left_out": list(found.left_out)})
        else:
            rows = found.rows()
            rows["server"] = [steps / 1e9 for steps in rows["server"]]
            told = "±: standard error of a count, of a share; smallest share that is told from zero half of the time"
            out.print(plan_table(rows, TELLS, found.headline(), told))
            cost = "one liar moves a count by so many people; 1 % of liars raise a share by so much"
            out.print(plan_table(rows, COSTS, "Costs and risks", cost))
            for reason in found.left_out:
                out.print(f"left out: {reason}")


def plan_table(rows: dict[str, Any], heads: dict[str, str], title: str, caption: str) -> Table:
    """Some columns of a plan, in rows under their heads."""
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    names = [name for name in heads if name in rows]
    for name in names:
        table.add_column(heads[name], justify="left" if name == "value" else "right", no_wrap=True)
    for cells in zip(*(rows[name] for name in names), strict=True):
        table.add_row(*map(_text, cells))
    return table


def _text(cell: Any) -> str:
    if cell is None:
        return "none"
    if isinstance(cell, str | int):
        return str(cell)
    return f"{cell:,.0f}" if cell >= 1000 else f"{cell:.3g}" if cell >= 0.01 else f"{cell:.2g}"


def _records(found: Plan) -> list[dict[str, Any]]:
    rows = found.to_arrow().to_pylist()
    return [{"mechanism": row.pop("value"), **row} for row in rows]
