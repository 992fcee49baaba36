"""Plan a count before you collect any data: the error, the cost and the effect of false reports, for every oracle side by side.

All figures are closed forms of the specs, or found by bisection on them. For n people, at an epsilon, over d values::

    error         the standard error of a count, averaged (in the square) over the values
    frequency     the same for a frequency: error / n
    people        how many people give the standard error of a frequency that you aim for
    epsilon       the epsilon at which n people give it
    detectable    z s / n: z the normal quantile of 1 - 0.05 / d, s the standard error of the count of a value that nobody holds
    bits          of a report; device: random words for it; server: steps of about a nanosecond to count all n
    guess         how often someone who sees one report guesses the value at most, if all values are equally likely
    influence     how far one report, true or false, can move one count
    liars         how far 1 % of false reports can raise the frequency of a value that nobody holds: influence / 100

z s is the threshold that all values which nobody holds stay below in 95 % of surveys, by the normal law. A value held by a
``detectable`` share is above it half of the time. If ``detectable`` is above 1, no value can be told apart from zero. Where the
domain is too large to list, d stands for 10,000 candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from deniable.local.oracle_choice import check_people, oracles_for, predicted_error, server_work
from deniable.tasks.plan.figures import detectable, epsilon_needed, people_needed
from deniable.tasks.plan.planned import Plan


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
    """Return what n people at this epsilon show about a domain, for every oracle or for those you name.

    ``error`` is the standard error of a frequency that you aim for; the plan then shows the people and the epsilon that it needs.
    """
    check_people(n)
    if error is not None and not (isinstance(error, float | int) and 1e-9 <= error < 1):
        allowed = "a number between 0 and 1, at least 1e-9"
        raise ParameterError("error", error, allowed=allowed, fix="try 0.001, a tenth of a percentage point")
    known = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec))
    names = known if oracles is None else [oracles] if isinstance(oracles, str) else list(oracles)
    for name in names:
        if name not in known:
            raise ParameterError("oracles", name, allowed=f"one of {known}", fix="check the spelling, or leave out oracles to compare all")
    able, left_out = oracles_for(dict.fromkeys(names), epsilon=epsilon, domain_size=domain_size, domain=domain)
    left_out += [f"{spec.mechanism} cannot distinguish so many values" for spec in able if predicted_error(spec, n) == inf]
    able = [spec for spec in able if predicted_error(spec, n) < inf]
    if not able:
        raise ParameterError(
            "oracles", names, allowed=f"oracles for this domain and epsilon: {'; '.join(left_out)}", fix="name other oracles"
        )
    specs = tuple(sorted(able, key=lambda spec: predicted_error(spec, n)))
    asked = specs[0].domain
    return Plan(
        specs=specs,
        n=n,
        error=error,
        left_out=tuple(left_out),
        asked=f"{asked.size:,} values" if asked.listed else asked.describe(),
        columns=lambda: _columns(specs, n, error),
        number="standard error of a frequency, averaged over the values",
        at=partial(_error_at, n),
        axes=("epsilon", "domain_size"),
    )


def _columns(specs: Sequence[FrequencySpec], n: int, error: float | None) -> dict[str, Any]:
    errors = np.array([predicted_error(spec, n) for spec in specs])
    rows: dict[str, Any] = {"value": [spec.mechanism for spec in specs], "error": errors, "frequency": errors / n}
    if error is not None:
        people = [people_needed(spec, error) for spec in specs]
        rows["people"] = [None if number is None else float(number) for number in people]
        rows["epsilon"] = [epsilon_needed(spec, n, error) for spec in specs]
    return rows | {
        "detectable": np.array([detectable(spec, n) for spec in specs]),
        "bits": [spec.report_bits for spec in specs],
        "device": [spec.device_words for spec in specs],
        "server": [float(server_work(spec, n)) for spec in specs],
        "guess": np.array([spec.best_guess for spec in specs]),
        "influence": np.array([spec.influence for spec in specs]),
        "liars": np.array([spec.influence / 100 for spec in specs]),
    }


def _error_at(n: int, spec: FrequencySpec, *, epsilon: float | None = None, domain_size: int | None = None) -> float:
    """Return the standard error of a frequency by a spec at another epsilon or with another number of values."""
    asked: dict[str, Any] = {"domain_size": domain_size} if domain_size else {"domain": spec.domain}
    able, _ = oracles_for([spec.mechanism], epsilon=epsilon or spec.epsilon, **asked)
    return predicted_error(able[0], n) / n if able else inf
