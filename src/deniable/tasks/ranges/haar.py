"""HaarHRR: each person reports one bit about one level of the Haar transform, and the inverse transform gives the shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from deniable.client.rr import RR
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.guarantee import Guarantee
from deniable.contract.lines import Parity
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Progress, Protocol
from deniable.contract.question import Question, Round
from deniable.contract.source import Source
from deniable.core.postprocess import norm_sub
from deniable.core.values import keys_of
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.symbols import walsh_hadamard
from deniable.tasks.feasible import check_feasible
from deniable.tasks.ranges.estimate import RangeEstimate
from deniable.tasks.ranges.levels import check_line
from deniable.tasks.ranges.line import Line

LARGEST_DOMAIN = 1 << 10
"""The most values: a round has a question for each."""


@dataclass(frozen=True, eq=False, kw_only=True)
class HaarLine(Line):
    """Shares of single values, from the differences between the halves of all nodes.

    With d = share(left half) - share(right half) of the node of width 2^h that holds v, the share of v is 1 / K plus the sum over h of
    +-d / 2^h. So a sum of shares is a sum of differences, with the coefficients (q(left) - q(right)) / 2^h. Scores of different nodes do
    not correlate, no matter who reports; and differences of one level err by ((e^epsilon + 1) / (e^epsilon - 1))^2 over its people, each.
    """

    scale: float
    """What a report's sign is multiplied by: 1 / (2 p - 1)."""

    @classmethod
    def of(cls, size: int, differences: list[Array], groups: tuple[int, ...], scale: float) -> HaarLine:
        """The shares behind the differences of all nodes, the narrowest level first."""
        shares = np.full(1, 1.0)
        for level in reversed(differences):
            shares = np.stack([(shares + level) / 2, (shares - level) / 2], axis=1).ravel()
        shares = shares[:size] if any(groups) else np.full(size, np.nan)
        return cls(size=size, starts=np.arange(size), shares=shares, groups=groups, scale=scale)

    def variances(self, queries: Array) -> Array:
        found = np.zeros(queries.shape[1])
        likely = haar_levels(norm_sub(self.shares, 1.0)[:, None])
        for h, (n, asked, held) in enumerate(zip(self.groups, haar_levels(queries), likely, strict=True), start=1):
            found += (np.sum((asked * self.scale) ** 2, axis=0) - np.sum(asked * held, axis=0) ** 2) / 4**h / n
        return found


def haar_levels(columns: Array) -> list[Array]:
    """Left half minus right half of every node, the narrowest level first, for each column; a line of any length ends in zeros.

    >>> [level.ravel().tolist() for level in haar_levels(np.array([[1.0], [2.0], [5.0]]))]
    [[-1.0, 5.0], [-2.0]]
    """
    size = 1 << (columns.shape[0] - 1).bit_length()
    sums = np.concatenate([columns, np.zeros((size - columns.shape[0], columns.shape[1]))])
    levels = []
    while sums.shape[0] > 1:
        levels.append(sums[0::2] - sums[1::2])
        sums = sums[0::2] + sums[1::2]
    return levels


@dataclass(frozen=True, kw_only=True)
class HaarHRR(Protocol):
    """Count people in any range of an ordered domain, from one bit each.

    A person draws a level, and among its nodes a row of the Hadamard matrix; the bit is the row's sign at the node that holds the value,
    turned over in the node's right half, reported by randomized response. As a question: is the number of ones of the value's key odd,
    under a mask? There are K - 1 masks for K = 2^L >= D values, and the lowest one of a mask names its level.

    Guarantee: epsilon-local for any two inputs; everybody answers one question once.

    Estimator: unbiased for every sum of shares. A range costs at most about L^2 / 4 ((e^epsilon + 1) / (e^epsilon - 1))^2 / n in the
    square of its share, and on average about as much as a consistent tree with 4 branches; each answer has its own exact error.

    Cost: 1 bit; one random word on the device, and the ticket; a round of K - 1 questions.

    >>> from deniable.contract.domain import Integers
    >>> from deniable.testing import ReplaySource
    >>> ages = HaarHRR(domain=Integers(0, 127), epsilon=1.0)
    >>> len(ages.open().questions), ages.open().questions[0].encoder.mask
    (127, 1)
    >>> found = ages.run([20 + i % 50 for i in range(60_000)], source=ReplaySource.from_key("ages"))
    >>> found.ranges([(20, 39), (70, 127)])
    60,000 reports, Haar, 7 levels, epsilon = 1; low and high: 95 %, noise only
    value       count  stderr     low    high  frequency
    20 to 39   23,897   1,247  21,453  26,341     39.8 %
    70 to 127     584   1,166  -1,701   2,868    0.973 %

    References: Cormode, Kulkarni, Srivastava 2019.
    """

    domain: Domain
    epsilon: float

    result: ClassVar[str] = "ranges"

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        check_line(self.domain)
        if self.domain.size > LARGEST_DOMAIN:
            allowed = f"at most {LARGEST_DOMAIN:,} values, one question each"
            raise ParameterError("domain", self.domain, allowed=allowed, fix="declare a coarser grid, or use Hierarchy")
        check_feasible(self, "domain", fix="declare a coarser grid, or use Hierarchy")

    @property
    def levels(self) -> int:
        """L, the number of levels."""
        return self.domain.key_bits

    @cached_property
    def masks(self) -> tuple[tuple[int, int], ...]:
        """Every question's level h, whose nodes have 2^h values, and its mask; rows in rising order."""
        rows = ((h, row) for h in range(1, self.levels + 1) for row in range(1 << self.levels - h))
        return tuple((h, row << h | 1 << h - 1) for h, row in rows)

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        coin = RR(epsilon=self.epsilon)
        shares = [Fraction(1, self.levels << self.levels - h) for h, _ in self.masks]
        asked = zip(self.masks, shares, strict=True)
        return Round(tuple(Question(name=f"mask-{m:x}", spec=coin, encoder=Parity(self.domain, m), share=share) for (_, m), share in asked))

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> RangeEstimate:
        """As every protocol; but values are looked up once, and not for every question."""
        keyed = replace(self, domain=IndexRange(self.domain.size))
        found: RangeEstimate = super(HaarHRR, keyed).run(keys_of(self.domain, values), source=source, progress=progress)
        return self._found(found.line)

    def close(self, tallies: Mapping[str, Any]) -> RangeEstimate:
        self._round.check_tallies(tallies)
        told = [question.spec.estimate(tallies[question.name]) for question in self._round.questions]
        differences, groups = [], []
        for _, level in groupby(zip(self.masks, told, strict=True), key=lambda pair: pair[0][0]):
            estimates = [estimate for _, estimate in level]
            sums = np.array([estimate.counts[0] - estimate.counts[1] for estimate in estimates])  # even minus odd: the row's coefficient
            walsh_hadamard(sums)
            groups.append(sum(estimate.n for estimate in estimates))
            differences.append(sums / max(groups[-1], 1))
        coin: Any = self._round.questions[0].spec
        scale = float(1 / (coin.p - coin.q))
        return self._found(HaarLine.of(self.domain.size, differences, tuple(groups), scale))

    def _found(self, line: Line) -> RangeEstimate:
        return RangeEstimate.of(self.domain, f"Haar, {len(line.groups)} levels", line, self.guarantee)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, about one mask")
