"""RAPPOR in full: a Bloom filter with permanently noisy bits, and each report noisy once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from deniable.client.bloom_rr import BloomRR
from deniable.client.chain import Coin, again_law, bits_again, chained, exact_share
from deniable.client.frequency import check_crowd
from deniable.client.longitudinal import LongitudinalSpec
from deniable.client.longitudinal_unary import second_raise
from deniable.contract.law import OutputLaw
from deniable.contract.probability import ceil_threshold, exp_below, floor_threshold, log_above
from deniable.contract.source import ONE, SYSTEM, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.errors import ParameterError, WireError

_NAMES = ("flip", "keep_again", "raise_again")
_MOST_BITS = 4096
"""A device keeps its permanent answers under the filters they stand for, as decimal numbers; longer ones are not printed."""


@mechanism
class RAPPOR(LongitudinalSpec, BloomRR):
    """Set h bits of m for the value, with a permanently drawn cohort's functions; flip bits permanently, and again for each report.

    In the paper's words: a bit of the permanent answer is random with probability f, so flipped with f / 2; a report shows 1 with
    probability q for a bit that was kept as 1, and p for one that was kept as 0. ``from_probabilities`` takes these three and computes
    both epsilons; ``RAPPOR(epsilon=..., first_epsilon=...)`` takes the epsilons, and q = 1 - p.

    Guarantee: ``epsilon`` = 2 h ln((1 - f/2) / (f/2)) for all reports about one value, ``first_epsilon`` = h ln(q* (1 - p*) /
    (p* (1 - q*))) for one, with q* and p* the chances that a report shows 1 for a bit that is set and for one that is not. Values whose
    filters are equal share their permanent answer; others cost an epsilon each between histories of the same pattern
    (``lifetime_epsilon``). The cohort is the same in every report of a device, and links them a little.

    Estimator: ``BloomRR``'s regression with p* and q*. Rounds of the same people are correlated: see ``tasks.series``.

    Cost: m + log2 of the number of cohorts bits; about m / 9 random words for each step; the device keeps m bits for each value.

    >>> spec = RAPPOR.from_probabilities(f="1/2", p="1/2", q="3/4", domain_size=1000, bits=128, hashes=2, cohorts=8)
    >>> round(spec.epsilon, 5), round(spec.first_epsilon, 5), float(spec.both[0]), float(spec.both[1])
    (4.39445, 1.07429, 0.6875, 0.5625)

    References: Erlingsson, Pihur, Korolova 2014.
    """

    coin: tuple[int, int, int] = field(default=None, metadata={"travels": False})  # type: ignore[assignment]  # see resolve
    """The thresholds of flipping a bit permanently, and of showing 1 for a bit kept as 1 and as 0. They travel as thresholds."""
    small: ClassVar[Mapping[str, int]] = {"bits": 5, "hashes": 2, "cohorts": 2}
    overlapping: ClassVar[bool] = True  # filters do

    @classmethod
    def from_probabilities(cls, *, f: Any, p: Any, q: Any, **parameters: Any) -> RAPPOR:
        """Return the paper's parameters; the epsilons that they have are computed, not asked for. All are rounded toward privacy."""
        flip, low, high = (exact_share(name, value) for name, value in (("f", f), ("p", p), ("q", q)))
        if not (0 < flip < 1 and 0 < low < high < 1):
            raise ParameterError("f, p, q", (f, p, q), allowed="0 < f < 1 and 0 < p < q < 1", fix="try 0.5, 0.25 and 0.75, as Chrome did")
        coin = ceil_threshold(flip / 2), floor_threshold(high), ceil_threshold(low)
        hashes, bits = parameters.get("hashes", cls.hashes), parameters.get("bits", cls.bits)
        if type(hashes) is not int or type(bits) is not int or not 1 <= hashes <= 32:
            raise ParameterError("hashes, bits", (hashes, bits), allowed="integers", fix="try 2 and 128")
        kept = 1 - Fraction(coin[0], ONE), Fraction(coin[0], ONE)
        epsilons = [log_above(_worst(step, hashes, bits)) for step in (kept, chained(kept, _second(coin)))]
        return cls(coin=coin, epsilon=epsilons[0], first_epsilon=epsilons[1], **parameters)

    @classmethod
    def from_parts(cls, values: dict[str, Any], derived: dict[str, Any]) -> RAPPOR:
        thresholds = derived["thresholds"]
        if set(thresholds) != set(_NAMES):
            raise WireError("thresholds", thresholds, allowed=" and ".join(_NAMES), fix="publish the spec again")
        return cls(coin=tuple(thresholds[name] for name in _NAMES), **values)

    def resolve(self) -> None:
        super().resolve()
        if self.bits > _MOST_BITS:
            raise ParameterError("bits", self.bits, allowed=f"at most {_MOST_BITS}", fix="try 128; use more cohorts to tell values apart")
        if self.coin is None:
            flip = ceil_threshold(1 / (exp_below(self.epsilon, share=Fraction(1, self.differing)) + 1))
            kept = 1 - Fraction(flip, ONE), Fraction(flip, ONE)
            share = Fraction(2, self.differing)  # of first_epsilon, for two bits
            rise = second_raise(kept, False, exp_below(self.first_epsilon, share), self)
            object.__setattr__(self, "coin", (flip, ONE - rise, rise))
        three = isinstance(self.coin, tuple) and len(self.coin) == 3 and all(type(side) is int for side in self.coin)
        if not three or not (0 < self.coin[0] < ONE // 2 and 0 < self.coin[2] < self.coin[1] < ONE):
            raise ParameterError(
                "coin", self.coin, allowed="thresholds between 0 and 2^64, in order", fix="leave it out: it follows from the epsilons"
            )

    def __repr__(self) -> str:
        shown, coin = super().__repr__(), f", coin={self.coin!r}"
        p, q = (float(side) for side in reversed(_second(self.coin)))
        return shown.replace(coin, "" if self.coin[1] + self.coin[2] == ONE else f", p={p:.6g}, q={q:.6g}")

    @property
    def flip(self) -> int:
        return self.coin[0]

    @property
    def thresholds(self) -> dict[str, int]:
        return dict(zip(_NAMES, self.coin, strict=True))

    @property
    def kept(self) -> Coin:
        """The probabilities that a bit that is set, and one that is not, is kept as 1."""
        return 1 - Fraction(self.coin[0], ONE), Fraction(self.coin[0], ONE)

    @cached_property
    def both(self) -> Coin:
        """The same for the bit that is reported: q* and p* of the paper."""
        return chained(self.kept, _second(self.coin))

    @property
    def q(self) -> Fraction:
        """The probability that a bit that is not set is reported as 1."""
        return self.both[1]

    @property
    def ratio(self) -> Fraction:
        return _worst(self.kept, self.hashes, self.bits)

    @property
    def first_ratio(self) -> Fraction:
        return _worst(self.both, self.hashes, self.bits)

    @property
    def personal_layout(self) -> Layout:
        return (Column("cohort", limit=self.cohorts, drawn=True),)

    @property
    def answer_layout(self) -> Layout:
        return (Column.of_bits("bits", self.bits),)

    @property
    def classes(self) -> int:
        return min(self.domain_size, 1 << self.bits)

    def personal(self, source: Source = SYSTEM) -> int:
        return source.below(self.cohorts)

    def personal_law(self, seed: tuple[int, ...]) -> OutputLaw[Any]:
        return OutputLaw({cohort: Fraction(1, self.cohorts) for cohort in range(self.cohorts)})

    def class_of(self, key: int, personal: int) -> int:
        """Return the filter itself: values that it cannot tell apart are one class."""
        return self.filter(personal, key)

    def permanent_of(self, group: int, personal: object, source: Source) -> int:
        return group ^ source.bernoulli_bits(self.flip, self.bits)

    def instantaneous(self, memo: int, source: Source = SYSTEM) -> int:
        return bits_again(memo, self.bits, self.coin[1], self.coin[2], source)

    def permanent_law(self, group: int, personal: object) -> OutputLaw[int]:
        return OutputLaw(again_law(group, self.bits, self.kept))

    def instantaneous_law(self, memo: int) -> OutputLaw[int]:
        return OutputLaw(again_law(memo, self.bits, _second(self.coin)))

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[Any]:
        weights = {}
        for cohort in range(self.cohorts):
            for bits, weight in again_law(self.filter(cohort, key), self.bits, self.both).items():
                weights[cohort, bits] = weight / self.cohorts
        return OutputLaw(weights)

    def permanent_variance(self, n: int, f: float = 0.0) -> float:
        """Return the variance for candidates whose filters do not overlap, like ``variance``."""
        check_crowd(n, f)
        p, q = self.kept
        return n * float(q * (1 - q) / (p - q) ** 2) / self.hashes

    @property
    def best_guess(self) -> float:
        """At most this, from one report."""
        return float(self.first_ratio / (self.first_ratio + min(self.domain_size, ONE) - 1))


def _second(coin: tuple[int, int, int]) -> Coin:
    return Fraction(coin[1], ONE), Fraction(coin[2], ONE)


def _worst(coin: Coin, hashes: int, bits: int) -> Fraction:
    """Return the worst ratio of two filters: up to h bits that only the one has, up to h that only the other has, and m in all."""
    own, other = coin[0] / coin[1], (1 - coin[1]) / (1 - coin[0])
    return max(own**i * other ** min(hashes, bits - i) for i in range(min(hashes, bits) + 1))
