"""Places on a line: which of some neighboring intervals holds a value, and the parity of some bits of its key."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from deniable.contract.domain import Domain
from deniable.contract.encoder import Encoder, bulk_half
from deniable.contract.form import HEXADECIMAL, tuple_of
from deniable.contract.record import wire
from deniable.contract.source import Source
from deniable.errors import ParameterError


@dataclass(frozen=True)
class Interval(Encoder):
    """Which interval holds a value's key. They cover the whole domain: each begins at one of the ``starts``, the first of which is 0.

    >>> from deniable.contract.domain import Integers
    >>> [Interval(Integers(1, 12), (0, 3, 9)).encode(month, source=None) for month in (1, 3, 4, 9, 12)]
    [0, 0, 1, 1, 2]
    """

    domain: Domain
    starts: tuple[int, ...] = field(metadata=wire(form=tuple_of(HEXADECIMAL)))

    def __post_init__(self) -> None:
        _check_listed(self.domain)
        listed = (*self.starts, self.domain.size)
        if listed[0] != 0 or not all(type(low) is int and low < high for low, high in pairwise(listed)):
            allowed = f"0, and then rising numbers below {self.domain.size}"
            raise ParameterError("starts", self.starts[:5], allowed=allowed, fix="sort them; the first interval begins at 0")

    @property
    def inputs(self) -> int:
        """How many intervals there are."""
        return len(self.starts)

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def encode(self, value: Any, source: Source) -> int:
        return bisect_right(self.starts, self.domain.key(value)) - 1

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("cells", "Interval.encode_many").intervals(self, values)


@dataclass(frozen=True)
class Parity(Encoder):
    """Whether a value's key has an odd number of ones under a mask: a sign of the Hadamard matrix, as 0 for +1 and 1 for -1.

    >>> from deniable.contract.domain import Integers
    >>> [Parity(Integers(0, 7), 0b110).encode(value, source=None) for value in range(8)]
    [0, 0, 1, 1, 1, 1, 0, 0]
    """

    domain: Domain
    mask: int = field(metadata=wire(form=HEXADECIMAL))

    def __post_init__(self) -> None:
        _check_listed(self.domain)
        end = 1 << self.domain.key_bits
        if type(self.mask) is not int or not 0 < self.mask < end:
            raise ParameterError(
                "mask", self.mask, allowed=f"an integer from 1 to {end - 1}", fix="choose a mask within the bits of this domain's keys"
            )

    @property
    def inputs(self) -> int:
        """Even and odd."""
        return 2

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def encode(self, value: Any, source: Source) -> int:
        return (self.domain.key(value) & self.mask).bit_count() & 1

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("cells", "Parity.encode_many").parities(self, values)


def _check_listed(domain: object) -> None:
    if not isinstance(domain, Domain) or not domain.listed:
        raise ParameterError("domain", domain, allowed="a listed domain, whose order counts", fix="write domain=Integers(0, 99)")
