"""Tables of results as people read them: texts, with what they are about and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from deniable.collect.analysis.answer import picked_rows


class TableText(NamedTuple):
    """The names of the columns, the lines, and all that is to be said about them."""

    names: tuple[str, ...]
    lines: list[list[str]]
    caption: str


def table_text(answer: Mapping[str, Any], k: int) -> TableText:
    """The k first rows of a result, from its part of the JSON."""
    rows, names = picked_rows(answer, k), tuple(answer["columns"])
    lines = [[cell_text(row[name]) for name in names] for row in rows]
    more = [f"the first {len(rows):,} of {len(answer['rows']):,} rows"] if len(rows) < len(answer["rows"]) else []
    return TableText(tuple(map(cell_text, names)), lines, "; ".join([*more, *map(cell_text, answer["about"])]))


def cell_text(cell: Any) -> str:
    r"""A cell in as many digits as a person reads; a dash where nothing is known.

    >>> cell_text(0.123456), cell_text(-1234.5), cell_text(None), cell_text("a\nb"), cell_text(7)
    ('0.123', '−1,234', '–', "'a\\nb'", '7')
    """
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return (f"{cell:,.0f}" if cell == 0 or 1000 <= abs(cell) < 1e15 else f"{cell:.3g}").replace("-", "−")
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    text = f"0x{cell.hex()}" if isinstance(cell, bytes) else str(cell)
    return text if text.isprintable() else repr(text)
