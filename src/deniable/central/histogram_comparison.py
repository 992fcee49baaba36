"""The difference between two histograms that a session released, with a test that needs no normal law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.core.comparison import Comparison
from deniable.core.interval import check_level
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.central.histogram import CentralHistogram

_HALVINGS = 50
SMALLEST = 1e-15


@dataclass(frozen=True, eq=False, repr=False)
class CentralComparison(Comparison):
    """How each frequency changed from the ``first`` crowd to the ``second``; both count as samples of the people they stand for.

    Of the error a quarter goes to each count, noise and sampling, and a quarter to each number of rows, where that is private. The limits
    of the shares follow, and those of their difference. ``p_values`` is the smallest error at which they rule out that nothing changed.
    """

    first: CentralHistogram
    second: CentralHistogram

    @cached_property
    def p_values(self) -> Array:
        low, high = np.full(len(self.values), np.log(SMALLEST)), np.zeros(len(self.values))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below, above = self._limits(np.exp(middle))
            out = (below > 0) | (above < 0)
            low, high = np.where(out, low, middle), np.where(out, middle, high)
        return np.asarray(np.exp(high))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> tuple[Array, Array]:
        """Limits (low, high) for each change; for all of them together if simultaneous (Bonferroni)."""
        check_level("level", level)
        return self._limits((1 - level) / (self.first.family_size if simultaneous else 1))

    def _limits(self, alpha: Any) -> tuple[Array, Array]:
        (low_1, high_1), (low_2, high_2) = (_shares(side, alpha / 2) for side in (self.first, self.second))
        return low_2 - high_1, high_2 - low_1

    def headline(self) -> str:
        asked = f"{self.first.release.ask!r} with {self.second.release.ask!r}"
        return f"Comparison of {asked}; low, high and p hold for all values together (95 %)"


def _shares(side: CentralHistogram, alpha: Any) -> tuple[Array, Array]:
    """Limits of each frequency, rows being a sample."""
    if side.public:
        low, high = side.limits(alpha, population=True)
        return low / max(side.n, 1), high / max(side.n, 1)
    low, high = side.limits(alpha / 2, population=True)
    fewest, most = side.n_limits(alpha / 2)
    return np.minimum(low / np.maximum(most, 1.0), 1.0), np.minimum(high / np.maximum(fewest, 1.0), 1.0)
