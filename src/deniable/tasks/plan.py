"""Planning a count before any data is collected: for every oracle side by side, what it tells, what it costs and what liars can do.

All figures are closed forms of the specs, or found by bisection on them. For n people, at an epsilon, over d values::

    error         the standard error of a count, averaged (in the square) over the values
    frequency     the same for a frequency: error / n
    people        how many people make the standard error of a frequency what is aimed at
    epsilon       the epsilon at which n people do
    detectable    z s / n: z the normal quantile of 1 - 0.05 / d, s the standard error of the count of a value that nobody holds
    bits          of a report; device: random words for it; server: steps of about a nanosecond to count all n
    guess         how often an observer of one report guesses the value, at most, if all values are equally likely
    influence     how far one report, true or made up, can move one count
    liars         how far one made-up report in a hundred can raise the frequency of a value that nobody holds: influence / 100

z s is the threshold that all values which nobody holds stay below, 95 % of the time by the normal law; one that a ``detectable`` share
holds is above it half of the time. A share above 1 says that nothing can be told from zero. Where the domain is too large to list, d
stands for 10,000 candidates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, exp, inf, log
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import stats

from deniable.client.dbitflip import DBitFlip
from deniable.client.frequency import FrequencySpec
from deniable.client.grr import GRR
from deniable.client.hadamard_response import HadamardResponse
from deniable.client.pgr import PGR
from deniable.client.pure import PureProtocol
from deniable.client.rr import RR
from deniable.client.rws import RWS
from deniable.client.sketch import SketchProtocol
from deniable.client.subset_selection import SubsetSelection
from deniable.contract.domain import Domain
from deniable.contract.probability import LARGEST_EPSILON, SMALLEST_EPSILON
from deniable.contract.spec import MECHANISMS
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.choose import check_people, oracles_for, planned_variance, predicted_error
from deniable.local.work import asked, device_work, server_work

if TYPE_CHECKING:
    from deniable.core.chart import Chart

ALPHA = 0.05
"""How often any value that nobody holds may seem to be held."""
EPSILON_DIGITS = 1e-6
"""How near to the smallest epsilon the one that is found is, relatively."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Table):
    """The oracles that can count a domain, the smallest error first, and why others cannot.

    >>> plan(domain_size=128, epsilon=1.0, n=10_000, error=0.01, oracles=["GRR", "OUE", "SubsetSelection", "RR"])
    10,000 people, 128 values, epsilon = 1; people, epsilon: for a standard error of 0.01
    value            error  frequency   people  epsilon  detectable  bits  device  server   guess  influence   liars
    SubsetSelection    190      0.019   36,179     1.75      0.0638   128      15  80,128  0.0146       3.17  0.0317
    OUE                192     0.0192   36,906     1.77      0.0645   128      15  80,128  0.0145       3.16  0.0316
    GRR                665     0.0665  441,694     2.59       0.222     7       1  10,128   0.021       74.9   0.749
    left out: RR takes at most 2 values
    """

    specs: tuple[FrequencySpec, ...]
    n: int
    error: float | None
    left_out: tuple[str, ...]
    shown: ClassVar[int] = 100  # side by side: nothing is hidden

    def rows(self) -> dict[str, Any]:
        errors = np.array([predicted_error(spec, self.n) for spec in self.specs])
        rows: dict[str, Any] = {"value": [spec.mechanism for spec in self.specs], "error": errors, "frequency": errors / self.n}
        if self.error is not None:
            people = [people_needed(spec, self.error) for spec in self.specs]
            rows["people"] = [None if number is None else float(number) for number in people]
            rows["epsilon"] = [epsilon_needed(spec, self.n, self.error) for spec in self.specs]
        return rows | {
            "detectable": np.array([detectable(spec, self.n) for spec in self.specs]),
            "bits": [spec.report_bits for spec in self.specs],
            "device": [device_work(spec) for spec in self.specs],
            "server": [float(server_work(spec, self.n)) for spec in self.specs],
            "guess": np.array([spec.best_guess for spec in self.specs]),
            "influence": np.array([spec.influence for spec in self.specs]),
            "liars": np.array([spec.influence / 100 for spec in self.specs]),
        }

    def headline(self) -> str:
        target = "" if self.error is None else f"; people, epsilon: for a standard error of {self.error:g}"
        return f"{self.n:,} people, {self.values_told}, epsilon = {self.specs[0].epsilon:.4g}{target}"

    @property
    def values_told(self) -> str:
        """The domain in a few words."""
        domain = self.specs[0].domain
        return f"{domain.size:,} values" if domain.listed else domain.describe()

    def order(self) -> Array:
        return np.arange(len(self.specs))

    def _rest(self) -> list[str]:
        return [f"left out: {'; '.join(self.left_out)}"] if self.left_out else []

    def gain(self, *, targets: int, liars: float, held: float = 0.0) -> dict[str, float]:
        """How much liars can add to the frequencies of their targets together, by oracle; see ``most_gain``."""
        return {spec.mechanism: most_gain(spec, targets=targets, liars=liars, held=held) for spec in self.specs}

    def chart(self, against: str = "epsilon") -> Chart:
        """The standard error of a frequency against "epsilon" or "domain_size", one line for each oracle."""
        from deniable.tasks.plan_chart import error_chart

        return error_chart(self, against)


