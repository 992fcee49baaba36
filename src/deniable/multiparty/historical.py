"""The distributed noise of PASTE, as published: a protocol of the literature that does not keep its promise, labelled. Never a default.

**DLPA, the distributed Laplace noise: not epsilon-DP on integers, at any precision.** If Y_1 .. Y_4 are Gaussians of variance s^2, then
Y_1^2 + Y_2^2 - Y_3^2 - Y_4^2 is Laplace of scale 2 s^2. Parties each draw a part of every Y_j and add the parts up under encryption, square
the sum, and add the four squares to the sum of their numbers. On real numbers that is right, with the honest parties' variance. Ciphertexts
hold integers, though, and the number of ways to write z as a^2 + b^2 - c^2 - d^2 follows the divisors of z: likely and unlikely results
stand side by side, and epsilon is not what is claimed (``lab.audit.four_gaussians`` computes the figure: for a claim of 1 it is 1.7 to 1.9,
with a delta of 0.07 at 1; and it does not fall with the claim). More bits do not help. Use ``multiparty.noise``.

**Encrypt-Sum and Decrypt-Sum**, corrected: a Paillier key in U parts that add up, all of which are needed. The parts d_u add up to d = 0
(mod kappa), d = 1 (mod N), with kappa the order of the key; they are drawn modulo N kappa, which is the exponent of the group, so that no
part says anything. Each party hides its number x_u behind a fresh r_u::

    Encrypt-Sum    c_u = Enc(x_u + r_u)                          the aggregator multiplies: c = Enc(Q + r), r the sum of all r_u
    Decrypt-Sum    c'_u = c^d_u (1 - r_u N)                      their product is 1 + Q N

Why r_u: parties raise what an aggregator shows them to secret powers. If it shows one party's ciphertext instead of the product, it gets
that party's number minus the others' r, which is uniform as long as one of them is honest. As on the slides, with the corrections: the
quotient of two L is a modular inverse (here it is gone), and g^key is never published.

**Encrypt-Sum-Squared**, with the minus that the slides lost: the exponent is y_u - a_u + b_u. a_u and b_u are dealt, the b_u add up to 0,
and Enc(a^2) is public for a the sum of all a_u. Every query needs everybody online, three rounds, and nine encryptions.

References: Rastogi, Nath 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import gmpy2  # type: ignore[import-untyped]  # it has no types

from deniable.central.exact_noise import ExactNoise
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError, WireError
from deniable.multiparty.paillier.keys import random_below

LABEL = "not epsilon-DP on integers: historical"


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
        """A key from two primes, in parts; the dealer is trusted to forget it."""
        modulus, order = first * second, int(gmpy2.lcm(first - 1, second - 1))
        if first == second or gmpy2.gcd(modulus, order) != 1 or type(parties) is not int or parties < 2:
            raise ParameterError("parties", parties, allowed="two or more, and two primes of one length", fix="draw new primes")
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
            raise WireError("answers", len(answers), allowed=f"those of all {len(self.parts)} parties", fix="pass all of them")
        return quotient - self.modulus if quotient > self.modulus // 2 else quotient

    def multiply(self, ciphertexts: Sequence[int]) -> int:
        """The encryption of the sum."""
        product = gmpy2.mpz(1)
        for ciphertext in ciphertexts:
            product = product * ciphertext % self.square
        return int(product)


@dataclass(frozen=True)
class DLPA:
    """A noisy sum of integers of many parties. ``variance`` is that of each Gaussian part of a party, in steps of its grid squared.

    With ``variance`` = scale / (2 gamma U) the noise of gamma U honest parties has the scale that is claimed, on real numbers.
    """

    key: AdditiveKey
    variance: Fraction
    _offsets: tuple[int, ...] = field(repr=False)
    _turns: tuple[int, ...] = field(repr=False)
    _square: int = field(repr=False)

    @classmethod
    def deal(cls, key: AdditiveKey, variance: Fraction, source: Source = SYSTEM) -> DLPA:
        """The secrets of squaring: a_u, and b_u that add up to 0."""
        if not 0 < variance < 1 << 40:
            raise ParameterError("variance", variance, allowed="above 0, below 2^40", fix="compute it as scale / (2 gamma U)")
        offsets = tuple(random_below(key.modulus, source) for _ in key.parts)
        turns = [random_below(key.modulus, source) for _ in key.parts[1:]]
        return cls(key, variance, offsets, (*turns, -sum(turns) % key.modulus), key.encrypt(sum(offsets) ** 2, source))

    @property
    def guarantee(self) -> Guarantee:
        """None that is worth the name: infinite, with the label."""
        return Guarantee(epsilon=float("inf"), model="multiparty", certificate=LABEL)

    @cached_property
    def _noise(self) -> ExactNoise:
        return ExactNoise(quadratic=1 / (2 * self.variance))

    def encrypt_sum(self, numbers: Sequence[int], masks: Sequence[int], source: Source = SYSTEM) -> int:
        """Enc(sum of numbers + sum of masks)."""
        return self.key.multiply([self.key.encrypt(x + r, source) for x, r in zip(numbers, masks, strict=True)])

    def encrypt_sum_squared(self, numbers: Sequence[int], masks: Sequence[int], source: Source = SYSTEM) -> int:
        """Enc((sum of numbers)^2 + sum of masks), in two rounds: nobody learns the sum."""
        both = self.key.multiply([self.key.encrypt(y + a, source) for y, a in zip(numbers, self._offsets, strict=True)])
        answers = [
            gmpy2.powmod_sec(both, (y - a + b) % self.key.modulus or self.key.modulus, self.key.square) * self.key.encrypt(r, source)
            for y, a, b, r in zip(numbers, self._offsets, self._turns, masks, strict=True)
        ]
        return self.key.multiply([*answers, self._square])

    def noisy_sum(self, numbers: Sequence[int], source: Source = SYSTEM) -> int:
        """Encrypt-Noisy-Sum and Decrypt-Sum, all parties in memory: the sum of numbers and of the four squares, with their signs."""
        if len(numbers) != len(self.key.parts):
            raise ParameterError("numbers", len(numbers), allowed=f"one of each of {len(self.key.parts)} parties", fix="pass all of them")
        modulus, everybody = self.key.modulus, range(len(numbers))
        masks = [[random_below(modulus, source) for _ in everybody] for _ in range(5)]
        squares = [self.encrypt_sum_squared([self._noise.draw(source) for _ in everybody], masks[j], source) for j in range(4)]
        plain = self.encrypt_sum(numbers, masks[4], source)
        taken = [gmpy2.invert(square, self.key.square) for square in squares[2:]]
        product = self.key.multiply([*squares[:2], *taken, plain])
        total = [masks[0][u] + masks[1][u] - masks[2][u] - masks[3][u] + masks[4][u] for u in everybody]
        return self.key.open([self.key.decryption_part(product, u, total[u]) for u in everybody])
