"""What one call for a whole search gives back: an estimate, and the search that made it."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.contract.protocol import Protocol
from deniable.core.interval import Limits
from deniable.core.table import Table
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart


class Found(Table):
    """What was found, the most frequent first, with errors. ``search`` is the protocol with its settings, ``estimate`` what it gave."""

    search: Protocol
    estimate: Any

    @property
    @abstractmethod
    def why(self) -> str:
        """The settings, in a few sentences."""

    @property
    def values(self) -> list[Any]:
        """What was found, the most frequent first."""
        return list(self.estimate.values)

    @property
    def n(self) -> Any:
        """How many people counted each value."""
        return self.estimate.n

    @property
    def guarantee(self) -> Guarantee:
        """What the whole search costs a person."""
        return self.search.guarantee

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each value: the estimate's."""
        limits: Limits = self.estimate.interval(level, simultaneous=simultaneous)
        return limits

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        rows: dict[str, Any] = self.estimate.rows()
        return rows

    def headline(self) -> str:
        return f"{self.estimate.headline()}\n{self.why}"

    def order(self) -> Array:
        return np.arange(len(self.estimate.values))

    def notes(self) -> list[str]:
        notes: list[str] = self.estimate.notes()
        return notes

    def chart(self, k: int = 20) -> Chart:
        """The k most frequent with their 95 % intervals."""
        chart: Chart = self.estimate.chart(k)
        return chart
