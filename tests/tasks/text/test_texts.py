"""Texts as a column: split, put in a row and drawn from as a device does; what is no text is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import DomainError, ParameterError
from deniable.tasks.text import Bigrams, NewWords, NextWords, Terms, Texts, WordPairs, words_of
from deniable.tasks.text.texts import draw, ngrams_of
from deniable.testing import ReplaySource

ODD = ["Ὀδυσσεύς ΟΔΥΣΣΕΥΣ", "", "...", "it’s rock'n'roll 7", "ǅ İstanbul", "a\nb\tc", "a a a a"]
"""Letters whose lower case depends on what follows, no words, apostrophes, and other space than blanks."""


def words_by_person(column):
    return [[column.labels[code] for code in column.codes[a:b]] for a, b in zip(column.offsets[:-1], column.offsets[1:], strict=True)]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_column_is_split_as_each_text_is(n):
    assert words_by_person(Texts.of(ODD).ngrams(n)) == [ngrams_of(words_of(text), n) for text in ODD]


def test_columns_of_every_kind_hold_the_same():
    lists = [["tea", "milk"], [], ["tea"]]
    whole = ["tea milk", "", "tea"]
    columns = [lists, pa.array(lists), pl.Series(lists), whole, tuple(whole), pa.array(whole), pl.Series(whole), np.array(whole)]
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
        (["fine", "not\0fine"], r"texts\[1\].*zero"),
    ],
    ids=["string", "missing", "mixed", "number", "zero"],
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
        (lambda: Terms(vocabulary=["a", ""], epsilon=1.0), "vocabulary.*not empty"),
        (lambda: Terms(vocabulary=["a"], epsilon=1.0, ngram=0), "ngram"),
        (lambda: WordPairs(vocabulary=["a"], epsilon=1.0), "two words or more"),
        (lambda: NewWords(k=0, epsilon=1.0), "k: got 0"),
        (lambda: NewWords(k=3, epsilon=1.0, longest=0), "max_length"),
        (lambda: NewWords(k=3, epsilon=-1.0), "epsilon"),
    ],
    ids=["none", "twice", "string", "empty", "ngram", "one", "k", "longest", "epsilon"],
)
def test_settings_that_cannot_be_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_one_word_is_a_vocabulary():
    asked = Bigrams(vocabulary=["ha"], epsilon=3.0, people=4000)
    table = asked.run(["ha ha", "hm"] * 2000, source=ReplaySource.from_key("ha"))
    assert isinstance(table, NextWords)
    assert table.shares.item() == pytest.approx(0.5, abs=0.06)  # five standard errors
    assert table.matrix.tolist() == [[1.0]]
    assert table.next_words("ha", 5).words == ["ha"]
    assert table.continued("ha", 3) == ["ha"] * 3
    with pytest.raises(DomainError, match="word: got 'hm'"):
        table.next_words("hm")
