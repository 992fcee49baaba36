"""Whole numbers about people, kept by a few parties: the noise hides one person, not a whole party.

``FixedPoint`` holds a party's vector to the norm that the noise is scaled for: there the party itself is what is hidden. A hospital's
counts are far larger than what one patient changes in them, so here ``norm_1`` and ``norm_2`` bound what one *person* changes, and
``largest`` alone bounds the numbers. That nobody changes more than that is the party's own business: nothing in a count shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np

from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.multiparty.fixed_point import FixedPoint


@dataclass(frozen=True, kw_only=True)
class Counts(FixedPoint):
    """``length`` whole numbers, none beyond ``largest``; one person changes them by ``norm_1`` in all, or ``norm_2`` as Euclid measures.

    >>> codec = Counts(length=2, largest=10_000, norm_1=1.0, norm_2=1.0, bits=0)
    >>> codec.encode([318, 0]).tolist(), codec.steps_1
    ([318, 0], 1)
    >>> codec.encode([318, 0.5])
    Traceback (most recent call last):
    deniable.errors.DomainError: numbers: got 'a fraction'; allowed: 2 whole numbers; ...
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bits:
            raise ParameterError("bits", self.bits, allowed="0, for whole numbers", fix='fractions need unit = "party"')

    @property
    def steps_1(self) -> int:
        """What one person changes, in absolute values added up; whole numbers are not rounded."""
        return ceil(self.norm_1)

    @property
    def steps_2(self) -> float:
        """The same in the Euclidean norm, rounded up."""
        return self.norm_2 * (1 + 1e-12)

    @property
    def largest_step(self) -> int:
        """The largest number of a party."""
        return floor(self.largest)

    def encode(self, numbers: Any) -> Array:
        """A party's integers; DomainError, which shows none of them, if they are not what was agreed on."""
        array = np.asarray(numbers, dtype=float)
        if array.shape != (self.length,) or not np.all(np.isfinite(array)):
            raise DomainError("numbers", array.shape, allowed=f"{self.length} finite numbers", fix="as many as the sum has")
        if np.any(array != np.floor(array)):
            raise DomainError("numbers", "a fraction", allowed=f"{self.length} whole numbers", fix="count people")
        if np.abs(array).max() > self.largest:
            raise DomainError("numbers", "one that is too large", allowed=f"at most {self.largest:g} each", fix="check the numbers")
        return array.astype(np.int64)
