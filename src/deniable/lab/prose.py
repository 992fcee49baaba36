"""Real sentences, in the lab: what scikit-learn's authors wrote about data sets, cut into pieces that stand for people's texts.

Fourteen descriptions, 5,700 words: little, but running English text that comes with a package of the extra ``lab``. **Crowds are drawn with
replacement** from all pieces of so many words in a row. What a crowd of 100,000 wrote is so no more than these pages hold, and what grows
with it is only how well noise averages out. The pages' most frequent words are the vocabulary; all others count as one that is not listed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np

from deniable.contract.source import Source
from deniable.errors import MissingExtra
from deniable.kernels.compiled import Array
from deniable.lab.populations.base import require
from deniable.lab.records import draw_rows
from deniable.lab.texts import Written, pair_shares
from deniable.tasks.text import Texts, words_of

OTHER = "…"
"""What stands for every word that is not in the vocabulary."""


@dataclass(frozen=True)
class Prose(Written, named=False):
    """So many words in a row of a description, with the most frequent words of all descriptions as the vocabulary.

    >>> people = Prose(words=20, length=8)
    >>> people.values[:8], len(people.pieces)
    (['the', 'of', 'and', 'a', 'in', 'is', 'to', 'data'], 5585)
    """

    words: int = 20
    length: int = 8

    def __post_init__(self) -> None:
        require(type(self.words) is int and 1 <= self.words <= 200, "words", self.words, "an integer from 1 to 200", "20 are usual")
        require(type(self.length) is int and 2 <= self.length <= 50, "length", self.length, "an integer from 2 to 50", "8 are usual")

    @property
    def pieces(self) -> Array:
        """All pieces, a row each, of places in the vocabulary; the number after the last is any other word."""
        return _pieces(self.words, self.length)[1]

    def table(self) -> tuple[Any, Array]:
        """The vocabulary, and how often each word begins a pair of listed words, everybody with one vote."""
        return _pieces(self.words, self.length)[0], self._pairs.sum(axis=1)

    @property
    def _pairs(self) -> Array:
        """How often each pair of words in a row occurs, in people: of a piece with several, each counts as its part."""
        return pair_shares(self.pieces, self.words)

    @property
    def chain(self) -> Array:
        return np.asarray(self._pairs / self._pairs.sum(axis=1, keepdims=True))

    @property
    def usual(self) -> Array:
        return np.asarray(self._pairs.sum(axis=0) / self._pairs.sum())

    def identity(self) -> str:
        _pages()  # the extra that is missing is named there
        return f"{self!r}, scikit-learn {version('scikit-learn')}"

    def describe(self) -> str:
        return f"descriptions of data, {self.length} words each"

    def draw(self, n: int, source: Source | None = None) -> Texts:
        drawn = self.pieces[draw_rows(n, len(self.pieces), source)]
        return Texts([*self.values, OTHER], drawn.ravel(), np.arange(n + 1) * self.length)


@cache
def _pages() -> list[list[str]]:
    try:
        folder = files("sklearn.datasets.descr")
    except ModuleNotFoundError as error:
        raise MissingExtra("Prose", "lab", error.name) from error
    pages = sorted((page for page in folder.iterdir() if page.name.endswith(".rst")), key=lambda page: page.name)
    return [words_of(page.read_text("utf-8")) for page in pages]


@cache
def _pieces(words: int, length: int) -> tuple[list[str], Array]:
    counted = Counter(word for page in _pages() for word in page if word.isalpha())
    listed = sorted(counted, key=lambda word: (-counted[word], word))[:words]
    places = {word: place for place, word in enumerate(listed)}
    codes = (np.array([places.get(word, words) for word in page], dtype=np.int64) for page in _pages() if len(page) >= length)
    return listed, np.concatenate([np.lib.stride_tricks.sliding_window_view(page, length) for page in codes])
