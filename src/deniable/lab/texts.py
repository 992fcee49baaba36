"""People who write, in the lab: sentences whose next words are to be foretold, and talk about topics that are to be told apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from deniable.contract.form import written_only
from deniable.contract.record import Document, wire
from deniable.contract.source import Source
from deniable.core.stream import random_numbers
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, require_one_of
from deniable.lab.populations.observed import Words
from deniable.local.oracle_choice import check_people
from deniable.tasks.text import Bigrams, NextWords, PairShares, Texts, WordPairs
from deniable.tasks.text.topics import factorize

WAYS = ("one", "all", "not private", "guess", "one topic")
LIKED = (0.3, 0.2, 0.1)
"""How likely each of three favorite words comes next; else it is any word, as likely as people use it."""


class Written(Population, named=False):
    """Texts instead of values; the words are those that people use most."""

    words: int
    length: int

    def table(self) -> tuple[Any, Array]:
        return Words("en", self.words).table()

    def identity(self) -> str:
        return f"{self!r} of {Words('en', self.words).identity()}"

    @property
    def usual(self) -> Array:
        """How often each word follows any other one, as far as that is known without asking."""
        return self.probabilities

    def text(self, codes: Array) -> Texts:
        """A row of words for each person."""
        return Texts(list(self.values), codes.ravel(), np.arange(len(codes) + 1) * self.length)


@dataclass(frozen=True)
class Sentences(Written, named=False):
    """Everybody wrote so many of the most frequent English words in a row. After each, three favorites come more often than others.

    >>> from deniable.testing import ReplaySource
    >>> Sentences(words=10, length=4).draw(2, ReplaySource.from_key("docs")).codes.tolist()
    [2, 5, 6, 5, 0, 0, 1, 3]
    """

    words: int = 20
    length: int = 8

    @property
    def chain(self) -> Array:
        """The true probability of each word after each other one."""
        rows = np.tile((1 - sum(LIKED)) * self.probabilities, (self.words, 1))
        here = np.arange(self.words)
        for weight, step in zip(LIKED, (1, 3, 7), strict=True):
            np.add.at(rows, (here, (7 * here + step) % self.words), weight)
        return rows

    def describe(self) -> str:
        return f"{self.words} words, {self.length} each"

    def draw(self, n: int, source: Source | None = None) -> Texts:
        check_people(n)
        flat = (np.cumsum(self.chain, axis=1) + np.arange(self.words)[:, None]).ravel()  # row i from i to i + 1: one search for all
        codes = np.empty((n, self.length), dtype=np.int64)
        codes[:, 0] = np.minimum(np.searchsorted(np.cumsum(self.probabilities), random_numbers(n, source)), self.words - 1)
        for place in range(1, self.length):
            here = codes[:, place - 1]
            found = np.searchsorted(flat, here + random_numbers(n, source), side="right") - here * self.words
            codes[:, place] = np.clip(found, 0, self.words - 1)
        return self.text(codes)


@dataclass(frozen=True)
class Talk(Written, named=False):
    """Everybody talks about one of several topics, four words in five; the others are any words. Topics have the same number of words.

    >>> Talk(words=12, topics=3).same_topic(0, 3), Talk(words=12, topics=3).same_topic(0, 4)
    (True, False)
    """

    words: int = 24
    topics: int = 4
    length: int = 6

    def same_topic(self, one: int, other: int) -> bool:
        """Whether two words are of one topic: every so many of them are."""
        return one % self.topics == other % self.topics

    def describe(self) -> str:
        return f"{self.topics} topics of {self.words // self.topics} words"

    def draw(self, n: int, source: Source | None = None) -> Texts:
        check_people(n)
        topic = (random_numbers(n, source) * self.topics).astype(np.int64)[:, None]
        word = (random_numbers(n * self.length, source) * self.words).astype(np.int64).reshape(n, self.length)
        astray = (random_numbers(n * self.length, source) < 0.2).reshape(n, self.length)
        return self.text(np.where(astray, word, word // self.topics * self.topics + topic))


def pair_shares(rows: Array, words: int) -> Array:
    """How many people's share each pair of listed words in a row is, given a row of places for everybody; beyond the list are others.

    >>> pair_shares(np.array([[0, 1, 0], [1, 0, 2], [2, 2, 0]]), 2).tolist()
    [[0.0, 0.5], [1.5, 0.0]]
    """
    first, second = rows[:, :-1], rows[:, 1:]
    listed = (first < words) & (second < words)
    share = listed / np.maximum(listed.sum(axis=1, keepdims=True), 1)
    places = (first * words + second)[listed]
    return np.bincount(places, share[listed], minlength=words**2).reshape(words, words)


@dataclass(frozen=True)
class WritingSetup(Document):
    """How many words are asked about, in which way, with which epsilon for a whole text."""

    noun = "setup"
    way: str
    population: Written = field(metadata=wire(form=written_only(lambda crowd: crowd.identity())))
    epsilon: float
    people: int


@dataclass(frozen=True)
class _Way(Method):
    """What both methods below share."""

    label: str
    way: str
    task: ClassVar[str]
    """What replay keys call it: a fixed word, whatever the class is called."""

    def __post_init__(self) -> None:
        require_one_of(WAYS, "way", self.way)

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Any:
        if not isinstance(population, Written):
            raise ParameterError("population", population, allowed="people who write", fix="use Sentences, Prose or Talk")
        return WritingSetup(self.way, population, epsilon, n)

    def identity(self) -> str:
        return repr((self.task, self.way))


@dataclass(frozen=True)
class NextWordPrediction(_Way):
    """A table of next words: its distance ``tv`` from the true one, row by row, weighted as words are used.

    ``one``: everybody reports one of their pairs. ``all``: everybody reports all of them, each with its part of epsilon. ``guess``: any
    word as people use it, without asking.
    """

    task: ClassVar[str] = "Foretold"

    def run(self, setup: WritingSetup, values: Texts, source: Source) -> Outcome:
        population: Any = setup.population
        weights = population.probabilities[:, None]
        told, truth = self._table(setup, values, source), population.chain
        return Outcome(range(truth.size), (weights * truth).ravel(), (weights * told).ravel())

    def _table(self, setup: WritingSetup, values: Texts, source: Source) -> Array:
        population = setup.population
        if self.way == "guess":
            return np.tile(population.usual, (population.words, 1))
        rows, each = values.codes.reshape(-1, population.length), population.length - 1
        both = np.stack([rows[:, :-1], rows[:, 1:]], axis=2).ravel()
        alone = Texts(values.labels, both, np.arange(0, both.size + 1, 2))  # every pair as a text of its own
        if self.way == "not private":
            square = pair_shares(rows, population.words) + 1e-9
            return np.asarray(square / square.sum(axis=1, keepdims=True))
        epsilon, people, texts = (
            (setup.epsilon / each, setup.people * each, alone) if self.way == "all" else (setup.epsilon, setup.people, values)
        )
        table: NextWords = Bigrams(vocabulary=population.values, epsilon=epsilon, people=people).run(texts, source=source)
        return table.matrix

    @property
    def gives(self) -> set[str]:
        return {"counts"}


@dataclass(frozen=True)
class Grouped(_Way):
    """Words put into topics: ``f1`` of the pairs that are put together, against those that belong together.

    ``one topic``, or a ``guess``: all words are put together, without asking, which scores more than chance.
    """

    task: ClassVar[str] = "Grouped"

    def run(self, setup: WritingSetup, values: Texts, source: Source) -> Outcome:
        population: Any = setup.population
        topic = self._topics(setup, values, source).tolist()
        pairs = list(combinations(range(population.words), 2))
        truth = np.array([population.same_topic(*pair) for pair in pairs], dtype=np.int64)
        found = [place for place, (one, other) in enumerate(pairs) if topic[one] == topic[other]]
        return Outcome(range(len(pairs)), truth, k=int(truth.sum()), found=found)

    def _topics(self, setup: WritingSetup, values: Texts, source: Source) -> Array:
        population: Any = setup.population
        if self.way in ("guess", "one topic"):
            return np.zeros(population.words, dtype=np.int64)
        rows = values.codes.reshape(-1, population.length)
        several = list(combinations(range(population.length), 2))
        if self.way == "not private":
            counts = np.zeros((population.words, population.words))
            for one, other in several:
                np.add.at(counts, (rows[:, one], rows[:, other]), 1.0)
            counts += counts.T
            np.fill_diagonal(counts, 0.0)
            return np.asarray(factorize(counts, population.topics).argmax(axis=0))
        epsilon, texts = setup.epsilon, values
        if self.way == "all":
            each = np.stack([rows[:, pair] for pair in several], axis=1).ravel()
            epsilon, texts = epsilon / len(several), Texts(values.labels, each, np.arange(0, each.size + 1, 2))
        found: PairShares = WordPairs(vocabulary=values.labels, epsilon=epsilon, people=len(texts)).run(texts, source=source)
        weights = found.topics(population.topics).parts["weights"].point
        return np.asarray(weights.reshape(population.topics, -1).argmax(axis=0))

    @property
    def gives(self) -> set[str]:
        return {"list"}