def plan(
    *,
    epsilon: float,
    domain_size: int | None = None,
    domain: Domain | None = None,
    n: int = 100_000,
    error: float | None = None,
    oracles: Iterable[str] | None = None,
) -> Plan:
    """What n people at this epsilon can tell about a domain, for every oracle or for those named.

    ``error`` is the standard error of a frequency that is aimed at; then the people and the epsilon that it needs are found, too.
    """
    check_people(n)
    if error is not None and not (isinstance(error, float | int) and 1e-9 <= error < 1):
        allowed = "a number between 0 and 1, at least 1e-9"
        raise ParameterError("error", error, allowed=allowed, fix="0.001 is a tenth of a percentage point")
    known = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec))
    names = known if oracles is None else [oracles] if isinstance(oracles, str) else list(oracles)
    for name in names:
        if name not in known:
            raise ParameterError("oracles", name, allowed=f"one of {known}", fix="check the spelling, or leave it out for all of them")
    able, left_out = oracles_for(dict.fromkeys(names), epsilon=epsilon, domain_size=domain_size, domain=domain)
    left_out += [f"{spec.mechanism} cannot tell so many values apart" for spec in able if predicted_error(spec, n) == inf]
    able = [spec for spec in able if predicted_error(spec, n) < inf]
    if not able:
        raise ParameterError("oracles", names, allowed=f"oracles for this domain and epsilon: {'; '.join(left_out)}", fix="name others")
    return Plan(tuple(sorted(able, key=lambda spec: predicted_error(spec, n))), n, error, tuple(left_out))


def people_needed(spec: FrequencySpec, error: float) -> int | None:
    """How many people make the standard error of a frequency at most ``error``; None if no number does.

    >>> from deniable.client import HCMS, OUE
    >>> people_needed(OUE(domain_size=128, epsilon=1.0), 0.01), people_needed(HCMS(domain_size=128, epsilon=1.0), 0.0001)
    (36906, None)
    """
    shared = spec.collisions if isinstance(spec, SketchProtocol) else 0.0  # this part does not average out
    one = planned_variance(spec, 1, 1 / spec.domain_size) - shared
    if one == inf:
        return None
    return ceil(one / (error**2 - shared)) if error**2 > shared else None


