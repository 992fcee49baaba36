"""The pairs of inputs of a mechanism that an accountant must look at, with its outputs merged into classes.

Outputs with the same probabilities under both inputs and under the blanket count as one class, and pairs with the same classes as one
pair. Most mechanisms have one pair up to symmetry, and say it themselves (``Spec.channel``); it is the same as what ``spec.law``
says, which tests compare. Any other finite mechanism is read from its laws.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from deniable.contract.law import Class
from deniable.contract.spec import MECHANISMS, Spec
from deniable.errors import ParameterError

MOST_WORK = 1 << 24
"""Pairs times outputs that are looked at one by one."""
MOST_INPUTS, MOST_OUTPUTS = 256, 1 << 12


class InputPair(NamedTuple):
    """Two inputs of a mechanism: the masses of its classes of outputs under each, and under the blanket (or under a third input)."""

    one: Any
    other: Any
    blanket: Any
    third: float | None = None
    """How often a third input has an output that is likelier under the one, and as often under the other, where that is known."""


def pairs_of(spec: Spec) -> list[InputPair] | None:
    """Every pair of inputs, up to symmetry, each in both orders; None for a mechanism that is too large to look through."""
    classes = _written_down(spec)
    found = [classes] if classes is not None else _from_laws(spec)
    if found is None:
        return None
    distinct = {tuple(sorted(merged(pair))): None for one in found for pair in (one, [(b, a, w) for a, b, w in one])}
    third = spec.third if classes is not None else None
    found_pairs = []
    for pair in distinct:
        one, other, blanket = (np.array(column, dtype=float) for column in zip(*pair, strict=True))
        found_pairs.append(InputPair(one, other, blanket, third))
    return found_pairs


def merged(classes: list[Class]) -> list[Class]:
    """Classes with equal ratios as one, those of mass 0 left out."""
    groups: dict[tuple[Fraction, Fraction], list[Fraction]] = {}
    for one, other, blanket in classes:
        if one or other:
            if not blanket:
                raise ParameterError(
                    "spec",
                    float(one),
                    allowed="a mechanism whose reports are all possible for every value",
                    fix="choose another mechanism: this one reveals values",
                )
            total = groups.setdefault((one / blanket, other / blanket), [Fraction(0)] * 3)
            for i, mass in enumerate((one, other, blanket)):
                total[i] += mass
    return [(a, b, w) for a, b, w in groups.values()]


def _written_down(spec: Any) -> list[Class] | None:
    """The classes of a mechanism that treats all pairs of values alike; of registered ones only, since a subclass may change its law."""
    known = MECHANISMS.get(spec.mechanism) is type(spec)
    return None if not known or spec.channel is None else list(spec.channel)


def _from_laws(spec: Any) -> list[list[Class]] | None:
    """All pairs of inputs of a mechanism whose laws can be listed."""
    small = spec.lists_pairs and spec.domain.listed and spec.domain_size <= MOST_INPUTS and not spec.seed_words
    if not small or spec.outputs > MOST_OUTPUTS or spec.domain_size**2 * spec.outputs > MOST_WORK:
        return None
    laws = [spec.law(spec.domain.value(key)) for key in range(spec.domain_size)]
    reports = list({report: None for law in laws for report in law})
    known = {weight: code for code, weight in enumerate(sorted({law[report] for law in laws for report in reports}))}
    weights = list(known)
    rows = np.array([[known[law[report]] for report in reports] for law in laws])
    codes = rows * len(weights) + rows.min(axis=0)  # codes rise with the weights
    found: dict[bytes, list[Class]] = {}
    for i, one in enumerate(codes):
        for other in rows[i + 1 :]:
            both, counts = np.unique(one * len(weights) + other, return_counts=True)
            key = both.tobytes() + counts.tobytes()
            if key not in found:
                triples = [(*divmod(code // len(weights), len(weights)), code % len(weights)) for code in both.tolist()]
                found[key] = [
                    (n * weights[a], n * weights[b], n * weights[w]) for (a, w, b), n in zip(triples, counts.tolist(), strict=True)
                ]
    return list(found.values())
