"""Threshold Paillier: anybody encrypts, numbers add up under encryption, and t of l decryptors open a sum together.

With safe primes p = 2 p' + 1 and q = 2 q' + 1, N = p q and m = p' q', the secret is d = 0 (mod m), d = 1 (mod N). It is shared by a random
polynomial F of degree t - 1 modulo N m; decryptor i holds F(i). With D = l! and L(u) = (u - 1) / N::

    encryption    c = (1 + x N) h^a mod N^2     a uniform of |N| / 2 bits; h = (-y^2)^N mod N^2 for a random y
    share         c_i = c^(2 D F(i))
    opening       x = L(product of c_i^(2 w_i)) / (4 D^2) mod N,  w_i = D times the product of j / (j - i) over all other j that open

**Trust.** The *dealer* knows the keys and is trusted to forget them. t - 1 decryptors learn nothing from a sum (under the
decisional composite residuosity assumption); t of them together open anything. So t is more than half of l: any two committees that open
have a member in common, who opens one sum of an agreement and no other. Decryptors are taken to keep to the protocol: they do not
prove that a share is right; one that is wrong by accident gives a number that is no valid packing, one that is made up on purpose need not.
``powmod_sec`` of gmpy2 takes the time of the exponent's length; nothing else here is protected against timing.

Nothing public depends on the order of the group. With g = 1 + N and an unblinded key, publishing g^key, as the formula of the PASTE slides
needs, would publish the key itself.

References: Paillier 1999; Fouque, Poupard, Stern 2000; Damgard, Jurik, Nielsen 2010.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import factorial

import gmpy2  # type: ignore[import-untyped]  # it has no types
import numpy as np

from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError, WireError, one_of
from deniable.kernels.compiled import Array

BITS = (2048, 3072, 4096)
"""Lengths of a modulus: 3072 bits are worth 128 bits of security, 2048 about 112."""
MOST_DECRYPTORS = 20
"""Exponents grow by the length of l!, which is 61 bits here."""


@dataclass(frozen=True)
class PublicKey:
    """What everybody knows: the modulus, the base of the randomness, and how many of how many decryptors open a sum."""

    modulus: int
    base: int
    decryptors: int
    threshold: int

    def __post_init__(self) -> None:
        check_committee(self.decryptors, self.threshold)
        if self.base % self.modulus in (0, 1, self.modulus - 1):
            fix = "do not trust this dealer: powers of this base hide nothing"
            raise ParameterError("base", "1, -1 or 0 modulo N", allowed="the base that a dealer drew", fix=fix)

    @cached_property
    def square(self) -> int:
        """N^2, modulo which ciphertexts are."""
        return self.modulus**2

    @property
    def bits(self) -> int:
        """The length of the modulus."""
        return self.modulus.bit_length()

    @property
    def cipher_bytes(self) -> int:
        """The length of a ciphertext."""
        return (2 * self.bits + 7) // 8

    def read(self, data: bytes) -> int:
        """A ciphertext; WireError for what no encryption gives: zero, too large, or with a factor in common with the modulus."""
        number = int.from_bytes(data, "little")
        if len(data) != self.cipher_bytes or not 0 < number < self.square or gmpy2.gcd(number, self.modulus) != 1:
            allowed = f"{self.cipher_bytes} bytes of a unit modulo N^2"
            raise WireError("ciphertext", f"{len(data)} bytes", allowed=allowed, fix="encrypt with this key")
        return number

    def write(self, number: int) -> bytes:
        """A ciphertext as bytes."""
        return int(number).to_bytes(self.cipher_bytes, "little")

    def open(self, shares: Mapping[int, int]) -> int:
        """The number behind the decryptors' shares of one ciphertext, by their places from 1 on; any threshold of them will do."""
        if len(shares) < self.threshold or not all(1 <= place <= self.decryptors for place in shares):
            allowed = f"{self.threshold} or more, of decryptors 1 to {self.decryptors}"
            raise ParameterError("shares", sorted(shares), allowed=allowed, fix="wait for more decryptors")
        some, whole = dict(sorted(shares.items())[: self.threshold]), factorial(self.decryptors)
        combined = gmpy2.mpz(1)
        for place, share in some.items():
            top, bottom = whole, 1
            for other in some:
                if other != place:
                    top, bottom = top * other, bottom * (other - place)
            weight, left = divmod(top, bottom)
            if left:
                raise ArithmeticError("a Lagrange weight times l! is an integer")
            combined = combined * gmpy2.powmod(share, 2 * weight, self.square) % self.square
        quotient, left = divmod(int(combined) - 1, self.modulus)
        if left:
            raise WireError("shares", sorted(shares), allowed="shares of one ciphertext", fix="ask again: somebody sent a wrong share")
        return int(quotient * gmpy2.invert(4 * whole**2, self.modulus) % self.modulus)


@dataclass(frozen=True)
class KeyShare:
    """What one decryptor holds. It is secret, and shown by no ``repr``."""

    public: PublicKey
    place: int
    value: int = field(repr=False)

    def decrypt(self, ciphertext: int) -> int:
        """This decryptor's share of the number in a ciphertext."""
        exponent = 2 * factorial(self.public.decryptors) * self.value
        return int(gmpy2.powmod_sec(ciphertext, exponent, self.public.square))


