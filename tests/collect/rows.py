"""The rows of an answer's JSON, one by one."""

from __future__ import annotations

from typing import Any


def rows_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The columns of one question's estimate as rows, in the order of its values."""
    columns = answer["estimate"]["columns"]
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
