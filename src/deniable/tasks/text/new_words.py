"""A search for new words: each device leaves out the words on a public list of known ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.contract.codes import code_of
from deniable.contract.domain import Text
from deniable.contract.guarantee import Guarantee
from deniable.contract.protocol import Protocol
from deniable.contract.question import Round
from deniable.contract.record import RESOLVED, STATE, wire
from deniable.contract.texts import NewWord
from deniable.contract.words import NONE, check_ngram, check_words, never_written
from deniable.contract.work import Work
from deniable.contract.writing import Writing
from deniable.core.estimate import Estimate
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.tasks.checks import check_whole
from deniable.tasks.heavy_hitters.pem import PEM, PEMState
from deniable.tasks.text.laws import COVERS, DrawnShares
from deniable.tasks.text.listed import WORDS

NOTHING_NEW = "nothing_new"
"""The name of the part of the result that says how many people have no new word."""


@typed
@dataclass(frozen=True, kw_only=True)
class NewWords(Protocol):
    """Find the k most frequent new words, or n of them in a row, of up to ``longest`` bytes in UTF-8.

    ``known`` is public. Each device leaves out what is known and what is too long, and draws one of the rest, every occurrence as likely as
    another. A person who has nothing new reports that: the empty string, a value like any other. A device that stayed silent instead would
    reveal to everybody that its owner wrote nothing new.

    The drawn word is searched for by ``PEM``. Its code is UTF-8, most significant bit first, then bytes 0xFF, which UTF-8 never uses: the
    first of them ends the word, the others fill it up.

    Guarantee: epsilon-local for any two texts of a person. Everybody reports once, in one group of the search.

    Estimator: the mean over people of the word's share among a person's new words; 0 for a person without any. So it is a share of
    people's words, and everybody has one vote, however much they write. The words are those of the k strongest that stand out of the noise
    of all that the last group was asked about: the chance that any of them is in nobody's text is 5 % at most. The part ``nothing_new`` is
    the share of people without any new word; it is missing where it does not stand out of the noise, or k + 1 words are stronger.

    Cost: one report of one oracle; ``known`` has to be on the device.

    >>> from deniable.testing import ReplaySource
    >>> asking = NewWords(known=["i", "like", "tea"], longest=6, k=2, epsilon=4.0, people=20_000)
    >>> texts = ["I like yerba"] * 6000 + ["I like tea"] * 9000 + ["yerba? I like boba"] * 5000
    >>> found = asking.run(texts, source=ReplaySource.from_key("new"))
    >>> found.values, found.parts["nothing_new"].point.round(2).tolist()
    (['yerba', 'boba'], [0.45])
    """

    result: ClassVar[str] = "new_words"
    known: Collection[str] = field(default=(), metadata=wire(form=WORDS))
    longest: int = 12
    k: int
    epsilon: float
    people: int = 100_000
    ngram: int = 1
    """How many words in a row the search looks for."""
    oracle: str = "auto"
    keep: int = field(default=None, repr=False, metadata=RESOLVED)  # type: ignore[assignment]  # resolved below
    """How many prefixes the search keeps."""
    lengths: tuple[int, ...] = field(default=None, repr=False, metadata=RESOLVED)  # type: ignore[arg-type]  # resolved below
    """The length of each group's prefixes."""
    allocation: tuple[int, ...] = field(default=None, repr=False, metadata=RESOLVED)  # type: ignore[arg-type]  # resolved below
    """The weight of each group."""
    state: PEMState = field(default=PEMState(), repr=False, metadata=STATE)
    """The prefixes that the search follows. The last group is always asked about the empty word, as if it had been found before."""
    derived: ClassVar[tuple[str, ...]] = ("domain",)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        known = sorted(self.known, key=str) if isinstance(self.known, set | frozenset) else self.known
        put("known", check_words("known", known))
        check_ngram(self.ngram)
        check_whole("k", self.k, 1)
        nothing = (code_of(Text(self.longest), NONE),)
        if self.state.found not in ((), nothing):
            raise ParameterError("found", self.state.found, allowed="the empty word alone", fix="pass what close() returned")
        put("state", replace(self.state, found=nothing))
        for name in ("epsilon", "keep", "lengths", "allocation"):
            put(name, getattr(self.search, name))  # which checks the rest

    @cached_property
    def search(self) -> PEM:
        """The search for what devices draw. One place more is for "nothing new"."""
        return PEM(
            domain=Text(self.longest),
            k=self.k + 1,
            epsilon=self.epsilon,
            people=self.people,
            oracle=self.oracle,
            keep=self.keep,
            lengths=self.lengths,
            allocation=self.allocation or "growing",
            state=self.state,
        )

    @property
    def domain(self) -> Writing:
        """The domain of what people hold: a text or a list of words; only a list if splitting a text never gives some known word."""
        return Writing(texts=never_written(self.known, self.ngram) is None)  # type: ignore[arg-type]  # a tuple by now

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            epsilon=self.epsilon,
            unit="one whole text, however long: each person reports once, on one word drawn from it",
            neighbors="any two texts of one person",
            exposed="that the person took part, and in which group of the search",
        )

    def work(self) -> Work:
        return self.search.work()

    @property
    def scale(self) -> int:
        return self.search.scale

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        asked = self.search.open()
        return replace(asked, questions=tuple(replace(each, encoder=self._new_word(each.encoder)) for each in asked.questions))

    def _new_word(self, prefix: Any) -> NewWord:
        return NewWord(prefix, self.known, self.ngram)  # type: ignore[arg-type]  # a tuple by now

    def read(self, values: Any) -> Any:
        """Return everyone's words, from texts or from lists of words."""
        encoder: Any = self.open().questions[0].encoder
        return encoder.column(values)

    def close(self, tallies: Mapping[str, Any]) -> NewWords | Estimate:
        outcome = self.search.close(tallies)
        if isinstance(outcome, PEM):
            return replace(self, state=outcome.state)
        values = list(outcome.values)
        words = [i for i, value in enumerate(values) if value != NONE][: self.k]
        parts = {NOTHING_NEW: self._shares(outcome.select([values.index(NONE)]))} if NONE in values else {}
        tested: Any = outcome.screening
        tested = replace(tested, ranked=self._shares(tested.ranked))
        return replace(self._shares(outcome.select(words)), screening=tested, parts=parts)

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
