"""The figures behind a plan of counts: what one oracle needs and shows, how far false reports move it, and the smallest epsilon."""

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
"""The family-wise false-positive rate: the chance that any value seems to be held although nobody holds it."""
EPSILON_DIGITS = 1e-6
"""The relative precision of the epsilon found."""
ONE_REPORT = "One report at this epsilon"
"""What the verdict of a plan describes."""


@typed
def people_needed(spec: FrequencySpec, error: float) -> int | None:
    """Return how many people a ``spec`` takes for a frequency's standard error of at most ``error``; None if no number is enough.

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
    """Return the epsilon at which n people give a standard error of a frequency of at most ``error``; None if there is none.

    It is found by bisection, and all parameters of the spec but the domain are chosen anew for each epsilon. Where a choice, and the error
    with it, jumps (HadamardResponse's blocks), a smaller epsilon may be enough, too.

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
    """Return the smallest epsilon that is enough, between one that is not and one that is, to within ``EPSILON_DIGITS``.

    >>> round(smallest_epsilon(lambda epsilon: epsilon >= 2, 1.0, 8.0), 4)
    2.0
    """
    while high > low * (1 + EPSILON_DIGITS):
        middle = exp((log(low) + log(high)) / 2)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@typed
def at_epsilon(spec: FrequencySpec, epsilon: float) -> FrequencySpec | None:
    """Return the oracle of a ``spec`` for the same domain at another epsilon; None if its parameters do not fit there."""
    able, _ = oracles_for([spec.mechanism], epsilon=epsilon, domain=spec.domain)
    return able[0] if able else None


@typed
def detectable(spec: FrequencySpec, n: int) -> float:
    """Return the smallest frequency that n people's reports by a ``spec`` show: its expected count reaches the threshold.

    In 95 % of surveys, the counts of all values that nobody holds stay below that threshold.

    >>> from deniable.client import OUE
    >>> round(detectable(OUE(domain_size=128, epsilon=1.0), 10_000), 5)
    0.06447
    """
    check_whole("n", n, 1, fix="pass the number of people that you expect")
    values = asked(spec.domain)
    return float(scipy.stats.norm.isf(ALPHA / values) * spec.worst_variance(n, values) ** 0.5 / n)


@typed
def most_gain(spec: FrequencySpec, *, targets: int, liars: float, held: float = 0.0) -> float:
    """Return how much a share of false reports can add to the frequencies of its targets: the maximal gain attack on a spec.

    A share b of all reports (``liars``) is false, and honest people hold the targets with frequency ``held``. A report that supports k
    of r targets adds (k - r q) / (p - q) to their counts, so the frequencies rise by b ((k - r q) / (p - q) - held), for the largest
    possible k (``spec.most_supported``): one for GRR, the size of the set for subset selection, and r where bits, seeds or rows can be
    chosen to support every target. It is the maximum over all sets of r targets; where reports cannot be listed, a bound.

    >>> from deniable.client import GRR, OUE
    >>> attack = {"targets": 10, "liars": 0.05, "held": 0.01}
    >>> [round(most_gain(oracle(domain_size=128, epsilon=1.0), **attack), 5) for oracle in (GRR, OUE)]
    [3.48316, 1.58148]

    References: Cao, Jia, Gong 2021.
    """
    check_whole("targets", targets, 1, spec.domain_size, fix="pass the number of values that are lifted")
    if not (0 <= liars <= 1 and 0 <= held <= 1):
        raise ParameterError("liars, held", (liars, held), allowed="shares from 0 to 1", fix="try 0.01, one report in a hundred")
    return liars * (spec.most_score(targets) - held)
