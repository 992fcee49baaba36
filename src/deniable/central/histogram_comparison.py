"""The difference between two histograms that a session released, with a test that needs no normal law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.core.comparison import Comparison
from deniable.core.interval import Limits

if TYPE_CHECKING:
    from deniable.central.histogram import CentralHistogram


@dataclass(frozen=True, eq=False, repr=False)
class CentralComparison(Comparison):
    """How each frequency changed from the ``first`` crowd to the ``second``; both count as samples of the people they stand for.

    Of the error a quarter goes to each count, noise and sampling, and a quarter to each number of rows, where that is private. The limits
    of the shares follow, and those of their difference. ``p_values`` is the smallest error at which they rule out that nothing changed.
    """

    first: CentralHistogram
    second: CentralHistogram

    def _crossed(self, alpha: Any, sides: Any) -> Limits:
        (low_1, high_1), (low_2, high_2) = (_shares(side, alpha / 2) for side in sides)
        return low_2 - high_1, high_2 - low_1

    def headline(self) -> str:
        asked = f"{self.first.release.ask!r} with {self.second.release.ask!r}"
        return f"Comparison of {asked}; low, high and p hold for all values together (95 %)"


def _shares(side: CentralHistogram, alpha: Any) -> Limits:
    """Limits of each frequency, rows being a sample."""
    if side.public:
        low, high = side.limits(alpha, population=True)
        return low / max(side.n, 1), high / max(side.n, 1)
    low, high = side.limits(alpha / 2, population=True)
    fewest, most = side.n_limits(alpha / 2)
    return np.minimum(low / np.maximum(most, 1.0), 1.0), np.minimum(high / np.maximum(fewest, 1.0), 1.0)
