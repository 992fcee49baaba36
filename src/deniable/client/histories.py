"""The exact joint law of successive reports of one device that keeps its permanent answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from deniable.client.exact import LARGEST_LAW
from deniable.contract.law import OutputLaw
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.client.longitudinal import Longitudinal

ONE = Fraction(1)


def history_law(spec: Longitudinal, values: Sequence[Any], seed: tuple[int, ...]) -> OutputLaw[tuple[Any, ...]]:
    """The law of the reports of a device that holds these values in turn."""
    if spec.outputs ** len(values) > LARGEST_LAW:
        allowed = f"at most {LARGEST_LAW} different histories"
        raise ParameterError("values", f"{len(values)} of them", allowed=allowed, fix="a smaller domain, or fewer reports")
    keys = [spec.key_of(value) for value in values]
    weights: defaultdict[tuple[Any, ...], Fraction] = defaultdict(Fraction)
    for personal, chance in spec.personal_law(seed).items():
        groups = [spec.class_of(key, personal) for key in keys]
        kept = list(dict.fromkeys(groups))
        together = [_repeated(spec, group, personal, groups.count(group)) for group in kept]
        for several in product(*(law.items() for law in together)):
            answers = {group: iter(found) for group, (found, _) in zip(kept, several, strict=True)}
            history = tuple(spec.joined(personal, next(answers[group])) for group in groups)
            weights[history] += chance * prod((weight for _, weight in several), start=ONE)
    return OutputLaw(weights)


def _repeated(spec: Longitudinal, group: int, personal: Any, count: int) -> dict[tuple[Any, ...], Fraction]:
    """The joint law of so many answers from one permanent answer."""
    weights: defaultdict[tuple[Any, ...], Fraction] = defaultdict(Fraction)
    for memo, chance in spec.permanent_law(group, personal).items():
        answers = spec.instantaneous_law(memo)
        for several in product(answers, repeat=count):
            weights[several] += chance * prod((answers[answer] for answer in several), start=ONE)
    return weights
