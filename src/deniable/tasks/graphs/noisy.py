"""Randomized lists: a noisy bit for every pair of people, from the one with the larger number.

Person i says of each j < i whether they are tied, through randomized response: "yes" with probability p if they are, q if not. Nobody
speaks about larger numbers, so each pair is reported once, and one undirected edge costs epsilon and not twice that.

``sample`` below 1 is asymmetric randomized response: randomize, then keep a "yes" with that probability. Noisy graphs become sparse, and
shorter to send.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, comb, floor
from typing import Any

import numpy as np

from deniable.client.rr import RR
from deniable.contract.probability import exp_below
from deniable.contract.source import SYSTEM, Source
from deniable.core.stream import in_parallel, serve_everyone
from deniable.errors import DomainError, ParameterError, shorten
from deniable.kernels.compiled import Array
from deniable.kernels.graphs import compare_rows, mirror, perturb_lists
from deniable.tasks.graphs.graph import Graph

LARGEST = 1 << 15
"""The most nodes: a bit for every pair, twice, is then 256 MB."""
TOGETHER = 64
"""Rows that one thread takes at a time."""


def coin_for(epsilon: float, sample: float = 1.0, bits: int = 64) -> RR:
    """The coin with p = sample e^epsilon / (e^epsilon + 1) and p / q = e^epsilon, in multiples of 2^-bits, rounded toward privacy.

    >>> coin = coin_for(1.0)
    >>> round(float(coin.p), 6), round(float(coin.q), 6), coin.epsilon
    (0.731059, 0.268941, 1.0)
    """
    if isinstance(sample, bool) or not isinstance(sample, int | float) or not 0 < sample <= 1:
        raise ParameterError(
            "sample", sample, allowed="above 0, at most 1", fix="use 1 to keep every noisy tie, or 0.1 to keep a tenth of them"
        )
    e, one = exp_below(epsilon), 1 << bits
    p = floor(Fraction(sample) * e / (e + 1) * one)
    q = ceil(p / e)  # up, as p went down: both toward privacy
    if not 0 < q < p:
        raise ParameterError(
            "epsilon", epsilon, allowed="large enough for two different probabilities", fix="use a larger epsilon or sample"
        )
    return RR.from_probabilities(Fraction(p, one), Fraction(q, one))


def randomize_list(coin: RR, person: int, ties: Any, source: Source = SYSTEM) -> int:
    """Return one person's bits about all smaller numbers, bit j about person j: drawn as if there were no ties, then again for the ties."""
    yes, no = coin.coin
    bits = source.bernoulli_bits(no, person)
    for j in sorted(int(other) for other in ties if other < person):
        bits = bits & ~(1 << j) | source.bernoulli(yes) << j
    return bits


def randomize_lists(coin: RR, graph: Graph, source: Source | None = None) -> NoisyGraph:
    """Return everyone's bits: the same as ``randomize_list`` one by one."""
    nodes = graph.nodes
    lower = _lower(nodes)
    yes, no = (np.uint64(side) for side in coin.coin)

    def serve(part: slice, words: Array) -> tuple[int, int]:
        return perturb_lists(graph.starts, graph.ties, part.start, part.stop, yes, no, lower, words)

    serve_everyone(nodes, serve, source, chunk=4 * TOGETHER)
    return _mirrored(coin, lower)


def gather_lists(coin: RR, reports: Sequence[int]) -> NoisyGraph:
    """Return the noisy graph of single people's reports, in the order of their numbers; DomainError if a report has too many bits."""
    lower = _lower(len(reports))
    for i, bits in enumerate(reports):
        if type(bits) is not int or bits < 0 or bits >> i:
            raise DomainError(
                "reports", f"{shorten(bits)} of person {i}", allowed=f"an integer of {i} bits", fix="sort the reports by person number"
            )
        lower[i] = np.frombuffer(bits.to_bytes(lower.shape[1], "little"), dtype=np.uint8)
    return _mirrored(coin, lower)


