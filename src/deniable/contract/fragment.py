"""Pieces of a value that can be puzzled together again, because each carries a hash of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deniable.contract.codes import code_bits, code_of
from deniable.contract.domain import Domain
from deniable.contract.encoder import Encoder, bulk_half
from deniable.contract.hashing import HashFamily, public_function
from deniable.contract.source import ONE, Source
from deniable.errors import ParameterError

LONGEST_INPUT = 64
LONGEST_HASH = 31


@dataclass(frozen=True)
class Fragment(Encoder):
    """Bits start..start + length - 1 of a value's code (``contract.codes``), after ``hash_bits`` bits of a public hash of the whole value.

    The input is a number of ``hash_bits + length`` bits, the hash in front. The hash is a shared function of the value's key
    (``contract.hashing``), named by salt and number; nothing is drawn, so the mechanism behind it keeps its epsilon.

    >>> from deniable.contract.domain import Integers, Text
    >>> Fragment(Integers(0, 255), 4, 4).encode(0x7B, source=None)
    11
    >>> [f"{Fragment(Text(6), 8 * i, 8, hash_bits=8).encode('tea', source=None):04x}" for i in range(4)]
    ['7174', '7165', '7161', '71ff']
    """

    domain: Domain
    start: int
    length: int
    hash_bits: int = 0
    salt: int = 0
    function: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise ParameterError("domain", self.domain, allowed="a Domain", fix="write domain=Text(10)")
        bits = code_bits(self.domain)
        for name, low, high, fix in (
            ("start", 0, bits - 1, "choose a start within the bits of this domain's codes"),
            ("hash_bits", 0, LONGEST_HASH, "try 8, or 0 for no hash"),
            ("salt", 0, ONE - 1, "leave it out, or publish another one"),
            ("function", 0, ONE - 1, "number the functions from 0 on"),
        ):
            if type(getattr(self, name)) is not int or not low <= getattr(self, name) <= high:
                raise ParameterError(name, getattr(self, name), allowed=f"an integer from {low} to {high}", fix=fix)
        longest = min(bits - self.start, LONGEST_INPUT - self.hash_bits)
        if type(self.length) is not int or not 1 <= self.length <= longest:
            allowed = f"an integer from 1 to {longest}"
            raise ParameterError("length", self.length, allowed=allowed, fix="choose a length with which hash and fragment fit in 64 bits")

    @property
    def inputs(self) -> int:
        return 1 << self.hash_bits + self.length

    @cached_property
    def family(self) -> HashFamily:
        """The functions that the hash is one of."""
        return HashFamily(key_bits=self.domain.key_bits, range=1 << self.hash_bits, shared=True)

    @cached_property
    def seed(self) -> tuple[int, ...]:
        """The seed of the function."""
        return public_function(self.salt, self.function)

    def hash(self, value: Any) -> int:
        """Return the public hash of a whole value; 0 where there is none."""
        return self.family.symbol(self.seed, self.domain.key(value)) if self.hash_bits else 0

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def encode(self, value: Any, source: Source) -> int:
        after = code_bits(self.domain) - self.start - self.length
        cut = code_of(self.domain, value) >> after & (1 << self.length) - 1
        return self.hash(value) << self.length | cut

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("codes", "Fragment.encode_many").fragments(self, values)
