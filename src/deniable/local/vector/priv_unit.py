"""PrivUnit in its Gaussian form: the mean of vectors in a ball. Floating-point, so for Python with the analyst's packages only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import erfc, floor, hypot, log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.contract.domain import Domain
from deniable.contract.guarantee import Guarantee
from deniable.contract.law import OutputLaw
from deniable.contract.probability import check_epsilon
from deniable.contract.source import ONE, SYSTEM, Source
from deniable.contract.spec import BulkHalf, Spec
from deniable.contract.wire import Column, Layout
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.local.vector.caps import Cap, best_cap, cap_from, gaussian_cap

if TYPE_CHECKING:
    from deniable.core.estimate import Estimate
    from deniable.core.reports import Reports
    from deniable.core.tally import Tally


LARGEST_DIMENSION = 1 << 20
SLACK = 1e-9
"""How much longer than the radius a vector may be: dividing by a length in double precision leaves that."""


@dataclass(frozen=True)
class Ball(Domain):
    """Vectors of ``dimension`` numbers, no longer than ``radius``.

    >>> Ball(3, 1.0).matrix([[0.6, 0.0, 0.8], [0, 0, 0]]).shape
    (2, 3)
    """

    dimension: int
    radius: float
    kind: ClassVar[str] = "ball"
    listed: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """More values than anyone can list."""
        return 1 << 64

    def key(self, value: Any) -> int:
        raise ParameterError(
            "domain", "vectors", allowed="a domain whose values can be told apart", fix="use the reports' own columns: vectors have no keys"
        )

    def to_json(self) -> dict[str, Any]:
        """Refuse: a domain that is registered nowhere must not be written as if it could be read."""
        raise ParameterError(
            "domain", "vectors", allowed="dimension and radius", fix="write dimension and radius as parameters of the spec"
        )

    def describe(self) -> str:
        return f"vectors of {self.dimension} finite numbers, at most {self.radius:g} long"

    def matrix(self, values: Any) -> Array:
        """People's vectors as the rows of a matrix, on the scale of the unit ball; DomainError naming the first that is not allowed."""
        try:
            rows = np.asarray(values)
            rows = np.zeros((0, self.dimension)) if rows.size == 0 and rows.ndim < 2 else rows
            if rows.dtype.kind not in "iuf" or rows.ndim != 2 or rows.shape[1] != self.dimension:
                raise ValueError
        except ValueError:
            what = f"shape {np.shape(values)}" if isinstance(values, np.ndarray) else type(values).__name__
            fix = "pass a matrix with one row for each person"
            raise DomainError("values", what, allowed=f"one row of {self.dimension} numbers for each person", fix=fix) from None
        scaled = rows.astype(np.float64) / self.radius
        with np.errstate(over="ignore", invalid="ignore"):
            bad = ~(np.einsum("ij,ij->i", scaled, scaled) <= (1 + SLACK) ** 2)
        if bad.any():
            position = int(np.argmax(bad))
            raise self.refuse(f"a vector of length {hypot(*rows[position].tolist()):g}", position)
        return np.ascontiguousarray(scaled)


