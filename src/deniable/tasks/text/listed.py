"""The base of questions about a public list of words: the list, the oracle, and one round in which each device draws once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from deniable.client.frequency import FrequencySpec
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, Round
from deniable.contract.record import form_of, wire
from deniable.contract.texts import DrawnBigram, DrawnPair, DrawnTerm
from deniable.contract.writing import Writing
from deniable.tasks.checks import check_people
from deniable.tasks.feasible import check_feasible
from deniable.tasks.oracles import quick_oracle

WORDS = form_of(tuple[str, ...])
"""How a public list of words is written."""


@dataclass(frozen=True, kw_only=True)
class Listed(Protocol, abstract=True):
    """A question to people who wrote something, about a public list of words.

    Each device finds what it holds of the list, draws one of these, and reports it by one oracle. A person who holds nothing of the list
    reports that, as a value like any other: staying silent would reveal it. People hold texts or lists of words; where the list has words
    that no text is split into, such as ``"Tea"``, lists of words only.

    Guarantee: epsilon-local for any two texts of a person, whatever their lengths. The draw is a mixture of reports that are epsilon-local
    each, and cannot cost more.

    Cost: one report of one oracle, which ``people``, ``epsilon`` and the list decide; the list has to be on the device.
    """

    vocabulary: Sequence[str] = field(metadata=wire(form=WORDS))
    """The words to ask about."""
    epsilon: float
    people: int = 100_000
    oracle: str = "auto"
    derived: ClassVar[tuple[str, ...]] = ("domain",)
    """The domain of what a device holds: the device checks there whether everyone can answer."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "vocabulary", self.encoder.vocabulary)  # which checks it
        check_people(self.people)
        check_feasible(self, "vocabulary", fix="ask about fewer words")

    @property
    @abstractmethod
    def encoder(self) -> DrawnTerm | DrawnBigram | DrawnPair:
        """What each device does with what its owner wrote."""

    @property
    def domain(self) -> Writing:
        """The domain of what people hold: a text or a list of words; only the latter if the list has words that no text is split into."""
        return self.encoder.domain

    @cached_property
    def spec(self) -> FrequencySpec:
        """The oracle of every report."""
        return quick_oracle(self.oracle, self.encoder.inputs, self.epsilon, self.people)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            epsilon=self.epsilon,
            unit="one whole text, however long: each person reports once, on one draw from it",
            neighbors="any two texts of one person",
        )

    def open(self) -> Round:
        return Round((Question(name=self.result, spec=self.spec, encoder=self.encoder),))

    def read(self, values: Any) -> Any:
        """Return everyone's words, from texts or from lists of words."""
        return self.encoder.column(values)
