"""Plan a mean before you collect any data: every mechanism that asks once, side by side, and a trusted curator.

All figures are closed forms of the specs, or found by bisection on them. For n people, at an epsilon, over a range::

    error       the standard error of the mean, at worst, whatever people hold
    sum         the same for the sum: n error
    central     the ratio to the error of a curator who sees all values and adds Laplace noise to their sum
    people      how many people give the standard error that you aim for
    epsilon     the epsilon at which n people give it
    bits        of a report
    influence   how far one report, true or false, can lie from the middle of the range
    liars       how far 1 % of false reports can move the mean: (influence + half the range) / 100

The curator's noise is Laplace noise of scale width / epsilon on the sum: someone's value may change by the width, while n is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, inf
from typing import Any

import numpy as np

from deniable.client.longitudinal import Longitudinal
from deniable.client.mean import MeanSpec
from deniable.contract.arguments import typed
from deniable.contract.numbers import Numbers
from deniable.contract.probability import LARGEST_EPSILON, SMALLEST_EPSILON
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from deniable.local.mean_choice import means_for, worst_error
from deniable.local.oracle_choice import MOST_PEOPLE, check_people
from deniable.tasks.plan.figures import smallest_epsilon
from deniable.tasks.plan.planned import Plan

CENTRAL = "central Laplace"


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
) -> Plan:
    """Return what n people at this epsilon show about the mean of a number, for every mechanism or for those you name.

    ``error`` is the standard error of the mean that you aim for, in the units of the range (seconds for points in time); the plan then
    shows the people and the epsilon that it needs. The trusted curator is the last row.

    >>> plan_mean(low=0, high=1, epsilon=1.0, n=1_000_000, mechanisms=["SignRR", "OneBitMean", "Hybrid", "DiscreteLaplace"])
    1,000,000 people, from 0 to 1, epsilon = 1; worst-case standard errors; SignRR: only for answers of 0 and 1
    value               error    sum  central  bits  influence   liars
    SignRR            0.00096    960      678     1       1.08  0.0158
    Hybrid            0.00103  1,033      730    16       2.05  0.0255
    OneBitMean        0.00108  1,082      765     1       1.08  0.0158
    DiscreteLaplace   0.00141  1,414    1,000    13       24.5    0.25
    central Laplace  1.41e-06   1.41        1     –          –       –
    One report at this epsilon: strong privacy. Even someone who had narrowed it down to two answers would guess right at most 74 times in
    100. Guessing blindly gives 50.
    """
    check_people(n)
    if error is not None and not (isinstance(error, float | int) and not isinstance(error, bool) and 0 < error < float("inf")):
        raise ParameterError("error", error, allowed="a number above 0, in the units of the range", fix="try 0.5 for half a unit")
    known = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, MeanSpec) and not issubclass(cls, Longitudinal))
    chosen = known if mechanisms is None else list(mechanisms)
    for name in chosen:
        if name not in known:
            raise ParameterError("mechanisms", name, allowed=f"some of {known}", fix="check the spelling")
    if mechanisms is None and domain is not None and domain.steps != 1:
        chosen = [name for name in chosen if MECHANISMS[name].rounds]  # type: ignore[attr-defined]  # others take no grid between two answers
    specs, left_out = means_for(chosen, epsilon=epsilon, low=low, high=high, domain=domain)
    specs.sort(key=lambda spec: worst_error(spec, n))
    asked = specs[0].domain
    ends = [asked.value(key) for key in (0, asked.steps)]
    signs = ", ".join(spec.mechanism for spec in specs if spec.choices is not None)
    return Plan(
        specs=tuple(specs),
        n=n,
        error=error,
        left_out=tuple(left_out),
        asked=f"from {ends[0]} to {ends[1]}",
        remark="worst-case standard errors" + (f"; {signs}: only for answers of {ends[0]} and {ends[1]}" if signs else ""),
        columns=lambda: _columns(specs, n, error),
        number="worst-case standard error of the mean",
        at=lambda spec, epsilon: _error_at(spec, epsilon, n),
    )


def _columns(specs: Sequence[MeanSpec], n: int, error: float | None) -> dict[str, Any]:
    first = specs[0]
    central = central_error(first.domain, first.epsilon, n)
    errors = np.array([*(worst_error(spec, n) for spec in specs), central])
    rows: dict[str, Any] = {
        "value": [*(spec.mechanism for spec in specs), CENTRAL],
        "error": errors,
        "sum": errors * n,
        "central": errors / central,
    }
    if error is not None:
        people = central * n / error  # its error falls with n, not with the root of n
        rows["people"] = [*(_people(spec, error) for spec in specs), float(ceil(people))]
        rows["epsilon"] = [*(epsilon_needed(spec, n, error) for spec in specs), first.epsilon * central / error]
    half = float(first.domain.width) / 2
    return rows | {
        "bits": [*(spec.report_bits for spec in specs), None],
        "influence": [*(spec.influence for spec in specs), None],
        "liars": [*((spec.influence + half) / 100 for spec in specs), None],
    }


def _error_at(spec: MeanSpec, epsilon: float, n: int) -> float:
    """Return the standard error of the mean by a spec at another epsilon."""
    try:
        return worst_error(means_for([spec.mechanism], domain=spec.domain, epsilon=epsilon)[0][0], n)
    except ParameterError:
        return inf


def central_error(domain: Numbers, epsilon: float, n: int) -> float:
    """Return the standard error of the mean if a trusted curator adds Laplace noise to the sum.

    >>> 2 * 1_000_000 * central_error(Numbers(0, 1), 1.0, 1_000_000)        # of a count of a million, two standard errors
    2.8284271247461903
    """
    return float(2**0.5 * float(domain.width) / (epsilon * n))


def people_needed(spec: MeanSpec, error: float) -> int | None:
    """Return how many people it takes for this standard error of the mean; None if no crowd is large enough."""
    people = max(1, ceil(spec.variance(1) / error**2))
    while people > 1 and worst_error(spec, people - 1) <= error:
        people -= 1
    while worst_error(spec, people) > error:
        people += 1
    return people if people <= MOST_PEOPLE else None


def epsilon_needed(spec: MeanSpec, n: int, error: float) -> float | None:
    """Return the smallest epsilon at which n people have at most this standard error; None if there is none."""
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


def _people(spec: MeanSpec, error: float) -> float | None:
    people = people_needed(spec, error)
    return None if people is None else float(people)


def _fits(spec: MeanSpec, epsilon: float, n: int, error: float) -> bool | None:
    """True if this epsilon is enough; None if the mechanism does not support it."""
    try:
        domain = spec.domain
        other = type(spec)(low=domain.low, high=domain.high, epsilon=epsilon)
    except ParameterError:
        return None
    return worst_error(other, n) <= error
