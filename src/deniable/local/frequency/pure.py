"""What every pure protocol does in bulk: a report supports some values, and supports are counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from deniable.client.pure import PureProtocol
from deniable.core.supports import SupportEstimate
from deniable.kernels.compiled import Array
from deniable.local.frequency.listed import ListedOracle

PureType = TypeVar("PureType", bound=PureProtocol)


class PureOracle(ListedOracle[PureType]):
    """The bulk half of a mechanism in the frame of ``client.pure``: its counters are supports."""

    def of_counters(self, values: Sequence[Any], n: int, counters: Array) -> SupportEstimate:
        return SupportEstimate(self.spec, values, n, counters, *self.probabilities())

    def probabilities(self) -> tuple[Array, Array]:
        """P and q as floats, one each or one per value."""
        return np.asarray(float(self.spec.p)), np.asarray(float(self.spec.q))
