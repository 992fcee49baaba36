"""Texts as a column: split, put in a row and drawn from as a device does, from the same random words; what is no text is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from deniable.contract.domain import Text
from deniable.contract.encoder import Prefix
from deniable.contract.texts import DrawnBigram, DrawnPair, DrawnTerm, NewWord
from deniable.contract.words import ngrams_of, words_of
from deniable.core.texts import Texts, draw, new_words
from deniable.errors import DomainError, ParameterError
from deniable.testing import ReplaySource

ODD = [
    "Ὀδυσσεύς ΟΔΥΣΣΕΥΣ",
    "",
    "...",
    "it’s rock'n'roll 7",
    "ǅ İstanbul",
    "a\nb\tc",
    "a a a a",
    "\u0301e",
    "cafe\u0301s e",
    "a\0b",
    "\ud800 x",
]
"""Letters whose lower case depends on what follows, no words, apostrophes, other space than blanks, marks, a zero, half a character."""


class Written(str):
    """A string, as some libraries have them."""


def words_by_person(column):
    return [[column.labels[code] for code in column.codes[a:b]] for a, b in zip(column.offsets[:-1], column.offsets[1:], strict=True)]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_column_is_split_as_each_text_is(n):
    assert words_by_person(Texts.of(ODD).ngrams(n)) == [ngrams_of(words_of(text), n) for text in ODD]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ที่นี่ กำลัง", ["ที่นี่", "กำลัง"]),
        ("مُحَمَّد", ["مُحَمَّد"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("Cafe\u0301 CAFÉ", ["café", "café"]),
        ("one\0two", ["one", "two"]),
    ],
    ids=["vowel signs", "tone marks", "short vowels", "joiner", "accents", "zero"],
)
def test_words_keep_their_marks_and_have_one_spelling(text, words):
    assert words_of(text) == words


def test_columns_of_every_kind_hold_the_same():
    lists = [["tea", "milk"], [], ["tea"]]
    whole = ["tea milk", "", "tea"]
    columns = [lists, pa.array(lists), pl.Series(lists), whole, tuple(whole), pa.array(whole), pl.Series(whole), np.array(whole)]
    columns += [[Written(text) for text in whole], [[Written(word) for word in words] for words in lists]]
    assert [words_by_person(Texts.of(column)) for column in columns] == [lists] * len(columns)
    assert len(Texts.of([])) == 0


ENCODERS = {
    "terms": DrawnTerm(("a", "b", "c")),
    "n-grams": DrawnTerm(("a b", "b c"), 2),
    "bigrams": DrawnBigram(("a", "b", "c")),
    "pairs": DrawnPair(("a", "b", "c")),
    "new": NewWord(Prefix(Text(3), 8), ("x", "a")),
    "new among candidates": NewWord(Prefix(Text(3), 24, (0x62FFFF, 0x63FFFF)), ("x",)),
    "new in a row": NewWord(Prefix(Text(3), 24, (0x612062,)), ("b a",), 2),
    "long": NewWord(Prefix(Text(9), 72)),
}
TEXTS = ["", "x", "a", "a b", "a x b", "b a b c a", "c b x a b c", "a a a", "unmistakably", "b", "c b a c"]


@pytest.mark.parametrize("name", ENCODERS)
def test_many_devices_draw_what_each_draws_from_the_same_words(name):
    """One source for all, so that nobody may use more or fewer words than the device does; and rows of a larger column, in any order."""
    encoder, people = ENCODERS[name], TEXTS * 20
    one, many, picked = (ReplaySource.from_key(name) for _ in range(3))
    expected = [encoder.encode(text, one) for text in people]
    assert list(encoder.encode_many(people, many)) == expected
    assert many.consumed == one.consumed
    column = encoder.column(["other words", *people, "more"])
    assert list(encoder.encode_many(column[np.arange(1, len(people) + 1)], picked)) == expected
    assert len(set(expected)) > 1
    assert len(encoder.encode_many([], many)) == 0


def test_rows_of_a_column_are_those_people_s_words():
    column = Texts.of(ODD)
    assert words_by_person(column[[3, 0, 3]]) == [words_of(ODD[place]) for place in (3, 0, 3)]
    assert words_by_person(column[2:5]) == [words_of(text) for text in ODD[2:5]]
    assert (len(column[[]]), column[[]].written) == (0, True)


def test_new_words_are_drawn_alike():
    encoder = NewWord(Prefix(Text(5), 8), ("the", "tea"))
    texts = ["the tea", "", "the boba boba", "yerba or boba?", "unmistakably", "tea yerba", "crème brûlée"]
    source, again = ReplaySource.from_key("one after the other"), ReplaySource.from_key("one after the other")
    assert new_words(encoder, Texts.of(texts), again).to_pylist() == [encoder.draw(text, source) for text in texts]
    assert {encoder.draw("unmistakably tea", source), encoder.draw("", source)} == {""}  # too long, known, nothing: nothing new
    assert not encoder.is_new("crème"[:4] + "éé")  # eight bytes


def test_every_item_is_drawn_as_often_as_another():
    """60,000 draws from three: a share beyond 5.5 standard errors happens once in 10^7. A twin that forgets the last one is rejected."""
    offsets, items = np.arange(60_001) * 3, np.tile([4, 5, 6], 60_000)
    drawn = draw(offsets, items, 9, ReplaySource.from_key("even"))
    reach = 5.5 * np.sqrt(60_000 * 2 / 9)
    assert np.abs(np.bincount(drawn, minlength=7)[4:] - 20_000).max() < reach
    twin = draw(np.arange(60_001) * 2, np.tile([4, 5], 60_000), 9, ReplaySource.from_key("even"))
    assert np.abs(np.bincount(twin, minlength=7)[4:] - 20_000).max() > reach


def test_pairs_are_drawn_evenly_and_never_of_one_word():
    """Six pairs of four words, among 60,000 people: 10,000 each, within 5.5 standard errors."""
    encoder = DrawnPair(("a", "b", "c", "d"))
    column = Texts(["a", "b", "c", "d"], np.tile([3, 0, 0, 1, 2], 60_000), np.arange(60_001) * 5)
    drawn = np.bincount(encoder.encode_many(column, ReplaySource.from_key("pairs")), minlength=7)
    assert drawn[6] == 0
    assert np.abs(drawn[:6] - 10_000).max() < 5.5 * np.sqrt(60_000 * 5 / 36)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("one text", "texts: got 'str'"),
        (["fine", None], r"texts\[1\]: got None"),
        (["fine", ["not", "alike"]], r"texts\[1\]"),
        ([["fine"], ["fine", 7]], r"texts\[1\]: got 7"),
        ([["fine"], ["fine", "\ud800"]], r"texts\[1\]"),
    ],
    ids=["string", "missing", "mixed", "number", "half a character"],
)
def test_what_is_no_text_is_refused(column, message):
    with pytest.raises(DomainError, match=message):
        Texts.of(column)


@pytest.mark.parametrize(
    "encoder",
    [
        DrawnTerm(("Tea",)),
        DrawnTerm(("green tea",)),
        DrawnTerm(("tea",), 2),
        DrawnBigram(("tea", "Cup")),
        DrawnPair(("tea", "cafe\u0301")),
        NewWord(Prefix(Text(4), 8), ("I",)),
    ],
    ids=["capital", "two words", "one word", "pairs in a row", "accent", "known"],
)
def test_a_list_with_what_no_text_has_is_refused_for_texts(encoder):
    """It would count as written by nobody, or as new. Lists of words may be spelled in any way."""
    for ask in (lambda value: encoder.encode(value, ReplaySource.from_key("one")), lambda value: encoder.column([value])):
        with pytest.raises(ParameterError, match="lower case"):
            ask("Tea")
        ask(["Tea"])


def test_an_empty_word_is_no_new_word():
    encoder, source = NewWord(Prefix(Text(4), 32), ("i", "tea")), ReplaySource.from_key("empty")
    assert {encoder.draw(["", "boba"], source) for _ in range(40)} == {"boba"}
    assert set(new_words(encoder, Texts.of([["", "boba"]] * 40), source).to_pylist()) == {"boba"}


def test_marks_beyond_thirty_in_a_row_are_left_out_of_one_text_and_of_many():
    """Putting n marks in order takes n^2 steps: a text of 200 kB took a device 26 s, and with it a whole crowd in memory."""
    crowded, most = "a" + "\u0327\u0301" * 40_000 + " tea", "a" + "\u0327\u0301" * 15
    assert words_of(crowded) == words_of(most + " tea") == [words_of(most)[0], "tea"]
    assert 15 < len(words_of(crowded)[0]) <= 31
    column = Texts.of([crowded, "Zoe\u0308", most])
    assert [column.labels[code] for code in column.codes] == [*words_of(crowded), "zoë", *words_of(most)]
