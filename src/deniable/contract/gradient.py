"""How a person would move a public logistic model: one coordinate of the gradient of their own loss, clipped, in exact integers."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Any

from deniable.contract.domain import Domain, Integers
from deniable.contract.encoder import Attribute, Encoder, bulk_half
from deniable.contract.features import HALF, Features, check_clip, check_features, check_integers
from deniable.contract.source import Source
from deniable.errors import ParameterError

ONE_WEIGHT = 1 << 10
"""A weight of 1, on the grid of weights."""
LARGEST_WEIGHT = 1 << 20
ONE_PROBABILITY = 1 << 15
CELL_BITS = 17
"""A margin counts 2^-21; the table below has an entry for each 1/16."""
SIGMOID = (*(round(ONE_PROBABILITY / (1 + exp(-i / 16))) for i in range(161)), ONE_PROBABILITY)
"""1 / (1 + e^-z) for z from 0 to 10, and 1 from there on; no entry lies near enough to a half for machines to round it differently."""
LARGEST_GRADIENT = ONE_PROBABILITY * HALF
"""A gradient of 1."""


def sigmoid(margin: int) -> int:
    """1 / (1 + e^-z), on a line between the entries of the table; over 2^15, for a margin z over 2^21.

    >>> sigmoid(0), sigmoid(1 << 21), sigmoid(-(1 << 21)), sigmoid(1 << 40)
    (16384, 23955, 8813, 32768)
    """
    cell, rest = divmod(abs(margin), 1 << CELL_BITS)
    if cell >= 160:
        cell, rest = 161, 0
    above = SIGMOID[cell] + ((SIGMOID[min(cell + 1, 161)] - SIGMOID[cell]) * rest >> CELL_BITS)
    return above if margin >= 0 else ONE_PROBABILITY - above


@dataclass(frozen=True)
class Gradient(Encoder):
    """One coordinate of the gradient of a person's logistic loss, (sigmoid(weights · x) - y) x_j, in units of 2^-26.

    x are the ``features`` between -1 and 1, after a 1 for the intercept, which is coordinate 0; y is 0 or 1, the key of ``label``. Weights
    are integers over 2^10. The gradient lies between -1 and 1; beyond 2^-``clip`` it counts as that. Nothing is drawn, and the input is
    within ``limit``, whatever the record, so the mechanism behind it keeps its epsilon.

    >>> from deniable.contract.domain import Categories
    >>> ill = Gradient(Features.of({"age": (0, 120)}), "ill", Categories("no", "yes"), weights=(0, 0), coordinate=1)
    >>> [ill.encode({"age": age, "ill": "yes"}, source=None) / LARGEST_GRADIENT for age in (0, 60, 90)]
    [0.5, 0.0, -0.25]
    """

    features: Features
    label: str
    classes: Domain
    weights: tuple[int, ...]
    coordinate: int
    clip: int = 0

    def __post_init__(self) -> None:
        check_label(self.features, self.label, self.classes)
        check_integers("weights", self.weights, len(self.features) + 1, LARGEST_WEIGHT)
        if type(self.coordinate) is not int or not 0 <= self.coordinate <= len(self.features):
            allowed = f"an integer from 0 to {len(self.features)}"
            raise ParameterError(
                "coordinate", self.coordinate, allowed=allowed, fix="use 0 for the intercept, then 1 for the first feature"
            )
        check_clip(self.clip)

    @property
    def columns(self) -> tuple[tuple[str, Domain], ...]:
        """What is read of a record."""
        return (*self.features.columns, (self.label, self.classes))

    @property
    def limit(self) -> int:
        """The largest input; the smallest is its opposite."""
        return LARGEST_GRADIENT >> self.clip

    @property
    def domain(self) -> Integers:
        """What ``column`` gives."""
        return Integers(-self.limit, self.limit)

    @property
    def inputs(self) -> int:
        return 2 * self.limit + 1

    def reads(self, domain: Domain) -> bool:
        return all(domain.holds(*column) for column in self.columns)

    def fits(self, asked: Domain) -> bool:
        return asked.spans(-self.limit, self.limit)

    def encode(self, value: Any, source: Source) -> int:
        point = [HALF, *self.features.point(value)]
        label = self.classes.key(Attribute(self.label).column(value))
        margin = sum(weight * number for weight, number in zip(self.weights, point, strict=True))
        gradient = (sigmoid(margin) - label * ONE_PROBABILITY) * point[self.coordinate]
        return max(-self.limit, min(self.limit, gradient))

    def column(self, values: Any) -> Any:
        return bulk_half("features", "Gradient.column").gradients(self, values)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return values  # ``column`` has encoded everybody's record: a table is read column by column


def check_label(features: Features, label: object, classes: object) -> None:
    """Raise if the label is a feature as well, or does not have two classes."""
    check_features(features)
    if not isinstance(label, str) or not label or label in features.names:
        raise ParameterError("label", label, allowed="the name of a column that is no feature", fix="name the column to predict")
    if not isinstance(classes, Domain) or not classes.listed or classes.size != 2:
        raise ParameterError("classes", classes, allowed="a domain of two values", fix='write Categories("no", "yes")')
