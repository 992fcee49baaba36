"""Tables of results in every form: text, notebook, Arrow, Polars, pandas, CSV and chart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from math import isnan
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.contract.readable import number, percent
from deniable.core.figure import Figure
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart

SHOWN = 10


def row_numbers(positions: Any, rows: int) -> Array:
    """Return the positions of some of so many rows as an array; raise ParameterError unless they are positions.

    >>> row_numbers([2, 0], 3)
    array([2, 0])
    """
    found = np.asarray(positions) if isinstance(positions, list | tuple | range | np.ndarray) and len(np.shape(positions)) == 1 else None
    if found is None or (found.size and (found.dtype.kind not in "iu" or found.min() < -rows or found.max() >= rows)):
        fix = "np.flatnonzero turns a list of True and False into positions"
        raise ParameterError("positions", positions, allowed=f"a list of integers from 0 to {rows - 1}", fix=fix)
    return found.astype(np.int64)


class Table(ABC):
    """Results by value. A subclass says what its columns are; all views follow."""

    shown: ClassVar[int] = SHOWN
    """How many rows text and notebook show."""

    @abstractmethod
    def rows(self) -> dict[str, Any]:
        """The columns by name: ``value`` first, then numbers."""

    @abstractmethod
    def headline(self) -> str:
        """Return a description in one line."""

    @abstractmethod
    def order(self) -> Array:
        """The positions of the rows, the most interesting first."""

    def notes(self) -> list[str]:
        """Return notes about the table, a line each."""
        return []

    def percentages(self) -> tuple[str, ...]:
        """The columns of shares, which people read in percent."""
        return ("frequency",)

    def brief(self) -> dict[str, list[str]] | None:
        """Columns of text that printing shows instead of the rows, where these are too many to be read; None if it shows the rows."""
        return None

    def figures(self) -> tuple[Figure, ...]:
        """How the table is drawn, one figure below the other; empty if it is not drawn."""
        return ()

    def chart(self, k: int = 20, *, truth: Any = None, title: str | None = None) -> Chart:
        """Return a chart of the table under a ``title``: of the first k rows, if they are bars or points; with ``truth``, if known."""
        from deniable.core.chart import table_chart

        return table_chart(self, k, truth=truth, title=title)

    def to_arrow(self) -> Any:
        """Return all rows as a pyarrow Table, in the order of the domain."""
        import pyarrow as pa

        rows = self.rows()
        if "value" not in rows:
            return pa.table(rows)
        values = rows.pop("value")
        whole = all(isinstance(value, int) for value in values)
        kind = pa.uint64() if whole and values and min(values) >= 0 and max(values) >= 1 << 63 else None
        if whole and values and min(values) < 0 and max(values) >= 1 << 63:
            kind = pa.decimal128(20)  # no integer type holds both ends
        return pa.table({"value": pa.array(values, kind), **rows})

    def to_polars(self) -> Any:
        """Return all rows as a Polars DataFrame, in the order of the domain."""
        import polars as pl

        return pl.DataFrame(pl.from_arrow(self.to_arrow()))

    def to_pandas(self) -> Any:
        """Return all rows as a pandas DataFrame, in the order of the domain."""
        return self.to_arrow().to_pandas()

    def to_csv(self, path: str | PathLike[str] | None = None) -> str | None:
        """Write all rows as CSV to a path, in the order of the domain; without a path, return the text.

        Distances in time are numbers of seconds.
        """
        import polars as pl

        frame = self.to_polars().with_columns(pl.selectors.duration().dt.total_microseconds() / 1e6)
        text: str | None = frame.write_csv(path)
        return text

    def __repr__(self) -> str:
        head, lines = self.cells()
        widths = [max(len(row[i]) for row in [head, *lines]) for i in range(len(head))]
        text = [
            "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
            for row in [head, *lines]
        ]
        return "\n".join([self.headline(), *(line.rstrip() for line in text), *self._rest()])

    def _repr_html_(self) -> str:
        head, lines = self.cells()
        cells = "".join(
            "<tr>"
            + "".join(f"<td style='text-align:{'right' if i else 'left'}'>{escape(cell)}</td>" for i, cell in enumerate(row))
            + "</tr>"
            for row in lines
        )
        header = "".join(f"<th>{escape(name)}</th>" for name in head)
        rest = "".join(f"<p>{escape(line)}</p>" for line in self._rest())
        return f"<p><b>{escape(self.headline())}</b></p><table><thead><tr>{header}</tr></thead><tbody>{cells}</tbody></table>{rest}"

    def cells(self, most: int | None = None) -> tuple[list[str], list[list[str]]]:
        """The names of the columns and the first rows as text, ``most`` at most: what printing, notebooks, commands and web pages show."""
        brief = self.brief()
        if brief is not None:
            return list(brief), [list(line) for line in zip(*brief.values(), strict=True)]
        rows = self.rows()
        shown = self.order()[: self.shown if most is None else most]
        columns = [[cell_text(column[i], share=name in self.percentages()) for i in shown] for name, column in rows.items()]
        return list(rows), [list(line) for line in zip(*columns, strict=True)]

    def _rest(self) -> list[str]:
        hidden = 0 if self.brief() is not None else len(self.order()) - self.shown
        return ([f"... and {hidden:,} more"] if hidden > 0 else []) + self.notes()


def count_rows(values: Any, counts: Array, stderr: Array, limits: tuple[Array, Array], frequencies: Array) -> dict[str, Any]:
    """The columns of a table of counts."""
    low, high = limits
    return {"value": list(values), "count": counts, "stderr": stderr, "low": low, "high": high, "frequency": frequencies}


def cell_text(cell: Any, *, share: bool = False) -> str:
    r"""A cell in as many digits as a person reads, a share in percent; a dash where nothing is known.

    >>> cell_text(0.0191, share=True)
    '1.91 %'
    >>> cell_text(0.123456), cell_text(-1234.5), cell_text(None), cell_text("a\nb"), cell_text(7), cell_text(timedelta(seconds=-90.4))
    ('0.123', '-1,234', '–', "'a\\nb'", '7', '-0:01:30')
    """
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no"
    if cell is None or (isinstance(cell, float | np.floating) and isnan(cell)):
        return "–"
    if isinstance(cell, float | np.floating):
        return percent(float(cell)) if share else number(float(cell))
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ", timespec="seconds")
    if isinstance(cell, timedelta):
        return f"{'-' if cell < timedelta(0) else ''}{timedelta(seconds=round(abs(cell.total_seconds())))}"
    text = f"0x{cell.hex()}" if isinstance(cell, bytes) else str(cell)
    return text if text.isprintable() else repr(text)  # a line break or a control character must not reach the terminal


def value_text(value: Any) -> str:
    """A value as a label: the entries of a tuple side by side, and the two sides of a rule with an arrow between them.

    >>> value_text(("tea", 3)), value_text((("tea",), ("milk", "sugar")))
    ('tea, 3', 'tea => milk, sugar')
    """
    if not isinstance(value, tuple):
        return str(value)
    rule = any(isinstance(side, tuple) for side in value)
    return (" => " if rule else ", ").join(map(value_text, value))


def as_column(numbers: Any) -> Any:
    """Return numbers as they are, and a single one as a list of one."""
    return numbers if isinstance(numbers, np.ndarray | list) else [numbers]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Listing(Table):
    """Columns in the order in which they came.

    >>> Listing(about="two errors", columns={"epsilon": [1.0, 2.0], "error": [0.2, 0.05]})
    two errors
    epsilon  error
    1          0.2
    2         0.05
    """

    about: str
    """Return a description in one line."""
    columns: Mapping[str, Any]
    """The columns by name."""
    drawn: tuple[Figure, ...] = ()
    """How it is drawn."""
    remarks: tuple[str, ...] = ()
    """What else to know, in a line each."""

    def rows(self) -> dict[str, Any]:
        return dict(self.columns)

    def headline(self) -> str:
        return self.about

    def order(self) -> Array:
        return np.arange(min(map(len, self.columns.values()), default=0))

    def notes(self) -> list[str]:
        return list(self.remarks)

    def figures(self) -> tuple[Figure, ...]:
        return self.drawn
