"""Encoders of texts: they ask about one word or one pair of words, drawn from all that a person wrote.

The lists are public, and are checked before anybody's text is looked at. A person who holds nothing of what is asked about reports that,
as an input like any other: staying silent would reveal it. The draw costs nothing: the report on it is a mixture of reports that are
epsilon-local each.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from deniable.contract.domain import Domain, Text
from deniable.contract.encoder import Encoder, Prefix, bulk_half
from deniable.contract.source import Source
from deniable.contract.words import NONE, check_ngram, check_words, draw_one, never_written, ngrams_of, refuse_never_written, split
from deniable.contract.writing import Writing
from deniable.errors import ParameterError


class Reading:
    """What the encoders of this module share: a public list, and one person's words."""

    listing: ClassVar[str] = "vocabulary"
    """The name of the list."""
    checks_column: ClassVar[bool] = True
    ngram: int = 1

    @property
    def public(self) -> tuple[str, ...]:
        """The list."""
        found: tuple[str, ...] = getattr(self, self.listing)
        return found

    @property
    def unwritten(self) -> str | None:
        """The first of the list that no text is split into; None if there is none."""
        return never_written(self.public, self.ngram)

    @property
    def domain(self) -> Writing:
        """What people may hold: texts as well, unless the list has words that no text is split into."""
        return Writing(texts=self.unwritten is None)

    def reads(self, domain: Domain) -> bool:
        return isinstance(domain, Writing) and (not domain.texts or self.unwritten is None)

    def words(self, value: Any) -> list[str]:
        """Return one person's words; ParameterError for any text if the list has a word that none is split into."""
        if isinstance(value, str):
            refuse_never_written(self.listing, self.unwritten)
        return split(value)

    def column(self, values: Any) -> Any:
        """Return many people's words (``core.texts.Texts``), with the same checks as one person's."""
        texts = bulk_half("texts", f"{type(self).__name__}.column").Texts.of(values)
        if texts.written:
            refuse_never_written(self.listing, self.unwritten)
        return texts


class Vocabulary(Reading):
    """What the encoders share that look for words of a public vocabulary."""

    vocabulary: tuple[str, ...]
    least: ClassVar[int] = 1
    """How many words the vocabulary has at least."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", check_words("vocabulary", self.vocabulary))
        if len(self.vocabulary) < self.least:
            allowed = "one word or more" if self.least == 1 else "two words or more"
            raise ParameterError("vocabulary", self.vocabulary, allowed=allowed, fix="name the words to ask about")

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of each word in the list."""
        return {word: place for place, word in enumerate(self.vocabulary)}

    def places(self, value: Any) -> list[int]:
        """Return the places of one person's words in the list; -1 for other words."""
        return [self.index.get(word, -1) for word in self.words(value)]

    @property
    def nothing(self) -> int:
        """The input of "none of them": the last of all."""
        return self.inputs - 1

    @property
    @abstractmethod
    def inputs(self) -> int:
        """How many inputs there are."""


@dataclass(frozen=True)
class DrawnTerm(Vocabulary, Encoder):
    """The place of one of the listed terms that a person wrote, each occurrence as likely as another; after all of these "none of them".

    A term is ``ngram`` words in a row. Draws one number below the number of occurrences, or below 1.

    >>> from deniable.testing import ReplaySource
    >>> encoder = DrawnTerm(("tea", "milk"))
    >>> [encoder.encode("Milk, tea and milk", ReplaySource([word])) for word in (1 << 62, 1 << 63)], encoder.encode("", ReplaySource([0]))
    ([1, 0], 2)
    """

    vocabulary: tuple[str, ...]
    ngram: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ngram(self.ngram)

    @property
    def inputs(self) -> int:
        return len(self.vocabulary) + 1

    def encode(self, value: Any, source: Source) -> int:
        held = [self.index[term] for term in ngrams_of(self.words(value), self.ngram) if term in self.index]
        drawn: int = draw_one(held, self.nothing, source)
        return drawn

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("texts", "DrawnTerm.encode_many").drawn_terms(self, self.column(values), source)