RESOLUTION = 1 << 11
"""Grid points for a unit of noise: rounding adds less than 1e-7 to its variance of 1."""
MIDDLE = 1 << 15
"""The grid point of zero. The grid reaches 16 standard deviations to either side."""
_HEIGHTS = 1 << 40


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivUnit(Spec):
    """Send normal noise whose component along the own vector is more often large than chance would have it.

    A vector x of the ball is first made a direction of one dimension more, (x, sqrt(1 - |x|^2)), in units of ``radius``. The noise is
    standard normal across it; along it, with probability p it lies above gamma and otherwise below, each with the normal law's density.
    What belongs to x is sent, each coordinate as an integer on a grid.

    Guarantee: epsilon-local for any two vectors of the ball, as real numbers: densities are those of plain noise times one of two factors,
    whose ratio is p q / ((1 - p) (1 - q)) <= e^epsilon, q being the normal law's share below gamma. The noise is computed in **floating
    point**, so no exact law is stated or audited; tests check support and ratio. No sampler here gives up or falls back.

    Estimator: the mean of all reports over m, the mean component; unbiased. One report's squared error is about dimension / m^2, which no
    unbiased mechanism beats by more than a few parts in a thousand at 1000 dimensions. Best p and gamma = m for epsilon 1, 2, 4, 8: m =
    0.397, 0.786, 1.516, 2.743.

    Cost: 16 bits and one random word for each coordinate; the collector adds up n d numbers and their squares.

    >>> oracle = PrivUnit(dimension=100, epsilon=4.0)
    >>> round(oracle.cap.p, 5), round(oracle.cap.m, 5), round(oracle.variance(n=1) / 100, 5), oracle.report_bits
    (0.79095, 1.51564, 0.43532, 1600)

    References: Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018; Asi, Feldman, Talwar 2022 (PrivUnitG).
    """

    dimension: int
    radius: float = 1.0
    epsilon: float

    mechanism: ClassVar[str] = "PrivUnit"
    tight: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if type(self.dimension) is not int or not 2 <= self.dimension <= LARGEST_DIMENSION:
            raise ParameterError(
                "dimension", self.dimension, allowed=f"an integer from 2 to {LARGEST_DIMENSION}", fix="use Hybrid for a single number"
            )
        if isinstance(self.radius, bool) or not isinstance(self.radius, int | float) or not 1e-100 <= self.radius <= 1e100:
            raise ParameterError("radius", self.radius, allowed="a number above 0", fix="give a length that no vector exceeds")
        object.__setattr__(self, "radius", float(self.radius))
        if not self.cap.m > 0:
            raise ParameterError("epsilon", self.epsilon, allowed="large enough to learn anything", fix="choose a larger epsilon")

    def __repr__(self) -> str:
        radius = "" if self.radius == 1.0 else f", radius={self.radius!r}"
        return f"PrivUnit(dimension={self.dimension}{radius}, epsilon={self.epsilon!r})"

    if TYPE_CHECKING:

        def privatize(self, values: Any, *, source: Source | None = None) -> Reports: ...
        def tally(self, reports: Any, *, candidates: Any = None) -> Tally: ...
        def estimate(self, tally: Tally, *, candidates: Any = None) -> Estimate: ...

    @cached_property
    def domain(self) -> Ball:  # type: ignore[override]  # follows from dimension and radius, which travel
        """The vectors that are allowed."""
        return Ball(self.dimension, self.radius)

    @cached_property
    def cap(self) -> Cap:
        """The best cap, its height rounded down to a multiple of 2^-40: a larger cap only adds privacy."""
        best = best_cap(lambda p: gaussian_cap(p, self.epsilon))
        return cap_from(best.p, floor(best.gamma * _HEIGHTS) / _HEIGHTS)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": floor(self.cap.p * ONE), "gamma": round(self.cap.gamma * _HEIGHTS)}

    @cached_property
    def effective_epsilon(self) -> float:
        """The epsilon of p and gamma, in double precision."""
        cap = self.cap
        return log(cap.p / (1 - cap.p)) + log(cap.q / (erfc(cap.gamma / sqrt(2)) / 2))

    @property
    def layout(self) -> Layout:
        return (Column("point", limit=2 * MIDDLE, count=self.dimension),)

    @property
    def largest_count(self) -> int:
        return (2 * MIDDLE - 1) ** 2

    def randomize(self, value: Any, source: Source = SYSTEM) -> Any:
        """One person's report about the vector ``value``."""
        row = self._row(value)
        from deniable.local.vector.sampling import noisy_points, words_of

        words = np.array(source.words(words_of(self)), dtype=np.uint64)[None, :]
        return tuple(int(point) for point in noisy_points(self, row, words)[0])

    def _row(self, value: Any) -> Array:
        """One person's vector, as a matrix of one row."""
        try:
            return self.domain.matrix([value])
        except DomainError:
            raise self.domain.refuse(value) from None

    def law(self, value: Any, *, seed: tuple[int, ...] = ()) -> OutputLaw[Any]:
        raise ParameterError(
            "mechanism",
            self.mechanism,
            allowed="a mechanism with an exact law",
            fix="sample reports instead: the mechanism is computed in floating point",
        )

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one report, which says that it is computed in floating point."""
        return Guarantee(epsilon=self.epsilon, certificate="floating point: a proof for real numbers; support and ratio tested")

    @cached_property
    def spread(self) -> float:
        """The variance of the component along the direction, before the division by m."""
        cap = self.cap
        return 1 + cap.gamma * cap.m - cap.m**2  # of a normal law with another density above gamma: E[a^2] = 1 + gamma m

    def variance(self, n: int) -> float:
        """The expected squared distance of the estimated mean from the mean of n vectors, at worst."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ParameterError("n", n, allowed="an integer from 1 on", fix="give the number of people who report")
        return (self.radius / self.cap.m) ** 2 * (self.dimension + max(self.spread - 1, 0.0)) / n

    @cached_property
    def _bulk(self) -> BulkHalf:
        from deniable.local.vector.sampling import BulkPrivUnit

        return BulkPrivUnit(self)
