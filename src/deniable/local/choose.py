"""Choosing a frequency oracle by its predicted error, within limits on what devices send and servers do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.client.olh import OLH
from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.probability import check_epsilon
from deniable.contract.spec import MECHANISMS
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.frequency.oracle import LARGEST_LISTING
from deniable.local.work import asked, finish_work, server_work, tally_work

CLOSE = 1.03
"""Where the predicted errors are within 3 %, the preferred oracle wins."""
MOST_PEOPLE = 10**15
DEVICE_BITS = 1 << 13
"""What a report may take unless the caller says otherwise: a kilobyte."""
DEVICE_WORDS = 1 << 12
"""What a device may draw for it, in random words."""
TALLY_STEPS = 10**4
"""What a server may do for each report, in steps of about a nanosecond."""
FINISH_STEPS = 10**11
"""What it may do once, when all reports are in: some minutes."""


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Table):
    """The oracle chosen, ``spec``, and the table that it was chosen from.

    >>> choice = frequency_oracle(domain_size=10, epsilon=1.0, n=10_000)
    >>> choice.spec, choice.why
    (SubsetSelection(domain_size=10, epsilon=1.0, size=3), 'SubsetSelection: the smallest predicted error, 171 people of 10,000')
    """

    spec: FrequencySpec
    n: int
    considered: tuple[FrequencySpec, ...]
    """Every oracle within the limits."""
    refused: tuple[str, ...]
    """Why others were not considered."""

    @property
    def why(self) -> str:
        """The choice in a sentence, and what was ruled out."""
        error = predicted_error(self.spec, self.n)
        least = "the smallest predicted error" if error == self._errors.min() else "within 3 % of the smallest predicted error"
        return "; ".join([f"{self.spec.mechanism}: {least}, {error:.3g} people of {self.n:,}", *self.refused])

    @cached_property
    def _errors(self) -> Array:
        return np.array([predicted_error(spec, self.n) for spec in self.considered])

    def rows(self) -> dict[str, Any]:
        return {
            "value": [spec.mechanism for spec in self.considered],
            "error": self._errors,
            "bits": [spec.report_bits for spec in self.considered],
            "device": [spec.device_words for spec in self.considered],
            "server": [float(server_work(spec, self.n)) for spec in self.considered],
            "influence": np.array([spec.influence for spec in self.considered]),
            "guess": np.array([spec.best_guess for spec in self.considered]),
        }

    def headline(self) -> str:
        legend = (
            "error: standard error of a count, averaged over the values; device: random words for a report; server: steps of about 1 ns"
        )
        return f"{self.why}\n{legend}\ninfluence: how far one report can move a count; guess: how often an observer of one report is right"

    def order(self) -> Array:
        return np.argsort(self._errors, kind="stable")


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
) -> Choice:
    """The frequency oracle with the smallest predicted error for n people, and why.

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
            "max_bits, device, server", (max_bits, device, server), allowed=f"more, since {'; '.join(refused)}", fix="relax a limit"
        )
    least = min(predicted_error(spec, n) for spec in considered)
    chosen = next(spec for spec in considered if predicted_error(spec, n) <= CLOSE * least)
    return Choice(chosen, n, tuple(considered), tuple(refused))


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
    """Refuse a number of people that is none."""
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