@dataclass(frozen=True)
class DrawnBigram(Vocabulary, Encoder):
    """One of the pairs of words in a row, both of them listed, that a person wrote, each occurrence as likely as another.

    The input is V times the place of the first word plus that of the second one, and V^2 for "none of them". Other words between two
    listed ones part them. Draws one number below the number of pairs, or below 1.

    >>> from deniable.testing import ReplaySource
    >>> [DrawnBigram(("good", "night")).encode(text, ReplaySource([0])) for text in ("Good night!", "night", "good old night")]
    [1, 4, 4]
    """

    vocabulary: tuple[str, ...]

    @property
    def inputs(self) -> int:
        return len(self.vocabulary) ** 2 + 1

    def encode(self, value: Any, source: Source) -> int:
        size = len(self.vocabulary)
        held = [size * first + second for first, second in pairwise(self.places(value)) if min(first, second) >= 0]
        drawn: int = draw_one(held, self.nothing, source)
        return drawn

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("texts", "DrawnBigram.encode_many").drawn_bigrams(self, self.column(values), source)


@dataclass(frozen=True)
class DrawnPair(Vocabulary, Encoder):
    """One of the pairs of different listed words that a person wrote anywhere in a text, each pair as likely as another.

    The inputs are the pairs of places, first those with 0, then those with 1, and so on; at last "none of them", where there are fewer than
    two words. Of m different words, draws a number below m and one below m - 1, or below 1.

    >>> from deniable.testing import ReplaySource
    >>> [DrawnPair(("cat", "dog", "tax")).encode(text, ReplaySource([0, 0])) for text in ("tax my dog", "Cat, cat, cat")]
    [2, 3]
    """

    vocabulary: tuple[str, ...]
    least: ClassVar[int] = 2

    @property
    def inputs(self) -> int:
        return len(self.vocabulary) * (len(self.vocabulary) - 1) // 2 + 1

    def number(self, first: Any, second: Any) -> Any:
        """Return the number of a pair of places, the first of them smaller than the second."""
        return first * (2 * len(self.vocabulary) - first - 1) // 2 + second - first - 1

    def encode(self, value: Any, source: Source) -> int:
        held = sorted(set(self.places(value)) - {-1})
        first, second = source.below(max(len(held), 1)), source.below(max(len(held) - 1, 1))
        if len(held) < 2:
            return self.nothing
        second += second >= first
        found: int = self.number(held[min(first, second)], held[max(first, second)])
        return found

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("texts", "DrawnPair.encode_many").drawn_pairs(self, self.column(values), source)


@dataclass(frozen=True)
class NewWord(Reading, Encoder):
    """What ``prefix`` gives for one of the words that a person wrote and that are not ``known``, each occurrence as likely as another.

    ``ngram`` words in a row are one. Those of more bytes than the prefix's domain, a ``Text``, are left out; a person without any new word
    takes part with the empty one. Draws one number below the number of new words, or below 1.

    >>> from deniable.testing import ReplaySource
    >>> encoder = NewWord(Prefix(Text(6), 8), ("green", "tea"))
    >>> [chr(encoder.encode("Green yerba, boba", ReplaySource([word]))) for word in (0, 1 << 63)]
    ['y', 'b']
    """

    prefix: Prefix
    known: tuple[str, ...] = ()
    ngram: int = 1
    listing: ClassVar[str] = "known"

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", check_words("known", self.known))
        check_ngram(self.ngram)
        if not isinstance(self.prefix, Prefix) or not isinstance(self.prefix.domain, Text):
            raise ParameterError("prefix", self.prefix, allowed="a Prefix of Text", fix="write Prefix(Text(12), 8)")

    @property
    def inputs(self) -> int:
        return self.prefix.inputs

    def fits(self, asked: Domain) -> bool:
        return self.prefix.fits(asked)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.known)

    @cached_property
    def _longest(self) -> int:
        domain: Any = self.prefix.domain
        return int(domain.max_length)

    def is_new(self, word: str) -> bool:
        """Return whether a word is not known, and not too long to be asked for. The empty one is none: it stands for nothing new."""
        return word not in self._known and 0 < len(word.encode()) <= self._longest

    def draw(self, value: Any, source: Source) -> str:
        """Return one of a person's new words, or the empty string."""
        drawn: str = draw_one([word for word in ngrams_of(self.words(value), self.ngram) if self.is_new(word)], NONE, source)
        return drawn

    def encode(self, value: Any, source: Source) -> Any:
        return self.prefix.encode(self.draw(value, source), source)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return self.prefix.encode_many(bulk_half("texts", "NewWord.encode_many").new_words(self, self.column(values), source), source)