def _lower(nodes: int) -> Array:
    return np.zeros((nodes, (nodes + 7) // 8), dtype=np.uint8)


def _mirrored(coin: RR, lower: Array) -> NoisyGraph:
    rows = np.zeros((len(lower), (len(lower) + 63) // 64), dtype=np.uint64)
    mirror(lower, rows)
    return NoisyGraph(coin, rows)


@dataclass(frozen=True)
class CommonNeighbors:
    """Unbiased sums over pairs of people, of their common neighbors and of the squares of these."""

    closed: int
    """Noisy common neighbors of noisily tied pairs: three for each noisy triangle."""
    squares: float
    squares_of_tied: float
    total: float


@dataclass(frozen=True, eq=False)
class NoisyGraph:
    """A bit for every pair, in packed rows, and the coin that it went through."""

    coin: RR
    rows: Array

    @property
    def nodes(self) -> int:
        """The number of people."""
        return int(self.rows.shape[0])

    @property
    def scores(self) -> tuple[Fraction, Fraction]:
        """The scores of a "yes" and a "no", with a mean of 1 for a tie and 0 for none."""
        p, q = self.coin.p, self.coin.q
        return (1 - q) / (p - q), -q / (p - q)

    @property
    def spreads(self) -> tuple[float, float]:
        """The variances of the scores, for a tie and for none."""
        p, q = self.coin.p, self.coin.q
        return float(p * (1 - p) / (p - q) ** 2), float(q * (1 - q) / (p - q) ** 2)

    @cached_property
    def degrees(self) -> Array:
        """The number of noisy ties of each person."""
        return np.asarray(np.bitwise_count(self.rows).sum(axis=1, dtype=np.int64))

    @cached_property
    def edges(self) -> float:
        """The number of ties, unbiased; the error is far larger than that of ``Degrees``."""
        yes, no = self.scores
        seen = int(self.degrees.sum()) // 2
        return float(yes * seen + no * (comb(self.nodes, 2) - seen))

    @cached_property
    def common(self) -> CommonNeighbors:
        """Sums over all pairs and all others."""
        return self._compared(later=False)

    @cached_property
    def common_later(self) -> CommonNeighbors:
        """The same, of common neighbors with larger numbers only."""
        return self._compared(later=True)

    def _compared(self, *, later: bool) -> CommonNeighbors:
        yes, no = (float(score) for score in self.scores)
        sums = np.zeros(self.nodes, dtype=np.int64)
        parts = in_parallel(
            lambda first: compare_rows(self.rows, first, min(first + TOGETHER, self.nodes), later, yes, no, sums),
            range(0, self.nodes, TOGETHER),
        )
        closed, tied, apart, near, far = (sum(column) for column in zip(*parts, strict=True))
        return CommonNeighbors(int(closed), tied + apart, yes * tied + no * apart, near + far)

    def among(self, people: Array) -> Array:
        """Return which of these people have a noisy tie, as a matrix of 0 and 1: only if both rows show it, and nobody to themselves.

        Where rows come from somebody else they may contradict each other. What is found is symmetric all the same.
        """
        said = np.unpackbits(self.rows[people].astype("<u8").view(np.uint8), axis=1, bitorder="little")[:, people]
        tied = said & said.T
        np.fill_diagonal(tied, 0)
        return np.asarray(tied)

    def check_shape(self, nodes: int) -> None:
        """Raise unless the rows are packed 64-bit words for this number of people."""
        rows, shape = self.rows, (nodes, (nodes + 63) // 64)
        if type(rows) is not np.ndarray or rows.shape != shape or rows.dtype != np.uint64:
            received = f"rows of shape {np.shape(rows)} of {getattr(rows, 'dtype', type(rows).__name__)}"
            raise DomainError("noisy", received, allowed=f"shape {shape} of uint64", fix="pass the noisy graph of all people")

    def has(self, a: int, b: int) -> bool:
        """True if two people have a noisy tie."""
        return bool(int(self.rows[a, b >> 6]) >> (b & 63) & 1)
