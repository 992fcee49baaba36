"""Where a person's point lies among public centers: the nearest one, and on which side of the middle one coordinate is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deniable.contract.domain import Domain, IndexRange
from deniable.contract.encoder import Encoder, bulk_half
from deniable.contract.features import HALF, Features, check_clip, check_features, check_integers
from deniable.contract.numbers import Numbers
from deniable.contract.source import Source
from deniable.errors import ParameterError

MOST_CLUSTERS = 256
MAGNITUDES = 9
"""How often the range can be halved, and once more for those nearer to the middle than that."""


@dataclass(frozen=True)
class ClusterSide(Encoder):
    """Twice the number of the nearest of some ``centers``, plus a bit that is 1 with probability (x_j + limit) / (2 limit).

    x_j is one coordinate of the person's point, in steps from the middle of its range, clipped to ``limit`` = 2,048 / 2^``clip``. So the
    expected number of ones less zeros in a cluster is the sum of the clipped coordinate over its people, divided by the limit, and ones
    and zeros together are its people. Of two centers at the same distance the first is the nearer one.

    Draws one number below 2 ``limit``. The input is one of twice as many as there are centers, whatever the point, so the mechanism behind
    it keeps its epsilon.

    >>> from deniable.testing import ReplaySource
    >>> side = ClusterSide(Features.of({"age": (0, 120)}), centers=((-1024,), (1024,)), coordinate=0)
    >>> [side.encode({"age": age}, ReplaySource([1 << 62])) for age in (0, 45, 60, 90)]
    [0, 1, 1, 3]
    """

    features: Features
    centers: tuple[tuple[int, ...], ...]
    coordinate: int
    clip: int = 0

    def __post_init__(self) -> None:
        check_features(self.features)
        check_centers(self.features, self.centers)
        if type(self.coordinate) is not int or not 0 <= self.coordinate < len(self.features):
            allowed = f"an integer from 0 to {len(self.features) - 1}"
            raise ParameterError("coordinate", self.coordinate, allowed=allowed, fix="count the features from 0 on")
        check_clip(self.clip)

    @property
    def columns(self) -> tuple[tuple[str, Numbers], ...]:
        """What is read of a record."""
        return self.features.columns

    @property
    def limit(self) -> int:
        """How far from the middle a coordinate may be, in steps."""
        return HALF >> self.clip

    @property
    def inputs(self) -> int:
        return 2 * len(self.centers)

    @property
    def domain(self) -> IndexRange:
        """What ``column`` gives, before anything is drawn: the cluster, and the clipped coordinate."""
        return IndexRange(len(self.centers) * (2 * self.limit + 1))

    def place(self, point: list[int]) -> int:
        """Return cluster and clipped coordinate as one number, the coordinate changing fastest."""
        distances = [sum((x - c) ** 2 for x, c in zip(point, center, strict=True)) for center in self.centers]
        level = max(-self.limit, min(self.limit, point[self.coordinate])) + self.limit
        return distances.index(min(distances)) * (2 * self.limit + 1) + level

    def reads(self, domain: Domain) -> bool:
        return all(domain.holds(*column) for column in self.columns)

    def encode(self, value: Any, source: Source) -> int:
        cluster, level = divmod(self.place(self.features.point(value)), 2 * self.limit + 1)
        return 2 * cluster + (source.below(2 * self.limit) < level)

    def column(self, values: Any) -> Any:
        return bulk_half("features", "ClusterSide.column").places(self, values)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("features", "ClusterSide.encode_many").sides(self, values, source)


@dataclass(frozen=True)
class Magnitude(Encoder):
    """How often the range can be halved around its middle before a person's point falls out of it, in any coordinate; 8 at most.

    >>> [Magnitude(Features.of({"age": (0, 120)})).encode({"age": age}, source=None) for age in (0, 31, 60, 89, 91)]
    [0, 1, 8, 1, 0]
    """

    features: Features

    def __post_init__(self) -> None:
        check_features(self.features)

    @property
    def columns(self) -> tuple[tuple[str, Numbers], ...]:
        """What is read of a record."""
        return self.features.columns

    @property
    def inputs(self) -> int:
        return MAGNITUDES

    def reads(self, domain: Domain) -> bool:
        return all(domain.holds(*column) for column in self.columns)

    def encode(self, value: Any, source: Source) -> int:
        farthest = max(map(abs, self.features.point(value)))
        return sum(farthest <= HALF >> halvings for halvings in range(1, MAGNITUDES))

    def column(self, values: Any) -> Any:
        return bulk_half("features", "Magnitude.column").magnitudes(self, values)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return values  # ``column`` has encoded everybody's record


def check_centers(features: Features, centers: object) -> None:
    """Raise unless the centers are points on the grid."""
    if not isinstance(centers, tuple) or not 1 <= len(centers) <= MOST_CLUSTERS:
        received = len(centers) if isinstance(centers, tuple) else centers
        raise ParameterError("centers", received, allowed=f"1 to {MOST_CLUSTERS} points", fix="give one point for each cluster")
    for center in centers:
        check_integers("centers", center, len(features), HALF)
