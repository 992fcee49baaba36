"""Words that no list has yet: a search over text, of which each device leaves out the words that everybody knows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.contract.arguments import typed
from deniable.contract.codes import code_of
from deniable.contract.domain import Text
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import SYSTEM, Source
from deniable.core.estimate import Estimate
from deniable.core.frequency import FrequencyEstimate
from deniable.tasks.checks import check_whole
from deniable.tasks.heavy_hitters.pem import PEM, PEMState
from deniable.tasks.text.laws import COVERS, DrawnShares
from deniable.tasks.text.listed import NONE
from deniable.tasks.text.texts import Texts, draw
from deniable.tasks.text.words import check_ngram, check_words, draw_one, never_written, ngrams_of, refuse_never_written, split

NOTHING_NEW = "nothing_new"
"""The name of the part of the result that says how many people have no new word."""


@typed
@dataclass(frozen=True, kw_only=True)
class NewWords:
    """Find the k most frequent new words, or n of them in a row, of up to ``longest`` bytes in UTF-8.

    ``known`` is public. Each device leaves out what is known and what is too long, and draws one of the rest, every occurrence as likely as
    another. Whoever has nothing new reports that: the empty string, a value like any other. A device that stayed silent instead would tell
    that its owner wrote nothing new, and to everybody.

    The drawn word is searched for by ``PEM``. Its code is UTF-8, most significant bit first, then bytes 0xFF, which UTF-8 never uses: the
    first of them ends the word, the others fill it up.

    Guarantee: epsilon-local for any two texts of a person. Everybody reports once, in one group of the search.

    Estimator: the mean over people of the word's share among a person's new words. Whoever has none counts with 0. So it is a share of
    people's words, and everybody has one vote, however much they write.

    Cost: one report of one oracle; ``known`` has to be on the device.

    >>> from deniable.testing import ReplaySource
    >>> asking = NewWords(known=["i", "like", "tea"], longest=6, k=2, epsilon=4.0, people=20_000)
    >>> texts = ["I like yerba"] * 6000 + ["I like tea"] * 9000 + ["yerba? I like boba"] * 5000
    >>> found = asking.run(texts, source=ReplaySource.from_key("new"))
    >>> found.values, found.parts["nothing_new"].point.round(2).tolist()
    (['yerba', 'boba'], [0.45])
    """

    known: Collection[str] = ()
    longest: int = 12
    k: int
    epsilon: float
    people: int = 100_000
    ngram: int = 1
    """How many words in a row are asked for."""
    oracle: str = "auto"

    def __post_init__(self) -> None:
        known = sorted(self.known, key=str) if isinstance(self.known, set | frozenset) else self.known
        object.__setattr__(self, "known", check_words("known", known))
        check_ngram(self.ngram)
        check_whole("k", self.k, 1)
        object.__setattr__(self, "epsilon", self.search.epsilon)  # which checks the rest

    @cached_property
    def search(self) -> PEM:
        """The protocol that devices take part in. One place more is for "nothing new", which the last group is always asked about."""
        domain = Text(self.longest)
        nothing = (code_of(domain, NONE),)
        return PEM(domain=domain, k=self.k + 1, epsilon=self.epsilon, people=self.people, oracle=self.oracle, state=PEMState(found=nothing))

    @property
    def guarantee(self) -> Guarantee:
        """What a person's text costs."""
        return Guarantee(
            epsilon=self.search.epsilon,
            unit="one whole text, however long: each person reports once, on one word drawn from it",
            neighbors="any two texts of one person",
            exposed="that the person took part, and in which group of the search",
        )

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.known)

    def is_new(self, word: str) -> bool:
        """Whether a word is not known, and not too long to be asked for. The empty one is none: it stands for nothing new."""
        return word not in self._known and 0 < len(word.encode()) <= self.longest

    @cached_property
    def _never_written(self) -> str | None:
        return never_written(self.known, self.ngram)

    def draw(self, text: str | Sequence[str], source: Source = SYSTEM) -> str:
        """What one device takes part with: one of its new words, or the empty string."""
        if isinstance(text, str):
            refuse_never_written("known", self._never_written)
        drawn: str = draw_one([word for word in ngrams_of(split(text), self.ngram) if self.is_new(word)], NONE, source)
        return drawn

    def draw_many(self, texts: Any, source: Source | None = None) -> Any:
        """What many devices take part with, as an Arrow column."""
        column = Texts.of(texts).ngrams(self.ngram)
        if column.written:
            refuse_never_written("known", self._never_written)
        new = np.array([self.is_new(label) for label in column.labels], dtype=bool)
        places = np.where(new, np.arange(new.size), -1)
        drawn = draw(*column.held(places), len(column.labels), source)
        return pa.array([*column.labels, NONE]).take(pa.array(drawn))

    def run(self, texts: Any, *, source: Source | None = None) -> Estimate:
        """Ask a crowd held in memory, from the first group to the words that were found, the most frequent first.

        They are those of the k strongest that stand out of the noise of all that the last group was asked about: the chance that any of
        them is in nobody's text is 5 % at most. The part ``nothing_new`` is the share of people without any new word; it is missing where
        it does not stand out of the noise, or k + 1 words are stronger.
        """
        everything: FrequencyEstimate = self.search.run(self.draw_many(texts, source), source=source)
        values = list(everything.values)
        words = [i for i, value in enumerate(values) if value != NONE][: self.k]
        parts = {NOTHING_NEW: self._shares(everything.select([values.index(NONE)]))} if NONE in values else {}
        tested: Any = everything.screening
        tested = replace(tested, ranked=self._shares(tested.ranked))
        return replace(self._shares(everything.select(words)), screening=tested, parts=parts)

    def _shares(self, counted: FrequencyEstimate) -> Estimate:
        return Estimate(
            values=counted.values,
            law=DrawnShares(counted.law),
            about=f"share of people's new words, {counted.n:,} reports, {counted.spec.mechanism}, epsilon = {self.epsilon:.4g}",
            guarantee=self.guarantee,
            quantity="share",
            family_size=counted.family_size,
            covers=COVERS,
        )
