"""A coin that shows heads with probability e^-x, exactly, for a rational x: no number e^-x is ever computed.

For x <= 1, with K = 1, 2, 3, .. go on with probability x / K and stop at the first K that does not. K is reached or passed with
probability x^(K - 1) / (K - 1)!, so it is odd where the coin stops with probability::

    sum over odd K of  x^(K - 1) / (K - 1)! - x^K / K!  =  e^-x

For x > 1 one coin of e^-1 is flipped for each unit of x, until one fails, and one for the rest. That takes few words however large x is.

References: von Neumann 1951; Forsythe 1972; Canonne, Kamath, Steinke 2020 (algorithm 1).
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import NamedTuple

from deniable.contract.source import Source
from deniable.errors import ParameterError

_PRECISE = Context(prec=60, Emin=-(10**12))
SURELY_TINY = 10**6
"""Above it, e^-x is told apart from 0 by no audit: the interval is from 0 to e^-x at this exponent."""


def bernoulli_exp(numerator: int, denominator: int, source: Source) -> bool:
    """True with probability e^-(numerator / denominator), exactly; the exponent must not be negative.

    >>> from deniable.testing import ReplaySource
    >>> source = ReplaySource.from_key("docs")
    >>> sum(bernoulli_exp(1, 2, source) for _ in range(10_000))  # e^-0.5 is 0.6065
    6107
    """
    if numerator < 0 or denominator < 1:
        allowed = "an exponent from 0 on, over a positive integer"
        raise ParameterError("exponent", f"{numerator} / {denominator}", allowed=allowed, fix="pass x of e^-x")
    units, rest = divmod(numerator, denominator)
    return all(_below_one(1, 1, source) for _ in range(units)) and _below_one(rest, denominator, source)


def _below_one(numerator: int, denominator: int, source: Source) -> bool:
    if not numerator:
        return True  # e^0: no word is needed
    reached = 1
    while source.bernoulli_ratio(numerator, denominator * reached):
        reached += 1
    return reached % 2 == 1


class RationalInterval(NamedTuple):
    """Two rationals with a real number between them, for audits: e^-x has no exact form."""

    low: Fraction
    high: Fraction


def exp_interval(exponent: Fraction) -> RationalInterval:
    """Rationals around e^-exponent, 52 digits apart.

    >>> low, high = exp_interval(Fraction(1, 3))
    >>> float(low), bool(0 < high - low < Fraction(1, 10**51))
    (0.7165313105737893, True)
    """
    if exponent == 0:
        return RationalInterval(Fraction(1), Fraction(1))
    capped = min(exponent, Fraction(SURELY_TINY))
    quotient = _PRECISE.divide(Decimal(-capped.numerator), Decimal(capped.denominator))
    slack = Fraction(1, 10**52)  # the quotient is off by 60 digits of at most SURELY_TINY, and the exponential by half a unit
    middle = Fraction(quotient.exp(_PRECISE))
    return RationalInterval(Fraction(0) if capped < exponent else middle * (1 - slack), middle * (1 + slack))
