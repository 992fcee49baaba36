"""Judges for noise: independent of the code they judge, exact, and able to say no."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

from deniable.contract.source import Source
from deniable.testing import ForkingSource, law_of

OPEN = "open"
"""What a walk gives for words that leave it undecided."""
UNIT = 10**80


def weights_of(linear, quadratic, reach):
    """e^-(linear |z| + quadratic z^2) for z = 0 .. reach, by the textbook, in units of 10^-80 and off by less than one of them."""
    linear, quadratic = Fraction(linear), Fraction(quadratic)
    bottom = linear.denominator * quadratic.denominator
    with localcontext() as context:
        context.prec = 100
        exponents = (int((linear * z + quadratic * z * z) * bottom) for z in range(reach + 1))
        return [int((-Decimal(top) / bottom).exp() * UNIT) for top in exponents]


def law_by_the_book(noise, reach):
    """P(z) for -reach .. reach as fractions good to 70 digits, where all but 1e-70 lies within reach."""
    weights = weights_of(noise.linear, noise.quadratic, reach)
    total = 2 * sum(weights) - weights[0]
    return {z: Fraction(weights[abs(z)], total) for z in range(-reach, reach + 1)}


class Enumerated(ForkingSource):
    """Forks on raw words of a few bits; past ``depth`` words, or at a second try, the walk ends undecided."""

    word_bits = 5
    depth = 3
    below = Source.below
    bernoulli = Source.bernoulli

    def __init__(self, script, seed=()):
        super().__init__(script, seed)
        self.drawn = 0

    def word(self):
        self.drawn += 1
        if self.drawn > self.depth:
            raise EOFError
        self.denominator <<= self.word_bits
        return self.outcome(1 << self.word_bits)


def enumerated(draw, fork=Enumerated):
    """The law of shipping code on short words: what is decided within a few of them, exactly, and what is left open."""

    def walk(source):
        try:
            return draw(source)
        except EOFError:
            return OPEN

    return law_of(walk, fork=fork)


def matches(found, law, share=1):
    """Whether an enumerated law can be that law in the limit, ``share`` of it at least being decided by then.

    Every outcome has at most its probability, since what is open can only add to it; and what it lacks is open.
    """
    slack = Fraction(1, 10**60)  # the textbook's digits
    outcomes = [z for z in found if z != OPEN]
    below = all(z in law and found[z] <= share * law[z] + slack for z in outcomes)
    return found.total == 1 and below and sum(found[z] for z in outcomes) + found[OPEN] == 1 and found[OPEN] <= 1 - share + Fraction(1, 50)


def divergence(one, other, epsilon):
    """Bounds of the hockey-stick divergence sum of (p - e^epsilon q)_+, from bounds (low, high) of each probability."""
    with localcontext() as context:
        context.prec = 80
        power = Fraction(Decimal(epsilon).exp())
    low = sum((max(p[0] - power * q[1], Fraction(0)) for p, q in zip(one, other, strict=True)), Fraction(0))
    high = sum((max(p[1] - power * q[0], Fraction(0)) for p, q in zip(one, other, strict=True)), Fraction(0))
    return low, high
