"""``deniable simulate``: what would a private survey have said about a column you already have?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from deniable.cli.console import AUTO, Choice, err, oracle_for, out, plain_errors, print_json, progress_bar, result_rows, result_table
from deniable.contract.domain import Categories
from deniable.contract.question import Question
from deniable.contract.survey import Survey
from deniable.core.chart import check_ending, count_chart
from deniable.errors import DomainError, ParameterError


def simulate(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row per person.", exists=True, dir_okay=False)],
    column: Annotated[str, typer.Option(help="The column to ask about.")],
    epsilon: Annotated[float, typer.Option(help="The privacy parameter: smaller is more private.")] = 1.0,
    mechanism: Annotated[Choice, typer.Option(help="The mechanism; auto picks one for the domain.")] = AUTO,
    top: Annotated[int, typer.Option(help="How many values to show.", min=1)] = 20,
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows without an answer, and say how many.")] = False,
    chart: Annotated[Path | None, typer.Option(help="Save a chart: .svg, .png, .html or .json.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Randomize a column as if each row were a person, and estimate it back: truth, estimate and interval.

    The column's own distinct values, as text, are taken as the list of answers. In a real survey that list must be fixed
    beforehand: otherwise it tells that somebody holds each value on it.
    """
    with plain_errors():
        if chart is not None:
            check_ending(chart)
        values, missing = _read(file, column, drop_missing)
        counted = values.value_counts(name="people of a value")
        truth: dict[Any, int] = dict(zip(counted[values.name].to_list(), counted["people of a value"].to_list(), strict=True))
        if len(truth) < 2:
            raise DomainError(column, f"{len(truth)} different values", allowed="two or more", fix="there is nothing to tell apart")
        if not json_output and 2 * len(truth) > len(values):
            err.print(
                f"{len(truth):,} different answers among {len(values):,} people: nearly everyone is alone with theirs, and will drown."
            )
        spec = oracle_for(mechanism, Categories(*sorted(truth)), epsilon)
        survey = Survey((Question(name=column, spec=spec),))
        with progress_bar("randomizing and counting", quiet=json_output) as progress:
            estimate = survey.run(values.to_arrow(), progress=progress)[column].top(top)
        if chart is not None:
            count_chart(estimate, truth=[truth[value] for value in estimate.values], title=column).save(chart)
        statement = f"In a real survey with these settings:\n{survey.guarantee.statement()}"
        if json_output:
            content = {"column": column, "people": len(values), "missing": missing, "mechanism": spec.mechanism, "epsilon": spec.epsilon}
            print_json(content | result_rows(estimate, truth) | {"statement": statement})
        else:
            out.print(result_table(estimate, truth))
            if missing:
                out.print(f"{missing:,} rows without an answer were left out.")
            out.print(statement)


def _read(file: Path, column: str, drop_missing: bool) -> tuple[pl.Series, int]:
    """The column as text, exactly as it stands, and how many rows were left out."""
    try:
        if file.suffix.lower() == ".csv":
            names = pl.read_csv(file, n_rows=0, infer_schema=False).columns
            table = pl.read_csv(file, columns=[column], infer_schema=False) if column in names else None
        elif file.suffix.lower() == ".parquet":
            names = list(pl.read_parquet_schema(file))
            table = pl.read_parquet(file, columns=[column]) if column in names else None
        else:
            raise ParameterError("file", str(file), allowed="a .csv or .parquet file", fix="convert it first")
        if table is None:
            raise ParameterError("column", column, allowed=f"one of {names}", fix="check the spelling, and that commas separate columns")
        values = table[column]
        if values.dtype.is_float():
            values = values.fill_nan(None)
        values = values.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise ParameterError("file", str(file), allowed="a table with a column of plain values", fix=str(error).splitlines()[0]) from error
    missing = values.null_count()
    if missing and not drop_missing:
        row = values.is_null().arg_max()
        where = f"{column}, row {int(row or 0) + 1} of {len(values)}"
        raise DomainError(where, None, allowed="an answer in every row", fix=f"{missing} are missing: fill them, or pass --drop-missing")
    return values.drop_nulls(), missing
