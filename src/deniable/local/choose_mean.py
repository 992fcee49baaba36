"""Choosing a mechanism for a mean by its predicted error, within a limit on what devices send."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.client.mean import MeanSpec
from deniable.contract.arguments import typed
from deniable.contract.numbers import Numbers
from deniable.contract.probability import check_epsilon
from deniable.contract.spec import MECHANISMS
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.choose import CLOSE, DEVICE_BITS, check_people


@dataclass(frozen=True, eq=False, repr=False)
class MeanChoice(Table):
    """The mechanism chosen, ``spec``, and the table that it was chosen from.

    >>> choice = mean_oracle(low=0, high=100, epsilon=1.0, n=10_000)
    >>> choice.spec.mechanism, choice.why
    ('Hybrid', 'Hybrid: the smallest predicted error, 1.03 for the mean of 10,000 people, at worst')
    """

    spec: MeanSpec
    n: int
    considered: tuple[MeanSpec, ...]
    """Every mechanism within the limits."""
    refused: tuple[str, ...]
    """Why others were not considered."""

    @property
    def why(self) -> str:
        """The choice in a sentence, and what was ruled out."""
        error = worst_error(self.spec, self.n)
        least = "the smallest predicted error" if error == self._errors.min() else "within 3 % of the smallest predicted error"
        shown = self.spec.domain.shown_distance(error)
        told = f"{shown:.3g}" if isinstance(shown, float) else str(shown)
        return "; ".join([f"{self.spec.mechanism}: {least}, {told} for the mean of {self.n:,} people, at worst", *self.refused])

    @cached_property
    def _errors(self) -> Array:
        return np.array([worst_error(spec, self.n) for spec in self.considered])

    def rows(self) -> dict[str, Any]:
        return {
            "value": [spec.mechanism for spec in self.considered],
            "error": self._errors,
            "bits": [spec.report_bits for spec in self.considered],
            "steps": [spec.steps for spec in self.considered],
            "influence": np.array([spec.influence for spec in self.considered]),
        }

    def headline(self) -> str:
        legend = "error: standard error of the mean, at worst; steps: of the grid; influence: how far one report can lie from the middle"
        return f"{self.why}\n{legend}"

    def order(self) -> Array:
        return np.argsort(self._errors, kind="stable")


@typed
def mean_oracle(
    *,
    low: Any = None,
    high: Any = None,
    clip: bool | None = None,
    domain: Numbers | None = None,
    epsilon: float,
    n: int = 100_000,
    max_bits: int = DEVICE_BITS,
) -> MeanChoice:
    """The mechanism with the smallest predicted error of the mean of n people, and why.

    The error is the standard error in the worst case, whatever people hold: whoever plans does not know it yet. Give ``low`` and ``high``,
    and perhaps ``clip``, or a ``domain``. Mechanisms whose reports exceed ``max_bits`` are not considered.
    """
    check_people(n)
    able, refused = means_for(preferred_means(), low=low, high=high, clip=clip, domain=domain, epsilon=epsilon)
    considered = [spec for spec in able if spec.report_bits <= max_bits]
    refused += [f"{spec.mechanism} needs {spec.report_bits} bits" for spec in able if spec.report_bits > max_bits]
    if not considered:
        raise ParameterError("max_bits", max_bits, allowed=f"more, since {'; '.join(refused)}", fix="allow at least one bit")
    least = min(worst_error(spec, n) for spec in considered)
    chosen = next(spec for spec in considered if worst_error(spec, n) <= CLOSE * least)
    return MeanChoice(chosen, n, tuple(considered), tuple(refused))


def preferred_means() -> list[str]:
    """The mechanisms that "auto" considers; the earlier one wins where the predicted errors are within 3 %."""
    found = {name: cls.preference for name, cls in MECHANISMS.items() if issubclass(cls, MeanSpec)}
    return sorted((name for name, place in found.items() if place is not None), key=lambda name: (found[name], name))


def means_for(
    names: Iterable[str],
    *,
    low: Any = None,
    high: Any = None,
    clip: bool | None = None,
    domain: Numbers | None = None,
    epsilon: float,
) -> tuple[list[MeanSpec], list[str]]:
    """The mechanisms of these names for a range, with their default parameters, and why others cannot serve it.

    ``clip`` is as in ``Numbers``.
    """
    check_epsilon(epsilon)
    if domain is None and low is not None and high is not None:
        Numbers(low, high, clip=clip or False)  # refused here, once, if it is no range
    able: list[MeanSpec] = []
    refused: list[str] = []
    for name in names:
        cls: Any = MECHANISMS[name]
        try:
            able.append(cls(low=low, high=high, clip=clip, domain=domain, epsilon=epsilon))
        except ParameterError as error:
            if error.parameter not in ("epsilon", "steps"):  # the caller's mistake, whatever the mechanism
                raise
            refused.append(f"{name} allows {error.parameter}: {error.allowed}")
    if not able:
        raise ParameterError("epsilon", epsilon, allowed="; ".join(refused), fix="choose another epsilon or a coarser grid")
    return able, refused


def worst_error(spec: MeanSpec, n: int) -> float:
    """The standard error of a spec's mean of n people who hold what makes it largest; in the numbers of the domain."""
    return float(spec.variance(n) ** 0.5)
