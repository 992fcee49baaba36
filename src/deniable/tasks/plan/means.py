"""Planning a mean before any data is collected: every mechanism that is asked once side by side, and a trusted curator.

All figures are closed forms of the specs, or found by bisection on them. For n people, at an epsilon, over a range::

    error       the standard error of the mean, at worst, whatever people hold
    sum         the same for the sum: n error
    central     how many times as large it is as the error of a curator who sees all values and adds Laplace noise to their sum
    people      how many people make the standard error what is aimed at
    epsilon     the epsilon at which n people do
    bits        of a report
    influence   how far one report, true or made up, can lie from the middle of the range
    liars       how far one made-up report in a hundred can move the mean, more than a true one: (influence + half the range) / 100

The curator's noise is Laplace noise of scale width / epsilon on the sum: someone's value may change by the width, while n is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar

import numpy as np

from deniable.client.longitudinal import Longitudinal
from deniable.client.mean import MeanSpec
from deniable.contract.arguments import typed
from deniable.contract.numbers import Numbers
from deniable.contract.probability import LARGEST_EPSILON, SMALLEST_EPSILON
from deniable.contract.spec import MECHANISMS
from deniable.contract.verdict import Verdict
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.choose import MOST_PEOPLE, check_people
from deniable.local.choose_mean import means_for, worst_error
from deniable.tasks.plan.bisection import smallest_epsilon
from deniable.tasks.plan.figures import ONE_REPORT

CENTRAL = "central Laplace"


@dataclass(frozen=True, eq=False, repr=False)
class MeanPlan(Table):
    """The mechanisms for a range, the smallest error first, the trusted curator below, and why others cannot serve it.

    >>> plan_mean(low=0, high=1, epsilon=1.0, n=1_000_000, mechanisms=["SignRR", "OneBitMean", "Hybrid", "DiscreteLaplace"])
    1,000,000 people, from 0 to 1, epsilon = 1; standard errors at worst; SignRR: for answers of 0 and 1 alone
    value               error    sum  central  bits  influence   liars
    SignRR            0.00096    960      678     1       1.08  0.0158
    Hybrid            0.00103  1,033      730    16       2.05  0.0255
    OneBitMean        0.00108  1,082      765     1       1.08  0.0158
    DiscreteLaplace   0.00141  1,414    1,000    13       24.5    0.25
    central Laplace  1.41e-06   1.41        1     –          –       –
    One report at this epsilon: strong privacy. Even someone who had narrowed it down to two answers would guess right at most 74 times in
    100. Guessing blindly gives 50.
    """

    specs: tuple[MeanSpec, ...]
    """The mechanisms, the smallest error first."""
    n: int
    error: float | None
    """The standard error of the mean that is aimed at."""
    left_out: tuple[str, ...]
    """Why others cannot."""
    shown: ClassVar[int] = 100  # side by side: nothing is hidden

    @property
    def central(self) -> float:
        """The standard error of a trusted curator."""
        return central_error(self.specs[0].domain, self.specs[0].epsilon, self.n)

    def rows(self) -> dict[str, Any]:
        errors = np.array([*(worst_error(spec, self.n) for spec in self.specs), self.central])
        rows: dict[str, Any] = {
            "value": [*(spec.mechanism for spec in self.specs), CENTRAL],
            "error": errors,
            "sum": errors * self.n,
            "central": errors / self.central,
        }
        if self.error is not None:
            central = self.central * self.n / self.error  # its error falls with n, not with the root of n
            rows["people"] = [*(_people_told(spec, self.error) for spec in self.specs), float(ceil(central))]
            own = self.specs[0].epsilon * self.central / self.error
            rows["epsilon"] = [*(epsilon_needed(spec, self.n, self.error) for spec in self.specs), own]
        half = float(self.specs[0].domain.width) / 2
        return rows | {
            "bits": [*(spec.report_bits for spec in self.specs), None],
            "influence": [*(spec.influence for spec in self.specs), None],
            "liars": [*((spec.influence + half) / 100 for spec in self.specs), None],
        }

    def headline(self) -> str:
        domain, signs = self.specs[0].domain, [spec.mechanism for spec in self.specs if spec.choices is not None]
        target = "" if self.error is None else f"; people, epsilon: for a standard error of {self.error:g}"
        ends = [domain.value(key) for key in (0, domain.steps)]
        told = f"; {', '.join(signs)}: for answers of {ends[0]} and {ends[1]} alone" if signs else ""
        span = f"from {ends[0]} to {ends[1]}"
        return f"{self.n:,} people, {span}, epsilon = {self.specs[0].epsilon:.4g}; standard errors at worst{target}{told}"

    @property
    def verdict(self) -> Verdict:
        """How strong the promise to each person is."""
        return Verdict(self.specs[0].epsilon, when=ONE_REPORT)

    def order(self) -> Array:
        return np.arange(len(self.specs) + 1)

    def _rest(self) -> list[str]:
        return [str(self.verdict), *([f"left out: {'; '.join(self.left_out)}"] if self.left_out else [])]


@typed
def plan_mean(
    *,
    low: Any = None,
    high: Any = None,
    domain: Numbers | None = None,
    epsilon: float,
    n: int = 100_000,
    error: float | None = None,
    mechanisms: Iterable[str] | None = None,
) -> MeanPlan:
    """What n people at this epsilon can tell about the mean of a number, for every mechanism or for those named.

    ``error`` is the standard error of the mean that is aimed at, in the units of the range (seconds for points in time); then the people
    and the epsilon that it needs are found, too.
    """
    check_people(n)
    if error is not None and not (isinstance(error, float | int) and not isinstance(error, bool) and 0 < error < float("inf")):
        raise ParameterError("error", error, allowed="a number above 0, in the units of the range", fix="0.5 for half a unit")
    known = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, MeanSpec) and not issubclass(cls, Longitudinal))
    chosen = known if mechanisms is None else list(mechanisms)
    for name in chosen:
        if name not in known:
            raise ParameterError("mechanisms", name, allowed=f"some of {known}", fix="check the spelling")
    if mechanisms is None and domain is not None and domain.steps != 1:
        chosen = [name for name in chosen if MECHANISMS[name].rounds]  # type: ignore[attr-defined]  # others take no grid between two answers
    specs, left_out = means_for(chosen, epsilon=epsilon, low=low, high=high, domain=domain)
    specs.sort(key=lambda spec: worst_error(spec, n))
    return MeanPlan(tuple(specs), n, error, tuple(left_out))


def central_error(domain: Numbers, epsilon: float, n: int) -> float:
    """The standard error of a mean whose sum gets Laplace noise from a curator who is trusted.

    >>> 2 * 1_000_000 * central_error(Numbers(0, 1), 1.0, 1_000_000)        # of a count of a million, two standard errors
    2.8284271247461903
    """
    return float(2**0.5 * float(domain.width) / (epsilon * n))


def people_needed(spec: MeanSpec, error: float) -> int | None:
    """How many people make the standard error of the mean at most this; None if no crowd is large enough."""
    people = max(1, ceil(spec.variance(1) / error**2))
    while people > 1 and worst_error(spec, people - 1) <= error:
        people -= 1
    while worst_error(spec, people) > error:
        people += 1
    return people if people <= MOST_PEOPLE else None


def epsilon_needed(spec: MeanSpec, n: int, error: float) -> float | None:
    """The smallest epsilon at which n people have this standard error at most; None if none has."""
    low, high = SMALLEST_EPSILON, None
    candidate = spec.epsilon
    while high is None and candidate <= LARGEST_EPSILON:  # upward until it is enough
        fits = _fits(spec, candidate, n, error)
        if fits is None:
            break
        if fits:
            high = candidate
        else:
            low, candidate = candidate, 1.5 * candidate
    if high is None:
        return None
    if _fits(spec, low, n, error):
        return low
    return smallest_epsilon(lambda epsilon: _fits(spec, epsilon, n, error), low, high)


def _people_told(spec: MeanSpec, error: float) -> float | None:
    people = people_needed(spec, error)
    return None if people is None else float(people)


def _fits(spec: MeanSpec, epsilon: float, n: int, error: float) -> bool | None:
    """Whether this epsilon is enough; None where the mechanism does not have it."""
    try:
        domain = spec.domain
        other = type(spec)(low=domain.low, high=domain.high, epsilon=epsilon)
    except ParameterError:
        return None
    return worst_error(other, n) <= error
