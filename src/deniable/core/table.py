"""One manner for everything that is a table of results: text, notebook, Arrow and Polars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import Any, ClassVar

import numpy as np

from deniable.core.rounding import below
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

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
    """Results by value. A subclass says what its columns are; the four views follow."""

    shown: ClassVar[int] = SHOWN
    """How many rows text and notebook show."""

    @abstractmethod
    def rows(self) -> dict[str, Any]:
        """The columns by name: ``value`` first, then numbers."""

    @abstractmethod
    def headline(self) -> str:
        """What this is, in one line."""

    @abstractmethod
    def order(self) -> Array:
        """The positions of the rows, the most interesting first."""

    def notes(self) -> list[str]:
        """What else to know about the table, a line each."""
        return []

    def to_arrow(self) -> Any:
        """All rows as a pyarrow Table, in the order of the domain."""
        import pyarrow as pa

        rows = self.rows()
        values = rows.pop("value")
        whole = all(isinstance(value, int) for value in values)
        kind = pa.uint64() if whole and values and min(values) >= 0 and max(values) >= 1 << 63 else None
        if whole and values and min(values) < 0 and max(values) >= 1 << 63:
            kind = pa.decimal128(20)  # no integer type holds both ends
        return pa.table({"value": pa.array(values, kind), **rows})

    def to_polars(self) -> Any:
        """All rows as a Polars DataFrame, in the order of the domain."""
        import polars as pl

        return pl.DataFrame(pl.from_arrow(self.to_arrow()))

    def __repr__(self) -> str:
        head, lines = self._cells()
        widths = [max(len(row[i]) for row in [head, *lines]) for i in range(len(head))]
        text = [
            "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
            for row in [head, *lines]
        ]
        return "\n".join([self.headline(), *(line.rstrip() for line in text), *self._rest()])

    def _repr_html_(self) -> str:
        head, lines = self._cells()
        cells = "".join(
            "<tr>"
            + "".join(f"<td style='text-align:{'right' if i else 'left'}'>{escape(cell)}</td>" for i, cell in enumerate(row))
            + "</tr>"
            for row in lines
        )
        header = "".join(f"<th>{escape(name)}</th>" for name in head)
        rest = "".join(f"<p>{escape(line)}</p>" for line in self._rest())
        return f"<p><b>{escape(self.headline())}</b></p><table><thead><tr>{header}</tr></thead><tbody>{cells}</tbody></table>{rest}"

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        rows = self.rows()
        shown = self.order()[: self.shown]
        columns = [[_text(column[i]) for i in shown] for column in rows.values()]
        return list(rows), [list(line) for line in zip(*columns, strict=True)]

    def _rest(self) -> list[str]:
        hidden = len(self.order()) - self.shown
        return ([f"... and {hidden:,} more"] if hidden > 0 else []) + self.notes()


def count_rows(values: Any, counts: Array, stderr: Array, limits: tuple[Array, Array], frequencies: Array) -> dict[str, Any]:
    """The columns of a table of counts."""
    low, high = limits
    return {"value": list(values), "count": counts, "stderr": stderr, "low": low, "high": high, "frequency": frequencies}


def _text(cell: Any) -> str:
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no"
    if not isinstance(cell, float | np.floating):
        text = str(cell)
        return text if text.isprintable() else repr(text)  # a line break or a control character must not reach the terminal
    cell = float(cell)
    if cell == 0 or 1000 <= abs(cell) < 1e15:
        return f"{cell:,.0f}"
    return below(cell, 1, 3)
