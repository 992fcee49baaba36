"""Estimated numbers of people in parts of a crowd, with their shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.core.estimate import Estimate
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PeopleEstimate(Estimate):
    """How many people are in each part of a crowd: ranges of a line, cells of a map, places, classes of a graph."""

    quantity: str = "count"

    kind: str = "people"

    @property
    def counts(self) -> Array:
        """The estimated number of people in each part."""
        return self.point

    @property
    def frequencies(self) -> Array:
        """The estimated share of people in each part."""
        return np.asarray(self.point / max(self.n, 1))

    def further(self) -> dict[str, Any]:
        return {"frequency": self.frequencies}
