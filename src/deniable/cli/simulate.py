"""``deniable simulate``: what a private survey would show about a column that you have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.answer_tables import print_table
from deniable.cli.console import print_json, progress_bar, remark, tell, working
from deniable.cli.mechanisms import AUTO, Choice, oracle_for
from deniable.cli.options import Chart, Epsilon, Json
from deniable.contract.domain import Categories
from deniable.contract.question import Question
from deniable.contract.survey import Survey
from deniable.errors import DomainError, ParameterError, one_of

if TYPE_CHECKING:
    import polars as pl


def simulate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV or Parquet file, one row per person.", exists=True, dir_okay=False)],
    column: Annotated[str, typer.Option(help="The column to ask about.")],
    epsilon: Epsilon = 1.0,
    mechanism: Annotated[Choice, typer.Option(help="The mechanism; auto chooses one for the answers and the number of rows.")] = AUTO,
    top: Annotated[int, typer.Option(help="How many values to show.", min=1)] = 20,
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows without an answer, and show how many.")] = False,
    chart: Chart = None,
    json_output: Json = False,
) -> None:
    """Randomize a column as if each row were a person, then estimate it: truth, estimate and interval.

    The column's distinct values, as text, are the list of answers. In a real survey, write that list before you ask: a list taken
    from the data reveals that somebody gave each answer on it.
    """
    from deniable.collect.analysis.presentation import table_text
    from deniable.core.chart import check_ending

    if chart is not None:
        check_ending(chart)
    with working(f"reading {file}"):
        values, missing = _read(file, column, drop_missing)
        counted = values.value_counts(name="people of a value")
    truth: dict[Any, int] = dict(zip(counted[values.name].to_list(), counted["people of a value"].to_list(), strict=True))
    if len(truth) < 2:
        raise DomainError(column, f"{len(truth)} different values", allowed="two or more", fix="choose a column with different answers")
    spec = oracle_for(mechanism, Categories(*sorted(truth)), epsilon, len(values))
    if 2 * len(truth) > len(values):
        remark(f"{len(truth):,} different answers from {len(values):,} people: with so few people per answer, the noise drowns them.")
    survey = Survey((Question(name=column, spec=spec),))
    with progress_bar("randomizing and counting", quiet=json_output) as progress:
        estimate = survey.run(values.to_arrow(), progress=progress)[column].top(top)
    held = [int(truth[value]) for value in estimate.values]
    if chart is not None:
        estimate.chart(top, truth=held, title=f"{column}: {estimate.headline()}").save(chart)
    statement = f"In a real survey with these settings:\n{survey.guarantee.statement()}"
    if json_output:
        content = {"column": column, "people": len(values), "missing": missing, "mechanism": spec.mechanism, "epsilon": spec.epsilon}
        print_json(content | {"truth": held, "estimate": estimate.to_json(), "statement": statement})
    else:
        (first, *others), lines, remarks = table_text(estimate, top)
        rows = [[line[0], f"{held[place]:,}", *line[1:]] for place, line in zip(estimate.order(), lines, strict=True)]
        print_table(column, [first, "truth", *others], rows, remarks)
        if missing:
            tell(f"{missing:,} rows without an answer were left out.")
        tell(statement)


def _read(file: Path, column: str, drop_missing: bool) -> tuple[pl.Series, int]:
    """Return the column as text, unchanged, and how many rows were left out."""
    import polars as pl

    try:
        if file.suffix.lower() == ".csv":
            names = pl.read_csv(file, n_rows=0, infer_schema=False).columns
            table = pl.read_csv(file, columns=[column], infer_schema=False) if column in names else None
        elif file.suffix.lower() == ".parquet":
            names = list(pl.read_parquet_schema(file))
            table = pl.read_parquet(file, columns=[column]) if column in names else None
        else:
            raise ParameterError("file", str(file), allowed="a .csv or .parquet file", fix="convert it to one of these")
        if table is None:
            raise ParameterError("column", column, allowed=one_of(names), fix="check the spelling, and that commas separate the columns")
        values = table[column]
        if values.dtype.is_float():
            values = values.fill_nan(None)
        values = values.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise ParameterError(
            "file", str(file), allowed="a table with a column of plain values", fix=f"fix the file: {str(error).splitlines()[0]}"
        ) from error
    missing = values.null_count()
    if missing and not drop_missing:
        row = values.is_null().arg_max()
        where = f"{column}, row {int(row or 0) + 1} of {len(values)}"
        raise DomainError(
            where, None, allowed="an answer in every row", fix=f"fill in missing answers ({missing:,}), or pass --drop-missing"
        )
    return values.drop_nulls(), missing
