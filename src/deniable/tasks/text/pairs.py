"""Which words go together: one private pair of each person, and whether so many people show any topic at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.contract.question import Question
from deniable.contract.source import SYSTEM, Source
from deniable.contract.survey import Survey
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits
from deniable.core.postprocess import norm_sub
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.text.listed import Listed
from deniable.tasks.text.texts import Texts, draw
from deniable.tasks.text.topics import Topics, factorize

if TYPE_CHECKING:
    from deniable.core.chart import Chart

FIND, CHECK = "find", "check"
SHARES = {FIND: Fraction(3, 4), CHECK: Fraction(1, 4)}
"""Topics are found in the answers of the first, and checked with those of the others, who had no part in finding them."""


@dataclass(frozen=True, kw_only=True)
class WordPairs(Listed):
    """Which two different words of a public vocabulary people use in one text.

    Each person draws one of the pairs of different listed words in their text, each pair as likely as another, or "none of them" where
    there are fewer than two, and reports it by one oracle over all V (V - 1) / 2 + 1 answers. A quarter of the people, drawn at random, are
    kept for checking what is found.

    Estimator: the mean over people of a pair's share among a person's pairs.

    >>> WordPairs(vocabulary=["cat", "dog", "tax", "vote"], epsilon=1.0, oracle="GRR").spec
    GRR(domain_size=7, epsilon=1.0)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.vocabulary) < 2:
            raise ParameterError("vocabulary", self.vocabulary, allowed="two words or more", fix="one word makes no pair")

    @property
    def nothing(self) -> int:
        return len(self.vocabulary) * (len(self.vocabulary) - 1) // 2

    @cached_property
    def protocol(self) -> Survey:
        """The same question to two groups."""
        return Survey(tuple(Question(name=name, spec=self.spec, share=share) for name, share in SHARES.items()))

    def number(self, first: Any, second: Any) -> Any:
        """The number of a pair of places, the first of them smaller than the second: all pairs with 0, then those with 1, and so on."""
        return first * (2 * len(self.vocabulary) - first - 1) // 2 + second - first - 1

    def draw(self, text: str | Sequence[str], source: Source = SYSTEM) -> int:
        held = sorted(set(self.known(text)) - {-1})
        first, second = source.below(max(len(held), 1)), source.below(max(len(held) - 1, 1))
        if len(held) < 2:
            return self.nothing
        second += second >= first
        found: int = self.number(held[min(first, second)], held[max(first, second)])
        return found

    def draw_many(self, texts: Texts, source: Source | None) -> Array:
        offsets, known = texts.held(texts.places(self.index))
        size = len(self.vocabulary)
        people, held = np.divmod(np.unique(np.arange(len(texts)).repeat(np.diff(offsets)) * size + known), size)
        counts = np.bincount(people, minlength=len(texts))
        first, second = (_places(np.maximum(counts - less, 0), source) for less in (0, 1))
        second += second >= first
        several = counts > 1
        start = (np.cumsum(counts) - counts)[several]
        low, high = np.minimum(first, second)[several], np.maximum(first, second)[several]
        drawn = np.full(len(texts), self.nothing)
        drawn[several] = self.number(held[start + low], held[start + high])
        return drawn

    def run(self, texts: Any, *, source: Source | None = None) -> PairCounts:
        """Ask a crowd held in memory."""
        found = self.protocol.run(self.draw_many(self.column(texts), source), source=source)
        return PairCounts(tuple(self.vocabulary), found[FIND], found[CHECK])


