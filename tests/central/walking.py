"""Walks the branches of samplers that loop: every path down to a weight that no longer matters, and the weight that is left."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from deniable.testing import ForkingSource, Undecided

CUT = Fraction(1, 1 << 72)


def walked(randomize, cut=CUT):
    """The weight of each outcome, and how much weight was not followed to its end."""
    weights, left, scripts = defaultdict(Fraction), Fraction(0), [()]
    while scripts:
        script = scripts.pop()
        source = ForkingSource(script)
        try:
            outcome = randomize(source)
        except Undecided as draw:
            if source.weight < cut:
                left += source.weight
            else:
                scripts += [(*script, outcome) for outcome in range(draw.outcomes)]
        else:
            weights[outcome] += source.weight
    return dict(weights), left


def inside(weight, left, interval):
    """Whether a weight, to which at most ``left`` is still to be added, can be the probability in an interval."""
    return weight <= interval.high and weight + left >= interval.low
