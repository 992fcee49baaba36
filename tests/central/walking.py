"""Walks the branches of samplers that loop: every path down to a weight that no longer matters, and the weight that is left."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from deniable.testing import ForkingSource

CUT = Fraction(1, 1 << 72)


class Light(Exception):  # noqa: N818  # a signal between the source and the walk, not an error
    """A draw on a branch whose weight is below the cut."""


def walked(randomize, cut=CUT):
    """The weight of each outcome, and how much weight was not followed to its end."""
    weights, left, scripts = defaultdict(Fraction), Fraction(0), [()]

    class Followed(ForkingSource):
        """A source whose draws end where the branch's weight no longer matters."""

        def outcome(self, outcomes):
            if self.weight < cut:
                raise Light
            return super().outcome(outcomes)

    while scripts:
        source = Followed(scripts.pop())
        try:
            outcome = randomize(source)
        except Light:
            left += source.weight
        else:
            weights[outcome] += source.weight
        scripts += source.others
    return dict(weights), left


def inside(weight, left, interval):
    """Whether a weight, to which at most ``left`` is still to be added, can be the probability in an interval."""
    return weight <= interval.high and weight + left >= interval.low
