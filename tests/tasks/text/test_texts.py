"""Texts as a column: split, put in a row and drawn from as a device does; what is no text is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import DomainError, ParameterError
from deniable.tasks.text import Bigrams, NewWords, NextWords, Terms, Texts, WordPairs, words_of
from deniable.tasks.text.texts import draw
from deniable.tasks.text.words import ngrams_of
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


QUESTIONS = {
    "terms": Terms(vocabulary=["a", "b", "c"], epsilon=1.0),
    "n-grams": Terms(vocabulary=["a b", "b c"], epsilon=1.0, ngram=2),
    "bigrams": Bigrams(vocabulary=["a", "b", "c"], epsilon=1.0),
    "pairs": WordPairs(vocabulary=["a", "b", "c"], epsilon=1.0),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_device_draws_what_the_column_draws_from_the_same_words(name):
    asked = QUESTIONS[name]
    for text in ["", "x", "a", "a b", "a x b", "b a b c a", "c b x a b c", "a a a"]:
        for key in "1234":
            [many] = asked.draw_many(Texts.of([text]), ReplaySource.from_key(key))
            assert many == asked.draw(text, ReplaySource.from_key(key))


def test_new_words_are_drawn_alike():
    asked = NewWords(known=["the", "tea"], longest=5, k=3, epsilon=1.0)
    texts = ["the tea", "", "the boba boba", "yerba or boba?", "unmistakably", "tea yerba", "crème brûlée"]
    source = ReplaySource.from_key("one after the other")
    assert asked.draw_many(texts, ReplaySource.from_key("one after the other")).to_pylist() == [asked.draw(text, source) for text in texts]
    assert {asked.draw("unmistakably tea"), asked.draw("")} == {""}  # too long, known, nothing: nothing new
    assert not asked.is_new("crème"[:4] + "éé")  # eight bytes


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
    asked = WordPairs(vocabulary=["a", "b", "c", "d"], epsilon=1.0)
    column = Texts(["a", "b", "c", "d"], np.tile([3, 0, 0, 1, 2], 60_000), np.arange(60_001) * 5)
    drawn = np.bincount(asked.draw_many(column, ReplaySource.from_key("pairs")), minlength=7)
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
    ("make", "message"),
    [
        (lambda: Bigrams(vocabulary=[], epsilon=1.0), "vocabulary.*one word or more"),
        (lambda: Bigrams(vocabulary=["a", "a"], epsilon=1.0), "vocabulary.*different"),
        (lambda: Bigrams(vocabulary="ab", epsilon=1.0), "vocabulary.*different"),
        (lambda: Bigrams(vocabulary={"a", "b"}, epsilon=1.0), "vocabulary.*in one order"),
        (lambda: Bigrams(vocabulary=7, epsilon=1.0), "vocabulary.*different"),
        (lambda: Bigrams(vocabulary=["\ud800"], epsilon=1.0), "vocabulary.*different"),
        (lambda: Terms(vocabulary=["a", ""], epsilon=1.0), "vocabulary.*not empty"),
        (lambda: Terms(vocabulary=["a"], epsilon=1.0, ngram=0), "ngram"),
        (lambda: WordPairs(vocabulary=["a"], epsilon=1.0), "two words or more"),
        (lambda: NewWords(k=0, epsilon=1.0), "k: got 0"),
        (lambda: NewWords(k=3, epsilon=1.0, longest=0), "max_length"),
        (lambda: NewWords(k=3, epsilon=-1.0), "epsilon"),
    ],
    ids=["none", "twice", "string", "set", "number", "half a character", "empty", "ngram", "one", "k", "longest", "epsilon"],
)
def test_settings_that_cannot_be_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize(
    "asked",
    [
        Terms(vocabulary=["Tea"], epsilon=1.0),
        Terms(vocabulary=["green tea"], epsilon=1.0),
        Terms(vocabulary=["tea"], epsilon=1.0, ngram=2),
        Bigrams(vocabulary=["tea", "Cup"], epsilon=1.0),
        WordPairs(vocabulary=["tea", "cafe\u0301"], epsilon=1.0),
        NewWords(known=["I"], k=2, longest=4, epsilon=1.0),
    ],
    ids=["capital", "two words", "one word", "pairs in a row", "accent", "known"],
)
def test_a_list_with_what_no_text_has_is_refused_for_texts(asked):
    """It would count as written by nobody, or as new. Whoever passes lists of words may spell as they like."""
    for ask in (asked.draw, lambda text: asked.run([text])):
        with pytest.raises(ParameterError, match="lower case"):
            ask("Tea")
        ask(["Tea"])


def test_an_empty_word_is_no_new_word():
    asked = NewWords(known={"tea", "i"}, k=2, longest=4, epsilon=1.0)
    assert asked.known == ("i", "tea")  # a set is put in order
    assert {asked.draw(["", "boba"]) for _ in range(40)} == {"boba"}
    assert set(asked.draw_many([["", "boba"]] * 40).to_pylist()) == {"boba"}


def test_one_word_is_a_vocabulary():
    asked = Bigrams(vocabulary=["ha"], epsilon=3.0, people=4000)
    table = asked.run(["ha ha", "hm"] * 2000, source=ReplaySource.from_key("ha"))
    assert isinstance(table, NextWords)
    assert table.shares.item() == pytest.approx(0.5, abs=0.06)  # five standard errors
    assert table.matrix.tolist() == [[1.0]]
    assert table.next_words("ha", 5).values == ["ha"]
    assert table.continued("ha", 3) == ["ha"] * 3
    with pytest.raises(DomainError, match="word: got 'hm'"):
        table.next_words("hm")
