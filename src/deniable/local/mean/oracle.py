"""The estimate of a mean from a tally: exact sums, and the variance that they show."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeVar

from deniable.client.mean import MeanSpec
from deniable.core.mean import MeanEstimate
from deniable.core.tally import Tally
from deniable.errors import MergeError
from deniable.local.mean.numeric import NumericOracle

SpecType = TypeVar("SpecType", bound=MeanSpec)


class MeanOracle(NumericOracle[SpecType]):
    """The vectorized half of a mechanism of ``client.mean``."""

    @property
    def tally_counters(self) -> int:
        return len(self.spec.scores.weights)

    def estimate(self, tally: Tally, candidates: Any) -> MeanEstimate:
        self.check_tally(tally, candidates)
        spec, n = self.spec, tally.n
        counters = [int(counter) for counter in tally.counters]
        total, squares = spec.scores.total(n, counters), spec.squares.total(n, counters)
        if n * squares < total**2:
            raise MergeError(
                "counters", counters, allowed="sums of numbers and of their squares", fix="discard this tally: it is damaged or false"
            )
        start, unit = spec.domain.start, spec.unit
        noise = self.noise(total / n, squares / n) if n else Fraction(0)
        sample = max(squares / n - (total / n) ** 2, noise) if n else noise
        low, high = spec.score_range
        return MeanEstimate.of(
            spec,
            n,
            float(start + unit * total / n) if n else float(start + spec.domain.width / 2),
            noise=float(noise * unit**2 / max(n, 1)),
            drawn=float(sample * unit**2 / max(n, 1)),
            span=(float(start + unit * low), float(start + unit * high)),
            worst=float(spec.worst * unit**2),
            kurtosis=spec.kurtosis,
        )

    def noise(self, mean: Fraction, square: Fraction) -> Fraction:
        """The average variance of a score, given the average score and the average square of the scores.

        It is a + b x + (c - 1) y + r on average, where y is the square of the grid point and r what rounding adds, 1/4 at most. The average
        of y follows from the squares of the scores, and cannot lie outside of what the mean allows. Where it does not show in them, c = 0,
        all people count as alike: that is the largest variance.
        """
        a, b, c = self.spec.moments
        x = min(max(mean, Fraction(0)), Fraction(self.spec.steps))
        least, most = x * x, x * self.spec.steps
        if not c:
            return a + b * x - least
        y = min(max((square - a - b * mean) / c, least), most)
        return a + b * x + (c - 1) * y + (Fraction(1, 4) if self.spec.rounds else 0)
