"""Listings: tables that have nothing but their columns, a head and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.core.figure import Figure
from deniable.core.table import Table
from deniable.kernels.compiled import Array


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
    """What this is, in one line."""
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
