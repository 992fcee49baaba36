"""What every pure protocol does in bulk: a report supports some values, and supports are counted."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from deniable.client.pure import PureProtocol
from deniable.core.supports import Supports
from deniable.kernels.compiled import Array
from deniable.local.frequency.listed import ListedOracle

PureType = TypeVar("PureType", bound=PureProtocol)


class PureOracle(ListedOracle[PureType]):
    """The bulk half of a mechanism in the frame of ``client.pure``: its counters are supports."""

    def count_law(self, n: int, counters: Array) -> Supports:
        return Supports(n, counters, *self.probabilities())

    def probabilities(self) -> tuple[Array, Array]:
        """P and q as floats, one each or one per value."""
        return np.asarray(float(self.spec.p)), np.asarray(float(self.spec.q))
