"""One person's words: how a text is split, words in a row, and one of them drawn, as a device does it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from deniable.contract.source import Source
from deniable.errors import DomainError, ParameterError

_JOINERS = (0x200C, 0x200D)
"""Invisible, and inside words of Persian and of many scripts of India."""
_LAST_MARK = 0x1F000
"""Combining marks come before it, but for variants of Chinese characters."""
MOST_MARKS = 30
"""As in the stream-safe text of Unicode's annex 15."""
LONGEST_LIST = 1 << 21
"""The bytes that all words of a public list take: devices fetch it with each round."""
MOST_IN_A_ROW = 8
NONE = ""
"""What stands for "none of them": no word of a list is empty."""


@cache
def pattern() -> str:
    """Return a word as a regular expression: letters, digits and underscores with their combining marks, and apostrophes inside.

    Vowels of Hindi, Thai or Arabic are marks, and an accent may be one: without them words would be cut to pieces there.
    """
    run = rf"\w[\w{_marks()}]*"
    return f"{run}(?:['’]{run})*"


@cache
def _marks() -> str:
    """Return combining marks and joiners as the inside of a set of a regular expression."""
    marks = [code for code in range(0x300, _LAST_MARK) if code in _JOINERS or unicodedata.category(chr(code))[0] == "M"]
    edges = [i for i, (one, other) in enumerate(pairwise([0, *marks, _LAST_MARK])) if other > one + 1]
    return "".join(f"{chr(marks[start])}-{chr(marks[end - 1])}" for start, end in pairwise(edges))


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case and in one spelling of accents (NFC); whatever else there is parts them.

    >>> words_of("Don't PANIC: it's only tea, Zoë!"), words_of("... ?"), words_of("हिन्दी भाषा")
    (["don't", 'panic', "it's", 'only', 'tea', 'zoë'], [], ['हिन्दी', 'भाषा'])
    """
    if not isinstance(text, str):
        raise DomainError("text", text, allowed="a string", fix="pass what one person wrote as one string")
    return re.findall(pattern(), even(text))


def even(text: str) -> str:
    """Return a text in which one word has one spelling. Of marks in a row the first 30 count: to put more in order takes quadratic time."""
    lowered = text.lower()
    return lowered if lowered.isascii() else unicodedata.normalize("NFC", _crowded().sub(lambda run: run[0][:MOST_MARKS], lowered))


@cache
def _crowded() -> re.Pattern[str]:
    """More marks in a row than any language has."""
    return re.compile(f"[{_marks()}]{{{MOST_MARKS + 1},}}")


def split(text: str | Sequence[str]) -> list[str]:
    """Return one person's words: those of a text, or a list of words as it is."""
    if isinstance(text, str):
        return words_of(text)
    if not isinstance(text, list | tuple) or not all(is_text(word) for word in text):
        raise DomainError("text", text, allowed="a text, or a list of words", fix="pass what one person wrote")
    return list(text)


def is_text(value: object) -> bool:
    """Return whether a value is a text in UTF-8: halves of characters have no such form."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def ngrams_of(words: Sequence[str], n: int) -> list[str]:
    """Return every n words in a row, joined by spaces.

    >>> ngrams_of(["a", "cup", "of", "tea"], 2), ngrams_of(["tea"], 2)
    (['a cup', 'cup of', 'of tea'], [])
    """
    return [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]


def check_ngram(n: object) -> None:
    """Raise unless ``n`` is a number of words in a row."""
    if type(n) is not int or not 1 <= n <= MOST_IN_A_ROW:
        allowed = f"an integer from 1 to {MOST_IN_A_ROW}"
        raise ParameterError("ngram", n, allowed=allowed, fix="use 1 for single words, 2 for pairs in a row")


def draw_one(items: Sequence[Any], nothing: Any, source: Source) -> Any:
    """Return what a device draws: one of its items, or nothing where it has none. Both take the same number of random words."""
    place = source.below(max(len(items), 1))
    return items[place] if items else nothing


# --- lists of words ---


def check_words(name: str, words: Any) -> tuple[str, ...]:
    """Return a public list of different words that are not empty."""
    listed = isinstance(words, Iterable) and not isinstance(words, str | bytes | set | frozenset)  # of a set, each device has its own order
    found = tuple(words) if listed else ()
    if not listed or not all(is_text(word) and word for word in found) or len(set(found)) < len(found):
        raise ParameterError(
            name, words, allowed="different words that are not empty", fix="pass a list of strings, each once, in one order"
        )
    if (size := sum(len(word.encode()) for word in found)) > LONGEST_LIST:
        raise ParameterError(name, f"{size:,} bytes", allowed=f"at most {LONGEST_LIST:,} bytes of words", fix="leave out rare words")
    return found


@lru_cache(maxsize=8)
def never_written(words: tuple[str, ...], n: int) -> str | None:
    """Return the first of a list that no text is split into, such as one with capitals; None if there is none.

    >>> never_written(("tea", "Tea"), 1), never_written(("tea",), 2), never_written(("green tea",), 2)
    ('Tea', 'tea', None)
    """
    return next((word for word in words if ngrams_of(words_of(word), n) != [word]), None)


def refuse_never_written(name: str, word: str | None) -> None:
    """Raise if a ``word`` is to be looked for that no text has: it would seem that nobody wrote it."""
    if word is not None:
        allowed = "words as texts are split: in lower case, n of them joined by single spaces where n are asked for"
        raise ParameterError(name, word, allowed=allowed, fix="write them as words_of does, or pass lists of words")
