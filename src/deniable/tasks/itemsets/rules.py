"""Association rules: of those who hold some items, how many hold some others as well, with errors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.contract.arguments import typed
from deniable.core.interval import Limits, check_level
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.itemsets.estimate import SetEstimate

if TYPE_CHECKING:
    from deniable.core.chart import Chart

MOST_IN_A_RULE = 8
"""Sets of more items make more rules than anybody reads."""


@dataclass(frozen=True, eq=False, repr=False)
class AssociationRules(Table):
    """Rules "who holds these holds those", each from the estimated shares of both together and of the two sides.

    ``support`` is the share of people who hold both sides, ``confidence`` the share of these among those who hold the first side, and
    ``lift`` how many times more often than among everybody the second side is held there; 1 if the two have nothing to do with each other.

    Errors are those of ratios of independent normal estimates. Items and sets are counted by different people, so this is right for rules
    from one item; between two sets counted by the same people a small covariance is left out, and in a lift between two items that both
    may be off by the same scale. Intervals are Fieller's: where the first side is not clearly held by anybody the confidence may be
    anything, and its interval is all from 0 to 1. They allow for cut lists: the lower limit as if the count of the first side missed all
    that it may miss, and that of both sides nothing; the upper limit the other way around.
    """

    rules: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...]
    counted: SetEstimate
    at: Array
    """Where both sides, the first and the second are in ``counted``, one row each."""

    @property
    def shares(self) -> Array:
        """The shares of both sides, the first and the second, one row each."""
        return self.counted.frequencies[self.at]

    @property
    def errors(self) -> Array:
        """The standard errors of these shares."""
        return self.counted.frequency_stderr[self.at]

    @property
    def support(self) -> Array:
        """The share of people who hold both sides."""
        return np.asarray(self.shares[0])

    @property
    def confidence(self) -> Array:
        """The share of those who hold the second side among those who hold the first."""
        return np.asarray(self.shares[0] / self.shares[1])

    @property
    def stderr(self) -> Array:
        """The standard error of each confidence, to first order."""
        return np.asarray(np.abs(self.confidence) * np.hypot(*(self.errors / self.shares)[:2]))

    @property
    def lift(self) -> Array:
        """The confidence over the share of all people who hold the second side."""
        return np.asarray(self.confidence / self.shares[2])

    @property
    def lift_stderr(self) -> Array:
        """The standard error of each lift, to first order."""
        return np.asarray(np.abs(self.lift) * np.sqrt(((self.errors / self.shares) ** 2).sum(axis=0)))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each confidence, within 0 to 1: the ratios r for which both - r first is not clearly away from zero."""
        check_level("level", level)
        sides, alpha = self.counted.select(self.at[:2].ravel()), (1 - level) / (max(len(self.rules), 1) if simultaneous else 1)
        errors, (both, first) = sides.seen_stderr.reshape(2, -1), sides.seen.reshape(2, -1)
        more_both, more_first = sides.missing(alpha / 4).reshape(2, -1)
        z = stats.norm.isf(alpha / np.where(sides.cut.reshape(2, -1).any(axis=0), 4, 2))
        return fieller(both, first + more_first, errors, z)[0], fieller(both + more_both, first, errors, z)[1]

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(0.95)
        shown = [" => ".join(", ".join(map(str, side)) for side in rule) for rule in self.rules]
        confidence = {"confidence": self.confidence, "low": low, "high": high}
        return {"value": shown, "support": self.support, **confidence, "lift": self.lift, "lift_stderr": self.lift_stderr}

    def headline(self) -> str:
        return f"{len(self.rules):,} rules by confidence; low and high: 95 % of the confidence, {self.counted.covers}"

    def order(self) -> Array:
        return np.argsort(-self.confidence, kind="stable")

    def chart(self, k: int = 20) -> Chart:
        """The k rules of the largest confidence, with their 95 % intervals."""
        from deniable.tasks.charts import row_chart

        return row_chart(self, "confidence", k, together=False, axis="confidence")


@typed
def association_rules(counted: SetEstimate, *, confidence: float = 0.0, level: float = 0.95) -> AssociationRules:
    """All rules between sets that were counted, whose confidence is at least so much: of the estimate, not of its interval.

    Only sets that stand out of the noise at the level make rules (simultaneously, of all that were counted); both sides and their union
    must have been counted, and those that are estimated at zero or less make none.

    >>> shares, errors, asked = np.array([0.5, 0.4, 0.3]), np.array([0.01, 0.01, 0.02]), np.array([9000, 9000, 8000])
    >>> found = SetEstimate([("tea",), ("milk",), ("tea", "milk")], shares, errors, asked, 2.0)
    >>> association_rules(found)
    2 rules by confidence; low and high: 95 % of the confidence, noise only
    value        support  confidence    low   high  lift  lift_stderr
    milk => tea      0.3        0.75  0.647  0.857   1.5        0.111
    tea => milk      0.3         0.6  0.519  0.683   1.5        0.111
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ParameterError("confidence", confidence, allowed="a share from 0 to 1", fix="0.5 is a usual one")
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
                if None not in sides and all(counted.frequencies[side] > 0 for side in sides):
                    rules.append((first, second))
                    positions.append((i, *sides))
    at = np.array(positions, dtype=np.int64).reshape(-1, 3).T
    kept = np.flatnonzero(counted.frequencies[at[0]] >= confidence * counted.frequencies[at[1]])
    return AssociationRules(tuple(rules[i] for i in kept), counted, at[:, kept])


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
