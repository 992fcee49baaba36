"""Noise that a forking source can walk: listed value by value, or decided only by the comparison that is made with it."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

REACH = 24


class Listed:
    """The law of an exact noise on the integers near 0; what lies farther out is missing from the walk's total."""

    def __init__(self, noise, reach=REACH):
        self.noise, self.reach = noise, reach

    def draw(self, source):
        z = source.outcome(2 * self.reach + 1) - self.reach
        source.weigh(mass(self.noise, z))
        return z


class Lazy:
    """Noise that is compared before it is known: two branches, as likely as the comparison's two outcomes."""

    def __init__(self, noise, reach=REACH):
        self.noise, self.reach = noise, reach

    def draw(self, source):
        return Drawn(self, source)


class Drawn:
    def __init__(self, law, source, shift=0):
        self.law, self.source, self.shift, self.least = law, source, shift, None

    def __radd__(self, value):
        self.shift += value
        return self

    def __ge__(self, threshold):
        least = threshold - self.shift
        share = tail(self.law.noise, least, self.law.reach)
        above = bool(self.source.outcome(2))
        self.source.weigh(share if above else 1 - share)
        self.least = least if above else None
        return above

    def __int__(self):
        """The sum itself, of one that is known to be above."""
        first = max(self.least, -self.law.reach)
        z = first + self.source.outcome(max(self.law.reach - first + 1, 1))
        self.source.weigh(mass(self.law.noise, z) / tail(self.law.noise, self.least, self.law.reach))
        return self.shift + z


class Silent:
    """No noise at all."""

    def draw(self, source):
        return 0


@cache
def mass(noise, z):
    return noise.probability(z)[0]


@cache
def tail(noise, least, reach):
    """P(z >= least): whatever lies beyond the reach counts as far out on the upper side."""
    return 1 - sum((mass(noise, z) for z in range(-reach, min(least, reach + 1))), Fraction(0))
