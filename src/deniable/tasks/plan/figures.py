"""The figures behind a plan of counts: what one oracle needs, shows, and lets liars do; and the search for the smallest epsilon."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, exp, inf, log

import scipy

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import typed
from deniable.contract.probability import LARGEST_EPSILON, SMALLEST_EPSILON
from deniable.errors import ParameterError
from deniable.local.oracle_choice import asked, oracles_for, planned_variance, predicted_error
from deniable.tasks.checks import check_whole

ALPHA = 0.05
"""How often any value that nobody holds may seem to be held."""
EPSILON_DIGITS = 1e-6
"""How near to the smallest epsilon the one that is found is, relatively."""
ONE_REPORT = "One report at this epsilon"
"""What the verdict of a plan is about."""


@typed
def people_needed(spec: FrequencySpec, error: float) -> int | None:
    """How many people's reports by a spec make the standard error of a frequency at most ``error``; None if no number does.

    >>> from deniable.client import HCMS, OUE
    >>> people_needed(OUE(domain_size=128, epsilon=1.0), 0.01), people_needed(HCMS(domain_size=128, epsilon=1.0), 0.0001)
    (36906, None)
    """
    shared = spec.shared_variance  # this part does not average out
    one = planned_variance(spec, 1, 1 / spec.domain_size) - shared
    if one == inf:
        return None
    return ceil(one / (error**2 - shared)) if error**2 > shared else None


@typed
def epsilon_needed(spec: FrequencySpec, n: int, error: float) -> float | None:
    """The epsilon at which n people make the standard error of a frequency at most ``error``, by bisection; None if there is none.

    All parameters of the spec but the domain are chosen anew for each epsilon. Where such a choice jumps and the error with it
    (HadamardResponse's blocks), a smaller epsilon may do as well; the one that is found does.

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
    return smallest_epsilon(enough, low, high)


def smallest_epsilon(enough: Callable[[float], bool | None], low: float, high: float) -> float:
    """An epsilon between one that is not enough and one that is; hardly above the smallest that is, where larger ones are, too.

    >>> round(smallest_epsilon(lambda epsilon: epsilon >= 2, 1.0, 8.0), 4)
    2.0
    """
    while high > low * (1 + EPSILON_DIGITS):
        middle = exp((log(low) + log(high)) / 2)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@typed
def at_epsilon(spec: FrequencySpec, epsilon: float) -> FrequencySpec | None:
    """The oracle of a spec for the same domain at another epsilon; None where 64 bits or its parameters do not reach."""
    able, _ = oracles_for([spec.mechanism], epsilon=epsilon, domain=spec.domain)
    return able[0] if able else None


@typed
def detectable(spec: FrequencySpec, n: int) -> float:
    """The smallest frequency that n people's reports by a spec show: its expected count reaches the threshold.

    That is what counts of values held by nobody stay below, 95 % of the time.

    >>> from deniable.client import OUE
    >>> round(detectable(OUE(domain_size=128, epsilon=1.0), 10_000), 5)
    0.06447
    """
    check_whole("n", n, 1, fix="say how many people you expect")
    values = asked(spec.domain)
    return float(scipy.stats.norm.isf(ALPHA / values) * spec.worst_variance(n, values) ** 0.5 / n)


@typed
def most_gain(spec: FrequencySpec, *, targets: int, liars: float, held: float = 0.0) -> float:
    """How much a share of liars can add to the frequencies of their targets together: the maximal gain attack on a spec's reports.

    A share b of all reports is made up, and honest people hold the targets with frequency ``held``. A report that supports k of r targets
    adds (k - r q) / (p - q) to their counts, so the frequencies rise by b ((k - r q) / (p - q) - held), for the largest k possible
    (``spec.most_supported``): one for GRR, the size of the set for subset selection, and r where bits, seeds or rows can be chosen to
    support every target. It is the maximum over all sets of r targets; where reports cannot be listed, a bound.

    >>> from deniable.client import GRR, OUE
    >>> attack = {"targets": 10, "liars": 0.05, "held": 0.01}
    >>> [round(most_gain(oracle(domain_size=128, epsilon=1.0), **attack), 5) for oracle in (GRR, OUE)]
    [3.48316, 1.58148]

    References: Cao, Jia, Gong 2021.
    """
    check_whole("targets", targets, 1, spec.domain_size, fix="say how many values are raised")
    if not (0 <= liars <= 1 and 0 <= held <= 1):
        raise ParameterError("liars, held", (liars, held), allowed="shares from 0 to 1", fix="0.01 is one report in a hundred")
    return liars * (spec.most_score(targets) - held)
