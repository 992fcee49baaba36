"""Hadamard response: one symbol of about 2 d, likely among those where the value's row of the Hadamard matrix is positive."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.frequency import LinearProtocol, check_crowd
from deniable.contract.law import OutputLaw
from deniable.contract.probability import exp_below, favored_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.contract.work import Work
from deniable.errors import ParameterError


@mechanism
class HadamardResponse(LinearProtocol):
    """Send a symbol: with probability p one of the half of the value's block that its Hadamard row marks, otherwise any other.

    The symbols form B blocks of b = 2^k. Value v belongs to block v mod B and has there row 1 + floor(v / B) of the Hadamard matrix of
    order b, which marks half of the block's symbols; two rows mark exactly half of each other's.

    Guarantee: epsilon-local for any two inputs; p = (b/2) e^epsilon / ((b/2) e^epsilon + B b - b/2), rounded down.

    Estimator: (marked - unmarked) / (p - r), counting the reports of v's block, with r = (1 - p) (b/2) / (B b - b/2). The variance is
    (expected reports in the block) / (p - r)^2 - n_v: it depends on the data, since people whose values share v's block cost more.
    Intervals use what was seen; ``variance`` is for people spread evenly over the other values.

    Cost: log2 (B b) bits; two random words on the device; the collector needs O(n + B b log b), one transform for each block.

    >>> oracle = HadamardResponse(domain_size=128, epsilon=1.0)
    >>> oracle.blocks, oracle.order, oracle.report_bits, round(oracle.variance(n=10_000), 2)
    (2, 128, 8, 55243.8)

    References: Acharya, Sun, Zhang 2019.
    """

    blocks: int = None  # type: ignore[assignment]  # resolved below
    largest_domain: ClassVar[int] = 1 << 26
    preference: ClassVar[int | None] = 6

    def resolve(self) -> None:
        if self.blocks is None:
            largest = min(int(exp_below(self.epsilon)), 2 * self.domain_size)
            object.__setattr__(self, "blocks", 1 << (largest.bit_length() - 1))
        if type(self.blocks) is not int or not 1 <= self.blocks <= 2 * self.domain_size or self.blocks & (self.blocks - 1):
            allowed = f"a power of two from 1 to {2 * self.domain_size}"
            raise ParameterError("blocks", self.blocks, allowed=allowed, fix="leave it out for about e^epsilon")

    @property
    def order(self) -> int:
        """B, the symbols of a block: a power of two above the number of its values."""
        return 1 << (-(-self.domain_size // self.blocks)).bit_length()

    @cached_property
    def keep(self) -> int:
        """The threshold of sending a marked symbol. Rounded down: sending it less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, 1, 2 * self.blocks - 1)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    @property
    def layout(self) -> Layout:
        return (Column("symbol", limit=self.blocks * self.order),)

    @cached_property
    def marked(self) -> Fraction:
        """P, the probability of the marked half of the own block."""
        return Fraction(self.keep, ONE)

    @cached_property
    def unmarked(self) -> Fraction:
        """R, the probability of the other half of the own block, and of each half of another one."""
        return (1 - self.marked) / (2 * self.blocks - 1)

    @property
    def gap(self) -> Fraction:
        """P - r: what a holder adds to the difference, on average."""
        return self.marked - self.unmarked

    @property
    def ratio(self) -> Fraction:
        return self.marked / self.unmarked

    def counters(self, values: int) -> int:
        return self.outputs

    def finishing(self, values: int) -> Work:
        """Return what the fast transform takes."""
        return super().finishing(values)._replace(steps=self.outputs * self.order.bit_length())

    @property
    def outputs(self) -> int:
        return self.blocks * self.order

    def place(self, key: int) -> tuple[int, int]:
        """Return the block and the row of the value with this key."""
        return key % self.blocks, 1 + key // self.blocks

    def perturb(self, key: int, source: Source) -> int:
        block, row = self.place(key)
        half = self.order // 2
        if source.bernoulli(self.keep):
            return block * self.order + _symbol(row, source.below(half), 0)
        other = source.below(2 * self.blocks * half - half)
        if other < half:
            return block * self.order + _symbol(row, other, 1)
        other -= half  # a symbol of another block: the own one is skipped
        return other + (self.order if other >= block * self.order else 0)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[int]:
        half = self.order // 2
        weights = dict.fromkeys(range(self.outputs), self.unmarked / half)
        block, row = self.place(key)
        for rank in range(half):
            weights[block * self.order + _symbol(row, rank, 0)] = self.marked / half
        return OutputLaw(weights)

    def evidence(self, report: int, key: int) -> int:
        """Return 1 for a marked symbol of the value's block, -1 for an unmarked one, 0 outside the block."""
        block, row = self.place(key)
        if report // self.order != block:
            return 0
        return 1 - 2 * ((report % self.order & row).bit_count() & 1)

    def score(self, report: int, key: int) -> Fraction:
        return self.evidence(report, key) / self.gap

    def variance(self, n: int, f: float = 0.0) -> float:
        """Return the variance of a count among n reports if the people who do not hold the value are spread evenly over the others."""
        check_crowd(n, f)
        size, larger = divmod(self.domain_size, self.blocks)  # `larger` blocks have one value more
        pairs = larger * (size + 1) * size + (self.blocks - larger) * size * (size - 1)
        near = pairs / (self.domain_size * (self.domain_size - 1))  # the share of other values in the same block
        p, r, gap = float(self.marked), float(self.unmarked), float(self.gap)
        own = f + (1 - f) * near
        return n * (own * (p + r) + (1 - own) * 2 * r) / gap**2 - n * f

    @property
    def most_supported(self) -> int:
        return -(-self.domain_size // self.blocks)  # those of the largest block

    def worst_variance(self, n: int, values: int) -> float:
        """Return the variance with everybody else in the same block."""
        return n * float((self.marked + self.unmarked) / self.gap**2)

    @property
    def pair_covariances(self) -> tuple[float, float]:
        """No more negative than this for any pair, whatever its sender holds."""
        return self.least_covariance, self.least_covariance

    @property
    def influence(self) -> float:
        return float(1 / self.gap)


def _symbol(row: int, rank: int, parity: int) -> int:
    """Return the symbol of this rank among those that have an even (odd) number of ones in common with the row."""
    low = row & -row  # this bit is left open, and then set so that the parity is right
    symbol = (rank & (low - 1)) | (rank & -low) << 1
    return symbol | low if ((symbol & row).bit_count() & 1) != parity else symbol
