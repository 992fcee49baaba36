"""Association rules: the share of people with some items who also hold some others, with errors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from deniable.contract.arguments import typed
from deniable.core.estimate import Estimate, PeopleEstimate
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.itemsets.estimate import SetShares
from deniable.tasks.itemsets.lengths import COUNTED

MOST_IN_A_RULE = 8
"""The largest set that makes rules: larger ones make more rules than anyone reads."""


@dataclass(frozen=True, eq=False)
class Confidence(Law):
    """The share of those who hold ``both`` sides of a rule among those who hold the ``first``.

    Errors are those of ratios of independent normal estimates. Items and sets are counted by different people, so this is right for rules
    from one item; between two sets counted by the same people a small covariance is left out, and in a lift between two items that both
    may be off by the same scale. Limits are Fieller's: where the first side is not clearly held by anybody the confidence may be
    anything, from 0 to 1. They allow for cut lists: the lower limit as if the count of the first side missed all that it may miss, and
    that of both sides nothing; the upper limit the other way around.
    """

    both: SetShares
    first: SetShares
    second: SetShares
    """Of the lift alone."""

    @property
    def n(self) -> Array:
        """How many people were asked about both sides together."""
        return self.both.n

    @property
    def point(self) -> Array:
        return np.asarray(self.both.point / self.first.point)

    def variance(self, at: Array, *, population: bool = False) -> Array:
        parts = (side.variance(side.point, population=population) / side.point**2 for side in (self.both, self.first))
        return np.asarray(at**2 * sum(parts))

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        sides = self.both, self.first
        errors = np.array([side.seen_error(population=population) for side in sides])
        more_both, more_first = (side.missing(alpha / 4) for side in sides)
        both, first = (side.seen for side in sides)
        z = scipy.stats.norm.isf(alpha / np.where(self.both.cut | self.first.cut, 4, 2))
        return fieller(both, first + more_first, errors, z)[0], fieller(both + more_both, first, errors, z)[1]

    @property
    def lift(self) -> Array:
        """How many times as often people with the first side hold the second side, compared with everyone; 1 if they are unrelated."""
        return np.asarray(self.point / self.second.point)

    @property
    def lift_stderr(self) -> Array:
        """The standard error of each lift, to first order."""
        sides = (self.both, self.first, self.second)
        return np.asarray(np.abs(self.lift) * np.sqrt(sum((side.errors / side.point) ** 2 for side in sides)))

    def select(self, positions: Array) -> Confidence:
        return Confidence(*(side.select(positions) for side in (self.both, self.first, self.second)))


@typed
def association_rules(found: PeopleEstimate, *, confidence: float = 0.0, level: float = 0.95) -> Estimate:
    """Return all rules "people with these items hold those" between counted sets whose estimated confidence is at least this.

    ``found`` is the result of a search for sets; its part ``counted``, if it has one, is what rules are made of. Only sets that stand out
    of the noise at the level make rules (simultaneously, of all that were counted); both sides and their union must have been counted, and
    those that are estimated at zero or less make none. A value is the two sides of a rule. ``details`` has the share of people who hold
    both sides (support), and how many times more often than among everybody the second side is held by those who hold the first (lift): 1
    if they are unrelated.

    >>> from deniable.contract.guarantee import Guarantee
    >>> shares, errors, asked = np.array([0.5, 0.4, 0.3]), np.array([0.01, 0.01, 0.02]), np.array([9000, 9000, 8000])
    >>> sets = [("tea",), ("milk",), ("tea", "milk")]
    >>> from deniable.tasks.itemsets.estimate import set_estimate
    >>> association_rules(set_estimate(sets, shares, errors, asked, Guarantee(epsilon=2.0)))
    rules by confidence, epsilon = 2; low and high: 95 %, noise only
    value        confidence  stderr    low   high  support  lift  lift_stderr
    milk => tea        0.75  0.0534  0.647  0.857      0.3   1.5        0.111
    tea => milk         0.6  0.0418  0.519  0.683      0.3   1.5        0.111
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ParameterError("confidence", confidence, allowed="a share from 0 to 1", fix="try 0.5")
    counted: Any = found.parts.get(COUNTED, found)
    if not isinstance(counted.law, SetShares):
        raise ParameterError(
            "found", type(found).__name__, allowed="the result of a search for sets", fix="pass the result of frequent_itemsets(...)"
        )
    place = {frozenset(value): i for i, value in enumerate(counted.values)}
    low, _ = counted.interval(level, simultaneous=True)
    rules, positions = [], []
    for value, i in ((tuple(value), place[frozenset(value)]) for value in counted.values):
        if not 2 <= len(value) <= MOST_IN_A_RULE or low[i] <= 0:
            continue
        for size in range(1, len(value)):
            for first in combinations(value, size):
                second = tuple(item for item in value if item not in first)
                sides = place.get(frozenset(first)), place.get(frozenset(second))
                if None not in sides and all(counted.point[side] > 0 for side in sides):
                    rules.append((first, second))
                    positions.append((i, *sides))
    at = np.array(positions, dtype=np.int64).reshape(-1, 3).T
    kept = np.flatnonzero(counted.point[at[0]] >= confidence * counted.point[at[1]])
    law = Confidence(*(counted.law.select(side) for side in at[:, kept]))
    return Estimate(
        values=[rules[i] for i in kept],
        law=law,
        about=f"rules by confidence, epsilon = {counted.guarantee.epsilon:.4g}",
        guarantee=counted.guarantee,
        covers=counted.covers,
        quantity="confidence",
        kind="rules",
        falling=True,
        details={"support": law.both.point, "lift": law.lift, "lift_stderr": law.lift_stderr},
    )


def fieller(both: Array, first: Array, errors: Array, z: Array) -> Limits:
    """The ratios r within 0 to 1 for which both - r first is less than z standard errors away from zero; all where first may be 0.

    >>> low, high = fieller(np.array([0.3]), np.array([0.4]), np.array([[0.02], [0.01]]), np.array([1.96]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.647], [0.857])
    """
    a, b, c = first**2 - (z * errors[1]) ** 2, both * first, both**2 - (z * errors[0]) ** 2
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    clear = a > 0
    safe = np.where(clear, a, 1.0)
    low, high = np.where(clear, (b - root) / safe, 0.0), np.where(clear, (b + root) / safe, 1.0)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
