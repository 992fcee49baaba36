"""Choosing a frequency oracle by its predicted error, within limits on what devices send and servers do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.client.olh import OLH
from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.probability import check_epsilon
from deniable.contract.spec import MECHANISMS
from deniable.core.choice import Choice, nearly_least
from deniable.errors import ParameterError
from deniable.local.frequency.oracle import LARGEST_LISTING

CANDIDATES = 10_000
"""How many values are asked about, for want of a better guess, where the domain is too large to list."""


def asked(domain: Domain) -> int:
    """How many values a collector asks about: all that can be listed, or some candidates."""
    return domain.size if domain.listed and domain.size <= LARGEST_LISTING else CANDIDATES


def server_work(spec: FrequencySpec, n: int) -> int:
    """Steps to estimate every value, or every candidate, from n reports.

    >>> from deniable.client import GRR, HRR, OLH, OUE
    >>> [server_work(oracle(domain_size=1000, epsilon=1.0), 10**6) for oracle in (GRR, HRR, OUE, OLH)]
    [1001000, 2022528, 63001000, 125001000]
    """
    return tally_work(spec, n) + finish_work(spec)


def tally_work(spec: FrequencySpec, n: int) -> int:
    """The part that grows with the reports."""
    return spec.tally_steps(n, asked(spec.domain))


def finish_work(spec: FrequencySpec) -> int:
    """The part that is done once: what turns the counters into counts."""
    return spec.finishing(asked(spec.domain)).steps


MOST_PEOPLE = 10**15
DEVICE_BITS = 1 << 13
"""What a report may take unless the caller says otherwise: a kilobyte."""
DEVICE_WORDS = 1 << 12
"""What a device may draw for it, in random words."""
TALLY_STEPS = 10**4
"""What a server may do for each report, in steps of about a nanosecond."""
FINISH_STEPS = 10**11
"""What it may do once, when all reports are in: some minutes."""
LEGEND = """\
error: standard error of a count, averaged over the values; device: random words for a report; server: steps of about 1 ns
influence: how far one report can move a count; guess: how often an observer of one report is right"""


@typed
def frequency_oracle(
    *,
    domain_size: int | None = None,
    domain: Domain | None = None,
    epsilon: float,
    n: int = 100_000,
    max_bits: int = DEVICE_BITS,
    device: int = DEVICE_WORDS,
    server: int | None = None,
) -> Choice[FrequencySpec]:
    """Return the frequency oracle with the smallest predicted error for n people, and why.

    The error is the root of the variance averaged over the values of the domain, where the average frequency is 1 / d. Oracles whose
    reports exceed ``max_bits``, whose devices draw more than ``device`` random words, or whose server takes more than ``server`` steps of
    about a nanosecond in all (if left out, 10^4 for each report and 10^11 once) are not considered.
    """
    check_people(n)
    able, refused = oracles_for(preferred(), domain_size=domain_size, domain=domain, epsilon=epsilon)
    considered = []
    for spec in able:
        if spec.needs_listed_domain and spec.domain_size > LARGEST_LISTING:  # candidates will be named, which hashed oracles are made for
            refused.append(f"{spec.mechanism} is for domains that can be listed")
        elif spec.report_bits > max_bits:
            refused.append(f"{spec.mechanism} needs {spec.report_bits:,} bits")
        elif spec.device_words > device:
            refused.append(f"{spec.mechanism} needs {spec.device_words:,} random words")
        elif _too_much(spec, n, server):
            refused.append(f"{spec.mechanism} needs {server_work(spec, n):.2g} server steps")
        else:
            considered.append(spec)
    if not considered:
        raise ParameterError(
            "max_bits, device, server",
            (max_bits, device, server),
            allowed=f"more, since {'; '.join(refused)}",
            fix="raise max_bits, device or server",
        )
    errors = [predicted_error(spec, n) for spec in considered]
    place, near = nearly_least(errors)
    return Choice(
        chosen=considered[place],
        why="; ".join([f"{considered[place].mechanism}: {near}, {errors[place]:.3g} people of {n:,}", *refused]),
        considered=tuple(considered),
        refused=tuple(refused),
        columns=partial(_columns, considered, errors, n),
        legend=LEGEND,
    )


def _columns(considered: Sequence[FrequencySpec], errors: Sequence[float], n: int) -> dict[str, Any]:
    return {
        "value": [spec.mechanism for spec in considered],
        "error": np.array(errors),
        "bits": [spec.report_bits for spec in considered],
        "device": [spec.device_words for spec in considered],
        "server": [float(server_work(spec, n)) for spec in considered],
        "influence": np.array([spec.influence for spec in considered]),
        "guess": np.array([spec.best_guess for spec in considered]),
    }


def preferred() -> list[str]:
    """The oracles that may be chosen, in the order of their preference."""
    found = {name: cls.preference for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec) and cls.preference is not None}
    return sorted(found, key=found.__getitem__)


def _too_much(spec: FrequencySpec, n: int, server: int | None) -> bool:
    if server is not None:
        return server_work(spec, n) > server
    return tally_work(spec, n) > TALLY_STEPS * n or finish_work(spec) > FINISH_STEPS


def oracles_for(
    names: Iterable[str], *, domain_size: int | None = None, domain: Domain | None = None, epsilon: float
) -> tuple[list[FrequencySpec], list[str]]:
    """The oracles of these names for a domain, with their default parameters, and why others cannot count it."""
    check_epsilon(epsilon)
    domain = OLH(epsilon=1.0, domain=domain, domain_size=domain_size).domain  # type: ignore[arg-type]  # takes any, and refuses what is none
    able: list[FrequencySpec] = []
    refused: list[str] = []
    for name in names:
        cls: Any = MECHANISMS[name]
        if cls.needs_listed_domain and not domain.listed:
            refused.append(f"{name} needs a listed domain")
        elif cls.needs_listed_domain and domain.size > cls.largest_domain:
            refused.append(f"{name} takes at most {cls.largest_domain:,} values")
        else:
            try:
                able.append(cls(epsilon=epsilon, domain=domain))
            except ParameterError as error:
                refused.append(f"{name} allows {error.parameter}: {error.allowed}")
    return able, refused


def check_people(n: object) -> None:
    """Raise unless this is a number of people."""
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST_PEOPLE:
        raise ParameterError("n", n, allowed=f"an integer from 1 on, at most {MOST_PEOPLE}", fix="say how many reports you expect")


def planned_variance(spec: FrequencySpec, n: int, f: float) -> float:
    """The variance of a count by a spec among n people, for a value held by a fraction f of them, the others spread evenly.

    Where reports share hash functions, collisions count as if all others held one value: the most that they can add. Where filters overlap,
    so many unknowns are solved for from so many bits, which costs a factor.
    """
    return spec.planned_variance(n, f, asked(spec.domain))


def predicted_error(spec: FrequencySpec, n: int) -> float:
    """The standard error of a count by a spec among n people, averaged (in the square) over the values of the domain."""
    return float(planned_variance(spec, n, 1 / spec.domain_size) ** 0.5)
