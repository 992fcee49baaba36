"""Many people's texts at once: a column of words in one flat array, and what is drawn from it (``contract.texts``).

Nothing here loops over people: texts are split by one pass of one regular expression, and all else is array arithmetic or a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.contract.source import Source
from deniable.contract.texts import DrawnBigram, DrawnPair, DrawnTerm, NewWord
from deniable.contract.words import NONE, check_ngram, even, is_text, pattern
from deniable.core.stream import serve_everyone
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.kernels.sets import draw_padded, draw_two, gather_rows

_END = "\0"
"""What separates one person's text from the next one's, while they are split."""
_FIX = "leave out people who did not answer; an empty text counts as a text"


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of texts: every word as its place in ``labels``, person after person, and where each person's words begin.

    >>> column = Texts.of(["Tea, please. Tea!", "", "coffee"])
    >>> len(column), column.labels, column.codes.tolist(), column.offsets.tolist()
    (3, ['tea', 'please', 'coffee'], [0, 1, 0, 2], [0, 3, 3, 4])
    >>> column.ngrams(2).labels
    ['tea please', 'please tea']
    """

    labels: list[str]
    codes: Array
    """The place of every word in ``labels``."""
    offsets: Array
    """Where each person's words begin; one more at the end."""
    written: bool = False
    """Whether the words are those of texts, and not from lists of words."""

    @classmethod
    def of(cls, values: Any) -> Texts:
        """A column from texts, or from lists of words; DomainError names the first row that is neither."""
        if isinstance(values, Texts):
            return values
        readers = [getattr(values, name, None) for name in ("to_pylist", "to_list", "tolist")]  # Arrow; Polars and pandas; NumPy
        rows = next((reader() for reader in readers if reader is not None), values)
        if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
            raise DomainError(
                "texts", type(values).__name__, allowed="a list of texts, or of lists of words", fix="pass one for each person"
            )
        kinds = set(map(type, rows))
        if all(issubclass(kind, str) for kind in kinds):
            return cls._split(rows)
        if not all(issubclass(kind, list | tuple) for kind in kinds):
            wanted = str if isinstance(rows[0], str) else (list, tuple)
            row = next(i for i, each in enumerate(rows) if not isinstance(each, wanted))
            raise DomainError(f"texts[{row}]", rows[row], allowed="only texts, or only lists of words", fix=_FIX)
        words = list(chain.from_iterable(rows))
        offsets = _offsets(np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)))
        try:
            if all(issubclass(kind, str) for kind in set(map(type, words))):
                return cls(*_encoded(words), offsets)
        except UnicodeEncodeError:
            pass  # reported below: the first that is no word
        at = next(i for i, word in enumerate(words) if not is_text(word))
        row = int(np.searchsorted(offsets, at, side="right")) - 1
        raise DomainError(f"texts[{row}]", words[at], allowed="words", fix="make every word a string")

    @classmethod
    def _split(cls, rows: Sequence[str]) -> Texts:
        joined = _END.join(rows)
        if joined.count(_END) != max(len(rows) - 1, 0):  # somebody wrote one: it parts words like a space
            joined = _END.join(text.replace(_END, " ") for text in rows)
        pieces = re.findall(f"{_END}|{pattern()}", even(joined))
        labels, codes = _encoded(pieces)
        end = labels.index(_END) if _END in labels else -1
        ends = np.flatnonzero(codes == end)
        sizes = np.diff(np.concatenate([[-1], ends, [codes.size]])) - 1 if len(rows) else np.zeros(0, dtype=np.int64)
        words = codes[codes != end]
        return cls([label for label in labels if label != _END], words - (words > end) * (end >= 0), _offsets(sizes), written=True)

    def __len__(self) -> int:
        return int(self.offsets.size - 1)

    def __getitem__(self, positions: Any) -> Texts:
        """Some rows, by position."""
        rows = np.arange(len(self))[positions] if isinstance(positions, slice) else np.asarray(positions, dtype=np.int64)
        offsets = _offsets(self.sizes[rows])
        codes = np.empty(int(offsets[-1]), dtype=np.int64)
        gather_rows(self.offsets, self.codes, rows, offsets, codes)
        return Texts(self.labels, codes, offsets, self.written)

    @property
    def sizes(self) -> Array:
        """How many words each person has."""
        return np.diff(self.offsets)

    @property
    def people(self) -> Array:
        """Whose each word is."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def ngrams(self, n: int) -> Texts:
        """Every n words in a row of one person's, as one."""
        check_ngram(n)
        found = self
        for more in range(1, n):  # a pair of a shorter one and the word after it
            first = np.flatnonzero(found.people[:-1] == found.people[1:]) if found.codes.size else np.zeros(0, dtype=np.int64)
            last = self.codes[(self.offsets[:-1].repeat(np.maximum(found.sizes - 1, 0)) + _places(found.sizes - 1)) + more]
            pairs, codes = np.unique(found.codes[first] * len(self.labels) + last, return_inverse=True)
            labels = [f"{found.labels[a]} {self.labels[b]}" for a, b in zip(*divmod(pairs, max(len(self.labels), 1)), strict=True)]
            found = Texts(labels, codes.astype(np.int64), _offsets(np.maximum(found.sizes - 1, 0)), self.written)
        return found

    def held(self, places: Array) -> tuple[Array, Array]:
        """Where each word stands in another list, by its label's place there, without those at -1; and where each person's begin."""
        items = places[self.codes] if self.codes.size else np.zeros(0, dtype=np.int64)
        return _offsets(np.bincount(self.people[items >= 0], minlength=len(self))), items[items >= 0]

    def places(self, index: Mapping[str, int]) -> Array:
        """Where each label stands in a list, by its ``index``; -1 if it does not."""
        return np.array([index.get(label, -1) for label in self.labels], dtype=np.int64)