@dataclass(frozen=True, eq=False, repr=False)
class PairCounts(Table):
    """The share of each pair of words, with errors, from two groups; and topics, where so many people show any."""

    vocabulary: tuple[str, ...]
    """The words that were asked about."""
    finding: FrequencyEstimate
    """What the first group says, in whose answers topics are found."""
    checking: FrequencyEstimate
    """What the others say, who check them."""

    @property
    def n(self) -> int:
        """How many people reported, in both groups."""
        return self.finding.n + self.checking.n

    def matrix(self, estimate: FrequencyEstimate | None = None) -> Array:
        """The pairs' shares as a symmetric matrix with a diagonal of zeros: unbiased, and negative now and then.

        They are those of the group that finds, or of another ``estimate``.
        """
        return self._symmetric((estimate or self.finding).frequencies)

    @cached_property
    def _variance(self) -> Array:
        counts = np.clip(self.finding.counts, 0, self.finding.n)
        return np.asarray(self.finding.variance(counts, population=True)) / max(self.finding.n, 1) ** 2

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each pair's share, as in ``rows``: for the noise, the draws, and that the people are a sample."""
        low, high = self.finding.interval(level, simultaneous=simultaneous, population=True)
        return low[:-1] / max(self.finding.n, 1), high[:-1] / max(self.finding.n, 1)

    @property
    def noise(self) -> float:
        """The standard error of a share in the first group, the draws included, on average over the pairs."""
        return sqrt(float(np.mean(self._variance[:-1])))

    @property
    def edge(self) -> float:
        """The largest eigenvalue that noise alone has, about: 2 sqrt(V) standard errors (Wigner 1958)."""
        return 2.0 * sqrt(len(self.vocabulary)) * self.noise

    @property
    def visible(self) -> int:
        """How many topics the noise allows to see: the eigenvalues above its edge, with a tenth to spare."""
        return int((np.linalg.eigvalsh(self.matrix()) > 1.1 * self.edge).sum()) if self.finding.n else 0

    def topics(self, k: int | None = None) -> Topics:
        """So many topics, or as many as are visible, by non-negative factorization of the projected matrix (extra ``lab``).

        Where k is larger than ``visible`` the topics say so: some of them are made of noise.
        """
        wanted = max(self.visible, 1) if k is None else k
        check_whole("k", wanted, 1, len(self.vocabulary), fix="leave it out for what is visible")
        shares = self.finding.frequencies[:-1]
        total = float(np.clip(shares.sum(), 0.0, 1.0))
        likely = norm_sub(shares, total) if total > 0 else np.zeros(shares.size)
        return Topics(self.vocabulary, factorize(self._symmetric(likely), wanted), self.visible, self)

    def _symmetric(self, shares: Array) -> Array:
        size = len(self.vocabulary)
        matrix = np.zeros((size, size))
        matrix[np.triu_indices(size, 1)] = shares[: size * (size - 1) // 2]
        return matrix + matrix.T

    def rows(self) -> dict[str, Any]:
        first, second = np.triu_indices(len(self.vocabulary), 1)
        named = [f"{self.vocabulary[a]}, {self.vocabulary[b]}" for a, b in zip(first, second, strict=True)]
        low, high = self.interval(simultaneous=True)
        error = np.sqrt(self._variance[:-1])
        return {"value": named, "share": self.finding.frequencies[:-1], "stderr": error, "low": low, "high": high}

    def headline(self) -> str:
        how = f"{self.finding.n:,} reports, {self.finding.spec.mechanism}, epsilon = {self.finding.epsilon:.4g}"
        return f"{how}: share of each pair; low and high: 95 % for all together; topics that can be seen: {self.visible}"

    def order(self) -> Array:
        return np.argsort(-self.finding.frequencies[:-1], kind="stable")

    def chart(self, k: int = 20) -> Chart:
        """The shares of the k most frequent pairs, with intervals that hold for all together."""
        from deniable.tasks.charts import row_chart

        return row_chart(self, "share", k, together=True, axis="share of people's pairs")


def _places(counts: Array, source: Source | None) -> Array:
    """A number below each count, exactly; 0 below 0."""
    offsets = np.zeros(counts.size + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return draw(offsets, np.arange(offsets[-1]) - offsets[:-1].repeat(counts), 0, source)
