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
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.spec import MECHANISMS
from deniable.contract.verdict import Verdict
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.choose import check_people, oracles_for, predicted_error
from deniable.local.work import server_work
from deniable.tasks.plan.curves import ErrorCurves
from deniable.tasks.plan.figures import ONE_REPORT, detectable, epsilon_needed, most_gain, people_needed

if TYPE_CHECKING:
    from deniable.core.chart import Chart


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Table):
    """The oracles that can count a domain, the smallest error first, and why others cannot.

    >>> plan(domain_size=128, epsilon=1.0, n=10_000, error=0.01, oracles=["GRR", "OUE", "SubsetSelection", "RR"])
    10,000 people, 128 values, epsilon = 1; people, epsilon: for a standard error of 0.01
    value            error  frequency   people  epsilon  detectable  bits  device  server   guess  influence   liars
    SubsetSelection    190      0.019   36,179     1.75      0.0638   128      15  80,128  0.0146       3.17  0.0317
    OUE                192     0.0192   36,906     1.77      0.0645   128      15  80,128  0.0145       3.16  0.0316
    GRR                665     0.0665  441,694     2.59       0.222     7       1  10,128   0.021       74.9   0.749
    One report at this epsilon: strong privacy. Even someone who had narrowed it down to two answers would guess right at most 74 times in
    100. Guessing blindly gives 50.
    left out: RR takes at most 2 values
    """

    specs: tuple[FrequencySpec, ...]
    """The oracles, the smallest error first."""
    n: int
    error: float | None
    """The standard error of a frequency that is aimed at."""
    left_out: tuple[str, ...]
    """Why others cannot."""
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
            "device": [spec.device_words for spec in self.specs],
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

    @property
    def verdict(self) -> Verdict:
        """How strong the promise to each person is."""
        return Verdict(self.specs[0].epsilon, when=ONE_REPORT)

    def order(self) -> Array:
        return np.arange(len(self.specs))

    def _rest(self) -> list[str]:
        return [str(self.verdict), *([f"left out: {'; '.join(self.left_out)}"] if self.left_out else [])]

    def gain(self, *, targets: int, liars: float, held: float = 0.0) -> dict[str, float]:
        """How much a share of liars can add to the frequencies of their targets together, by oracle; see ``most_gain``.

        ``held`` is the share of honest people who hold a target.
        """
        return {spec.mechanism: most_gain(spec, targets=targets, liars=liars, held=held) for spec in self.specs}

    def errors(self, against: str = "epsilon") -> ErrorCurves:
        """The standard error of a frequency against "epsilon" or "domain_size", one curve for each oracle."""
        return ErrorCurves(self, against)

    def chart(self, k: int = 20, *, truth: Any = None, title: str | None = None) -> Chart:
        """The standard error of a frequency against epsilon, one curve for each oracle, k at most, under a ``title``."""
        return self.errors().chart(k, truth=truth, title=title)


@typed
def plan(
    *,
    domain_size: int | None = None,
    domain: Domain | None = None,
    epsilon: float,
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
