"""Microsoft's counters: a one-bit mean with alpha-point rounding, permanent memoization and output perturbation."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import inf, nextafter
from typing import Any, ClassVar

from deniable.client.chain import exact_share
from deniable.client.longitudinal import Longitudinal
from deniable.client.one_bit import OneBitProtocol
from deniable.contract.law import OutputLaw
from deniable.contract.probability import ceil_threshold, exp_above, exp_below, log_above
from deniable.contract.source import ONE, SYSTEM, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.errors import DomainError, ParameterError

LARGEST = 1 << 53
"""Up to here every whole number is a double, in arrays and in a browser."""


@mechanism
class OneBitMeanPM(Longitudinal, OneBitProtocol):
    """Round a counter to a coarse grid, always the same way; keep one noisy bit for each grid point; flip it now and then.

    **Alpha-point rounding**: the device draws alpha below the width s of a cell and keeps it. A counter x between the grid points L and R
    = L + s becomes L if x + alpha < R, and R if not. Over the devices it is R with probability (x - L) / s, so the mean stays unbiased; on
    one device a counter that moves little mostly stays the same grid point. Alpha never leaves the device. With one step, the default, the
    grid is low and high, and a device keeps two bits.

    Guarantee: ``epsilon`` for all reports about one grid point; a lifetime costs at most (steps + 1) epsilon, 2 epsilon by default, between
    histories of the same pattern (``lifetime_epsilon``): how far a counter moves decides how often a change shows. With ``first_epsilon``
    left out the kept bit is sent as it is; below ``epsilon`` each report flips it with a probability gamma (``with_gamma``). One
    report of each of a person's counters reveals ``together`` at most, if their shares of their ranges add up to at most one.

    Estimator: ``OneBitMean``'s, with the probabilities of both steps. Cost: one bit; two or three random words; the device keeps alpha
    and a bit for each grid point it has seen. Counters are whole numbers.

    >>> spec = OneBitMeanPM.with_gamma("1/5", low=0, high=21600, epsilon=1.0)
    >>> spec.first_epsilon, round(spec.together, 4), spec.lifetime_epsilon(100)
    (0.5694451960428427, 1.3367, Fraction(2, 1))

    References: Ding, Kulkarni, Yekhanin 2017.
    """

    whole: ClassVar[bool] = True
    kept_as: ClassVar[str] = "counter"
    distinct: ClassVar[bool] = False

    @classmethod
    def with_gamma(cls, gamma: Any, *, epsilon: float, **domain: Any) -> OneBitMeanPM:
        """Return a spec with this probability of output perturbation; the epsilon of one report is computed from it."""
        flip = exact_share("gamma", gamma)
        if not 0 <= flip < Fraction(1, 2):
            raise ParameterError("gamma", gamma, allowed="a probability from 0 to below 1/2", fix="try 0.2, as the deployment did")
        still = cls(epsilon=epsilon, **domain)
        p = still.kept * (1 - flip) + (1 - still.kept) * flip
        return cls(epsilon=epsilon, first_epsilon=log_above(p / (1 - p)) if flip else None, **domain)  # type: ignore[arg-type]  # None: epsilon

    def usual_steps(self) -> int:
        return 1

    def resolve(self) -> None:
        super().resolve()
        start, width = self.domain.start, self.domain.width
        whole = start.denominator == 1 and width % self.steps == 0 and not self.domain.times
        if not whole or max(abs(start), abs(start + width), width) > LARGEST:
            allowed = "whole numbers up to 2^53, with a width that the steps divide"
            raise ParameterError("low, high, steps", (self.low, self.high, self.steps), allowed=allowed, fix="count in smaller units")

    @property
    def usual_first(self) -> float:
        return self.epsilon

    @property
    def cell(self) -> int:
        """The width of a cell of the grid: s."""
        return int(self.domain.width) // self.steps

    # --- the two steps ---

    @property
    def kept(self) -> Fraction:
        """The probability that the bit kept at high is 1, and that the bit kept at low is 0."""
        return 1 - Fraction(self.first, ONE)

    @cached_property
    def flip_again(self) -> int:
        """The threshold of flipping the kept bit in a report. Rounded up: toward privacy."""
        if self.first_epsilon == self.epsilon:
            return 0
        e = exp_below(self.first_epsilon)
        return ceil_threshold((self.kept - e / (e + 1)) / (2 * self.kept - 1))

    @property
    def thresholds(self) -> dict[str, int]:
        return super().thresholds | {"flip_again": self.flip_again}

    @property
    def gamma(self) -> Fraction:
        """The probability that the kept bit is flipped in a report."""
        return Fraction(self.flip_again, ONE)

    def _one(self, group: int) -> Fraction:
        """Return the probability that a report about a grid point is 1."""
        return self.gamma + (1 - 2 * self.gamma) * Fraction(self.first + group * self.step, ONE)

    @property
    def first_ratio(self) -> Fraction:
        return (1 - self._one(0)) / self._one(0)

    def permanent_variance(self, n: int, *args: Any, **held: Any) -> float:
        """Return the variance of a mean of n kept bits: the mechanism without output perturbation, with its ``args`` and ``held``."""
        return OneBitMeanPM(domain=self.domain, epsilon=self.epsilon).variance(int(n), *args, **held)

    @property
    def together(self) -> float:
        """The epsilon of one report of each of any number of counters, if a person's shares of their ranges add up to at most one.

        One counter falls from all to nothing, and the others gain it in small parts: epsilon + e^epsilon - 1, and never quite that.
        """
        return nextafter(float(Fraction(repr(self.first_epsilon)) + exp_above(self.first_epsilon, Fraction(1)) - 1), inf)

    @property
    def answer_layout(self) -> Layout:
        return (Column.of_bits("bit", 1),)

    @property
    def personal_layout(self) -> Layout:
        return (Column("alpha", limit=self.cell),)

    @property
    def layout(self) -> Layout:
        return self.answer_layout  # alpha stays on the device

    def joined(self, personal: Any, answer: Any) -> Any:
        return answer

    @property
    def classes(self) -> int:
        return self.steps + 1

    def key_of(self, value: Any) -> int:
        """Return how far the counter is above low."""
        place = self.domain.position(value) * self.cell
        if place.denominator != 1:
            raise DomainError("value", value, allowed="a whole number", fix="count in smaller units")
        return int(place)

    def personal(self, source: Source = SYSTEM) -> int:
        return source.below(self.cell)

    def personal_law(self, seed: tuple[int, ...]) -> OutputLaw[Any]:
        return OutputLaw({alpha: Fraction(1, self.cell) for alpha in range(self.cell)})

    def class_of(self, key: int, personal: int) -> int:
        return (key + personal) // self.cell

    def permanent_of(self, group: int, personal: object, source: Source) -> int:
        return int(source.bernoulli(self.first + group * self.step))

    def instantaneous(self, memo: int, source: Source = SYSTEM) -> int:
        return memo ^ source.bernoulli_bits(self.flip_again, 1)

    def permanent_law(self, group: int, personal: object) -> OutputLaw[int]:
        one = Fraction(self.first + group * self.step, ONE)
        return OutputLaw({0: 1 - one, 1: one})

    def instantaneous_law(self, memo: int) -> OutputLaw[int]:
        return OutputLaw({memo: 1 - self.gamma, 1 - memo: self.gamma})

    # --- one report ---

    def randomize(self, value: Any, source: Source = SYSTEM) -> int:
        """Return one report of a device that has kept nothing yet."""
        return int(self.perturb(self.key_of(value), source))

    def output_law(self, key: int) -> OutputLaw[int]:
        return OutputLaw({0: 1 - self._one(key), 1: self._one(key)})

    @cached_property
    def score_range(self) -> tuple[Fraction, Fraction]:
        first, step = self._one(0), self._one(1) - self._one(0)
        return -first / step, (1 - first) / step
