"""Choosing a mechanism for a mean by its predicted error, within a limit on what devices send."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deniable.client.mean import MeanSpec
from deniable.contract.arguments import typed
from deniable.contract.numbers import Numbers
from deniable.contract.probability import check_epsilon
from deniable.contract.spec import MECHANISMS
from deniable.core.choice import Choice, nearly_least
from deniable.errors import ParameterError
from deniable.local.oracle_choice import DEVICE_BITS, check_people


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
) -> Choice[MeanSpec]:
    """Return the mechanism with the smallest predicted error of the mean of n people, and why.

    The error is the standard error in the worst case, whatever people hold, since that is unknown when you plan. Give ``low`` and ``high``,
    and perhaps ``clip``, or a ``domain``. Mechanisms whose reports exceed ``max_bits`` are not considered.

    >>> choice = mean_oracle(low=0, high=100, epsilon=1.0, n=10_000)
    >>> choice.spec.mechanism, choice.why
    ('Hybrid', 'Hybrid: the smallest predicted error, 1.03 for the mean of 10,000 people, at worst')
    """
    check_people(n)
    able, refused = means_for(preferred_means(), low=low, high=high, clip=clip, domain=domain, epsilon=epsilon)
    considered = [spec for spec in able if spec.report_bits <= max_bits]
    refused += [f"{spec.mechanism} needs {spec.report_bits} bits" for spec in able if spec.report_bits > max_bits]
    if not considered:
        raise ParameterError("max_bits", max_bits, allowed=f"more, since {'; '.join(refused)}", fix="allow at least one bit")
    errors = [worst_error(spec, n) for spec in considered]
    place, near = nearly_least(errors)
    shown = considered[place].domain.shown_distance(errors[place])
    told = f"{shown:.3g}" if isinstance(shown, float) else str(shown)
    return Choice(
        chosen=considered[place],
        why="; ".join([f"{considered[place].mechanism}: {near}, {told} for the mean of {n:,} people, at worst", *refused]),
        considered=tuple(considered),
        refused=tuple(refused),
        columns=lambda: {
            "value": [spec.mechanism for spec in considered],
            "error": np.array(errors),
            "bits": [spec.report_bits for spec in considered],
            "steps": [spec.steps for spec in considered],
            "influence": np.array([spec.influence for spec in considered]),
        },
        legend="error: standard error of the mean, at worst; steps: of the grid; influence: how far one report can lie from the middle",
    )


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
