"""Which word follows which: a table of conditional probabilities from one private pair of each person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.contract.source import SYSTEM, Source
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits, check_level
from deniable.core.postprocess import norm_sub
from deniable.core.stream import random_numbers
from deniable.core.table import Table
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.text.conditional import conditional_limits
from deniable.tasks.text.listed import Listed
from deniable.tasks.text.texts import Texts, draw
from deniable.tasks.text.words import draw_one

if TYPE_CHECKING:
    from deniable.core.chart import Chart


@dataclass(frozen=True, kw_only=True)
class Bigrams(Listed):
    """Which word of a public vocabulary follows which, for a table of next words.

    Each person draws one of their own pairs of words in a row that are both in the vocabulary, every occurrence as likely as another, or
    "none of them", and reports it by one oracle over all V^2 + 1 answers. Other words between two known ones part them.

    Estimator: the mean over people of a pair's share among a person's known pairs. Everybody has one vote, however much they write.

    >>> from deniable.testing import ReplaySource
    >>> asking = Bigrams(vocabulary=["good", "morning", "night"], epsilon=3.0, people=20_000)
    >>> texts = ["Good morning!"] * 9000 + ["good night"] * 6000 + ["hello"] * 5000
    >>> table = asking.run(texts, source=ReplaySource.from_key("next"))
    >>> table.next_words("good", 2).words, table.next_words("good", 2).probability.round(1).tolist()
    (['morning', 'night'], [0.6, 0.4])
    """

    @property
    def nothing(self) -> int:
        return len(self.vocabulary) ** 2

    def draw(self, text: str | Sequence[str], source: Source = SYSTEM) -> int:
        size = len(self.vocabulary)
        held = [size * first + second for first, second in pairwise(self.known(text)) if min(first, second) >= 0]
        drawn: int = draw_one(held, self.nothing, source)
        return drawn

    def draw_many(self, texts: Texts, source: Source | None) -> Array:
        places, people, size = texts.places(self.index), texts.people, len(self.vocabulary)
        known = places[texts.codes] if texts.codes.size else np.zeros(0, dtype=np.int64)
        both = (people[1:] == people[:-1]) & (known[1:] >= 0) & (known[:-1] >= 0)
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(np.bincount(people[1:][both], minlength=len(texts)), out=offsets[1:])
        return draw(offsets, (size * known[:-1] + known[1:])[both], self.nothing, source)

    def run(self, texts: Any, *, source: Source | None = None) -> NextWords:
        """Ask a crowd held in memory."""
        return NextWords(tuple(self.vocabulary), self.ask(texts, source))


@dataclass(frozen=True, eq=False, repr=False)
class NextWords(Table):
    """Estimated shares of all pairs, and what follows from them: how likely each word is after another one.

    ``shares`` are unbiased, and negative now and then. ``matrix`` is made of them, with rows that add up to one, to foretell words by.
    Limits for the probabilities hold whatever the matrix says (``interval``).
    """

    vocabulary: tuple[str, ...]
    """The words that were asked about."""
    pairs: FrequencyEstimate
    """The estimate of all pairs, row by row, and of "none of them" at last."""

    @property
    def n(self) -> int:
        """How many people reported."""
        return self.pairs.n

    @cached_property
    def shares(self) -> Array:
        """The share of each pair among people's known pairs: a row for each first word. Whoever has none counts with 0."""
        return self._square(self.pairs.frequencies)

    @cached_property
    def matrix(self) -> Array:
        """The probability of each word after each other one. After a word that was not seen, words are as likely as they follow any."""
        total = float(np.clip(self.shares.sum(), 0.0, 1.0))
        likely = norm_sub(self.shares.ravel(), total).reshape(self.shares.shape) if total > 0 else np.zeros(self.shares.shape)
        seen, anywhere = likely.sum(axis=1, keepdims=True), likely.sum(axis=0)
        usual = anywhere / anywhere.sum() if anywhere.sum() > 0 else np.full(anywhere.size, 1 / anywhere.size)
        return np.where(seen > 0, likely / np.where(seen > 0, seen, 1.0), usual)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each probability; for all V^2 of them together where asked (Bonferroni).

        A probability is a share over its row's sum, and both are noisy (``conditional``). Where a row does not stand out of its noise
        nothing is known: from 0 to 1.
        """
        check_level("level", level)
        return self._limits((1 - level) / (self.shares.size if simultaneous else 1), together=simultaneous)

    def _limits(self, alpha: float, *, together: bool) -> Limits:
        return conditional_limits(self.pairs, len(self.vocabulary), alpha, together=together)

    # --- foretelling ---

    def next_words(self, word: str, k: int = 3) -> Following:
        """The k most likely words after a word, with limits that hold for all words after it together."""
        check_whole("k", k, 1)
        row, size = self._place(word), len(self.vocabulary)
        low, high = self._limits(0.05 / size, together=True)
        best = np.lexsort((-self.shares[row], -self.matrix[row]))[:k]
        return Following(word, [self.vocabulary[i] for i in best], self.matrix[row, best], low[row, best], high[row, best])

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
            raise DomainError("word", word, allowed=f"one of the {len(self.vocabulary)} words", fix="only those were asked about")
        return self.vocabulary.index(word)

    def _square(self, values: Array) -> Array:
        size = len(self.vocabulary)
        return np.asarray(values[: size**2]).reshape(size, size)

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(simultaneous=True)
        named = [f"{first} {second}" for first in self.vocabulary for second in self.vocabulary]
        error = np.sqrt(self.pairs.variance(np.clip(self.pairs.counts, 0, self.pairs.n), population=True)) / max(self.pairs.n, 1)
        flat = {"share": self.shares, "stderr": self._square(error), "probability": self.matrix, "low": low, "high": high}
        return {"value": named, **{name: column.ravel() for name, column in flat.items()}}

    def headline(self) -> str:
        how = f"{self.pairs.n:,} reports, {self.pairs.spec.mechanism}, epsilon = {self.pairs.epsilon:.4g}"
        return f"{how}: share of each pair, and how likely the second word is after the first; low and high: 95 % for all together"

    def order(self) -> Array:
        return np.argsort(-self.shares.ravel(), kind="stable")

    def chart(self, k: int = 20) -> Chart:
        """How likely the second word is after the first, for the k most frequent pairs, with intervals that hold for all together."""
        from deniable.tasks.charts import row_chart

        return row_chart(self, "probability", k, together=True, axis="probability of the second word after the first")


@dataclass(frozen=True, eq=False, repr=False)
class Following(Table):
    """The most likely words after a word."""

    word: str
    words: list[str]
    probability: Array
    low: Array
    high: Array

    def rows(self) -> dict[str, Any]:
        return {"value": self.words, "probability": self.probability, "low": self.low, "high": self.high}

    def headline(self) -> str:
        return f"after {self.word!r}; low and high: 95 % for all words after it together"

    def order(self) -> Array:
        return np.arange(len(self.words))

    def chart(self) -> Chart:
        """The words as bars, with their intervals."""
        from deniable.tasks.charts import row_chart

        return row_chart(self, "probability", len(self.words), together=True, axis=f"probability after {self.word}")
