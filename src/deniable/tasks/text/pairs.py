"""Which words go together: one private pair of each person, and whether so many people show any topic at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import sqrt
from typing import Any, Self

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.contract.question import Question
from deniable.contract.source import SYSTEM, Source
from deniable.contract.survey import Survey
from deniable.core.estimate import Estimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.postprocess import norm_sub
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.text.laws import COVERS, DrawnShares
from deniable.tasks.text.listed import Listed
from deniable.tasks.text.texts import Texts, draw
from deniable.tasks.text.topics import Topics, factorize

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

    def run(self, texts: Any, *, source: Source | None = None) -> PairShares:
        """Ask a crowd held in memory."""
        found = self.protocol.run(self.draw_many(self.column(texts), source), source=source)
        return PairShares.of(self.vocabulary, found[FIND], found[CHECK], self.guarantee)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PairShares(Estimate):
    """The share of each pair of words in the answers of those who find; and topics, where so many people show any.

    The part ``check`` is what the others say, who check topics.
    """

    vocabulary: tuple[str, ...]
    """The words that were asked about."""
    law: DrawnShares
    quantity: str = "share"

    kind: str = "word pairs"
    falling: bool = True

    @classmethod
    def of(cls, vocabulary: Sequence[str], finding: FrequencyEstimate, checking: FrequencyEstimate, guarantee: Guarantee) -> Self:
        """The shares behind the estimates of all pairs, and of "none of them" at last, by two groups."""
        values = list(combinations(vocabulary, 2))
        return cls(
            vocabulary=tuple(vocabulary),
            values=values,
            law=DrawnShares(finding.law).select(np.arange(len(values))),
            about=f"share of each pair, {finding.about}",
            guarantee=guarantee,
            family_size=finding.family_size,
            covers=COVERS,
            parts={CHECK: checking},
        )

    @property
    def matrix(self) -> Array:
        """The pairs' shares as a symmetric matrix with a diagonal of zeros: unbiased, and negative now and then."""
        return self._symmetric(self.point)

    @property
    def noise(self) -> float:
        """The standard error of a share, the draws included, on average over the pairs."""
        return sqrt(float(np.mean(self.law.variance(self.point))))

    @property
    def edge(self) -> float:
        """The largest eigenvalue that noise alone has, about: 2 sqrt(V) standard errors (Wigner 1958)."""
        return 2.0 * sqrt(len(self.vocabulary)) * self.noise

    @cached_property
    def visible(self) -> int:
        """How many topics the noise allows to see: the eigenvalues above its edge, with a tenth to spare."""
        return int((np.linalg.eigvalsh(self.matrix) > 1.1 * self.edge).sum()) if self.n else 0

    def topics(self, k: int | None = None) -> Topics:
        """So many topics, or as many as are visible, by non-negative factorization of the projected matrix (extra ``lab``).

        Where k is larger than ``visible`` the topics say so: some of them are made of noise.
        """
        wanted = max(self.visible, 1) if k is None else k
        check_whole("k", wanted, 1, len(self.vocabulary), fix="leave it out for what is visible")
        total = float(np.clip(self.point.sum(), 0.0, 1.0))
        likely = norm_sub(self.point, total) if total > 0 else np.zeros(self.point.size)
        return Topics.of(self, factorize(self._symmetric(likely), wanted))

    def _symmetric(self, shares: Array) -> Array:
        size, place = len(self.vocabulary), {word: i for i, word in enumerate(self.vocabulary)}
        matrix = np.zeros((size, size))
        matrix[[place[first] for first, _ in self.values], [place[second] for _, second in self.values]] = shares
        return matrix + matrix.T

    @property
    def labels(self) -> list[Any]:
        return [", ".join(pair) for pair in self.values]

    def notes(self) -> list[str]:
        return [*super().notes(), f"topics that can be seen: {self.visible}"]


def _places(counts: Array, source: Source | None) -> Array:
    """A number below each count, exactly; 0 below 0."""
    offsets = np.zeros(counts.size + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return draw(offsets, np.arange(offsets[-1]) - offsets[:-1].repeat(counts), 0, source)
