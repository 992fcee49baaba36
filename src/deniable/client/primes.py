"""Primes, for the mechanisms that calculate in a finite field."""

from __future__ import annotations

_BASES = (2, 7, 61)


def is_prime(number: int) -> bool:
    """Whether a number is prime. Miller-Rabin with these bases is exact below 4,759,123,141 (Jaeschke 1993): for 32 bits.

    >>> [number for number in range(30) if is_prime(number)], is_prime(2**32 - 5), is_prime(2**32 - 3)
    ([2, 3, 5, 7, 11, 13, 17, 19, 23, 29], True, False)
    """
    if number < 2 or number in _BASES or number % 2 == 0:
        return number in _BASES
    twos = (number - 1 & 1 - number).bit_length() - 1
    for base in _BASES:
        power = pow(base, number - 1 >> twos, number)
        if power != 1 and all(pow(power, 1 << i, number) != number - 1 for i in range(twos)):
            return False
    return True


def next_prime(number: int) -> int:
    """The smallest prime that is not below a number."""
    while not is_prime(number):
        number += 1
    return number
