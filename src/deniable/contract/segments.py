"""Segments of a value's code, wherever they lie in it: what is asked about when values are put together from their parts."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from deniable.contract.codes import code_bits, code_of
from deniable.contract.domain import Domain
from deniable.contract.encoder import Encoder, bulk_half, counted
from deniable.contract.form import HEXADECIMAL, tuple_of
from deniable.contract.record import wire
from deniable.contract.source import Source
from deniable.errors import ParameterError

LONGEST_INPUT = 64


@dataclass(frozen=True)
class Segments(Encoder):
    """Segments of a value's code (``contract.codes``), joined in the order given, or where they stand in a list of candidates.

    A part is a start and a length, in bits, the most significant first; together they have at most 64 bits. With ``candidates``, in
    rising order, the input is their position, and for everyone else one more: not a candidate.

    >>> from deniable.contract.domain import Integers
    >>> ends = ((0, 4), (12, 4))
    >>> f"{Segments(Integers(0, 0xFFFF), ends).encode(0x7AB9, source=None):x}"
    '79'
    >>> [Segments(Integers(0, 0xFFFF), ends, (0x12, 0x79)).encode(value, source=None) for value in (0x7AB9, 0x7AB8)]
    [1, 2]
    """

    domain: Domain
    parts: tuple[tuple[int, int], ...]
    candidates: tuple[int, ...] | None = field(default=None, metadata=wire(form=tuple_of(HEXADECIMAL)))

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise ParameterError("domain", self.domain, allowed="a Domain", fix="write domain=Text(10)")
        bits = code_bits(self.domain)
        inside = [type(start) is type(length) is int and 0 <= start < start + length <= bits for start, length in self.parts]
        if not inside or not all(inside) or sum(length for _, length in self.parts) > LONGEST_INPUT:
            allowed = f"starts and lengths within {bits} bits, {LONGEST_INPUT} bits in all"
            raise ParameterError("parts", self.parts, allowed=allowed, fix="choose parts within the bits of this domain's codes")
        listed = self.candidates if self.candidates is not None else ()
        if any(not 0 <= low < high for low, high in pairwise((*listed, self.size))):
            allowed = f"numbers below {self.size}, each larger than the one before"
            raise ParameterError("candidates", listed[:5], allowed=allowed, fix="sort them and drop repetitions")

    @property
    def size(self) -> int:
        """How many different inputs there are without a list of candidates."""
        return 1 << sum(length for _, length in self.parts)

    @property
    def inputs(self) -> int:
        return counted(self.size, self.candidates)

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def encode(self, value: Any, source: Source) -> int:
        code, bits = code_of(self.domain, value), code_bits(self.domain)
        joined = 0
        for start, length in self.parts:
            joined = joined << length | code >> bits - start - length & (1 << length) - 1
        if self.candidates is None:
            return joined
        position = bisect_left(self.candidates, joined)
        return position if self.candidates[position : position + 1] == (joined,) else len(self.candidates)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("codes", "Segments.encode_many").segments(self, values)
