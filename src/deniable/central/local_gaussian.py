"""Gaussian noise on a whole histogram, added by each person: (epsilon, delta)-local, to see what delta buys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy

from deniable.accounting.calibration import calibrate, doubled
from deniable.accounting.event import positive
from deniable.central.exact_noise import ExactNoise
from deniable.central.gaussian import gaussian_variance
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.guarantee import Guarantee
from deniable.contract.law import OutputLaw
from deniable.contract.probability import check_epsilon
from deniable.contract.source import SYSTEM, Source
from deniable.contract.spec import BulkHalf, Spec
from deniable.contract.wire import Column, Layout
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import NORMAL_FROM, NORMAL_TAILS_FROM, Limits
from deniable.core.law import CountLaw
from deniable.core.reports import Reports
from deniable.core.tally import WHOLE_DOMAIN, Candidates, Tally, require_same_spec
from deniable.core.values import keys_of
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array

MIDDLE = 1 << 15
"""The point that stands for 0. Noise beyond 16 bits is cut off, which is post-processing; it has probability 1e-230 at the most."""
LARGEST_SIGMA = 1000.0
LARGEST_DOMAIN = 1 << 16
_NUMBERS = 1 << 22
"""Numbers that are drawn at once, whatever the crowd."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LocalGaussianHistogram(Spec):
    """Send one number for each value: 1 for the own one and 0 for the others, all with discrete Gaussian noise.

    Guarantee: (epsilon, delta)-local, **not** epsilon-local: with probability up to delta, a report may give its sender away. Two true
    answers move two numbers by 1 each, one up and one down; delta is the divergence of these two laws, summed up exactly and rounded up.
    The law of the noise is exact.

    Estimator: the sums themselves; variance n sigma^2 for every value, however common. At one report for each person this is worse than
    ``OUE`` for every useful delta; see docs/theory/delta.md for where it is not. For analysis: there is no browser client.

    Cost: 16 bits and one random word for each value; the collector adds up n d numbers.

    >>> oracle = LocalGaussianHistogram(domain_size=4, epsilon=1.0, delta=1e-6)
    >>> round(oracle.sigma, 4), round(oracle.variance(n=1), 2), oracle.guarantee.delta
    (5.9766, 35.72, 1e-06)
    >>> from deniable.testing import ReplaySource
    >>> oracle.run([0] * 30_000 + [3] * 10_000, source=ReplaySource.from_key("docs"))
    40,000 reports, LocalGaussianHistogram, epsilon = 1, delta = 1e-06; low and high: 95 %, noise only
    value   count  stderr     low    high  frequency
    0      30,387   1,195  28,044  32,730       76 %
    3      11,268   1,195   8,925  13,611     28.2 %
    2         709   1,195  -1,634   3,052     1.77 %
    1          90   1,195  -2,253   2,433    0.225 %
    """

    domain_size: int = field(default=None, metadata={"travels": False})  # type: ignore[assignment]  # resolved at once, below
    domain: Domain = None  # type: ignore[assignment]  # resolved at once, below
    epsilon: float
    delta: float

    mechanism: ClassVar[str] = "LocalGaussianHistogram"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        positive("delta", self.delta, below=1.0)
        if self.domain is None:
            object.__setattr__(self, "domain", IndexRange(self.domain_size))  # None is refused there
        elif not isinstance(self.domain, Domain) or not self.domain.listed:
            raise ParameterError("domain", self.domain, allowed="a listed domain", fix='write domain=Categories("red", "green")')
        if self.domain_size not in (None, self.domain.size):
            raise ParameterError("domain_size", self.domain_size, allowed=f"{self.domain.size}, as in domain", fix="leave it out")
        object.__setattr__(self, "domain_size", self.domain.size)
        if self.domain_size > LARGEST_DOMAIN:
            raise ParameterError(
                "domain_size", self.domain_size, allowed=f"at most {LARGEST_DOMAIN}", fix="use OLH, which takes any domain"
            )
        self.noise  # noqa: B018  # refuses what needs too much noise

    def __repr__(self) -> str:
        shown = f"domain_size={self.domain_size}" if isinstance(self.domain, IndexRange) else f"domain={self.domain!r}"
        return f"LocalGaussianHistogram({shown}, epsilon={self.epsilon!r}, delta={self.delta!r})"

    if TYPE_CHECKING:

        def privatize(self, values: Any, *, source: Source | None = None) -> Reports: ...
        def tally(self, reports: Any, *, candidates: Any = None) -> Tally: ...
        def estimate(self, tally: Tally, *, candidates: Any = None) -> FrequencyEstimate: ...

    @cached_property
    def sigma(self) -> float:
        """The smallest sigma that keeps the promise."""

        def keeps(sigma: float) -> bool:
            return delta_of(sigma, self.epsilon) <= self.delta

        safe = doubled(keeps, start=0.25, limit=4 * LARGEST_SIGMA, name="sigma")
        return calibrate(keeps, safe=safe, risky=safe / 2 if safe > 0.25 else 0.05, tolerance=1e-12, name="sigma")

    @cached_property
    def noise(self) -> ExactNoise:
        """The exact law of the noise on each number."""
        if self.sigma > LARGEST_SIGMA:
            raise ParameterError(
                "epsilon", self.epsilon, allowed="large enough for sigma up to 1000", fix="choose a larger epsilon or delta"
            )
        return ExactNoise(quadratic=1 / (2 * Fraction(self.sigma) ** 2))

    @property
    def thresholds(self) -> dict[str, int]:
        return {"zero": int(self.noise.table[0]), "minus_one": int(self.noise.table[1])}

    @property
    def layout(self) -> Layout:
        return (Column("point", limit=2 * MIDDLE, count=self.domain_size),)

    @property
    def largest_count(self) -> int:
        return 2 * MIDDLE - 1

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one report, which fails with probability up to delta."""
        return Guarantee(epsilon=self.epsilon, delta=self.delta, certificate="exact divergence of two discrete Gaussians, rounded up")

    def randomize(self, value: Any, source: Source = SYSTEM) -> tuple[int, ...]:
        """One person's report."""
        key = self.domain.key(value)
        noisy = (self.noise.draw(source) + (place == key) + MIDDLE for place in range(self.domain_size))
        return tuple(min(max(point, 0), 2 * MIDDLE - 1) for point in noisy)

    def law(self, value: Any, *, seed: tuple[int, ...] = ()) -> OutputLaw[Any]:
        raise ParameterError("mechanism", self.mechanism, allowed="a mechanism with finitely many reports", fix="see noise.probability")

    def variance(self, n: int, f: float = 0.0) -> float:
        """The variance of an estimated count among n reports, whatever the share f of those who hold the value."""
        return n * gaussian_variance(self.sigma)

    def run(self, values: Any, *, source: Source | None = None) -> FrequencyEstimate:
        """Reports, tally and estimate in one go, without keeping the reports."""
        keys = keys_of(self.domain, values)
        rows = max(1, _NUMBERS // self.domain_size)
        parts = [keys[start : start + rows] for start in range(0, keys.size, rows)]
        counters = sum((_points(self, part, source).sum(axis=0, dtype=np.int64) for part in parts), np.zeros(self.domain_size, np.int64))
        return self.estimate(Tally(self, int(keys.size), counters))

    @cached_property
    def _bulk(self) -> BulkHalf:
        return _Bulk(self)


class _Bulk:
    """Points are added up."""

    def __init__(self, spec: LocalGaussianHistogram) -> None:
        self.spec = spec

    def privatize(self, values: Any, source: Source | None) -> Reports:
        keys = keys_of(self.spec.domain, values)
        reports = Reports.empty(self.spec, keys.size)
        points = reports.columns["point"].reshape(keys.size, self.spec.domain_size)  # a view, also of a single column
        rows = max(1, _NUMBERS // self.spec.domain_size)
        for start in range(0, keys.size, rows):
            points[start : start + rows] = _points(self.spec, keys[start : start + rows], source)
        return reports

    def tally(self, reports: Any, candidates: Any) -> Tally:
        if candidates is not None:
            raise ParameterError("candidates", candidates, allowed="none: every value is counted", fix="pass them to estimate")
        if not isinstance(reports, Reports):
            reports = Reports.collect(self.spec, reports)
        require_same_spec(self.spec, reports.spec)
        reports.check_shapes()
        sums = reports.columns["point"].reshape(reports.n, self.spec.domain_size).sum(axis=0, dtype=np.int64)
        return Tally(self.spec, reports.n, sums)

    def estimate(self, tally: Any, candidates: Any) -> FrequencyEstimate:
        if not isinstance(tally, Tally):
            raise ParameterError("tally", type(tally).__name__, allowed="a Tally", fix="write estimate(oracle.tally(reports))")
        require_same_spec(self.spec, tally.spec)
        if tally.digest != WHOLE_DOMAIN or tally.counters.size != self.spec.domain_size:
            raise MergeError("counters", tally.counters.size, allowed=f"{self.spec.domain_size} for {self.spec!r}", fix="tally again")
        sums = (tally.counters - tally.n * MIDDLE).astype(float)
        law = SubGaussianCounts(tally.n, sums, self.spec.variance(tally.n), tally.n * self.spec.sigma**2)
        whole = FrequencyEstimate.of(self.spec, Candidates.everything(self.spec.domain).values, law)
        if candidates is None:
            return whole
        named = whole.select(Candidates.of(self.spec.domain, candidates).keys.astype(np.int64))
        return replace(named, family_size=len(named.values))  # named before looking: statements are about these alone


@dataclass(frozen=True, eq=False)
class SubGaussianCounts(CountLaw):
    """Counts with integer noise that is sub-Gaussian: no tail is heavier than that of the normal law with the same sigma.

    So bounds hold for any number of people, P(|error| > x) <= 2 e^(-x^2 / (2 ``most``)), where ``most`` is n sigma^2. Intervals use the
    normal law itself from a variance of 200 on, where steps of 1 no longer matter, and that bound below.
    """

    n: int
    noisy: Array
    noise: float
    """The variance of each count."""
    most: float

    @property
    def point(self) -> Array:
        return self.noisy

    def variance(self, at: Array, *, population: bool = False) -> Array:
        drawn = at * (1 - at / max(self.n, 1)) if population else 0.0
        return np.asarray(np.full(np.shape(at), self.noise) + drawn)

    @property
    def enough(self) -> float:
        return self.noise

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        if not self.n:  # among nobody, nobody holds it
            return np.zeros(len(self.noisy)), np.zeros(len(self.noisy))
        if self.enough < (NORMAL_TAILS_FROM if family else NORMAL_FROM):
            extra = self.n / 4 if population else 0.0  # people drawn at random: sub-Gaussian with n / 4 at most (Hoeffding)
            return self._around(np.sqrt(2 * np.log(2 / alpha) * (self.most + extra)))
        return self._around(-scipy.special.ndtri(alpha / 2) * np.sqrt(self.variance(np.clip(self.noisy, 0, self.n), population=population)))

    def bounds(self, alpha: float, method: str) -> Limits:
        """Return the same inequality by either name: the noise is sub-Gaussian, and nothing is gained from its variance."""
        return self._around(np.sqrt(2 * np.log(2 / alpha) * self.most))

    def _around(self, reach: Any) -> Limits:
        return self.noisy - reach, self.noisy + reach

    def select(self, positions: Array) -> SubGaussianCounts:
        return replace(self, noisy=self.noisy[positions])


def _points(spec: LocalGaussianHistogram, keys: Array, source: Source | None) -> Array:
    """The reports of some people, one row each."""
    noisy = spec.noise.draws(keys.size * spec.domain_size, source).reshape(keys.size, spec.domain_size)
    noisy[np.arange(keys.size), keys.astype(np.int64)] += 1
    points: Array = np.clip(noisy + MIDDLE, 0, 2 * MIDDLE - 1).astype(np.uint16)
    return points


def delta_of(sigma: float, epsilon: float) -> float:
    """The smallest delta at epsilon of two numbers with discrete Gaussian noise that move by 1 in opposite directions, rounded up.

    The loss is (1 + k) / sigma^2, where k is the difference of both noises. P(k) is proportional to e^(-k^2 / (4 sigma^2)), times the
    sum of e^(-z^2 / sigma^2) over all integers z for even k, over all halves of odd integers for odd k.

    >>> round(delta_of(5.0, 1.0) * 1e5, 4)
    2.2867
    """
    z = np.arange(-int(40 * sigma) - 2, int(40 * sigma) + 3)
    total = np.exp(-(z**2) / (2 * sigma**2)).sum() ** 2
    by_parity = np.array([np.exp(-(z**2) / sigma**2).sum(), np.exp(-((z + 0.5) ** 2) / sigma**2).sum()])
    k = np.arange(max(int(np.floor(epsilon * sigma**2)) - 2, z[0]), 2 * z[-1])
    gain = -np.expm1(np.minimum(epsilon - (1 + k) / sigma**2, 0.0))
    terms = np.exp(-(k**2) / (4 * sigma**2)) * by_parity[k & 1] * gain
    return float(terms.sum() / total * (1 + 1e-10))
