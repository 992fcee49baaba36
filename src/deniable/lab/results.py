"""The results of an experiment: one tidy table, a row for each cell and metric, kept in a Parquet file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from deniable.contract.durable import make_folders, write_durably
from deniable.core.table import Table
from deniable.errors import WireError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart

SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),
        ("population", pa.string()),
        ("mechanism", pa.string()),
        ("spec", pa.string()),
        ("epsilon", pa.float64()),
        ("n", pa.int64()),
        ("repetition", pa.int64()),
        ("replay_key", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("predicted", pa.float64()),
    ]
)
GROUP = ("population", "mechanism", "epsilon", "n", "metric")


@dataclass(frozen=True, eq=False, repr=False)
class Results(Table):
    """All rows, and their means over the repetitions: what is shown, summed up and drawn."""

    title: str
    """The experiment's."""
    table: pa.Table
    """A row for each cell and metric."""
    against: str = "epsilon"
    """What the chart's horizontal axis shows."""

    def summary(self) -> pl.DataFrame:
        """Mean and standard error over the repetitions, and what theory predicted, in the order of the experiment."""
        value = pl.col("value")
        rows: pl.DataFrame = self.to_polars()
        return rows.group_by(GROUP, maintain_order=True).agg(
            mean=value.mean(),
            stderr=value.std() / value.count().sqrt(),
            predicted=pl.col("predicted").mean(),
            repetitions=pl.len(),
        )

    def to_arrow(self) -> Any:
        """All rows, one for each cell and metric."""
        return self.table

    def chart(self, k: int = 20, *, truth: Any = None, title: str | None = None) -> Chart:
        """Means with their standard errors under a ``title``; lines are what theory predicts, where it does."""
        from deniable.lab.results_chart import results_chart

        return results_chart(self.summary(), against=self.against, title=self.title if title is None else title)

    def rows(self) -> dict[str, Any]:
        summary = self.summary()
        names = ("mechanism", "population", "epsilon", "n", "metric", "mean", "stderr", "predicted")
        columns = {name: summary[name].to_list() for name in names}
        return {"value": columns.pop("mechanism"), **columns}

    def headline(self) -> str:
        return f"{self.title}; mean over the repetitions and its standard error"

    def order(self) -> Array:
        return np.arange(self.summary().height)


def table_of(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Rows as a table of the one schema."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def write_table(table: pa.Table, path: Path) -> None:
    """A file that is there as a whole or not at all, whatever happens to the process or the machine."""
    make_folders(path.parent)
    content = pa.BufferOutputStream()
    pq.write_table(table, content)
    write_durably(path, memoryview(content.getvalue()))


def read_table(path: Path) -> pa.Table:
    """The rows of a file that ``write_table`` wrote."""
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise WireError("file", str(path), allowed="a Parquet file", fix="move the file away, and run again") from error
    if table.schema != SCHEMA:
        raise WireError("file", str(path), allowed=f"the columns {SCHEMA.names}", fix="move the file away, and run again")
    return table
