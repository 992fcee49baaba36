"""Encoders of ratings: they ask whether a person rated an item, or how one number of a public model of the items should move.

A person holds a mapping of items to ratings. The model is public and in integers, so what a device works out from both has one value
everywhere: no float that machines could round differently. A person who did not rate the item answers 0 as a value like any other.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from deniable.contract.canonical import canonical_json
from deniable.contract.domain import DOMAINS, Domain
from deniable.contract.encoder import Encoder, bulk_half
from deniable.contract.features import HALF, check_clip, check_integers
from deniable.contract.gradient import LARGEST_GRADIENT
from deniable.contract.hashing import string_key
from deniable.contract.numbers import Numbers
from deniable.contract.source import Source
from deniable.errors import DomainError, ParameterError

ONE = HALF
"""A rating at the end of the scale, and a 1 in a model."""
LARGEST_ITEM = LARGEST_OWN = 4 * ONE
MOST_ITEMS, MOST_RANK = 1 << 12, 16
SWEEPS = 8
"""How often a device improves each of its own numbers."""
RIDGE = 3 * ONE**2 // 10
"""How strongly own numbers are drawn to zero: 0.3 of a rating."""
EXCESS_BITS = 7
"""A product of three numbers counts 2^-33, and a gradient 2^-26."""


@DOMAINS.add
@dataclass(frozen=True)
class Rated(Domain):
    """Ratings of some of so many ``items``, numbered from 0 on, perhaps of none: a mapping of items to numbers of the ``scale``.

    In JSON the keys of a mapping are text, so an item may be one as well.

    >>> films = Rated(5, Numbers(1, 5, steps=4096))
    >>> films.points({3: 5, 0: 1.5}), films.points({"3": 5})
    ({0: -1536, 3: 2048}, {3: 2048})
    """

    items: int
    scale: Numbers
    kind: ClassVar[str] = "ratings"
    listed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if type(self.items) is not int or not 1 <= self.items <= MOST_ITEMS:
            raise ParameterError("items", self.items, allowed=f"an integer from 1 to {MOST_ITEMS}", fix="ask about fewer items")
        if not isinstance(self.scale, Numbers) or self.scale.times or self.scale.clip or self.scale.steps != 2 * ONE:
            allowed = f"Numbers with {2 * ONE} steps, which clip nothing"
            raise ParameterError("scale", self.scale, allowed=allowed, fix=f"write Numbers(1, 5, steps={2 * ONE})")

    @property
    def size(self) -> int:
        raise ParameterError("domain", self.describe(), allowed="a domain with a largest value", fix="ask about one of the items")

    def points(self, value: Any) -> dict[int, int]:
        """Return one person's ratings in steps from the middle of the scale, by item in rising order; DomainError if they are none."""
        if not isinstance(value, Mapping) or len(value) > self.items:
            raise self.refuse(value)
        try:
            found = {int(item): self.scale.key(rating) - ONE for item, rating in value.items() if self._names(item)}
        except DomainError as error:
            raise self.refuse(value) from error
        if len(found) < len(value):
            raise self.refuse(value)
        return dict(sorted(found.items()))

    def _names(self, item: object) -> bool:
        named = type(item) is int or (type(item) is str and len(item) <= 4 and item.isdecimal() and item == str(int(item)))
        return named and 0 <= int(item) < self.items  # type: ignore[call-overload]  # an integer, or one as text

    def key(self, value: Any) -> int:
        return string_key(canonical_json([list(pair) for pair in self.points(value).items()]))

    def value(self, key: int) -> Hashable:
        raise ParameterError("key", key, allowed="a key of a listed domain", fix="ask about one of the items: a hash cannot be turned back")

    def describe(self) -> str:
        return f"a mapping of items, from 0 to {self.items - 1}, to ratings: {self.scale.describe()}"


class AboutItem:
    """A question about one item: what the encoders of this module share, the domain and the item."""

    domain: Rated
    item: int
    checks_column: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Rated):
            raise ParameterError("domain", self.domain, allowed="Rated", fix=f"write Rated(9, Numbers(1, 5, steps={2 * ONE}))")
        if type(self.item) is not int or not 0 <= self.item < self.domain.items:
            allowed = f"an integer from 0 to {self.domain.items - 1}"
            raise ParameterError("item", self.item, allowed=allowed, fix="ask about one of the items")

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def column(self, values: Any) -> Any:
        return bulk_half("ratings", f"{type(self).__name__}.column").column(self, values)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return values  # ``column`` encodes those who are asked


