"""Report-noisy-max: the candidate whose utility is the largest after noise was added to each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil, exp, log, log1p
from typing import Any

from deniable.accounting import Event, Pure
from deniable.central.bernoulli_exp import RationalInterval
from deniable.central.exact_noise import ExactNoise
from deniable.central.grid import rational
from deniable.central.rationals import exact_rate, exact_utilities, on_grid
from deniable.central.selection import SelectionMechanism, Utilities, check_candidates, integral
from deniable.contract.source import SYSTEM, Source
from deniable.core.interval import check_level

_CERTAIN = 100
"""Bits of probability beyond the noise that ``law`` follows."""


@dataclass(frozen=True, kw_only=True)
class NoisyMax(SelectionMechanism):
    """Add integer noise with P(z) proportional to e^(-epsilon |z| / (2 sensitivity)) to each utility, and choose the largest.

    **Guarantee.** epsilon-DP. Fix the noise of all others: candidate i is chosen if its own noise passes some integer, which moves by at
    most 2 sensitivity between neighbors (by sensitivity if ``monotone``, and then the 2 is left out). For every t, P(z >= t + 1) is at
    least e^(-epsilon / (2 sensitivity)) P(z >= t), so P(i) changes by a factor of e^epsilon at most. Ties are broken at random, as by an
    order of the candidates that was drawn before: it does not depend on the data.

    **Grid.** Utilities are rounded to whole multiples of ``grid``, and the sensitivity up to one, before the noise is added.

    With exponential noise instead this is permute-and-flip, and with Gumbel noise the exponential mechanism. Permute-and-flip lost less
    wherever the two were compared, and needs no grid: this is the textbook's form.

    >>> from deniable.testing import ReplaySource
    >>> drinks = NoisyMax(epsilon=1.0, sensitivity=1, neighbors="add-remove", monotone=True)
    >>> drinks.choose([40, 44, 31], ReplaySource.from_key("drinks"))
    1
    >>> [round(float(p.low), 4) for p in drinks.law([40, 44, 31])]
    [0.0261, 0.9739, 0.0]

    References: Dwork, Roth 2014 (section 3.3).
    """

    grid: Any = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        rational("grid", self.grid)

    @property
    def event(self) -> Event:
        return Pure(epsilon=self.epsilon, neighbors=self.neighbors)

    @cached_property
    def rate(self) -> Fraction:
        """The rate of the noise: its exponent for each step of the grid."""
        steps = ceil(rational("sensitivity", self.sensitivity) / rational("grid", self.grid))
        return exact_rate(self.epsilon) / (steps * (1 if self.monotone else 2))

    @cached_property
    def noise(self) -> ExactNoise:
        """The noise of each candidate, in steps of the grid."""
        return ExactNoise(linear=self.rate)

    def choose(self, utilities: Utilities, source: Source | None = None) -> int:
        steps = self._steps(utilities)
        noise = self.noise.draws(len(steps), source).tolist()
        noisy = [utility + own for utility, own in zip(steps, noise, strict=True)]  # Python's integers: utilities of any size
        best = max(noisy)
        ties = [place for place, number in enumerate(noisy) if number == best]
        return ties[0] if len(ties) == 1 else ties[(source or SYSTEM).below(len(ties))]

    def law(self, utilities: Utilities) -> tuple[RationalInterval, ...]:
        """The sum over m of P(i has m) times the integral of the product over j != i of P(j has less) + P(j has m) z, z from 0 to 1.

        z is where i stands in the order that breaks ties: it is chosen if those that have as much stand behind it.
        """
        steps = self._steps(utilities)
        reach = ceil(_CERTAIN * log(2) / float(self.rate)) + 2
        cells = [RationalInterval(*self.noise.probability(z)) for z in range(-reach, reach + 1)]
        sums = list(accumulate(cell.low for cell in cells))
        rest = 1 - sums[-1]  # all that lies farther out, at most

        def less(z: int) -> RationalInterval:
            low = sums[min(z - 1, reach) + reach] if z > -reach else Fraction(0)
            return RationalInterval(low, low + rest)

        def equal(z: int) -> RationalInterval:
            return cells[z + reach] if abs(z) <= reach else RationalInterval(Fraction(0), rest)

        def chosen(i: int, side: int) -> Fraction:
            total = rest if side else Fraction(0)
            for z, cell in zip(range(-reach, reach + 1), cells, strict=True):
                gaps = [steps[i] + z - utility for j, utility in enumerate(steps) if j != i]
                total += cell[side] * integral((less(gap)[side], equal(gap)[side]) for gap in gaps)
            return total

        return tuple(RationalInterval(chosen(i, 0), chosen(i, 1)) for i in range(len(steps)))

    def shortfall(self, candidates: int, level: float = 0.95) -> float:
        """No noise is farther out than s steps on its bad side, but for 1 - level; rounding adds one."""
        check_candidates(candidates)
        check_level("level", level)
        if candidates == 1:
            return 0.0
        rate = float(self.rate)
        farthest = ceil((log(candidates) - log(1 - level) - log1p(exp(-rate))) / rate)
        return float((2 * max(farthest, 1) + 1) * rational("grid", self.grid))

    def _steps(self, utilities: Utilities) -> list[int]:
        grid = rational("grid", self.grid)
        if grid == 1 and isinstance(utilities, list) and utilities and all(type(utility) is int for utility in utilities):
            return utilities
        return [on_grid(utility, grid) for utility in exact_utilities(utilities)]
