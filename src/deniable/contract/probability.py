"""Exact probabilities from epsilon, rounded toward privacy.

A threshold is an integer over 2^64. It is computed from a rational number just below e^epsilon, in ``Decimal`` arithmetic
with a stated direction, so that the law built on the threshold keeps its promise as real numbers, not up to rounding.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from deniable.contract.source import ONE
from deniable.errors import ParameterError

_PRECISE = Context(prec=60, rounding=ROUND_FLOOR)
LARGEST_EPSILON = 30.0
"""Beyond it no mechanism's probabilities fit 64 bits; the exact limit of each is checked on its own law."""
SMALLEST_EPSILON = 1e-8
"""Below it, estimators in double precision would lose the difference of the probabilities."""
_remembered = lru_cache(maxsize=4096, typed=True)
"""A search makes hundreds of specs with a few epsilons: each of its exponentials and logarithms is computed once. Typed, since 4 == 4.0."""
TIGHTNESS = 1e-9
"""How far the exact epsilon of the integer law may stay below the epsilon asked for."""


def check_epsilon(epsilon: object) -> float:
    """Return epsilon as a float; ParameterError unless it is in range."""
    try:
        number = float(epsilon) if hasattr(epsilon, "__float__") and type(epsilon).__name__ not in ("bool", "bool_") else math.nan
        if isinstance(epsilon, Fraction | Decimal) and Fraction(number) > epsilon:
            number = math.nextafter(number, 0.0)  # down: no more than was asked for
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number < math.inf:
        raise ParameterError("epsilon", epsilon, allowed="a finite number above 0", fix="choose one: common values lie between 0.1 and 4")
    if number < SMALLEST_EPSILON:
        raise ParameterError(
            "epsilon",
            epsilon,
            allowed=f"at least {SMALLEST_EPSILON}",
            fix="choose a larger epsilon: below this, no crowd is large enough to learn anything from",
        )
    if number > LARGEST_EPSILON:
        raise ParameterError(
            "epsilon",
            epsilon,
            allowed=f"at most {LARGEST_EPSILON}: probabilities are multiples of 1 / 2^64",
            fix="choose a smaller epsilon; above 10 there is hardly any privacy left",
        )
    return number


def exact_epsilon(epsilon: float) -> Decimal:
    """Return the real number that a float epsilon promises.

    0.3 may be read as the decimal that was typed or as the binary number that is stored; the smaller one honors both.
    """
    return min(Decimal(repr(epsilon)), Decimal(epsilon))


@_remembered
def exp_below(epsilon: float, share: Fraction = Fraction(1)) -> Fraction:
    """Return a rational just below e^(share epsilon): less than 1e-58 of it is lost.

    >>> float(exp_below(1.0))
    2.718281828459045
    >>> 0 < Decimal(1).exp(_PRECISE) - Decimal("2.71828182845904523536028747135266249775724709369995") < Decimal("1e-49")
    True
    """
    # Decimal.exp rounds to nearest whatever the context says; the neighbor below is a certain lower bound.
    return Fraction(_PRECISE.next_minus(_exponent(epsilon, share).exp(_PRECISE)))


@_remembered
def exp_above(epsilon: float, share: Fraction) -> Fraction:
    """Return a rational just above e^(share epsilon); the share may be negative."""
    return Fraction(_PRECISE.next_plus(_exponent(epsilon, share).exp(_PRECISE)))


@_remembered
def log_above(ratio: Fraction) -> float:
    """Return the smallest float that is certainly not below ln(ratio).

    >>> log_above(Fraction(3)) >= Decimal(3).ln()
    True
    """
    if ratio == 1:
        return 0.0
    up = Context(prec=60, rounding=ROUND_CEILING)
    quotient = up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    bound = up.next_plus(quotient.ln(up))  # ln rounds to nearest: the neighbor above is a certain upper bound
    nearest = float(bound)
    while exact_epsilon(nearest) < bound:  # both readings of the float must be above
        nearest = math.nextafter(nearest, math.inf)
    return nearest


def floor_threshold(probability: Fraction) -> int:
    """Return the largest threshold that is not above a probability."""
    return math.floor(probability * ONE)


def ceil_threshold(probability: Fraction) -> int:
    """Return the smallest threshold that is not below a probability."""
    return math.ceil(probability * ONE)


@_remembered
def favored_threshold(epsilon: float, favored: int, others: int, share: Fraction = Fraction(1)) -> int:
    """Return the threshold of the ``favored`` outcomes together, each of them e^(share epsilon) times as likely as each of the ``others``.

    Rounded down: favoring them less than is allowed only adds privacy.

    >>> favored_threshold(1.0, 1, 3) / ONE
    0.4753668864186717
    """
    e = exp_below(epsilon, share)
    return floor_threshold(favored * e / (favored * e + others))


def check_resolution(epsilon: float, effective: float, *, tight: bool = True) -> None:
    """Raise if a law does not keep epsilon, or if integers over 2^64 cannot express epsilon."""
    if effective > epsilon:
        raise ParameterError(
            "epsilon",
            epsilon,
            allowed=f"at least {effective!r} for these probabilities",
            fix="let the probabilities be computed from epsilon, or state the epsilon that they have",
        )
    if effective <= 0:
        raise ParameterError(
            "epsilon",
            epsilon,
            allowed="large enough for its probabilities to differ by at least 1 / 2^64",
            fix="choose a larger epsilon; such a report carries no information",
        )
    if tight and epsilon - effective > TIGHTNESS:
        raise ParameterError(
            "epsilon",
            epsilon,
            allowed="small enough for probabilities that are multiples of 1 / 2^64 (about 24)",
            fix=f"choose a smaller epsilon; these parameters reach {effective!r}",
        )


def _exponent(epsilon: float, share: Fraction) -> Decimal:
    # Sixty digits: what is lost here is far below what the neighbors taken above and below allow for.
    return _PRECISE.divide(_PRECISE.multiply(exact_epsilon(epsilon), Decimal(share.numerator)), Decimal(share.denominator))
