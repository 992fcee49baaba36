"""What a search tested before it named any value: how many candidates, how many it dropped, and what it takes to see more.

The last people of a search count its candidates, and had no part in choosing them. Given the list, the test of each candidate is "nobody
among those who counted holds it", and a candidate is significant where the interval that holds for the whole list at once (95 %) excludes
zero. So whatever people hold, the probability that a search names any value that nobody holds is 5 % at most: the family-wise error.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, log10, sqrt
from typing import Any

import numpy as np
import scipy

from deniable.contract.readable import percent
from deniable.core.law import Law
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

ALPHA = 0.05
"""The family-wise error of a search."""
POWER = 0.8
"""How often a value of the share that is asked about should be found by those who count."""
EXAMPLES = (0.1, 0.01)
"""The shares that an empty result explains itself with."""


@dataclass(frozen=True)
class Screening:
    """The list behind a result of which only the significant part is shown."""

    ranked: Any
    """The estimate of the strongest candidates, significant or not: the list of fixed length that papers on searches measure."""
    candidates: int
    """The number of values counted."""
    dropped: int
    """The number of these that are not significant."""
    people: int
    """The number of people who counted them."""
    share: Fraction
    """The share of all people in the smallest group that a value must stand out in, of those who search and those who count."""
    noise: float
    """The variance of the frequency of a value that nobody holds, times ``people``."""
    how: str = ""
    """How the search was done, in words."""

    @property
    def reach(self) -> float:
        """The number of standard errors that a frequency needs to be found in four of five runs."""
        return float(scipy.stats.norm.isf(ALPHA / 2 / max(self.candidates, 1)) + scipy.stats.norm.ppf(POWER))

    @property
    def visible(self) -> float:
        """The smallest share of the people that those who counted would find, about; above 1 if they are too few for any."""
        return self.reach * sqrt(self.noise / self.people) if self.people else inf

    def needed(self, frequency: float) -> int:
        """How many people it takes, in all groups, to find a value that this share of them hold, about; rounded up to two digits.

        So many that the smallest group has as much to tell it from noise as the final count needs.
        """
        return _rounded((self.reach / frequency) ** 2 * self.noise / float(self.share))

    def told(self, found: int) -> str:
        """Return one line about what was dropped; where nothing is left, why, and what would help."""
        if found:
            return f"{self.candidates:,} candidates were tested; {self.dropped:,} are not significant and dropped (family-wise error 5 %)"
        if not self.people:
            return "nothing was found: nobody reported in the final count"
        tested = f"none of {self.candidates:,} candidates is significant" if self.candidates else "no candidate was left to count"
        seen = f"would show a value that {percent(self.visible)} hold" if self.visible < 1 else "are too few to show any value"
        many, few = (f"{percent(share)} hold takes about {self.needed(share):,}" for share in EXAMPLES)
        needs = f"one that {many} people in all, one that {few}"
        return f"nothing was found: {tested} (family-wise error 5 %). The {self.people:,} reports of the final count {seen}; {needs}"


def _rounded(number: float) -> int:
    step = 10.0 ** max(floor(log10(max(number, 1.0))) - 1, 0)
    return int(ceil(number / step) * step)


def marked(law: Law, family: int, alpha: float, method: str) -> Array:
    """Return which numbers of a law are above 0, by a test that allows for a ``family`` of them; ``Estimate.significant`` has methods."""

    def above(each: float) -> Array:
        low, _ = law.limits(each, family=family)
        return np.asarray(low > 0)

    if method == "familywise":
        return above(alpha / family)
    if method != "benjamini-yekutieli":
        raise ParameterError("method", method, allowed="familywise or benjamini-yekutieli", fix="use familywise, which is stricter")
    step = alpha / (family * float(np.sum(1 / np.arange(1, family + 1))))
    found = above(step * len(law.point))
    # The largest number of values that are all below the level which that number allows: it only shrinks from here.
    while (fewer := above(step * max(int(found.sum()), 1))).sum() < found.sum():
        found = fewer
    return found
