"""Estimated numbers of people, and what shares of all people they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.core.estimate import Estimate
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PeopleEstimate(Estimate):
    """How many people hold each value, or are in each part of a crowd: ranges of a line, cells of a map, sets of items, classes of a graph.

    The law is about counts or, with ``in_shares``, about shares of the people who were asked.
    """

    quantity: str = "count"
    kind: str = "people"
    in_shares: bool = False
    """Whether the numbers are shares, and no counts."""

    @property
    def counts(self) -> Array:
        """The estimated number of people behind each value, among those who reported."""
        return np.asarray(self.point * self.n) if self.in_shares else self.point

    @property
    def frequencies(self) -> Array:
        """The estimated share of people behind each value."""
        return self.point if self.in_shares else np.asarray(self.point / np.maximum(self.n, 1))

    def further(self) -> dict[str, Any]:
        return super().further() if self.in_shares else {"frequency": self.frequencies, **super().further()}
