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
    """The standard error of a frequency by a spec at another epsilon or with another number of values."""
    asked: dict[str, Any] = {"domain_size": domain_size} if domain_size else {"domain": spec.domain}
    able, _ = oracles_for([spec.mechanism], epsilon=epsilon or spec.epsilon, **asked)
    return predicted_error(able[0], n) / n if able else inf
