"""The exact audit of mechanisms for numbers: all grid points, and values between them, whose rounding is part of the law."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

from deniable.client.mean import MeanSpec
from deniable.client.numeric import NumericSpec
from deniable.contract.enumeration import law_of
from deniable.contract.law import OutputLaw
from deniable.errors import DomainError, ParameterError

LARGEST_ENUMERATION = 1 << 16
_BETWEEN = (Fraction(1, 3), Fraction(99, 100))


def numeric_laws(spec: NumericSpec) -> dict[Any, OutputLaw[Any]]:
    """The enumerated law of every grid point, and of some values between the first two and the last two."""
    if spec.outputs * spec.domain.size > LARGEST_ENUMERATION:
        raise ParameterError(
            "steps",
            spec.steps,
            allowed=f"few enough reports to enumerate ({spec.outputs} reports x {spec.domain.size} points; limit {LARGEST_ENUMERATION})",
            fix="audit a coarse grid, which runs the same code",
        )
    domain = spec.domain
    laws = {value: law_of(partial(spec.randomize, value)) for value in map(domain.value, range(domain.size))}
    for key in {0, spec.steps - 1} if not domain.times else ():
        for share in _BETWEEN:
            between = domain.start + domain.width * (key + share) / spec.steps
            with suppress(DomainError):  # a mechanism for grid points or whole numbers alone
                laws[between] = law_of(partial(spec.randomize, between))
    return laws


def mean_checks(spec: MeanSpec, laws: dict[Any, OutputLaw[Any]]) -> tuple[bool, bool]:
    """Whether every score has exactly the expectation that it should have, and exactly the variance; both in fractions."""
    unbiased = stated = True
    for value, law in laws.items():
        place = spec.position(value)
        mean = sum((weight * spec.score(report) for report, weight in law.items()), Fraction(0))
        square = sum((weight * spec.squares.total(1, spec.features(report)) for report, weight in law.items()), Fraction(0))
        unbiased &= mean == place
        stated &= square - mean**2 == spec.score_variance(place) <= spec.worst
        low, high = spec.score_range
        stated &= all(low <= spec.score(report) <= high for report in law)
        stated &= all(spec.score(report) ** 2 == spec.squares.total(1, spec.features(report)) for report in law)
    return unbiased, stated
