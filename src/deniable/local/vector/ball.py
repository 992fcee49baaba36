"""The vectors of a ball: what people may hold whose mean direction is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import Any, ClassVar

import numpy as np

from deniable.contract.domain import Domain
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array

LARGEST_DIMENSION = 1 << 20
SLACK = 1e-9
"""How much longer than the radius a vector may be: dividing by a length in double precision leaves that."""


@dataclass(frozen=True)
class Ball(Domain):
    """Vectors of so many numbers, no longer than ``radius``.

    >>> Ball(3, 1.0).matrix([[0.6, 0.0, 0.8], [0, 0, 0]]).shape
    (2, 3)
    """

    dimension: int
    radius: float
    kind: ClassVar[str] = "ball"
    listed: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """More than anyone counts."""
        return 1 << 64

    def key(self, value: Any) -> int:
        raise ParameterError("domain", "vectors", allowed="a domain whose values can be told apart", fix="vectors have no keys")

    def to_json(self) -> dict[str, Any]:
        """Refuse: a domain that is registered nowhere must not be written as if it could be read."""
        raise ParameterError("domain", "vectors", allowed="dimension and radius", fix="they travel as parameters of the spec")

    def describe(self) -> str:
        return f"vectors of {self.dimension} finite numbers, at most {self.radius:g} long"

    def matrix(self, values: Any) -> Array:
        """People's vectors as the rows of a matrix, on the scale of the unit ball; DomainError naming the first that is not allowed."""
        try:
            rows = np.asarray(values)
            rows = np.zeros((0, self.dimension)) if rows.size == 0 and rows.ndim < 2 else rows
            if rows.dtype.kind not in "iuf" or rows.ndim != 2 or rows.shape[1] != self.dimension:
                raise ValueError
        except ValueError:
            what = f"shape {np.shape(values)}" if isinstance(values, np.ndarray) else type(values).__name__
            fix = "pass a matrix with one row for each person"
            raise DomainError("values", what, allowed=f"one row of {self.dimension} numbers for each person", fix=fix) from None
        scaled = rows.astype(np.float64) / self.radius
        with np.errstate(over="ignore", invalid="ignore"):
            bad = ~(np.einsum("ij,ij->i", scaled, scaled) <= (1 + SLACK) ** 2)
        if bad.any():
            position = int(np.argmax(bad))
            raise self.refuse(f"a vector of length {hypot(*rows[position].tolist()):g}", position)
        return np.ascontiguousarray(scaled)
