"""Many signed integers in one plaintext, each in a slot of its own, so that adding plaintexts adds them all.

Slot i holds v_i 2^(W i); negative numbers borrow from the slots above, and opening gives it back. A sum is right if every slot's sum stays
within W - 1 bits. One that does not spoils its neighbor, so the codec refuses parameters with which honest parties could get there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.errors import DomainError, ParameterError

WIDTH = 40


@dataclass(frozen=True)
class Packing:
    """``length`` integers of each of ``parties`` parties, none beyond ``largest``, in plaintexts below a modulus of so many bits.

    >>> packing = Packing(bits=3072, length=2000, parties=1000, largest=1 << 20)
    >>> packing.slots, packing.plaintexts
    (76, 27)
    """

    bits: int
    length: int
    parties: int
    largest: int
    width: int = WIDTH

    def __post_init__(self) -> None:
        whole = all(type(part) is int for part in (self.bits, self.length, self.parties, self.largest, self.width))
        if not whole or min(self.length, self.parties, self.largest, self.width) < 1 or self.slots < 1:
            received = (self.length, self.parties, self.largest, self.width)
            raise ParameterError("packing", received, allowed="positive numbers, a slot that fits the modulus", fix="check them")
        if self.parties * self.largest >= 1 << (self.width - 1):
            allowed = f"sums below 2^{self.width - 1} in absolute value"
            raise ParameterError("width", self.width, allowed=allowed, fix="use wider slots: one that overflows corrupts its neighbor")

    @property
    def slots(self) -> int:
        """Integers in one plaintext; two bits of the modulus are left for the sign."""
        return (self.bits - 2) // self.width

    @property
    def plaintexts(self) -> int:
        """How many plaintexts a vector takes."""
        return -(-self.length // self.slots)

    def pack(self, numbers: Sequence[int], modulus: int) -> list[int]:
        """A party's vector as plaintexts."""
        if len(numbers) != self.length or any(abs(int(number)) > self.largest for number in numbers):
            allowed = f"{self.length} integers of at most {self.largest} in absolute value"
            raise DomainError("numbers", len(numbers), allowed=allowed, fix="clip them first")
        found = []
        for start in range(0, self.length, self.slots):
            packed = 0
            for number in reversed(numbers[start : start + self.slots]):
                packed = (packed << self.width) + int(number)
            found.append(packed % modulus)
        return found

    def unpack(self, plaintexts: Sequence[int], modulus: int) -> list[int]:
        """The sum of vectors; DomainError if these are not sums of plaintexts that were packed so."""
        found: list[int] = []
        half, mask = 1 << (self.width - 1), (1 << self.width) - 1
        for plaintext in plaintexts:
            left = plaintext - modulus if plaintext > modulus // 2 else plaintext
            for _ in range(min(self.slots, self.length - len(found))):
                number = left & mask
                number -= (number >= half) << self.width
                found.append(number)
                left = (left - number) >> self.width
            if left:
                fix = "begin a new sum: a share or a ciphertext was wrong, or a party exceeded its bounds"
                raise DomainError("sum", "more than its slots", allowed="sums of packed vectors", fix=fix)
        return found