def epsilon_needed(spec: FrequencySpec, n: int, error: float) -> float | None:
    """The epsilon at which n people make the standard error of a frequency at most ``error``, by bisection; None if there is none.

    All parameters but the domain are chosen anew for each epsilon. Where such a choice jumps and the error with it (HadamardResponse's
    blocks), a smaller epsilon may do as well; the one that is found does.

    >>> from deniable.client import GRR, OUE
    >>> round(epsilon_needed(GRR(domain_size=2, epsilon=1.0), 10_000, 0.01), 4), epsilon_needed(OUE(domain_size=2, epsilon=1.0), 100, 0.01)
    (0.9624, None)
    """

    def enough(epsilon: float) -> bool:
        other = at_epsilon(spec, epsilon)
        return other is not None and predicted_error(other, n) <= error * n

    whole = range(int(LARGEST_EPSILON), 0, -1)
    high: float = next((epsilon for epsilon in whole if at_epsilon(spec, epsilon) is not None), spec.epsilon)  # the largest it can take
    low = SMALLEST_EPSILON
    if not enough(high):
        return None
    if enough(low):
        return low
    while high > low * (1 + EPSILON_DIGITS):
        middle = exp((log(low) + log(high)) / 2)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def at_epsilon(spec: FrequencySpec, epsilon: float) -> FrequencySpec | None:
    """The same oracle for the same domain at another epsilon; None where 64 bits or its parameters do not reach."""
    able, _ = oracles_for([spec.mechanism], epsilon=epsilon, domain=spec.domain)
    return able[0] if able else None


def detectable(spec: FrequencySpec, n: int) -> float:
    """The smallest frequency whose expected count reaches the threshold that counts of values held by nobody stay below, 95 % of the time.

    >>> from deniable.client import OUE
    >>> round(detectable(OUE(domain_size=128, epsilon=1.0), 10_000), 5)
    0.06447
    """
    variance = planned_variance(spec, n, 0.0)
    if isinstance(spec, HadamardResponse):  # everybody else in the same block: the threshold is to hold whatever they say
        variance = n * float((spec.marked + spec.unmarked) / spec.gap**2)
    return float(stats.norm.isf(ALPHA / asked(spec.domain)) * variance**0.5 / n)


def most_gain(spec: FrequencySpec, *, targets: int, liars: float, held: float = 0.0) -> float:
    """How much a share of liars can add to the frequencies of their targets together: the maximal gain attack (Cao, Jia, Gong 2021).

    A share b of all reports is made up, and honest people hold the targets with frequency ``held``. A report that supports k of r targets
    adds (k - r q) / (p - q) to their counts, so the frequencies rise by b ((k - r q) / (p - q) - held), for the largest k possible: one
    for GRR, the size of the set for subset selection, and r where bits, seeds or rows can be chosen to support every target.

    >>> from deniable.client import GRR, OUE
    >>> attack = {"targets": 10, "liars": 0.05, "held": 0.01}
    >>> [round(most_gain(oracle(domain_size=128, epsilon=1.0), **attack), 5) for oracle in (GRR, OUE)]
    [3.48316, 1.58148]
    """
    if type(targets) is not int or not 1 <= targets <= spec.domain_size:
        raise ParameterError("targets", targets, allowed=f"an integer from 1 to {spec.domain_size}", fix="say how many values are raised")
    if not (0 <= liars <= 1 and 0 <= held <= 1):
        raise ParameterError("liars, held", (liars, held), allowed="shares from 0 to 1", fix="0.01 is one report in a hundred")
    if not isinstance(spec, PureProtocol):
        return liars * (min(targets, spec.bits if isinstance(spec, DBitFlip) else targets) * spec.influence - held)
    supported = min(targets, _most_supported(spec))
    return liars * (float((supported - targets * spec.q) / (spec.p - spec.q)) - held)


def _most_supported(spec: PureProtocol) -> int:
    """How many values a report supports at most. A geometry or a progression holds so many, but not any so many."""
    if isinstance(spec, GRR | RR):
        return 1
    if isinstance(spec, SubsetSelection | RWS):
        return spec.size
    return spec.orthogonal if isinstance(spec, PGR) else spec.domain_size
