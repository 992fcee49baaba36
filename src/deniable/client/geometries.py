"""Prime fields and their projective geometries: how many points these have, and which of them suits a domain best."""

from __future__ import annotations

from bisect import bisect_left
from math import expm1

from deniable.errors import ParameterError

LARGEST_GEOMETRY = 1 << 28
"""The most points: the collector has a counter for each."""
LARGEST_WORK = 1 << 40
"""The most additions for one tally, unless the caller chooses the dimension: a quarter of an hour, about 10^9 in a second."""
_BASES = (2, 7, 61)


def is_prime(number: int) -> bool:
    """Return whether a number is prime. Miller-Rabin with these bases is exact below 4,759,123,141 (Jaeschke 1993): for 32 bits.

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
    """Return the smallest prime that is not below a number."""
    while not is_prime(number):
        number += 1
    return number


def points_in(order: int, dimension: int) -> int:
    """Return how many lines through the origin there are in a space of so many coordinates modulo the order.

    >>> [points_in(order, 3) for order in (2, 3, 5)]
    [7, 13, 31]
    """
    points: int = (order**dimension - 1) // (order - 1)
    return points


def best_geometry(count: int, epsilon: float, order: int | None = None, dimension: int | None = None) -> tuple[int, int]:
    """Return the order and the dimension with the least variance, averaged over ``count`` values; what is given is only checked.

    >>> [best_geometry(128, epsilon) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    [(3, 6), (3, 6), (11, 3), (127, 2)]
    """
    for name, number in (("order", order), ("dimension", dimension)):
        if number is not None and not (isinstance(number, int) and 2 <= number < LARGEST_GEOMETRY):
            raise ParameterError(name, number, allowed="an integer from 2 on", fix="leave it out for the best one")
    if order is not None and not is_prime(order):
        raise ParameterError("order", order, allowed="a prime", fix="leave it out for the best one")
    dimensions = range(2, LARGEST_GEOMETRY.bit_length()) if dimension is None else [min(dimension, LARGEST_GEOMETRY.bit_length())]
    work = LARGEST_WORK if dimension is None else LARGEST_GEOMETRY**2
    pairs = [(q, t) for t in dimensions for q in (_orders(count, epsilon, t, work) if order is None else [order])]
    fitting = [pair for pair in pairs if count <= points_in(*pair) <= LARGEST_GEOMETRY]
    if not fitting:
        raise ParameterError(
            "order, dimension",
            (order, dimension),
            allowed=f"{count} points, one for each value, to {LARGEST_GEOMETRY}: (order^dimension - 1) / (order - 1)",
            fix="leave one of them out for the best one",
        )
    return min(fitting, key=lambda pair: _spread(count, epsilon, *pair))


def _orders(count: int, epsilon: float, dimension: int, work: int) -> list[int]:
    """Return the primes worth trying. As the order grows, the variance falls to a minimum and rises: the best is next to the minimum."""
    orders = range(2, int(LARGEST_GEOMETRY ** (1 / (dimension - 1))) + 2)
    first = bisect_left(orders, count, key=lambda q: points_in(q, dimension))
    last = bisect_left(orders, work + 1, key=lambda q: points_in(q, dimension) * q * (dimension - 2))
    orders = orders[first:last]
    least = bisect_left(orders, True, key=lambda q: _spread(count, epsilon, q + 1, dimension) >= _spread(count, epsilon, q, dimension))
    below, above = filter(is_prime, reversed(orders[:least])), filter(is_prime, orders[least:])
    return [q for primes in (below, above) if (q := next(primes, None)) is not None]


def _spread(count: int, epsilon: float, order: int, dimension: int) -> float:
    """Return the variance for each report, averaged over the values."""
    points, orthogonal, shared = (points_in(order, dimension - k) for k in range(3))
    excess = expm1(epsilon)
    total = excess * orthogonal + points
    p, q, gap = (excess + 1) * orthogonal / total, (excess * shared + orthogonal) / total, excess * (orthogonal - shared) / total
    return q * (1 - q) / gap**2 + (1 - p - q) / gap / count