@dataclass(frozen=True)
class HeldRating(AboutItem, Encoder):
    """Whether a person rated an item: 1, or 0.

    >>> HeldRating(Rated(5, Numbers(1, 5, steps=4096)), 3).encode({3: 5}, source=None)
    1
    """

    domain: Rated
    item: int

    @property
    def inputs(self) -> int:
        return 2

    def encode(self, value: Any, source: Source) -> int:
        return int(self.item in self.domain.points(value))


@dataclass(frozen=True)
class RatingGradient(AboutItem, Encoder):
    """Where a person wants one number of an item to move, in units of 2^-26.

    ``model`` has a row for each item: how good it is, and its factors, over 2^11. A prediction is goodness + kindness + factors · taste.
    The device works out its own kindness and taste (``own_numbers``), and then the error of the rating of ``item``, times 1 for
    ``coordinate`` 0, the goodness, and times a number of the taste for a factor. It is 0 for an item without a rating, and beyond
    2^-``clip`` counts as that. Nothing is drawn, and the input is within ``limit``, whatever the ratings, so the mechanism behind it keeps
    its epsilon.

    >>> asked = RatingGradient(Rated(2, Numbers(1, 5, steps=4096)), 0, ((0, 1024), (0, -1024)), 0)
    >>> [round(asked.encode(ratings, source=None) / LARGEST_GRADIENT, 3) for ratings in ({0: 5}, {0: 5, 1: 1}, {1: 5}, {})]
    [0.194, 0.375, 0.0, 0.0]
    """

    domain: Rated
    item: int
    model: tuple[tuple[int, ...], ...]
    coordinate: int
    clip: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        width = len(self.model[0]) if self.model and isinstance(self.model[0], tuple) else 0
        if len(self.model) != self.domain.items or not 1 <= width <= MOST_RANK + 1:
            allowed = f"{self.domain.items} rows of 1 to {MOST_RANK + 1} integers"
            raise ParameterError("model", len(self.model), allowed=allowed, fix="pass one row for each item")
        for row in self.model:
            check_integers("model", row, width, LARGEST_ITEM)
        if type(self.coordinate) is not int or not 0 <= self.coordinate < width:
            allowed = f"an integer from 0 to {width - 1}"
            raise ParameterError(
                "coordinate", self.coordinate, allowed=allowed, fix="use 0 for the goodness, and then one number for each factor"
            )
        check_clip(self.clip)

    @property
    def limit(self) -> int:
        """The largest input; the smallest is its opposite."""
        return LARGEST_GRADIENT >> self.clip

    @property
    def inputs(self) -> int:
        return 2 * self.limit + 1

    def fits(self, asked: Domain) -> bool:
        return asked.spans(-self.limit, self.limit)

    def encode(self, value: Any, source: Source) -> int:
        own, errors = own_numbers(self.model, self.domain.points(value))
        gradient = errors.get(self.item, 0) * (own[self.coordinate] if self.coordinate else ONE) >> EXCESS_BITS
        return max(-self.limit, min(self.limit, gradient))


def own_numbers(model: tuple[tuple[int, ...], ...], points: Mapping[int, int]) -> tuple[list[int], dict[int, int]]:
    """Return a person's kindness and taste over 2^11, and the errors of predictions with them over 2^22, by item.

    Ridge regression, by a fixed number of sweeps in integers: in its turn each number becomes the best one given the others, rounded down.

    >>> own, errors = own_numbers(((0, 1024), (0, -1024)), {0: 2048, 1: -2048})
    >>> own, errors
    ([0, 2560], {0: 1572864, 1: -1572864})
    """
    known = {item: (ONE, *model[item][1:]) for item in points}
    errors = {item: (point - model[item][0]) * ONE for item, point in points.items()}
    width = len(model[0])
    weights = [RIDGE + sum(row[k] ** 2 for row in known.values()) for k in range(width)]
    own = [0] * width
    for k in [*range(width)] * SWEEPS:
        pull = sum(known[item][k] * error for item, error in errors.items()) + own[k] * (weights[k] - RIDGE)
        best = max(-LARGEST_OWN, min(LARGEST_OWN, pull // weights[k]))
        errors = {item: error - (best - own[k]) * known[item][k] for item, error in errors.items()}
        own[k] = best
    return own, errors
