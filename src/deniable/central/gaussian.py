"""Gaussian noise on a grid, added by a curator: the smallest sigma that keeps (epsilon, delta)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor, isqrt, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
import scipy

from deniable.accounting.bill import account
from deniable.accounting.calibration import calibrate, doubled
from deniable.accounting.combinations import Repeated, worlds
from deniable.accounting.event import NEIGHBORS, Event, check_neighbors, float_above, positive
from deniable.accounting.leaves import ZCDP, DiscreteGaussianEvent
from deniable.accounting.moments import zcdp_epsilon
from deniable.accounting.pld import curve
from deniable.central.additive_noise import AdditiveNoise
from deniable.central.exact_noise import LARGEST_WIDTH, ExactNoise
from deniable.central.grid import check_entries, float_below, rational
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.source import SYSTEM, Source
from deniable.core.interval import check_level
from deniable.errors import ParameterError

UP = 1 + 1e-12
ONES = 4
"""Squared sensitivities below this leave one shape for the change of an integer vector: ones, and nothing larger."""
NARROWEST = Fraction(1, 1024)
WIDEST = 20_000
"""The largest sigma, in steps, whose losses are listed one by one; beyond it noise is charged as zCDP."""


@dataclass(frozen=True, kw_only=True)
class Gaussian(AdditiveNoise):
    """Add noise with P(z) proportional to e^(-z^2 / (2 sigma^2)), z a whole number of grid steps, to each entry of an answer.

    ``sensitivity`` is the largest Euclidean change of the exact answer between two neighbors; ``neighbors`` says which: "add-remove" or
    "replace". A histogram changes by 1 if a person comes or goes, by sqrt(2) if one is replaced. Give ``epsilon`` and ``delta``, and the
    smallest sigma is found; or ``sigma``, and ``delta`` for a guarantee. Sigma and sensitivity are in units of the answer.

    Guarantee: (epsilon, delta)-DP by accounting of the discrete law itself, rounded up. For a single number (``entries=1``), and for a
    vector of integers of which fewer than four can change, by 1 each, the worst pair of laws is known, and its losses are added up (PLD).
    For other vectors, and above 20,000 steps, rho = sensitivity^2 / (2 sigma^2) in zCDP, which costs about 7 % of sigma. The law is exact
    for the rational sigma^2.

    Estimator: what is released is unbiased, with the variance sigma^2 (less where sigma is below a step) for each entry; rounding an
    answer to the grid moves it by half a step at most.

    Cost: one random word for each entry, three where sigma is above 256 steps.

    >>> count = Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1, neighbors="add-remove")
    >>> round(count.sigma, 4), round(count.variance, 3), count.reach(0.95)
    (4.2308, 17.899, 8.0)
    >>> from deniable.testing import ReplaySource
    >>> count.release([10, 20, 30], source=ReplaySource.from_key("docs")).tolist()
    [12, 21, 33]

    References: Canonne, Kamath, Steinke 2020 (the discrete Gaussian); Balle, Wang 2018 (calibration by the exact curve).
    """

    epsilon: float = None  # type: ignore[assignment]  # one of epsilon and sigma is given, the other resolved at once, below
    delta: float | None = None
    sigma: float | Fraction = None  # type: ignore[assignment]  # the same
    sensitivity: float | Fraction
    neighbors: str
    grid: float | Fraction = 1
    entries: int | None = None
    """How many numbers a release has: 1 for a single one, which is charged exactly. Needed for numbers that are not on the grid; what
    their rounding costs is then paid."""

    _single: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_neighbors(self.neighbors)
        check_entries(self.entries)
        if self.delta is not None:
            positive("delta", self.delta, below=1.0)
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
            if self.delta is None:
                raise ParameterError("delta", None, allowed="above 0, below 1", fix="use 1e-6, or Laplace noise without a delta")
        if self.sigma is None:
            if self.epsilon is None:
                raise ParameterError("epsilon", None, allowed="epsilon and delta, or sigma", fix="write epsilon=1.0, delta=1e-6")
            steps = _smallest_sigma(self.change, self.epsilon, self.delta, self.neighbors)
            object.__setattr__(self, "sigma", float_above(Fraction(steps) * self.step))
        self.noise  # noqa: B018  # refuses a sigma that is too large
        if self.delta is None:
            return
        if self.epsilon is None:
            object.__setattr__(self, "epsilon", account(self.event, delta=self.delta).epsilon)
        elif not _keeps(self.change, self.sigma_steps, self.epsilon, self.delta, self.neighbors):
            fix = "leave one of epsilon and sigma out"
            raise ParameterError(
                "sigma", self.sigma, allowed=f"large enough for epsilon = {self.epsilon!r}, delta = {self.delta!r}", fix=fix
            )

    @cached_property
    def change(self) -> Change:
        """What two neighbors' answers, rounded to the grid, can differ by."""
        steps = rational("sensitivity", self.sensitivity) / self.step
        if self.entries == 1:
            return Change(single=ceil(steps))
        if self.entries is not None:  # each is rounded separately: less than one step more in each of them
            return Change(squared=(steps + isqrt(self.entries - 1) + 1) ** 2)
        whole = floor(steps**2 * (1 + Fraction(1, 10**9)))  # the squared length of an integer vector; sqrt(3) may be a float below it
        if whole < 1:
            raise ParameterError("sensitivity", self.sensitivity, allowed="at least one step of the grid", fix="choose a finer grid")
        return Change(ones=whole) if whole < ONES else Change(squared=steps**2)

    @cached_property
    def sigma_steps(self) -> Fraction:
        """Sigma in steps of the grid."""
        steps = rational("sigma", self.sigma) / self.step
        if steps < NARROWEST:
            raise ParameterError(
                "sigma",
                self.sigma,
                allowed=f"at least {NARROWEST} steps of the grid",
                fix="choose a larger sigma or a finer grid: less would be no noise at all",
            )
        return steps

    @cached_property
    def noise(self) -> ExactNoise:
        """The exact law, in steps."""
        return ExactNoise(quadratic=1 / (2 * self.sigma_steps**2))

    @cached_property
    def event(self) -> Event:
        """The event of one release, for accounting."""
        return self.change.event(self.sigma_steps, self.neighbors)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one release."""
        if self.delta is None:
            raise ParameterError("delta", None, allowed="above 0, below 1", fix="give delta=: sigma alone has a curve of epsilons, not one")
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            model="central",
            unit="one release",
            neighbors=NEIGHBORS[self.neighbors],
            honest="the curator",
            certificate=f"exact law, {'zCDP' if isinstance(self.event, ZCDP) else 'PLD'} accounting",
        )

    @property
    def variance(self) -> float:
        """Of each entry, in squared units of the answer."""
        return gaussian_variance(float(self.sigma_steps)) * float(self.step) ** 2

    def reach(self, level: float = 0.95) -> float:
        """Return the largest distance between a release and the answer on the grid, with at least this probability."""
        check_level("level", level)
        sigma = float(self.sigma_steps)
        if sigma > 1000:  # the normal law's, and a step more than the grid can matter
            return (ceil(-float(scipy.special.ndtri((1 - level) / 2)) * sigma * UP) + 1) * float(self.step)
        weights = np.exp(-(np.arange(ceil(40 * sigma) + 2) ** 2) / (2 * sigma**2))
        weights[0] /= 2
        beyond = 1 - np.cumsum(weights) / weights.sum()
        return int(np.argmax(beyond * UP <= 1 - level)) * float(self.step)


class Change(NamedTuple):
    """How two neighbors' answers differ, in steps: a single number by that many, some entries by 1, or a vector of a squared length."""

    single: int = 0
    ones: int = 0
    squared: Fraction = Fraction(0)

    @property
    def length(self) -> Fraction:
        """The squared length, whatever is known."""
        return self.squared or Fraction(self.ones or self.single**2)

    def event(self, sigma: Fraction, neighbors: str) -> Event:
        """What noise of a sigma makes of it."""
        if self.squared or sigma > WIDEST:
            return ZCDP(rho=float_above(self.length / (2 * sigma**2)), neighbors=neighbors)
        one = DiscreteGaussianEvent(sigma=float_below(sigma), sensitivity=self.single or 1, neighbors=neighbors)
        return Repeated(event=one, times=self.ones) if self.ones > 1 else one


