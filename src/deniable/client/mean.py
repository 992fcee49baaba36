"""Means by adding up: each report has a score whose expectation is its sender's value, and the mean of all scores is the estimate.

Scores are counted in steps of the grid, from 0 at low. A tally keeps a few integers, the sums of what ``features`` says about each report;
the score and its square are both linear in them. Given a grid point i, a score has the mean i and the expected square
a + b i + c i^2, ``moments`` = (a, b, c), so its variance is a + b i + (c - 1) i^2.

Rounding a value to the grid adds c r, where r = u (1 - u) <= 1/4 for a value u steps above a grid point. It costs nothing where c = 0: a
single bit has the same law whether the value was rounded before or not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from deniable.client.numeric import NumericSpec
from deniable.contract.work import Work
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.core.mean import MeanEstimate
    from deniable.core.tally import Tally


class Linear(NamedTuple):
    """A linear function of the counters: ``each`` for every report, and a weight for each counter."""

    each: Fraction
    weights: tuple[Fraction, ...]

    def total(self, n: int, counters: Sequence[int]) -> Fraction:
        """Its sum over n reports whose features add up to the counters."""
        return n * self.each + sum((w * c for w, c in zip(self.weights, counters, strict=True)), Fraction(0))


class MeanSpec(NumericSpec):
    """A mechanism whose estimate of the mean is an average over the reports."""

    if TYPE_CHECKING:

        def estimate(self, tally: Tally, *, candidates: Any = None) -> MeanEstimate: ...

    preference: ClassVar[int | None] = None
    """Where "auto" may choose this mechanism: its place among those with about the same error, the lowest first."""

    # --- what each mechanism provides ---

    @abstractmethod
    def features(self, report: Any) -> tuple[int, ...]:
        """Return what one report adds to the counters of the tally."""

    @property
    @abstractmethod
    def scores(self) -> Linear:
        """The score as a function of the features."""

    @property
    @abstractmethod
    def squares(self) -> Linear:
        """The square of the score as a function of the features."""

    @property
    @abstractmethod
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """The coefficients (a, b, c) of the expected square of a score, a + b i + c i^2, at the grid point i."""

    @property
    @abstractmethod
    def score_range(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest score."""

    @property
    def kurtosis(self) -> float | None:
        """The fourth moment of a score over its squared variance, at most; None for what ``score_range`` allows."""
        return None

    # --- what follows ---

    @property
    def mean_spec(self) -> MeanSpec | None:
        return self

    def counters(self, values: int) -> int:
        return len(self.scores.weights)

    def finishing(self, values: int) -> Work:
        """Return what it takes to estimate one number: the mean."""
        return super().finishing(1)

    def score(self, report: Any) -> Fraction:
        """Return what one report says, in steps of the grid, exactly; its expectation is the sender's position."""
        return self.scores.total(1, self.features(report))

    @cached_property
    def unit(self) -> Fraction:
        """The width of a step, in the numbers of the domain."""
        return self.domain.width / self.steps

    def score_variance(self, position: Fraction) -> Fraction:
        """Return the variance of the score of someone at this position of the grid, rounding included, in squared steps."""
        a, b, c = self.moments
        up = position - position.__floor__()
        return a + b * position + (c - 1) * position**2 + c * up * (1 - up)

    @cached_property
    def worst(self) -> Fraction:
        """The largest variance that a score can have, in squared steps; rounding counts as if it were always at its worst."""
        a, b, c = self.moments
        ends = [Fraction(0), Fraction(self.steps)]
        if c < 1:
            ends.append(min(max(b / (2 * (1 - c)), ends[0]), ends[1]))
        return max(a + b * i + (c - 1) * i * i for i in ends) + (c / 4 if self.rounds else 0)

    def variance(self, n: int, value: Any = None) -> float:
        """Return the variance of the mean of n people who all hold this value; by default one for which it is largest."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ParameterError("n", n, allowed="an integer from 1 on", fix="say how many people report")
        each = self.worst if value is None else self.score_variance(self.domain.position(value))
        return float(each * self.unit**2 / n)

    @property
    def rounding_variance(self) -> float:
        """What rounding adds to the variance of one person's score, at most; in squared units, like ``variance``."""
        return float(self.moments[2] / 4 * self.unit**2) if self.rounds else 0.0

    @property
    def influence(self) -> float:
        """How far one report, true or made up, can lie from the middle of the range: n times as far as it moves the mean."""
        middle = Fraction(self.steps, 2)
        return float(max(abs(score - middle) for score in self.score_range) * self.unit)
