"""What the questions about a public list of words share: the list, the oracle, one draw on each device, and "none of them"."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deniable.client.frequency import FrequencySpec
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.source import SYSTEM, Source
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_people
from deniable.tasks.heavy_hitters.searching import check_oracle
from deniable.tasks.places.uniform import chosen_oracle
from deniable.tasks.text.texts import Texts
from deniable.tasks.text.words import check_words, never_written, refuse_never_written, split

NONE = ""
"""The value of whoever has nothing that is on the list."""


@dataclass(frozen=True, kw_only=True)
class Listed(ABC):
    """A question to people who wrote something, about a public list of words.

    Each device finds what it holds of the list, draws one of these, and reports it by one oracle. Whoever holds nothing of the list
    reports that, as a value like any other: staying silent would tell it.

    Guarantee: epsilon-local for any two texts of a person, whatever their lengths. The draw is a mixture of reports that are epsilon-local
    each, and cannot cost more.
    """

    vocabulary: Sequence[str]
    epsilon: float
    people: int = 100_000
    oracle: str = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "vocabulary", check_words("vocabulary", self.vocabulary))
        check_oracle(self.oracle)
        if not self.vocabulary:
            raise ParameterError("vocabulary", (), allowed="one word or more", fix="name the words to ask about")
        check_people(self.people)

    @property
    @abstractmethod
    def nothing(self) -> int:
        """The number that stands for "none of them": the last of all."""

    @abstractmethod
    def draw(self, text: str | Sequence[str], source: Source = SYSTEM) -> int:
        """What one device reports on."""

    @abstractmethod
    def draw_many(self, texts: Texts, source: Source | None) -> Array:
        """What many devices report on."""

    @cached_property
    def index(self) -> dict[str, int]:
        """Where each word stands in the list."""
        return {word: place for place, word in enumerate(self.vocabulary)}

    @property
    def in_a_row(self) -> int:
        """How many words each term of the list has."""
        return 1

    @cached_property
    def _never_written(self) -> str | None:
        return never_written(self.vocabulary, self.in_a_row)

    @cached_property
    def spec(self) -> FrequencySpec:
        """The oracle that is asked."""
        return chosen_oracle(self.oracle, self.nothing + 1, self.epsilon, self.people)

    @property
    def guarantee(self) -> Guarantee:
        """What a person's text costs."""
        return Guarantee(
            epsilon=self.epsilon,
            unit="one whole text, however long: each person reports once, on one draw from it",
            neighbors="any two texts of one person",
        )

    def words(self, text: str | Sequence[str]) -> list[str]:
        """One person's words; ParameterError if the list has any that no text has, whatever this one says."""
        if isinstance(text, str):
            refuse_never_written("vocabulary", self._never_written)
        return split(text)

    def known(self, text: str | Sequence[str]) -> list[int]:
        """The places of one person's words in the list; -1 for others."""
        return [self.index.get(word, -1) for word in self.words(text)]

    def answer(self, text: str | Sequence[str], source: Source = SYSTEM) -> Any:
        """One person's only report."""
        return self.spec.randomize(self.draw(text, source), source)

    def column(self, texts: Any) -> Texts:
        """Many people's words, checked like one person's."""
        column = Texts.of(texts)
        if column.written:
            refuse_never_written("vocabulary", self._never_written)
        return column

    def ask(self, texts: Any, source: Source | None = None) -> FrequencyEstimate:
        """The shares of all numbers, of a crowd held in memory."""
        drawn = self.draw_many(self.column(texts), source)
        estimate: FrequencyEstimate = self.spec.estimate(self.spec.tally(self.spec.privatize(drawn, source=source)))
        return estimate
