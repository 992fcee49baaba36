"""Choosing a frequency oracle by its predicted error, within limits on what devices send and servers do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.contract.domain import Domain
from deniable.contract.spec import MECHANISMS
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

PREFERENCE = ("GRR", "SubsetSelection", "OUE", "OLH", "HRR")
"""The oracles considered; the earlier one wins where the predicted errors are within 3 %."""
CLOSE = 1.03
DEVICE_BITS = 1 << 13
"""What a report may take unless the caller says otherwise: a kilobyte."""
SERVER_WORK = 10**13
"""What tallying may take unless the caller says otherwise, in elementary steps: some minutes on two cores."""


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Table):
    """The oracle chosen, and the table that it was chosen from.

    >>> choice = frequency_oracle(domain_size=10, epsilon=1.0, n=10_000)
    >>> choice.spec, choice.why
    (SubsetSelection(domain_size=10, epsilon=1.0, size=3), 'SubsetSelection: the smallest predicted error, 171 people of 10,000')
    """

    spec: FrequencySpec
    n: int
    considered: tuple[FrequencySpec, ...]
    refused: tuple[str, ...]

    @property
    def why(self) -> str:
        """The choice in a sentence, and what was ruled out."""
        sentence = f"{self.spec.mechanism}: the smallest predicted error, {predicted_error(self.spec, self.n):.3g} people of {self.n:,}"
        return "; ".join([sentence, *self.refused])

    @cached_property
    def _errors(self) -> Array:
        return np.array([predicted_error(spec, self.n) for spec in self.considered])

    def rows(self) -> dict[str, Any]:
        return {
            "value": [spec.mechanism for spec in self.considered],
            "error": self._errors,
            "bits": [spec.bits for spec in self.considered],
            "server": [float(server_work(spec, self.n)) for spec in self.considered],
            "influence": np.array([spec.influence for spec in self.considered]),
        }

    def headline(self) -> str:
        return f"{self.why}\nerror: standard error of a count, averaged over the values; server: steps to tally all reports"

    def order(self) -> Array:
        return np.argsort(self._errors, kind="stable")


def frequency_oracle(
    *,
    epsilon: float,
    domain_size: int | None = None,
    domain: Domain | None = None,
    n: int = 100_000,
    max_bits: int = DEVICE_BITS,
    max_server_work: int = SERVER_WORK,
) -> Choice:
    """The frequency oracle with the smallest predicted error for n people, and why.

    The error is the root of the variance averaged over the values of the domain, where the average frequency is 1 / d. Oracles whose
    reports exceed ``max_bits``, or whose tally exceeds ``max_server_work``, are left out.
    """
    if not isinstance(n, int) or n < 1:
        raise ParameterError("n", n, allowed="an integer from 1 on", fix="say how many reports you expect")
    given: dict[str, Any] = {"epsilon": epsilon, "domain_size": domain_size, "domain": domain}
    considered: list[FrequencySpec] = []
    refused: list[str] = []
    for name in PREFERENCE:
        cls: Any = MECHANISMS[name]
        if domain is not None and cls.needs_listed_domain and not domain.listed:
            refused.append(f"{name} needs a listed domain")
            continue
        if cls.needs_listed_domain and (domain_size or (domain.size if domain else 0)) > cls.largest_domain:
            refused.append(f"{name} takes at most {cls.largest_domain:,} values")
            continue
        spec: FrequencySpec = cls(**given)
        if spec.bits > max_bits:
            refused.append(f"{name} needs {spec.bits:,} bits")
        elif server_work(spec, n) > max_server_work:
            refused.append(f"{name} needs {server_work(spec, n):.2g} server steps")
        else:
            considered.append(spec)
    if not considered:
        raise ParameterError("max_bits, max_server_work", (max_bits, max_server_work), allowed="; ".join(refused), fix="relax a limit")
    least = min(predicted_error(spec, n) for spec in considered)
    chosen = next(spec for spec in considered if predicted_error(spec, n) <= CLOSE * least)
    return Choice(chosen, n, tuple(considered), tuple(refused))


def predicted_error(spec: FrequencySpec, n: int) -> float:
    """The standard error of a count, averaged (in the square) over the values of the domain."""
    return float(spec.variance(n, 1 / spec.domain_size) ** 0.5)


def server_work(spec: FrequencySpec, n: int) -> int:
    """Elementary steps to tally n reports: counters touched, or hashes computed."""
    if spec.candidates_at_tally:
        return n * min(spec.domain_size, 10_000)  # named candidates: this many are assumed where the domain is larger
    if any(column.packed and column.count > 1 for column in spec.layout):
        return n * spec.domain_size // 64  # packed bits are added up a word at a time
    return n + spec.domain_size * max(1, spec.domain_size.bit_length())
