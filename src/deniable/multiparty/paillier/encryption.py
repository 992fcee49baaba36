"""Encryption with a fixed base: a table of powers, and then one multiplication for each byte of the randomness.

c = (1 + x N) h^a with the same h every time, so that its powers are computed once: T[i][j] = h^(j 256^i). At 3072 bits that is 38 MB and
half a second, and then 2 ms for an encryption instead of 29. With 76 numbers of 40 bits in one ciphertext (``packing``) an integer costs
some 30 microseconds.
"""

from __future__ import annotations

from functools import cached_property

import gmpy2  # type: ignore[import-untyped]  # it has no types

from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError
from deniable.multiparty.paillier.keys import PublicKey

WORTH = 30
"""Encryptions from which on the table is worth making."""


class Encryptor:
    """Encrypts under one key; ``few`` encryptions go without a table, by one exponentiation each."""

    def __init__(self, public: PublicKey, *, few: bool = False) -> None:
        self.public, self._few = public, few

    @cached_property
    def _table(self) -> list[list[gmpy2.mpz]]:
        square, step, table = gmpy2.mpz(self.public.square), gmpy2.mpz(self.public.base), []
        for _ in range(self._random_bytes):
            row = [gmpy2.mpz(1)]
            for _ in range(255):
                row.append(row[-1] * step % square)
            table.append(row)
            step = row[-1] * step % square
        return table

    @property
    def _random_bytes(self) -> int:
        return -(-self.public.bits // 16)

    def encrypt(self, number: int, source: Source = SYSTEM) -> int:
        """A number from 0 to N - 1, encrypted; no two encryptions are alike."""
        if not 0 <= number < self.public.modulus:
            raise ParameterError("number", "out of range", allowed="from 0 to N - 1", fix="pack signed numbers first")
        square = self.public.square
        result = gmpy2.mpz(1 + number * self.public.modulus)
        words = source.words(-(-self._random_bytes // 8))
        random = b"".join(word.to_bytes(8, "little") for word in words)[: self._random_bytes]
        if self._few:
            return int(
                result * gmpy2.powmod_sec(self.public.base, int.from_bytes(random, "little") or self.public.modulus, square) % square
            )
        for row, byte in zip(self._table, random, strict=True):
            if byte:
                result = result * row[byte] % square
        return int(result)
