"""Two randomizations one after the other: what they do together, and how much the second must add to reach a given epsilon."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from deniable.contract.source import ONE, Source
from deniable.errors import ParameterError

Coin = tuple[Fraction, Fraction]
"""The probabilities that a bit is reported as 1 if it is 1, and if it is 0."""


def chained(first: Coin, second: Coin) -> Coin:
    """Return the coin of throwing two coins, the second about the outcome of the first.

    >>> chained((Fraction(3, 4), Fraction(1, 4)), (Fraction(3, 4), Fraction(1, 2)))
    (Fraction(11, 16), Fraction(9, 16))
    """
    (p, q), (keep, rise) = first, second
    return p * keep + (1 - p) * rise, q * keep + (1 - q) * rise


def odds(coin: Coin) -> Fraction:
    """Return the ratio of the odds of a 1: what a bit that turns on and another that turns off cost together."""
    p, q = coin
    return p * (1 - q) / ((1 - p) * q)


def last(accepts: Callable[[int], bool], low: int, high: int) -> int:
    """Return the largest integer from ``low`` to ``high`` that is accepted, where all below an accepted one are; ``low`` - 1 if none is.

    >>> last(lambda x: x * x <= 50, 0, 100)
    7
    """
    while low <= high:
        middle = (low + high) // 2
        if accepts(middle):
            low = middle + 1
        else:
            high = middle - 1
    return high


def bits_again(bits: int, count: int, keep: int, rise: int, source: Source) -> int:
    """Randomize ``count`` bits once more: a 1 stays with the threshold ``keep``, a 0 becomes one with ``rise``.

    Where both change equally often one draw for each bit is enough: whether it is flipped.
    """
    if keep + rise == ONE:
        return bits ^ source.bernoulli_bits(rise, count)
    kept = source.bernoulli_bits(keep, count)
    return bits & kept | source.bernoulli_bits(rise, count) & ~bits


def again_law(bits: int, count: int, second: Coin) -> dict[int, Fraction]:
    """Return the exact law of ``bits_again``."""
    weights = {0: Fraction(1)}
    for place in range(count):
        one = second[0] if bits >> place & 1 else second[1]
        weights = {found | bit << place: weight * (one if bit else 1 - one) for found, weight in weights.items() for bit in (0, 1)}
    return weights


def exact_share(name: str, value: Any) -> Fraction:
    """Return a number as it is written, exactly: 0.2 and "1/5" are the same. ParameterError if it is none.

    >>> exact_share("gamma", 0.2)
    Fraction(1, 5)
    """
    try:
        if isinstance(value, str | int | float | Fraction | Decimal) and not isinstance(value, bool):
            return Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        pass  # reported below, with everything else that is not a number
    raise ParameterError(name, value, allowed="a number or a string such as '3/4'", fix="pass a probability")
