"""The sum of numbers with a trusted curator's error: noise shares and additive shares, through a shuffler."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np

from deniable.central.inversion import PolyaNoise
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.numbers import LARGEST_STEPS, Numbers, round_at_random
from deniable.contract.probability import exp_above
from deniable.contract.record import wire
from deniable.contract.source import SYSTEM, Source
from deniable.core.estimate import NumberEstimate
from deniable.core.number_column import number_column
from deniable.core.stream import random_words
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.shuffle.protocol import SeveralMessages, checked, shuffled_promise
from deniable.shuffle.shares import shares_for
from deniable.shuffle.sums import RANGE_END, PolyaSum, settle_range, shuffled_sum, sum_domain

CROWD = 4
"""How many times n people there may be before a sum no longer fits."""
SCALES = 64
"""How far the noise may go before a sum wraps around: less often than once in 2^64 sums."""

WIDEST = 1 << 18
"""The widest noise, in steps: tables are as long as single draws need them."""


@typed
@dataclass(frozen=True, kw_only=True)
class SplitAndMixSum(SeveralMessages):
    """Everyone adds a small share of the noise to their number, on a grid, and splits it into ``shares`` numbers modulo a power of two.

    Guarantee: (epsilon, delta) with an honest shuffler and n honest people. The noise shares of n people add up to discrete Laplace noise,
    exactly, which keeps epsilon alone; delta is what shuffled shares may say beyond their sum, proved in ``shares``. **Without an honest
    shuffler nothing is promised**: the shares of one person add up to their number, nearly always without noise.

    Estimator: the sum of all messages. Variance 2 / epsilon^2 ranges squared, whatever n is: a trusted curator's; rounding to the grid adds
    n / (4 steps^2) at most, one percent of it by default.

    Cost: ``shares`` messages (6 for 100,000 people) of log2 ``modulus`` bits. A single message that is lost or made up spoils the sum.

    >>> protocol = SplitAndMixSum(low=0, high=1, epsilon=1.0, delta=1e-6, n=100_000)
    >>> protocol.steps, protocol.shares, protocol.modulus == 2**29, round(protocol.variance() ** 0.5, 2)
    (1265, 6, True, 1.42)

    References: Ishai, Kushilevitz, Ostrovsky, Sahai 2006; Goryczka, Xiong 2017 (Polya shares); Balle, Bell, Gascon, Nissim 2020; Ghazi,
    Manurangsi, Pagh, Velingker 2020.
    """

    result: ClassVar[str] = "sum"

    low: Any = field(metadata=wire(form=RANGE_END))
    high: Any = field(metadata=wire(form=RANGE_END))
    steps: int = None  # type: ignore[assignment]  # resolved at once, below
    epsilon: float
    delta: float
    n: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is None:
            fine = ceil(4 * self.epsilon * sqrt(self.n))
            object.__setattr__(self, "steps", min(max(fine, 1), LARGEST_STEPS))
        settle_range(self)
        if self.steps > WIDEST * self.epsilon or self.modulus > 1 << 62:
            allowed = f"at most {WIDEST:,} times epsilon, and sums below 2^62"
            raise ParameterError("steps", self.steps, allowed=allowed, fix="take fewer steps, or a larger epsilon")
        self.shares  # noqa: B018  # refuses a delta that is out of reach

    @cached_property
    def domain(self) -> Numbers:
        """The range and its grid."""
        return sum_domain(self.low, self.high, self.steps)

    @cached_property
    def ratio(self) -> Fraction:
        """Of neighboring probabilities of the noise, in steps of the grid: e^(-epsilon / steps), rounded up."""
        return exp_above(self.epsilon, Fraction(-1, self.steps))

    @cached_property
    def noise(self) -> PolyaNoise:
        """One person's share of either side of the noise."""
        return PolyaNoise(Fraction(1, self.n), self.ratio)

    @cached_property
    def modulus(self) -> int:
        """The power of two that shares are counted by."""
        return 1 << (CROWD * self.n * self.steps + 2 * self._margin).bit_length()

    @property
    def _margin(self) -> int:
        return ceil(SCALES * self.steps / self.epsilon)

    @cached_property
    def shares(self) -> int:
        """How many messages a person sends."""
        return shares_for(epsilon=self.epsilon, delta=self.delta, n=self.n, modulus=self.modulus)

    @property
    def guarantee(self) -> Guarantee:
        return shuffled_promise(
            self,
            certificate="discrete Laplace noise, exact law; collisions of shares",
            unit="all messages of one person in a shuffled batch",
        )

    def messages(self, value: Any, source: Source = SYSTEM) -> tuple[int, ...]:
        point = self.domain.draw(value, source) + self.noise.draw(source) - self.noise.draw(source)
        parts = [source.below(self.modulus) for _ in range(self.shares - 1)]
        return (*parts, (point - sum(parts)) % self.modulus)

    def send(self, values: Any, source: Source | None) -> Array:
        points = self._rounded(values, source)
        self.require_people(points.size)
        points += self.noise.draws(points.size, source) - self.noise.draws(points.size, source)
        mask = np.uint64(self.modulus - 1)
        parts = random_words(points.size * (self.shares - 1), source).reshape(points.size, -1) & mask
        last = (points.astype(np.uint64) - parts.sum(axis=1, dtype=np.uint64)) & mask  # modulo 2^64, and so modulo any smaller power of 2
        return np.concatenate([parts.ravel(), last]).astype(np.int64)

    def _rounded(self, values: Any, source: Source | None) -> Array:
        """Grid points, at random and without bias; the few that double precision leaves in doubt are drawn exactly, from the same word."""
        column = number_column(self.domain, values)
        words = random_words(column.nearly.size, source)
        place = np.clip((column.nearly - column.start) * column.scale, 0.0, self.steps) - words * 2.0**-64
        points = np.floor(place)
        for i in np.flatnonzero((place - points < column.slack) | (points + 1 - place < column.slack)):
            points[i] = round_at_random(column.exact_place(int(i)), _Continued(int(words[i]), source or SYSTEM)) - 1
        return points.astype(np.int64) + 1

    def estimate(self, messages: Any, *, people: int | None = None) -> NumberEstimate:
        """The sum of all numbers; divided by ``n``, it is the mean. ``people`` follows from the number of messages."""
        sent = checked(messages, self.modulus)
        senders, rest = divmod(sent.size, self.shares)
        if rest or senders > CROWD * self.n or people not in (None, senders):
            allowed = f"{self.shares} messages from each of up to {CROWD * self.n} people"
            raise ParameterError("messages", sent.size, allowed=allowed, fix="pass every share: without all of them there is no sum")
        self.require_people(senders)
        total = int(sent.astype(np.uint64).sum(dtype=np.uint64)) % self.modulus
        if total > self.modulus - self._margin:
            total -= self.modulus  # noise may carry a sum below zero
        unit = self.domain.width / self.steps
        law = PolyaSum(
            n=senders,
            total=float(senders * self.domain.start + total * unit),
            noise=self.variance(senders),
            unit=float(unit),
            ratio=float(self.ratio),
            shape=senders / self.n,
        )
        return shuffled_sum(self, law)

    def variance(self, people: int | None = None) -> float:
        """The variance of the sum, at worst; ``people`` is how many take part, n if left out."""
        crowd = self.n if people is None else people
        a = float(self.ratio)
        steps = crowd / self.n * 2 * a / (1 - a) ** 2 + crowd / 4
        return steps * float(self.domain.width / self.steps) ** 2


class _Continued(Source):
    """A word that was drawn before, and then those of another source."""

    def __init__(self, word: int, source: Source) -> None:
        self._first, self._source = [word], source

    def word(self) -> int:
        return self._first.pop() if self._first else self._source.word()
