"""The estimate of how many people hold each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deniable.core.estimate import PeopleEstimate
from deniable.core.interval import Limits, check_level
from deniable.core.law import CountLaw
from deniable.core.regression import Regression, decode
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.distribution import DistributionEstimate


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FrequencyEstimate(PeopleEstimate):
    """Unbiased counts for a list of values. Single estimates may be negative: clipping them would bias sums.

    >>> from deniable.client import RR
    >>> from deniable.core.supports import Supports
    >>> spec = RR.from_probabilities("3/4", "1/4")
    >>> FrequencyEstimate.of(spec, ["no", "yes"], Supports(100, np.array([35, 65]), np.array(0.75), np.array(0.25)))
    100 reports, RR, epsilon = 1.099; low and high: 95 %, noise only
    value  count  stderr  low  high  frequency
    yes       80    8.66   63    98       80 %
    no        20    8.66    2    37       20 %
    """

    law: CountLaw

    kind: str = "frequency"
    figure: Mapping[str, Any] = field(default_factory=lambda: {"axis": "people"})
    falling: bool = True

    @classmethod
    def of(cls, spec: Any, values: Sequence[Any], law: CountLaw, **options: Any) -> Self:
        """The estimate behind counts of reports by a spec; ``options`` are further fields."""
        promise = options.get("guarantee") or spec.guarantee
        spent = f"epsilon = {promise.epsilon:.4g}" + (f", delta = {promise.delta:.2g}" if promise.delta else "")
        told: dict[str, Any] = {"about": f"{law.n:,} reports, {spec.mechanism}, {spent}", "guarantee": promise}
        return cls(spec=spec, values=values, law=law, **(told | options))

    @property
    def epsilon(self) -> float:
        """The guarantee of a report."""
        return self.spec.epsilon if self.guarantee is None else self.guarantee.epsilon

    @property
    def whole(self) -> int:
        """The number of values that people can hold, estimated or not; of values asked for, if none were declared."""
        return self.family_size if self.spec.domain is None else int(self.spec.domain.size)

    @property
    def out_of(self) -> float:
        return float(max(self.n, 1))

    @property
    def frequency_stderr(self) -> Array:
        """The standard error of each frequency."""
        return np.asarray(self.stderr / max(self.n, 1))

    def bound(self, level: float = 0.95, method: str = "bernstein", *, simultaneous: bool = False) -> Limits:
        """Return limits (low, high) from an inequality, without approximation: ``method`` is "hoeffding" or "bernstein"."""
        if method not in ("hoeffding", "bernstein"):
            raise ParameterError("method", method, allowed="hoeffding or bernstein", fix="use bernstein: it is tighter here")
        check_level("level", level)
        if self.n == 0:  # among nobody, nobody holds it
            return np.zeros(len(self.values)), np.zeros(len(self.values))
        return self.law.bounds((1 - level) / (max(self.family_size, 1) if simultaneous else 1), method)

    def postprocess(self, method: str) -> PeopleEstimate:
        """Return counts made consistent by a ``method``: "base-cut", "norm", "norm-sub", "norm-mul" or "mle". Biased."""
        from deniable.core.postprocess import postprocess

        return postprocess(self, method)

    def distribution(self) -> DistributionEstimate:
        """Return the distribution of numbers whose grid points were counted: quantiles, cumulative shares, mean; see ``core.histogram``."""
        from deniable.core.histogram import distribution_of

        return distribution_of(self)

    def decode(self, alpha: float = 0.05) -> PeopleEstimate:
        """Return the candidates that somebody holds, at level ``alpha``, from a list of any length; see ``core.regression``."""
        if not isinstance(self.law, Regression):
            allowed = "an estimate by regression, as of BloomRR and RAPPOR"
            raise ParameterError("estimate", self.spec.mechanism, allowed=allowed, fix="use significant() or top() here")
        return decode(self, self.law, alpha)
