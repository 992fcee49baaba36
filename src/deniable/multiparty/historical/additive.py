"""Encrypt-Sum and Decrypt-Sum of PASTE, corrected: a Paillier key in U parts that add up, all of which are needed.

The parts d_u add up to d = 0 (mod kappa), d = 1 (mod N), with kappa the order of the key; they are drawn modulo N kappa, which is the
exponent of the group, so that no part says anything. Each party hides its number x_u behind a fresh r_u::

    Encrypt-Sum    c_u = Enc(x_u + r_u)                          the aggregator multiplies: c = Enc(Q + r), r the sum of all r_u
    Decrypt-Sum    c'_u = c^d_u (1 - r_u N)                      their product is 1 + Q N

Why r_u: parties raise what an aggregator shows them to secret powers. If it shows one party's ciphertext instead of the product, it gets
that party's number minus the others' r, which is uniform as long as one of them is honest.

As on the slides, with the corrections: the quotient of two L is a modular inverse (here it is gone), and g^key is never published.

References: Rastogi, Nath 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import gmpy2  # type: ignore[import-untyped]  # it has no types

from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError, WireError
from deniable.multiparty.paillier.keys import random_below


@dataclass(frozen=True)
class AdditiveKey:
    """The modulus, and the part of the key of each of some parties."""

    modulus: int
    parts: tuple[int, ...] = field(repr=False)

    @property
    def square(self) -> int:
        """N^2."""
        return self.modulus**2

    @classmethod
    def deal(cls, first: int, second: int, parties: int, source: Source = SYSTEM) -> AdditiveKey:
        """A key from two primes, in parts; whoever deals it is trusted to forget it."""
        modulus, order = first * second, int(gmpy2.lcm(first - 1, second - 1))
        if first == second or gmpy2.gcd(modulus, order) != 1 or type(parties) is not int or parties < 2:
            raise ParameterError("parties", parties, allowed="two or more, and two primes of one length", fix="draw the primes anew")
        secret, exponent = order * int(gmpy2.invert(order, modulus)), modulus * order
        parts = [random_below(exponent, source) for _ in range(parties - 1)]
        return cls(modulus, (*parts, (secret - sum(parts)) % exponent))

    def encrypt(self, number: int, source: Source = SYSTEM) -> int:
        """An integer modulo N, encrypted."""
        random = 1 + random_below(self.modulus - 1, source)
        return int((1 + number % self.modulus * self.modulus) * gmpy2.powmod(random, self.modulus, self.square) % self.square)

    def decryption_part(self, ciphertext: int, party: int, mask: int) -> int:
        """Decrypt-Sum: what a party answers to a product, with the r_u that it had added."""
        powered = gmpy2.powmod_sec(ciphertext, self.parts[party], self.square)
        return int(powered * (1 - mask % self.modulus * self.modulus) % self.square)

    def open(self, answers: Sequence[int]) -> int:
        """The sum behind all parties' answers, as a signed integer."""
        product = gmpy2.mpz(1)
        for answer in answers:
            product = product * answer % self.square
        quotient, left = divmod(int(product) - 1, self.modulus)
        if left or len(answers) != len(self.parts):
            raise WireError("answers", len(answers), allowed=f"those of all {len(self.parts)} parties", fix="all are needed")
        return quotient - self.modulus if quotient > self.modulus // 2 else quotient

    def multiply(self, ciphertexts: Sequence[int]) -> int:
        """The encryption of the sum."""
        product = gmpy2.mpz(1)
        for ciphertext in ciphertexts:
            product = product * ciphertext % self.square
        return int(product)