def drawn_terms(encoder: DrawnTerm, texts: Texts, source: Source | None) -> Array:
    """What ``DrawnTerm.encode`` gives for each person, from the same random words."""
    column = texts.ngrams(encoder.ngram)
    return draw(*column.held(column.places(encoder.index)), encoder.nothing, source)


def drawn_bigrams(encoder: DrawnBigram, texts: Texts, source: Source | None) -> Array:
    """What ``DrawnBigram.encode`` gives for each person, from the same random words."""
    places, people = texts.places(encoder.index), texts.people
    known = places[texts.codes] if texts.codes.size else np.zeros(0, dtype=np.int64)
    both = (people[1:] == people[:-1]) & (known[1:] >= 0) & (known[:-1] >= 0)
    offsets = _offsets(np.bincount(people[1:][both], minlength=len(texts)))
    return draw(offsets, (len(encoder.vocabulary) * known[:-1] + known[1:])[both], encoder.nothing, source)


def drawn_pairs(encoder: DrawnPair, texts: Texts, source: Source | None) -> Array:
    """What ``DrawnPair.encode`` gives for each person, from the same random words."""
    offsets, known = texts.held(texts.places(encoder.index))
    size = len(encoder.vocabulary)
    people, held = np.divmod(np.unique(np.arange(len(texts)).repeat(np.diff(offsets)) * size + known), size)
    counts = np.bincount(people, minlength=len(texts))
    places = np.empty((len(texts), 2), dtype=np.int64)
    serve_everyone(len(texts), lambda part, words: draw_two(counts[part], places[part], words), source)
    several = counts > 1
    start = (np.cumsum(counts) - counts)[several]
    low, high = np.sort(places[several], axis=1).T
    drawn = np.full(len(texts), encoder.nothing)
    drawn[several] = encoder.number(held[start + low], held[start + high])
    return drawn


def new_words(encoder: NewWord, texts: Texts, source: Source | None) -> Any:
    """What ``NewWord.draw`` gives for each person, from the same random words, as an Arrow column."""
    column = texts.ngrams(encoder.ngram)
    new = np.array([encoder.is_new(label) for label in column.labels], dtype=bool)
    drawn = draw(*column.held(np.where(new, np.arange(new.size), -1)), new.size, source)
    return pa.array([*column.labels, NONE], pa.large_string()).take(pa.array(drawn))


def draw(offsets: Array, items: Array, nothing: int, source: Source | None) -> Array:
    """One of everybody's items, each as likely as another, exactly; ``nothing`` for a person without any. As ``draw_one`` does."""
    drawn = np.empty(offsets.size - 1, dtype=np.int64)

    def serve(part: slice, words: Array) -> tuple[int, int]:
        return draw_padded(offsets[part.start : part.stop + 1], items, 1, nothing, drawn[part], words)

    serve_everyone(drawn.size, serve, source)
    return drawn


def _encoded(words: list[str]) -> tuple[list[str], Array]:
    column = pa.array(words, pa.large_string()).dictionary_encode()
    return column.dictionary.to_pylist(), column.indices.to_numpy().astype(np.int64)


def _offsets(sizes: Array) -> Array:
    offsets = np.zeros(sizes.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _places(sizes: Array) -> Array:
    """0, 1, 2 ... for each row."""
    offsets = _offsets(np.maximum(sizes, 0))
    return np.arange(offsets[-1]) - offsets[:-1].repeat(np.maximum(sizes, 0))
