"""Projective geometry response: one point of a finite geometry, probably orthogonal to the value's own."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.geometries import best_geometry, points_in
from deniable.client.pure import PureProtocol
from deniable.contract.law import OutputLaw, PairLaw
from deniable.contract.probability import favored_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.contract.work import Work


@mechanism
class PGR(PureProtocol):
    """Send a point of a projective geometry: it is orthogonal to the value's point with probability p.

    A point is a line through the origin of the space of t coordinates modulo a prime q, the order. There are K = (q^t - 1) / (q - 1) >= d
    points, c = (q^(t-1) - 1) / (q - 1) orthogonal to a given one, and i = (q^(t-2) - 1) / (q - 1) orthogonal to two given ones.

    Guarantee: epsilon-local for any two inputs; p = c e^epsilon / (c e^epsilon + K - c), rounded down.

    Estimator: a report supports the values whose points are orthogonal to it; any other value than its sender's with probability
    p i / c + (1 - p) (c - i) / (K - c), exactly. Variance as in ``pure``; at the default order, a prime near e^epsilon + 1, it is near
    n 4 e^epsilon / (e^epsilon - 1)^2, the best for large d. With t = 2 it is GRR on q + 1 symbols.

    Cost: ceil(log2 K) bits; two random words on the device; the collector needs O(n + K q t), one transform in all.

    >>> oracle = PGR(domain_size=128, epsilon=1.0)
    >>> oracle.order, oracle.dimension, oracle.points, round(oracle.variance(n=10_000), 2), oracle.report_bits
    (3, 6, 364, 37432.51, 9)

    References: Feldman, Nelson, Nguyen, Talwar 2022.
    """

    order: int = None  # type: ignore[assignment]  # resolved below
    """The prime q; a good one for epsilon if left out."""
    dimension: int = None  # type: ignore[assignment]  # resolved below
    """The number of coordinates, t; the smallest with enough points if left out."""
    largest_domain: ClassVar[int] = 1 << 26
    preference: ClassVar[int | None] = 3

    def resolve(self) -> None:
        order, dimension = best_geometry(self.domain_size, self.epsilon, self.order, self.dimension)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "dimension", dimension)

    @cached_property
    def points(self) -> int:
        """K, the number of points."""
        return points_in(self.order, self.dimension)

    @cached_property
    def orthogonal(self) -> int:
        """How many points are orthogonal to a given one."""
        return points_in(self.order, self.dimension - 1)

    @cached_property
    def shared(self) -> int:
        """How many points are orthogonal to two given ones."""
        return points_in(self.order, self.dimension - 2)

    @cached_property
    def keep(self) -> int:
        """The threshold of sending an orthogonal point. Rounded down: sending one less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, self.orthogonal, self.points - self.orthogonal)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    @property
    def layout(self) -> Layout:
        return (Column("point", limit=self.points),)

    @cached_property
    def p(self) -> Fraction:
        return Fraction(self.keep, ONE)

    @cached_property
    def q(self) -> Fraction:
        inside = Fraction(self.shared, self.orthogonal)
        outside = Fraction(self.orthogonal - self.shared, self.points - self.orthogonal)
        return self.p * inside + (1 - self.p) * outside

    @property
    def pair_law(self) -> PairLaw:
        return PairLaw(None, self.p * Fraction(self.shared, self.orthogonal))

    @property
    def most_supported(self) -> int:
        return min(self.orthogonal, self.domain_size)

    @property
    def ratio(self) -> Fraction:
        """A point that is orthogonal to one input and not to the other."""
        return self.p * (self.points - self.orthogonal) / ((1 - self.p) * self.orthogonal)

    @property
    def outputs(self) -> int:
        return self.points

    def finishing(self, values: int) -> Work:
        work = super().finishing(values)
        return work._replace(steps=self.points * self.order * self.dimension)

    def coordinates(self, index: int) -> list[int]:
        """Return the point with this index, scaled so that its first coordinate that is not 0 is 1.

        Points are the nodes of a tree: a further coordinate x after the point of index i makes the point of index q i + 1 + x, and the
        root, index 0, is (0, ..., 0, 1). So the first ``orthogonal`` indices are the points that begin with 0.
        """
        backwards = []
        while index:
            index, digit = divmod(index - 1, self.order)
            backwards.append(digit)
        backwards.append(1)
        return [0] * (self.dimension - len(backwards)) + backwards[::-1]

    def index(self, coordinates: list[int]) -> int:
        """Return the index of the point with these coordinates, however they are scaled."""
        first = next(i for i, x in enumerate(coordinates) if x)
        scale = pow(coordinates[first], -1, self.order)
        index = 0
        for x in coordinates[first + 1 :]:
            index = self.order * index + 1 + x * scale % self.order
        return index

    def perturb(self, key: int, source: Source) -> int:
        kept = source.bernoulli(self.keep)
        drawn = source.below(self.orthogonal) if kept else self.orthogonal + source.below(self.points - self.orthogonal)
        product, *point = self.coordinates(drawn)  # what the product with the value's point is to be, and all coordinates but one
        value = self.coordinates(key)[::-1]  # its last coordinate that is not 0 is 1: that one brings any product about
        place = max(i for i, x in enumerate(value) if x)
        point.insert(place, 0)
        point[place] = (product - sum(x * y for x, y in zip(point, value, strict=True))) % self.order
        return self.index(point)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[int]:
        inside, outside = self.p / self.orthogonal, (1 - self.p) / (self.points - self.orthogonal)
        return OutputLaw({point: inside if self.supports(point, key) else outside for point in range(self.points)})

    def supports(self, report: int, key: int) -> bool:
        pairs = zip(self.coordinates(report), reversed(self.coordinates(key)), strict=True)
        return sum(x * y for x, y in pairs) % self.order == 0

    @property
    def best_guess(self) -> float:
        """Any supported value. From q + 1 values on every report supports one; fewer share ``shared`` points and nothing more."""
        supporting = self.shared + min(self.domain_size, self.order + 1) * (self.orthogonal - self.shared)
        p, others = float(self.p), self.points - self.orthogonal
        return (supporting * p / self.orthogonal + (self.points - supporting) * (1 - p) / others) / self.domain_size
