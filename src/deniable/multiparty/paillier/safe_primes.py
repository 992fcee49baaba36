"""Safe primes: primes p for which (p - 1) / 2 is prime too, so that the squares modulo p q form a cyclic group without small subgroups.

Candidates q = 5 (mod 6) are sieved by small primes, so that neither q nor 2 q + 1 has one as a factor; what is left is tested. Written by
hand because the only well-kept generator for them, in OpenSSL's parameters for Diffie and Hellman, is on its way out of ``cryptography``.
"""

from __future__ import annotations

from functools import cache

import gmpy2  # type: ignore[import-untyped]  # it has no types
import numpy as np

from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

_SIEVED = 1 << 18
_WINDOW = 1 << 17


def safe_prime(bits: int, source: Source = SYSTEM) -> int:
    """A random safe prime of so many bits, its two highest ones set: products of two have twice the length.

    >>> p = safe_prime(64)
    >>> p.bit_length(), gmpy2.is_prime(p), gmpy2.is_prime((p - 1) // 2), p % 4
    (64, True, True, 3)
    """
    if type(bits) is not int or not 16 <= bits <= 1 << 13 or bits % 8:
        raise ParameterError("bits", bits, allowed="a multiple of 8 from 16 to 8192", fix="1536 for a modulus of 3072")
    while True:
        half = int.from_bytes(draw_bytes(source, -(-bits // 64) * 8)[: bits // 8], "big") >> 1
        start = half | 3 << (bits - 3)  # of (p - 1) / 2, which has one bit less
        start += (5 - start) % 6
        for place in np.flatnonzero(_survivors(start)):
            q = start + 6 * int(place)
            if q.bit_length() == bits - 1 and _is_prime(q) and _is_prime(2 * q + 1):
                return 2 * q + 1


def _is_prime(number: int) -> bool:
    """Quick for most that are none; then 40 rounds of Miller and Rabin beside the test of Baillie, Pomerance, Selfridge and Wagstaff."""
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
