"""From a spec to the pairs of inputs that an accountant must look at, outputs merged into classes.

Outputs with the same probabilities under both inputs and under the blanket count as one class, and pairs with the same classes as one
pair. Most mechanisms have one pair up to symmetry, written down below from its exact probabilities; it is the same as what ``spec.law``
says, which tests compare. Any other finite mechanism is read from its laws.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from deniable.client.blh import BLH
from deniable.client.frequency import FrequencySpec
from deniable.client.grr import GRR
from deniable.client.olh import OLH
from deniable.client.oue import OUE
from deniable.client.subset_selection import SubsetSelection
from deniable.client.sue import SUE
from deniable.client.the import THE
from deniable.contract.spec import Spec
from deniable.errors import ParameterError
from deniable.shuffle.blanket import Pair

MOST_WORK = 1 << 24
"""Pairs times outputs that are looked at one by one."""
MOST_INPUTS, MOST_OUTPUTS = 256, 1 << 12

Class = tuple[Fraction, Fraction, Fraction]
"""The mass of a class of outputs under one input, under the other, and under the blanket."""


def pairs_of(spec: Spec) -> list[Pair] | None:
    """Every pair of inputs, up to symmetry, each in both orders; None for a mechanism that is too large to look through."""
    classes = _written_down(spec)
    found = [classes] if classes is not None else _from_laws(spec)
    if found is None:
        return None
    distinct = {tuple(sorted(merged(pair))): None for one in found for pair in (one, [(b, a, w) for a, b, w in one])}
    third = _third(spec)
    found_pairs = []
    for pair in distinct:
        one, other, blanket = (np.array(column, dtype=float) for column in zip(*pair, strict=True))
        found_pairs.append(Pair(one, other, blanket, third))
    return found_pairs


def merged(classes: list[Class]) -> list[Class]:
    """Classes with equal ratios as one, those of mass 0 left out."""
    groups: dict[tuple[Fraction, Fraction], list[Fraction]] = {}
    for one, other, blanket in classes:
        if one or other:
            if not blanket:
                raise ParameterError(
                    "spec", float(one), allowed="a mechanism whose reports are all possible for every value", fix="this one reveals values"
                )
            total = groups.setdefault((one / blanket, other / blanket), [Fraction(0)] * 3)
            for i, mass in enumerate((one, other, blanket)):
                total[i] += mass
    return [(a, b, w) for a, b, w in groups.values()]


def _written_down(spec: Any) -> list[Class] | None:
    """The classes of the mechanisms that treat all pairs of values alike. By exact type: a subclass may randomize differently."""
    if type(spec) is GRR:
        p, q, rest = spec.p, spec.q, spec.domain_size - 2
        return [(p, q, q), (q, p, q), (rest * q, rest * q, rest * q)]
    if type(spec) in (OUE, SUE, THE):
        return _unary(spec.p, spec.q, spec.domain_size)
    if type(spec) is SubsetSelection:
        d, w = spec.domain_size, spec.size
        inside, outside = spec.p / comb(d - 1, w - 1), (1 - spec.p) / comb(d - 1, w)
        sets = (1, 0, comb(d - 2, w - 1)), (0, 1, comb(d - 2, w - 1)), (1, 1, comb(d - 2, w - 2) if w > 1 else 0), (0, 0, comb(d - 2, w))
        return [(n * (inside if a else outside), n * (inside if b else outside), n * outside) for a, b, n in sets]
    if type(spec) in (OLH, BLH):
        return _hashed(spec.p, spec.apart, spec.hash_range, spec.family.collision)
    return None


def _third(spec: Any) -> float | None:
    """How often someone who holds a third value sends a report that is likelier under a given one of two others than under the other."""
    if spec.domain_size < 3:
        return None
    if type(spec) is GRR:
        return float(spec.q)
    if type(spec) in (OUE, SUE, THE):
        return float(spec.q * (1 - spec.q))
    if type(spec) is SubsetSelection:
        d, w = spec.domain_size, spec.size
        inside, outside = spec.p / comb(d - 1, w - 1), (1 - spec.p) / comb(d - 1, w)
        return float(inside * (comb(d - 3, w - 2) if w > 1 else 0) + outside * comb(d - 3, w - 1))
    return None


def _unary(p: Fraction, q: Fraction, d: int) -> list[Class]:
    """By the bits of the two values. Some value has a 0 in every report but that of ones alone: its probability is the blanket."""
    on, off = p / q, (1 - p) / (1 - q)
    ones = q**d if d <= 4096 else Fraction(0)  # left out of the blanket: a smaller one is valid as well
    pairs = (1, 0, q * (1 - q)), (0, 1, q * (1 - q)), (1, 1, q * q - ones), (0, 0, (1 - q) ** 2)
    classes = [(n * (on if a else off), n * (on if b else off), n * off) for a, b, n in pairs]
    return [*classes, (ones * on, ones * on, ones * on)]


def _hashed(p: Fraction, q: Fraction, g: int, collision: Fraction) -> list[Class]:
    """By the symbol, and by whether the seed, which is part of the report, tells the two values apart. The blanket is uniform."""
    apart = 1 - collision
    rest = (apart * (g - 2) + collision * (g - 1)) * q
    return [
        (apart * p, apart * q, apart * q),
        (apart * q, apart * p, apart * q),
        (collision * p, collision * p, collision * q),
        (rest, rest, rest),
    ]


def _from_laws(spec: Any) -> list[list[Class]] | None:
    """All pairs of inputs of a mechanism whose laws can be listed."""
    small = isinstance(spec, FrequencySpec) and spec.domain.listed and spec.domain_size <= MOST_INPUTS and not spec.seed_words
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
