"""Laplace noise on a grid, added by a curator: pure epsilon, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, expm1, inf, log, log1p, nextafter
from typing import ClassVar

from deniable.accounting.event import NEIGHBORS, check_neighbors
from deniable.accounting.leaves import DiscreteLaplaceEvent
from deniable.central.additive_noise import AdditiveNoise
from deniable.central.exact_noise import ExactNoise
from deniable.central.grid import check_entries, rational
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon, exact_epsilon
from deniable.core.interval import check_level


@dataclass(frozen=True, kw_only=True)
class Laplace(AdditiveNoise):
    """Add noise with P(z) proportional to e^(-|z| / scale), z a whole number of grid steps, to each entry of an answer.

    ``sensitivity`` is the largest change of the exact answer between two neighbors, in absolute values added up over its entries;
    ``neighbors`` says which: "add-remove" or "replace". A histogram changes by 1 if a person comes or goes, by 2 if one is replaced.

    Guarantee: epsilon-DP as real numbers. The law is exact, for the rational scale >= steps / epsilon that ``event`` states; steps is the
    sensitivity on the grid, see ``central.grid``. Every integer is possible for every answer; no float is drawn.

    Estimator: what is released is unbiased, with the variance 2 a / (1 - a)^2 steps squared for each entry, a = e^(-1 / scale); rounding
    an answer to the grid moves it by half a step at most.

    Cost: one random word for each entry, three where the scale is above 64 steps.

    >>> count = Laplace(epsilon=0.5, sensitivity=1, neighbors="add-remove")
    >>> from deniable.testing import ReplaySource
    >>> count.release(1000, source=ReplaySource.from_key("docs"))
    1001
    >>> count.release([10, 20, 30], source=ReplaySource.from_key("docs")).tolist()
    [11, 20, 28]
    >>> round(count.variance, 4), count.reach(0.95), count.event
    (7.8354, 6.0, DiscreteLaplaceEvent(scale=2.0, sensitivity=1, neighbors='add-remove'))

    References: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2012 (geometric noise); Mironov 2012 (why no floats).
    """

    epsilon: float
    sensitivity: float | Fraction
    neighbors: str
    grid: float | Fraction = 1
    entries: int | None = None
    """How many numbers a release has. Needed only for vectors that are not on the grid; what their rounding costs is then paid."""

    _single: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_neighbors(self.neighbors)
        check_entries(self.entries)
        rational("sensitivity", self.sensitivity)
        rational("grid", self.grid)
        self.noise  # noqa: B018  # refuses a scale that is too large

    @cached_property
    def steps(self) -> int:
        """The sensitivity in steps of the grid, after rounding."""
        return ceil(rational("sensitivity", self.sensitivity) / self.step) + (self.entries or 1) - 1

    @cached_property
    def scale(self) -> float:
        """In steps: the smallest float that is not below steps / epsilon, however the two floats are read."""
        exact = self.steps / Fraction(exact_epsilon(self.epsilon))
        scale = float(exact)
        while min(Fraction(scale), Fraction(repr(scale))) < exact:
            scale = nextafter(scale, inf)
        return scale

    @cached_property
    def noise(self) -> ExactNoise:
        """The exact law, in steps."""
        return ExactNoise(linear=1 / max(Fraction(self.scale), Fraction(repr(self.scale))))

    @cached_property
    def event(self) -> DiscreteLaplaceEvent:
        """The event of one release, for accounting."""
        return DiscreteLaplaceEvent(scale=self.scale, sensitivity=self.steps, neighbors=self.neighbors)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one release."""
        return Guarantee(
            epsilon=self.epsilon, model="central", unit="one release", neighbors=NEIGHBORS[self.neighbors], honest="the curator"
        )

    @property
    def variance(self) -> float:
        """Of each entry, in squared units of the answer."""
        ratio = exp(-1 / self.scale)
        return 2 * ratio / expm1(-1 / self.scale) ** 2 * float(self.step) ** 2

    def reach(self, level: float = 0.95) -> float:
        """Return the largest distance between a release and the answer on the grid, with at least this probability."""
        check_level("level", level)
        # P(|z| > h) = 2 a^(h + 1) / (1 + a); a hair is added so that double precision never rounds an interval down.
        beyond = self.scale * (log(2 / (1 - level)) - log1p(exp(-1 / self.scale)))
        return max(ceil(beyond * (1 + 1e-12)) - 1, 0) * float(self.step)
