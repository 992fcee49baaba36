"""Unary encoding, twice: noisy bits that are kept, and each report noisy once more."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

from deniable.client.chain import Coin, again_law, bits_again, chained, last, odds
from deniable.client.longitudinal import LongitudinalSpec
from deniable.client.pure import count_variance
from deniable.client.unary import UnaryEncoding, bits_law, perturb_bits
from deniable.contract.law import OutputLaw
from deniable.contract.probability import ceil_threshold, exp_below, favored_threshold
from deniable.contract.source import ONE, SYSTEM, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.errors import ParameterError

HALF = ONE // 2
VARIANTS = ("L-SUE", "L-OSUE", "L-SOUE", "L-OUE")
"""By ``optimized``: which of the two steps, the first (1), the second (2) or both, is OUE's and not SUE's."""


@mechanism
class LongitudinalUnary(LongitudinalSpec, UnaryEncoding):
    """Write the value as d bits, make each noisy permanently, and make what was kept noisy again for each report.

    ``optimized`` names the two steps: 0 for L-SUE (basic RAPPOR), both symmetric; 1, the default, for L-OSUE, whose permanent answer is
    OUE's; 2 for L-SOUE; 3 for L-OUE. ``LongitudinalUnary.named("L-OSUE", ...)`` takes the names of the literature.

    Guarantee: ``epsilon`` for all reports about one value, ``first_epsilon`` for one; w values cost w epsilon between
    histories of the same pattern (``lifetime_epsilon``). Two values differ in two bits, so the ratio of either step,
    and of both together, is p (1 - q) / ((1 - p) q). The second step is the boldest one that keeps ``first_epsilon``, found on the
    integers by bisection.

    Estimator: (I - n q) / (p - q) with p and q of both steps together: p = p1 p2 + (1 - p1) q2, q = q1 p2 + (1 - q1) q2. One round has the
    variance of OUE at ``first_epsilon`` (L-OSUE), or of SUE (L-SUE). Rounds of the same people are correlated: see ``tasks.series``.

    Cost: d bits; about d / 9 random words for each step that is symmetric; the device keeps d bits for each value it has held.

    >>> spec = LongitudinalUnary(domain_size=128, epsilon=2.0, first_epsilon=1.0)
    >>> spec.variant, round(float(spec.second[0]), 5), round(spec.variance(n=1), 4)
    ('L-OSUE', 0.80339, 3.6827)
    >>> round(LongitudinalUnary.named("L-SUE", domain_size=128, epsilon=2.0, first_epsilon=1.0).variance(n=1), 4)
    3.9177

    References: Erlingsson, Pihur, Korolova 2014 (L-SUE); Arcolezi, Couchot, Al Bouna, Xiao 2022 (the others).
    """

    optimized: int = 1

    @classmethod
    def named(cls, variant: str, **parameters: Any) -> LongitudinalUnary:
        """Return the variant of a name: L-SUE, L-OSUE, L-SOUE or L-OUE."""
        if variant not in VARIANTS:
            raise ParameterError("variant", variant, allowed=f"one of {VARIANTS}", fix="use L-OSUE for the least variance")
        return cls(optimized=VARIANTS.index(variant), **parameters)

    def resolve(self) -> None:
        super().resolve()
        if type(self.optimized) is not int or not 0 <= self.optimized < len(VARIANTS):
            raise ParameterError("optimized", self.optimized, allowed="0, 1, 2 or 3", fix="leave it out for L-OSUE")

    @property
    def variant(self) -> str:
        """The name in the literature."""
        return VARIANTS[self.optimized]

    # --- the two steps ---

    @cached_property
    def keep(self) -> int:
        """Of the permanent answer: half, or rounded down, toward privacy."""
        if self.optimized & 1:
            return HALF
        return favored_threshold(self.epsilon, 1, 1, share=Fraction(1, 2))

    @cached_property
    def raise_other(self) -> int:
        return ceil_threshold(1 / (exp_below(self.epsilon) + 1)) if self.optimized & 1 else ONE - self.keep

    @cached_property
    def raise_again(self) -> int:
        """The threshold of reporting a bit that was kept as 0 as 1: the smallest one that ``first_epsilon`` allows."""
        return second_raise(self.first, bool(self.optimized & 2), exp_below(self.first_epsilon), self)

    @property
    def keep_again(self) -> int:
        """The threshold of reporting a bit that was kept as 1 as 1."""
        return HALF if self.optimized & 2 else ONE - self.raise_again

    @property
    def thresholds(self) -> dict[str, int]:
        return super().thresholds | {"keep_again": self.keep_again, "raise_again": self.raise_again}

    @property
    def first(self) -> Coin:
        """The probabilities that the true bit and another one are kept as 1."""
        return Fraction(self.keep, ONE), Fraction(self.raise_other, ONE)

    @property
    def second(self) -> Coin:
        """The probabilities that bits kept as 1 and as 0 are reported as 1."""
        return Fraction(self.keep_again, ONE), Fraction(self.raise_again, ONE)

    @cached_property
    def _both(self) -> Coin:
        return chained(self.first, self.second)

    # --- what they do ---

    @property
    def answer_layout(self) -> Layout:
        return (Column.of_bits("bits", self.domain_size),)

    @property
    def p(self) -> Fraction:
        return self._both[0]

    @property
    def q(self) -> Fraction:
        return self._both[1]

    @property
    def ratio(self) -> Fraction:
        return odds(self.first)

    @property
    def first_ratio(self) -> Fraction:
        return odds(self._both)

    @property
    def classes(self) -> int:
        return self.domain_size

    def class_of(self, key: int, personal: object) -> int:
        return key

    def permanent_of(self, group: int, personal: object, source: Source) -> int:
        return perturb_bits(group, self.domain_size, self.raise_other, self.keep, source)

    def instantaneous(self, memo: int, source: Source = SYSTEM) -> int:
        return bits_again(memo, self.domain_size, self.keep_again, self.raise_again, source)

    def permanent_law(self, group: int, personal: object) -> OutputLaw[int]:
        return OutputLaw(bits_law(group, self.domain_size, *self.first))

    def instantaneous_law(self, memo: int) -> OutputLaw[int]:
        return OutputLaw(again_law(memo, self.domain_size, self.second))

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[int]:
        return OutputLaw(bits_law(key, self.domain_size, self.p, self.q))

    def permanent_variance(self, n: int, f: float = 0.0) -> float:
        return count_variance(n, f, self.first)


def second_raise(first: Coin, optimized: bool, e: Fraction, spec: LongitudinalSpec) -> int:
    """Return the smallest threshold of the second step's noise with which both steps together have odds of at most ``e``.

    Bits kept as 1 are reported as 1 with a half if the step is ``optimized``, and as often as bits kept as 0 are reported as 0 if not.
    """

    def keeps(rise: int) -> bool:
        keep = HALF if optimized else ONE - rise
        return odds(chained(first, (Fraction(keep, ONE), Fraction(rise, ONE)))) <= e

    rise = 1 + last(lambda rise: not keeps(rise), 1, HALF - 1)
    if rise <= 1 or rise >= HALF:  # no noise would be too much, or even one part in 2^64 too little
        raise spec.too_close()
    return rise
