"""What the protocols about sets share: reading a crowd, and the histogram of how many candidates people hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy

from deniable.client.olh import OLH
from deniable.contract.domain import IndexRange
from deniable.contract.question import Question, Round
from deniable.contract.sets import Candidates, HeldCount
from deniable.contract.source import Source
from deniable.contract.subsets import Subsets
from deniable.core.frequency import FrequencyEstimate
from deniable.core.postprocess import norm_sub
from deniable.core.run import run
from deniable.core.sets import ItemSets
from deniable.core.tally import Tally, require_same_spec
from deniable.errors import ParameterError, WireError
from deniable.kernels.compiled import Array

ITEMS, LENGTHS, ITEMSETS, COUNTED = "items", "lengths", "itemsets", "counted"
"""The names of the estimates that searches give."""
PERCENTILE = 0.9
"""The share of people whose candidates fit into the padded list."""
PROJECTIONS = ("cut", "norm-sub")
"""How a histogram of lengths is made out of noisy counts."""
ALPHA = 0.01
"""How likely it is that any length stands out by noise alone. One that does may be far out, and count for much."""


class SetProtocol:
    """A protocol about sets: a crowd in memory may be lists, a sparse matrix or an Arrow list column, read once for all rounds."""

    domain: Subsets
    result: ClassVar[str] = ITEMS

    def open(self) -> Round:
        """The round to ask now."""
        raise NotImplementedError

    def run(self, values: Any, *, source: Source | None = None, progress: Any = None) -> Any:
        """Ask a crowd held in memory, from the first round to the result."""
        return run(self, ItemSets.of(self.domain, values), source=source, progress=progress)  # type: ignore[arg-type]  # of a Protocol

    def only(self, tallies: Mapping[str, Any]) -> Any:
        """The tally of the one question that was asked."""
        self.open().check_tallies(tallies)
        return tallies[self.open().questions[0].name]


def length_question(name: str, domain: Subsets, candidates: Candidates, *, epsilon: float, share: Fraction) -> Question:
    """How many of the candidates a person holds."""
    encoder = HeldCount(domain, candidates)
    spec = OLH(domain=IndexRange(encoder.inputs), epsilon=epsilon)
    return Question(name=name, spec=spec, encoder=encoder, share=share)


@dataclass(frozen=True)
class Lengths:
    """The histogram of how many candidates people hold, and the padding that it asks for.

    Before anything is read off, counts are projected to what a histogram can be (norm-sub): zeroing the negative ones instead would leave
    a long tail of noise, and a length that explodes. That is what is published, ``projection="norm-sub"``. It still leaves some of the
    tail, which counts for much, since it is far out. By default the histogram ends where nothing stands out of the noise any more
    ("cut", ``last_seen``). Of 64 candidates people hold up to 8, and nine of ten hold 6 at most; asking 10,000 of them at epsilon = 1, the
    published length is anything from 6 to 40, and the scale a third too large. After the cut it is 6, and 1 % too small.

    Where noise dominates, a thin tail is not seen, the length comes out short, and with it every count: ``limits`` says which lengths are
    possible, and ``scale_stderr`` allows for what the noise may hide, though not for lists that are far longer than any that are seen. With
    2,000 people at epsilon = 1 the largest count was a quarter too small in the mean. Intervals do not rest on this histogram: how much a
    list of the chosen length leaves out is a question of its own (``count_round``).
    """

    estimate: FrequencyEstimate
    longest: int | None = None
    """The longest padding allowed."""
    projection: str = "cut"

    @cached_property
    def end(self) -> int:
        """How many places of the histogram are kept."""
        raw = self.estimate.counts
        noise = np.sqrt(self.estimate.law.variance(np.zeros(raw.size)))
        return raw.size if self.projection == "norm-sub" or not self.estimate.n else last_seen(raw, noise) + 1

    @cached_property
    def counts(self) -> Array:
        """The projected histogram, from 0 on."""
        counts = np.zeros(self.estimate.counts.size)
        if self.estimate.n:  # among nobody, nobody holds anything
            counts[: self.end] = norm_sub(self.estimate.counts[: self.end], float(self.estimate.n))
        return counts

    @property
    def length(self) -> int:
        """The smallest list that holds the candidates of 90 % of the people; at least 1."""
        return self._length(np.cumsum(self.counts), PERCENTILE * self.estimate.n)

    @property
    def limits(self) -> tuple[int, int]:
        """The shortest and the longest list that noise of two standard errors makes out of this one."""
        below = np.cumsum(self.estimate.counts)
        error = 2 * np.sqrt(np.cumsum(self.estimate.stderr**2))  # errors of different lengths are about independent
        wanted = PERCENTILE * self.estimate.n
        return self._length(below + error, wanted), self._length(below - error, wanted)

    @property
    def scale(self) -> float:
        """What makes up for those who hold more: 1 + sum over i > l of c_i (i - l) / sum of c_i min(i, l)."""
        sizes, length = np.arange(self.counts.size), self.length
        inside = float((self.counts * np.minimum(sizes, length)).sum())
        return 1.0 + float((self.counts * np.maximum(sizes - length, 0)).sum()) / inside if inside else 1.0

    @property
    def scale_stderr(self) -> float:
        """The standard error of the scale, to first order: of the noise, of drawing the people, and of what the cut may have taken off.

        The scale is sum of c_i i / sum of c_i min(i, l), so its slope is g_i = (i - scale min(i, l)) / sum of c_i min(i, l). Projecting
        takes the same from each of the places that are kept, so the mean of their g is taken off. The c_i g_i add up to zero: drawing
        n people adds the sum of c_i g_i^2. Beyond the cut, the noise may hide people in as many places again, and two more.
        """
        sizes = np.arange(min(2 * self.end + 2, self.counts.size))
        counts, noise = self.counts[: sizes.size], self.estimate.law.variance(self.counts)[: sizes.size]
        inside = np.minimum(sizes, self.length)
        total = max(float((counts * inside).sum()), float(np.sqrt((noise * inside**2).sum())))  # no less than what noise may hide
        if not total:
            return 0.0
        slope = (sizes - self.scale * inside) / total
        return float(np.sqrt((noise * (slope - slope[: self.end].mean()) ** 2 + counts * slope**2).sum()))

    def _length(self, cumulative: Array, wanted: float) -> int:
        enough = np.flatnonzero(cumulative >= wanted * (1 - 1e-12))
        found = int(enough[0]) if enough.size else cumulative.size - 1
        return max(1, found if self.longest is None else min(found, self.longest))


def last_seen(counts: Array, noise: Array) -> int:
    """The last place of a histogram where anything stands out of the noise: a place, or two, four ... neighbors together.

    Neighbors are looked at together because a long tail may be thin everywhere. If nothing stands out, it is the largest count's place.

    >>> last_seen(np.array([900.0, 500.0, 160.0, 130.0, 140.0, 150.0, -40.0, -70.0, 90.0]), np.full(9, 50.0))
    5
    """
    widths = [1 << i for i in range(counts.size.bit_length())]
    limit = scipy.stats.norm.isf(ALPHA / (counts.size * len(widths)))
    total, squares = np.concatenate([[0.0], np.cumsum(counts)]), np.concatenate([[0.0], np.cumsum(noise**2)])
    best = (-1, 0.0, int(np.argmax(counts)))
    for width in widths:
        scores = (total[width:] - total[:-width]) / np.sqrt(squares[width:] - squares[:-width])
        clear = np.flatnonzero(scores > limit)
        if clear.size:
            start = int(clear[-1])
            best = max(best, (start, float(scores[start]), start + width - 1))
    return best[2]


def read_tally(text: str, question: Question) -> Tally:
    """The tally that a state remembers as hex; ParameterError if it does not answer the question."""
    try:
        tally = Tally.from_bytes(bytes.fromhex(text))
    except (ValueError, WireError) as error:
        raise ParameterError("tally", text, allowed="the image of a tally in hex", fix="close the round again") from error
    require_same_spec(question.spec, tally.spec)
    return tally


def check_projection(name: object) -> None:
    """Refuse a projection that does not exist."""
    if name not in PROJECTIONS:
        raise ParameterError("projection", name, allowed=f"one of {PROJECTIONS}", fix="use cut, which has the smaller error")


def check_shares(shares: Any, count: int) -> tuple[Fraction, ...]:
    """The share of the people in each round."""
    given = tuple(Fraction(share).limit_denominator(1000) for share in shares)
    if len(given) != count or not all(share > 0 for share in given) or sum(given) > 1:
        told = [str(share) for share in given]
        raise ParameterError("shares", told, allowed=f"{count} shares above 0, at most 1 in all", fix="leave out shares")
    return given
