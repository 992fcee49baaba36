"""Words used together: one private pair from each person, and whether this many people show any topic at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.contract.question import Question, Round
from deniable.contract.texts import DrawnPair
from deniable.core.estimate import Estimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.postprocess import norm_sub
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.text.laws import COVERS, DrawnShares
from deniable.tasks.text.listed import Listed
from deniable.tasks.text.topics import SHOWN, factorize, topics_of

FIND, CHECK = "find", "check"
SHARES = {FIND: Fraction(3, 4), CHECK: Fraction(1, 4)}
"""Topics are found in the answers of the first, and checked with those of the others, who had no part in finding them."""


@dataclass(frozen=True, kw_only=True)
class WordPairs(Listed):
    """Which two different words of a public vocabulary people use in one text.

    Each person draws one of the pairs of different listed words in their text, each pair as likely as another, or "none of them" where
    there are fewer than two, and reports it by one oracle over all V (V - 1) / 2 + 1 answers. A quarter of the people, drawn at random, are
    kept for checking what is found.

    Guarantee: epsilon-local for any two texts of a person, whatever their lengths.

    Estimator: the mean over people of a pair's share among a person's pairs. The result, ``PairShares``, finds topics in them.

    Cost: one report of one oracle over V (V - 1) / 2 + 1 answers.

    >>> WordPairs(vocabulary=["cat", "dog", "tax", "vote"], epsilon=1.0, oracle="GRR").spec
    GRR(domain_size=7, epsilon=1.0)
    """

    result: ClassVar[str] = "word_pairs"

    @cached_property
    def encoder(self) -> DrawnPair:
        """What each device does with what its owner wrote."""
        return DrawnPair(self.vocabulary)  # type: ignore[arg-type]  # it makes a tuple of any list

    def open(self) -> Round:
        return Round(tuple(Question(name=name, spec=self.spec, encoder=self.encoder, share=share) for name, share in SHARES.items()))

    def close(self, tallies: Mapping[str, Any]) -> PairShares:
        self.open().check_tallies(tallies)
        finding, checking = (self.spec.estimate(tallies[name]) for name in (FIND, CHECK))
        return PairShares.of(self.vocabulary, finding, checking, self.guarantee)


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
        """The number of visible topics: the eigenvalues above the edge of the noise, with a margin of a tenth."""
        return int((np.linalg.eigvalsh(self.matrix) > 1.1 * self.edge).sum()) if self.n else 0

    def topics(self, k: int | None = None, words: int = SHOWN) -> Estimate:
        """Return this many topics, or as many as are visible, by non-negative factorization of the projected matrix (extra ``lab``).

        Each topic is shown as its first ``words``, with the share of pairs of these among those who check, and its standard error.
        Where k is larger than ``visible`` the topics say so: some of them are made of noise.
        """
        wanted = max(self.visible, 1) if k is None else k
        check_whole("k", wanted, 1, len(self.vocabulary), fix="leave out the number to show all visible topics")
        check_whole("words", words, 2, fix="try 5 words")
        total = float(np.clip(self.point.sum(), 0.0, 1.0))
        likely = norm_sub(self.point, total) if total > 0 else np.zeros(self.point.size)
        return topics_of(self, factorize(self._symmetric(likely), wanted), words)

    def _symmetric(self, shares: Array) -> Array:
        size, place = len(self.vocabulary), {word: i for i, word in enumerate(self.vocabulary)}
        matrix = np.zeros((size, size))
        matrix[[place[first] for first, _ in self.values], [place[second] for _, second in self.values]] = shares
        return matrix + matrix.T

    def notes(self) -> list[str]:
        return [*super().notes(), f"visible topics: {self.visible}"]