def discrete_gaussian(sigma: Fraction, source: Source = SYSTEM) -> int:
    """One integer with P(z) proportional to e^(-z^2 / (2 sigma^2)), exactly."""
    return ExactNoise(quadratic=1 / (2 * rational("sigma", sigma) ** 2)).draw(source)


def gaussian_variance(sigma: float) -> float:
    """The variance of the discrete Gaussian: sigma^2 from a few steps on, and less below.

    >>> round(gaussian_variance(0.25), 7), round(gaussian_variance(1.0), 7)
    (0.0006705, 0.9999998)
    """
    if sigma > 8:
        return sigma**2  # less by e^(-2 pi^2 sigma^2), which is no float any more
    z = np.arange(1, ceil(40 * sigma) + 2)
    weights = np.exp(-(z**2) / (2 * sigma**2))
    return float(2 * (weights * z**2).sum() / (1 + 2 * weights.sum()))


def _keeps(change: Change, sigma: Fraction, epsilon: float, delta: float, neighbors: str) -> bool:
    event = change.event(sigma, neighbors)
    return account(event, delta=delta, rules=("zCDP" if isinstance(event, ZCDP) else "PLD",)).epsilon <= epsilon


@lru_cache(maxsize=1024)
def _smallest_sigma(change: Change, epsilon: float, delta: float, neighbors: str) -> float:
    """In steps. The curve at one epsilon is quicker than epsilon from the curve, which then has the last word."""

    def quick(sigma: float) -> bool:
        event = change.event(Fraction(sigma), neighbors)
        if isinstance(event, ZCDP):
            return zcdp_epsilon(event.rho, delta) <= epsilon
        return all(curve(bag)(epsilon) <= delta for bag in worlds(event))

    enough = calibrate(lambda rho: zcdp_epsilon(rho, delta) <= epsilon, safe=0.0, risky=100.0, tolerance=1e-9, name="rho")
    safe = doubled(quick, start=sqrt(change.length / (2 * Fraction(enough))), limit=2.0 * LARGEST_WIDTH, name="sigma")
    found = safe if change.squared or safe > WIDEST else calibrate(quick, safe=safe, risky=safe / 2, tolerance=1e-9, name="sigma")
    while not _keeps(change, Fraction(found), epsilon, delta, neighbors):
        found *= 1 + 1e-8
    return found
