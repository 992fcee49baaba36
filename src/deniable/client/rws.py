"""Random wheel spinner: subset selection where the set is an arithmetic progression, named by two numbers."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.geometries import next_prime
from deniable.client.pure import PureProtocol
from deniable.client.subset_selection import best_size, check_size
from deniable.contract.law import OutputLaw, PairLaw
from deniable.contract.probability import favored_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout

ProgressionReport = tuple[int, int]


@mechanism
class RWS(PureProtocol):
    """Send w values around a wheel, in equal steps: they hold the true one with probability p.

    The wheel has P places, P the smallest prime that is at least d. A report is a step a from 1 to P - 1, sent as a - 1, and a shift y;
    its members are y, y + a, ..., y + (w - 1) a modulo P. The step is drawn first, and says nothing about the value.

    Guarantee: epsilon-local for any two inputs and for every step; p = w e^epsilon / (w e^epsilon + P - w), rounded down.

    Estimator: a report supports its members; q = (p (w - 1) + (1 - p) w) / (P - 1). This is exact, no hashing is involved: between two
    values lie j steps, and over all steps every j from 1 to P - 1 comes once. Variance as in ``pure``, that of ``SubsetSelection`` with P
    values in place of d; it is optimal on average if d is prime.

    Cost: 2 log2 P bits; three random words on the device; the collector walks n w members, or n + P^2 places where that is less.

    >>> oracle = RWS(domain_size=128, epsilon=1.0)
    >>> oracle.modulus, oracle.size, round(oracle.variance(n=10_000), 2), oracle.report_bits
    (131, 35, 36114.01, 16)

    References: Fang, Chen, Liu 2025, whose sets come from a seeded generator; here they come from a field, and two numbers are enough.
    """

    size: int = None  # type: ignore[assignment]  # resolved below
    """The members of a report: w. Left out, the number with the least variance."""
    largest_domain: ClassVar[int] = 4_294_967_291  # the largest prime below 2^32: a product of two places fits 64 bits
    candidates_at_tally: ClassVar[bool] = True
    preference: ClassVar[int | None] = 2

    def resolve(self) -> None:
        if self.size is None:
            object.__setattr__(self, "size", best_size(self.modulus, self.epsilon))
        check_size(self.size, self.modulus)

    @cached_property
    def modulus(self) -> int:
        """P, the number of places on the wheel: the smallest prime that is at least d, so that every step visits every place."""
        return next_prime(self.domain_size)

    @cached_property
    def keep(self) -> int:
        """The threshold of including the true value. Rounded down: including it less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, self.size, self.modulus - self.size)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    @property
    def layout(self) -> Layout:
        return (Column("step", limit=self.modulus - 1, drawn=True), Column("shift", limit=self.modulus))

    @cached_property
    def p(self) -> Fraction:
        return Fraction(self.keep, ONE)

    @cached_property
    def q(self) -> Fraction:
        return (self.p * (self.size - 1) + (1 - self.p) * self.size) / (self.modulus - 1)

    def tally_steps(self, n: int, values: int) -> int:
        """Return the members of each report, or once around for every step, where all values are asked about."""
        if values != self.domain_size:
            return super().tally_steps(n, values)
        return n + min(n * self.size, 2 * self.modulus**2)

    @property
    def pair_law(self) -> PairLaw:
        """Over all steps, another value is each number of steps from the own one once."""
        return PairLaw(None, self.p * (self.size - 1) / (self.modulus - 1))

    @property
    def most_supported(self) -> int:
        return self.size

    @property
    def ratio(self) -> Fraction:
        """A progression that holds one input and not the other."""
        return self.p * (self.modulus - self.size) / ((1 - self.p) * self.size)

    @property
    def outputs(self) -> int:
        return (self.modulus - 1) * self.modulus

    def perturb(self, key: int, source: Source) -> ProgressionReport:
        step = source.below(self.modulus - 1)
        place = source.below(self.size) if source.bernoulli(self.keep) else self.size + source.below(self.modulus - self.size)
        return step, (key - (step + 1) * place) % self.modulus

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[ProgressionReport]:
        member = self.p / (self.size * (self.modulus - 1))
        other = (1 - self.p) / ((self.modulus - self.size) * (self.modulus - 1))
        reports = [(step, shift) for step in range(self.modulus - 1) for shift in range(self.modulus)]
        return OutputLaw({report: member if self.supports(report, key) else other for report in reports})

    def supports(self, report: ProgressionReport, key: int) -> bool:
        step, shift = report
        return (key - shift) * pow(step + 1, -1, self.modulus) % self.modulus < self.size

    @property
    def best_guess(self) -> float:
        """Any member that is a value; where all members are among the places without a value, any value."""
        empty = self.modulus - self.domain_size
        # Fewer than half of the places are empty, so progressions that fit between them go straight up or straight down.
        unused = empty * (self.modulus - 1) if self.size == 1 else 2 * sum(range(empty - self.size + 1, 0, 1 - self.size))
        supported = (self.outputs - unused) * self.p / self.size + unused * (1 - self.p) / (self.modulus - self.size)
        return float(supported / ((self.modulus - 1) * self.domain_size))
