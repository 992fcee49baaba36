"""Next words: a table of conditional probabilities from one private pair of each person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.contract.source import Source
from deniable.contract.texts import DrawnBigram
from deniable.core.estimate import Estimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.stream import random_numbers
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.text.laws import COVERS, Following
from deniable.tasks.text.listed import Listed

PROJECTED = "probabilities are biased, since negative shares are set to 0; low and high do not depend on them"


@dataclass(frozen=True, kw_only=True)
class Bigrams(Listed):
    """Which word of a public vocabulary follows which, for a table of next words.

    Each person draws one of their own pairs of words in a row that are both in the vocabulary, every occurrence as likely as another, or
    "none of them", and reports it by one oracle over all V^2 + 1 answers. Other words between two known ones part them.

    Guarantee: epsilon-local for any two texts of a person, whatever their lengths.

    Estimator: the mean over people of a pair's share among a person's known pairs. Everybody has one vote, however much they write. The
    result, ``NextWords``, has how likely each word is after another one.

    Cost: one report of one oracle over V^2 + 1 answers.

    >>> from deniable.testing import ReplaySource
    >>> asking = Bigrams(vocabulary=["good", "morning", "night"], epsilon=3.0, people=20_000)
    >>> texts = ["Good morning!"] * 9000 + ["good night"] * 6000 + ["hello"] * 5000
    >>> table = asking.run(texts, source=ReplaySource.from_key("next"))
    >>> table.next_words("good", 2).values, table.next_words("good", 2).point.round(1).tolist()
    (['morning', 'night'], [0.6, 0.4])
    """

    result: ClassVar[str] = "next_words"

    @cached_property
    def encoder(self) -> DrawnBigram:
        """What each device does with what its owner wrote."""
        return DrawnBigram(self.vocabulary)  # type: ignore[arg-type]  # it makes a tuple of any list

    def close(self, tallies: Mapping[str, Any]) -> NextWords:
        self.open().check_tallies(tallies)
        return NextWords.of(self.vocabulary, self.spec.estimate(tallies[self.result]), self.guarantee)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NextWords(Estimate):
    """How likely each word is after another one, for all pairs of words, the most frequent pair first.

    ``shares`` of pairs are unbiased, and negative now and then. ``matrix`` is made of them, with rows that add up to one, to predict words
    by. Limits for the probabilities hold whatever the matrix says: a probability is a share over its row's sum, and both are noisy
    (``Following``). Where a row does not stand out of its noise nothing is known: from 0 to 1.
    """

    vocabulary: tuple[str, ...]
    """The words that were asked about."""
    law: Following
    quantity: str = "probability"
    axes: tuple[str, ...] = ("after", "word")

    kind: str = "next words"

    @classmethod
    def of(cls, vocabulary: Sequence[str], pairs: FrequencyEstimate, guarantee: Guarantee | None = None) -> Self:
        """The table behind the estimate of all ``pairs``, row by row, and of "none of them" at last."""
        words, size = tuple(vocabulary), len(vocabulary)
        best = np.argsort(-pairs.frequencies[: size**2], kind="stable")
        return cls(
            vocabulary=words,
            values=[(words[i], words[j]) for i, j in zip(*divmod(best, size), strict=True)],
            law=Following(pairs.law, size, pairs.spec.pair_covariances, best),
            about=f"how likely the second word is after the first, {pairs.about}",
            guarantee=guarantee or pairs.guarantee,
            covers=COVERS,
            bias=PROJECTED,
            parts={"pairs": pairs},
        )

    @property
    def shares(self) -> Array:
        """The share of each pair among people's known pairs: a row for each first word. A person who has none counts with 0."""
        return self.law.shares

    @property
    def matrix(self) -> Array:
        """The probability of each word after each other one. After a word that was not seen, words are as likely as they follow any."""
        return self.law.matrix

    def square(self, numbers: Array) -> Array:
        """Numbers of the pairs, such as limits, as a matrix: a row for each first word, and nan for pairs that were not selected."""
        found = np.full(self.law.size**2, np.nan)
        found[self.law.at] = numbers
        return found.reshape(self.law.size, self.law.size)

    # --- predictions ---

    def next_words(self, word: str, k: int = 3) -> Estimate:
        """Return the k most likely words after a word; simultaneous limits hold for all words after it."""
        check_whole("k", k, 1)
        row, size = self._place(word), len(self.vocabulary)
        best = np.lexsort((-self.shares[row], -self.matrix[row]))[:k]
        return Estimate(
            values=[self.vocabulary[i] for i in best],
            law=replace(self.law, at=row * size + best),
            about=f"after {word!r}",
            guarantee=self.guarantee,
            quantity=self.quantity,
            family_size=size,
            covers=self.covers,
            bias=self.bias,
        )

    def continued(self, word: str, length: int, *, source: Source | None = None) -> list[str]:
        """So many words that may follow (``length``), each drawn by the matrix from the one before.

        Nobody wrote them, and nobody pays for them.
        """
        check_whole("length", length, 0)
        here, written = self._place(word), []
        rows = np.cumsum(self.matrix, axis=1)
        for chance in random_numbers(length, source):
            here = min(int(np.searchsorted(rows[here] / rows[here, -1], chance, side="right")), len(self.vocabulary) - 1)
            written.append(self.vocabulary[here])
        return written

    def _place(self, word: str) -> int:
        if word not in self.vocabulary:
            raise DomainError("word", word, allowed=f"one of the {len(self.vocabulary)} words", fix="name a word from the vocabulary")
        return self.vocabulary.index(word)

    # --- what people see ---

    def further(self) -> dict[str, Any]:
        return {"share": self.shares.ravel()[self.law.at]}
