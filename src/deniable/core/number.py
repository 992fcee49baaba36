"""The estimate of a single number, with its error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deniable.core.estimate import Estimate


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NumberEstimate(Estimate):
    """One number under a name: ``value``, ``stderr`` and ``interval()`` are numbers, and no lists.

    >>> import numpy as np
    >>> from deniable.core.normal import Normal
    >>> law = Normal(900, np.array([420.0]), np.array([900.0]), np.array([1200.0]))
    >>> found = NumberEstimate(values=["park"], law=law, about="an example", quantity="count")
    >>> found.value, found.stderr, [round(limit, 1) for limit in found.interval()]
    (420.0, 30.0, [361.2, 478.8])
    """

    kind: str = "number"
    single: bool = True

    @property
    def value(self) -> Any:
        """The estimated number: a float, or a datetime. Of nobody, nan or None."""
        return self.point.item() if self.unit is None else self._shown(self.point)

    @property
    def p_value(self) -> float:
        """The chance of a number as clear as this one, if it were 0."""
        return float(self.law.p_values[0])

    @property
    def labels(self) -> list[Any]:
        return [self.title or self.values[0]]

    @property
    def name(self) -> str:
        """What the number is called where it is shown."""
        return str(self.values[0])
