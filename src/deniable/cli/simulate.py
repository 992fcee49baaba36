"""``deniable simulate``: what would a private survey have said about a column you already have?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from deniable.cli.console import Mechanism, oracle_for, out, plain_errors, print_json, progress_bar, result_rows, result_table
from deniable.contract.domain import Categories
from deniable.contract.protocol import Question, Survey
from deniable.core.chart import count_chart, save_chart
from deniable.errors import DomainError, ParameterError


def simulate(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row per person.", exists=True, dir_okay=False)],
    column: Annotated[str, typer.Option(help="The column to ask about.")],
    epsilon: Annotated[float, typer.Option(help="The privacy parameter: smaller is more private.")] = 1.0,
    mechanism: Annotated[Mechanism, typer.Option(help="The mechanism; auto picks one for the domain.")] = Mechanism.AUTO,
    top: Annotated[int, typer.Option(help="How many values to show.", min=1)] = 20,
    chart: Annotated[Path | None, typer.Option(help="Save a chart: .svg, .png, .html or .json.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Randomize a column as if each row were a person, and estimate it back: truth, estimate and interval.

    The column's own distinct values are taken as the list of answers. In a real survey that list must be fixed beforehand, since it
    would give away who answered what.
    """
    with plain_errors():
        values = _read(file, column)
        counted = values.value_counts()
        truth: dict[Any, int] = dict(zip(counted[values.name].to_list(), counted["count"].to_list(), strict=True))
        spec = oracle_for(mechanism, Categories(*sorted(truth)), epsilon)
        survey = Survey((Question(name=column, spec=spec),))
        with progress_bar("randomizing and counting", quiet=json_output) as progress:
            estimate = survey.run(values.to_arrow(), progress=progress)[column].top(top)
        if chart is not None:
            save_chart(count_chart(estimate, truth=[truth[value] for value in estimate.values], title=column), str(chart))
        if json_output:
            content = {"column": column, "people": len(values), "mechanism": spec.mechanism, "epsilon": spec.epsilon}
            print_json(content | {"result": result_rows(estimate, truth), "statement": survey.guarantee.statement()})
        else:
            out.print(result_table(estimate, truth))
            out.print(survey.guarantee.statement(), highlight=False)


def _read(file: Path, column: str) -> pl.Series:
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {".csv": pl.read_csv, ".parquet": pl.read_parquet}
    if file.suffix.lower() not in readers:
        raise ParameterError("file", str(file), allowed="a .csv or .parquet file", fix="convert it first")
    try:
        table = readers[file.suffix.lower()](file)
    except pl.exceptions.PolarsError as error:
        raise ParameterError("file", str(file), allowed="a readable table", fix=str(error).splitlines()[0]) from error
    if column not in table.columns:
        raise ParameterError("column", column, allowed=f"one of {table.columns}", fix="check the spelling")
    values = table[column]
    if values.null_count():
        row = values.is_null().arg_max()
        raise DomainError(
            f"{column}, row {row}", None, allowed="an answer in every row", fix="fill or drop missing rows first; none was counted"
        )
    return values.cast(pl.String)