def check_committee(decryptors: int, threshold: int) -> None:
    """Refuse committees of which two parts without a common member could open two sums: their difference would show a party."""
    if type(decryptors) is not int or not 1 <= decryptors <= MOST_DECRYPTORS:
        raise ParameterError("decryptors", decryptors, allowed=f"from 1 to {MOST_DECRYPTORS}", fix="choose a smaller committee")
    if type(threshold) is not int or not decryptors < 2 * threshold <= 2 * decryptors:
        allowed = f"from {decryptors // 2 + 1} to {decryptors}, more than half of {decryptors} decryptors"
        raise ParameterError("threshold", threshold, allowed=allowed, fix="choose more than half: otherwise two halves could open two sums")


def deal(*, bits: int = 3072, decryptors: int, threshold: int, source: Source = SYSTEM) -> tuple[PublicKey, list[KeyShare]]:
    """New keys: the public one, and a share for each decryptor. The caller must forget everything but the first (some seconds)."""
    if bits not in BITS:
        raise ParameterError("bits", bits, allowed=one_of(BITS), fix="use 3072")
    check_committee(decryptors, threshold)  # before the primes, which take a while
    first = safe_prime(bits // 2, source)
    second = first
    while second == first:
        second = safe_prime(bits // 2, source)
    return deal_with(first, second, decryptors=decryptors, threshold=threshold, source=source)


def deal_with(first: int, second: int, *, decryptors: int, threshold: int, source: Source = SYSTEM) -> tuple[PublicKey, list[KeyShare]]:
    """Keys from two safe primes. Small ones are for tests."""
    check_committee(decryptors, threshold)
    modulus, order = first * second, (first - 1) * (second - 1) // 4
    if first == second or gmpy2.gcd(modulus, order) != 1 or order <= decryptors:
        raise ParameterError("primes", "two of them", allowed="different safe primes of one length", fix="draw new primes")
    secret = order * int(gmpy2.invert(order, modulus))
    coefficients = [secret, *(random_below(modulus * order, source) for _ in range(threshold - 1))]
    root = 2 + random_below(modulus - 3, source)
    base = int(gmpy2.powmod(-root * root % modulus, modulus, modulus**2))
    public = PublicKey(modulus, base, decryptors, threshold)
    shares = [
        KeyShare(public, place, sum(value * place**power for power, value in enumerate(coefficients)) % (modulus * order))
        for place in range(1, decryptors + 1)
    ]
    return public, shares


def random_below(limit: int, source: Source) -> int:
    """Uniform below a limit of any length."""
    words = -(-limit.bit_length() // 64)
    while True:
        number = 0
        for word in source.words(words):
            number = number << 64 | word
        number >>= 64 * words - limit.bit_length()
        if number < limit:
            return number


_SIEVED = 1 << 18
_WINDOW = 1 << 17


def safe_prime(bits: int, source: Source = SYSTEM) -> int:
    """A random safe prime p of so many bits, its two highest ones set: products of two have twice the length.

    (p - 1) / 2 is prime, too. Candidates q = 5 (mod 6) for it are sieved by small primes, so that neither q nor 2 q + 1 has one as a
    factor; what is left is tested. It is written by hand because the only maintained generator, in OpenSSL's parameters for Diffie and
    Hellman, is leaving ``cryptography``.

    >>> p = safe_prime(64)
    >>> p.bit_length(), gmpy2.is_prime(p), gmpy2.is_prime((p - 1) // 2), p % 4
    (64, True, True, 3)
    """
    if type(bits) is not int or not 16 <= bits <= 1 << 13 or bits % 8:
        raise ParameterError("bits", bits, allowed="a multiple of 8 from 16 to 8192", fix="use 1536 for a modulus of 3072")
    while True:
        half = int.from_bytes(draw_bytes(source, -(-bits // 64) * 8)[: bits // 8], "big") >> 1
        start = half | 3 << (bits - 3)  # of (p - 1) / 2, which has one bit less
        start += (5 - start) % 6
        for place in np.flatnonzero(_survivors(start)):
            q = start + 6 * int(place)
            if q.bit_length() == bits - 1 and _is_prime(q) and _is_prime(2 * q + 1):
                return 2 * q + 1


def _is_prime(number: int) -> bool:
    """Quick for most that are none; then 40 rounds of Miller and Rabin, and the test of Baillie, Pomerance, Selfridge and Wagstaff."""
    return bool(gmpy2.powmod(2, number - 1, number) == 1 and gmpy2.is_prime(number, 40))


def _survivors(start: int) -> Array:
    """Which of start, start + 6, start + 12 .. have no small prime in them nor in twice themselves plus one."""
    left = np.ones(_WINDOW, dtype=bool)
    for prime in _small_primes():
        inverse = pow(6, -1, prime)
        for root in (0, (prime - 1) // 2):  # q = 0, and 2 q + 1 = 0
            first = (root - start) * inverse % prime
            left[first::prime] = False
            if start <= _SIEVED and start + 6 * first in (prime, (prime - 1) // 2):
                left[first] = True  # small numbers are their own factors
    return left


@cache
def _small_primes() -> list[int]:
    sieve = np.ones(_SIEVED, dtype=bool)
    for factor in range(2, 1 << 9):
        sieve[factor * factor :: factor] = False
    return [int(prime) for prime in np.flatnonzero(sieve) if prime > 3]
