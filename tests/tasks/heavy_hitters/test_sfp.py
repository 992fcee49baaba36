"""The sequence fragment puzzle and the encoder of its pieces: planted words are found, privacy is exact, and crowds at the edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.contract.codes import code_bits, code_of
from deniable.contract.encoder import ENCODERS, encoder_from_json
from deniable.contract.fragment import Fragment
from deniable.contract.hashing import HashFamily, public_function
from deniable.contract.question import Question
from deniable.errors import DomainError, ParameterError, WireError
from deniable.tasks.heavy_hitters.prefixes import LARGEST_LIST
from deniable.tasks.heavy_hitters.sfp import SFP, puzzled, symbols_of
from deniable.testing import ReplaySource
from tests.tasks.heavy_hitters.searches import (
    PEOPLE,
    WORDS,
    answers_hardly_anyone,
    crowd,
    finds,
    keeps_epsilon_exactly,
    refuses_damage,
    resumes,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz"
PLAIN = ["tea", "coffee", "mate", ""]


# --- the encoder ---


@given(
    st.integers(0, 63), st.integers(1, 64), st.integers(0, 31), st.integers(0, 2**64 - 1), st.lists(st.integers(0, 2**64 - 1), max_size=5)
)
def test_numbers_are_cut_alike_one_by_one_and_in_bulk(start, length, hash_bits, salt, values):
    domain = dn.Integers(0, 2**64 - 1)
    encoder = Fragment(domain, start, min(length, 64 - start, 64 - hash_bits), hash_bits, salt, salt % 7)
    found = encoder.encode_many(np.array(values, dtype=np.uint64), None)
    assert found.tolist() == [encoder.encode(value, None) for value in values]
    assert encoder_from_json(encoder.to_json()) == encoder
    for value, piece in zip(values, found.tolist(), strict=True):
        bits = f"{value:064b}"
        assert piece & (1 << encoder.length) - 1 == int(bits[start : start + encoder.length], 2)
        if hash_bits:
            family = HashFamily(key_bits=64, range=1 << hash_bits, shared=True)
            assert piece >> encoder.length == family.symbol(public_function(salt, salt % 7), value)


@pytest.mark.parametrize("domain", [dn.Text(9), dn.Bytes(5), dn.Integers(-5, 10**6), dn.IndexRange(2), dn.Categories("tea", "maté", "x")])
def test_other_values_are_cut_alike_one_by_one_and_in_bulk(domain):
    kinds = {"text": ["", "tea", "日本茶", "tea"], "bytes": [b"", b"\x80\x00", b"12345"], "categories": ["tea", "maté", "x", "tea"]}
    values = kinds.get(domain.kind, [0, 1, 1])
    bits = code_bits(domain)
    for start, length in ((0, 1), (bits // 2, min(bits - bits // 2, 40)), (bits - 1, 1)):
        encoder = Fragment(domain, start, length, hash_bits=8)
        assert encoder.encode_many(values, None).tolist() == [encoder.encode(value, None) for value in values]
        assert encoder.encode_many([], None).tolist() == []
        assert encoder_from_json(encoder.to_json()) == encoder


def test_fragments_make_up_the_code():
    pieces = [Fragment(dn.Text(6), start, 16).encode("maté", None) for start in (0, 16, 32)]
    assert pieces[0] << 32 | pieces[1] << 16 | pieces[2] == code_of(dn.Text(6), "maté")
    question = Question(name="a", spec=dn.GRR(domain_size=4, epsilon=1.0), encoder=Fragment(dn.Integers(0, 3), 0, 2))
    assert Question.from_json(question.to_json()) == question
    assert "Fragment" in ENCODERS


@pytest.mark.parametrize(
    ("parameter", "arguments"),
    [
        ("domain", ("text", 0, 1)),
        *(("start", (dn.Integers(0, 15), start, 1)) for start in (-1, 4)),
        *(("length", (dn.Integers(0, 15), 0, length)) for length in (0, 5, True)),
        ("length", (dn.Text(9), 0, 57, 8)),
        ("hash_bits", (dn.Text(9), 0, 1, 32)),
        ("salt", (dn.Text(9), 0, 1, 8, 2**64)),
        ("function", (dn.Text(9), 0, 1, 8, 0, -1)),
    ],
)
def test_fragments_that_cannot_be_are_refused(parameter, arguments):
    with pytest.raises(ParameterError) as caught:
        Fragment(*arguments)
    assert caught.value.parameter == parameter


def test_damaged_encoders_are_refused():
    plain = Fragment(dn.Text(9), 8, 8, 8).to_json()
    for change in ({"start": "8"}, {"length": 100}, {"salt": "0"}, {"hash_bits": 0.5}, {"domain": {}}, {"more": 1}):
        with pytest.raises(WireError):
            encoder_from_json(plain | change)


# --- the search ---


@pytest.mark.parametrize(
    "options",
    [
        {},  # the CS208 notes: a hash and one symbol
        {"cohorts": 2, "hash_bits": 10},
        {"alphabet": LETTERS},  # Apple's: two symbols
        {"alphabet": LETTERS, "oracle": "HCMS", "keep": 20},
        {"alphabet": LETTERS, "fragment": 1},
    ],
)
def test_planted_words_are_found_and_counted(options):
    search = SFP(domain=dn.Text(6), k=4, epsilon=5.0, people=PEOPLE, **options)
    assert search.fragment == (2 if "alphabet" in options and "fragment" not in options else 1)
    finds(search, crowd(PLAIN, lambda i: f"w{i % 9000}"), "words", PLAIN, 2 if options.get("oracle") == "HCMS" else 4)


@pytest.mark.parametrize(
    ("domain", "heavy", "options"),
    [
        (dn.Text(7), WORDS, {}),
        (dn.Text(7), WORDS, {"alphabet": LETTERS + "é"}),
        (dn.Text(9), ["日本茶", "お茶", "茶", "tea"], {}),
        (dn.Bytes(4), [b"", b"\x80", b"\x00\x00", b"\xff\xff\xff\xff"], {}),
        (dn.Bytes(4), [b"ab", b"\x80b", b"aa", b"b"], {"alphabet": b"ab"}),
    ],
)
def test_words_of_every_kind(domain, heavy, options):
    """Not ASCII, empty, an odd number of bytes, bytes that look like padding."""
    search = SFP(domain=domain, k=4, epsilon=6.0, people=PEOPLE, **options)
    other = (lambda i: f"w{i % 9000}") if isinstance(domain, dn.Text) else (lambda i: (i % 9000).to_bytes(2, "big"))
    assert search.run(crowd(heavy, other), source=ReplaySource.from_key("kinds")).values == heavy


def test_pieces_are_puzzled_by_their_hash():
    """Hash 1 has two pieces at the second position, hash 2 none, and 3 none at the first."""
    pieces = [[(9.0, 1, 0x74), (5.0, 2, 0x63)], [(8.0, 1, 0x65), (7.0, 1, 0x61), (6.0, 3, 0x61)]]
    assert sorted(puzzled(pieces, [8, 8], b"")) == [(1, 0x7461), (1, 0x7465)]
    assert puzzled([[], [(1.0, 1, 1)]], [8, 8], b"") == []


def test_too_many_puzzles_keep_those_with_the_strongest_weakest_piece():
    """A true word of 100 holders survives 8^6 combinations in which pieces of a more frequent one are mixed with noise."""
    strong = [[(1000.0, 1, 0)] + [(10.0 + i, 1, i) for i in range(1, 8)] for _ in range(6)]
    words = puzzled([[*position, (100.0, 2, 9)] for position in strong], [8] * 6, b"")
    assert len(words) == LARGEST_LIST
    assert (2, int.from_bytes(b"\x09" * 6, "big")) in words
    assert (1, 0) in words


def test_alphabets_hold_what_fills_a_code():
    assert symbols_of("ba", dn.Text(3)) == b"ab\xff"
    assert symbols_of(b"ba", dn.Bytes(3)) == b"\x00ab\x80"
    assert SFP(domain=dn.Text(3), k=1, epsilon=1.0, alphabet="ab") == SFP(domain=dn.Text(3), k=1, epsilon=1.0, alphabet="bba")


@pytest.mark.parametrize(("domain", "values"), [(dn.Text(1), ["", "a", "b"]), (dn.Bytes(1), [b"", b"\x00", b"\x80"])])
@pytest.mark.parametrize("cohorts", [1, 2])
def test_the_whole_answer_keeps_epsilon_exactly(domain, values, cohorts):
    keeps_epsilon_exactly(SFP(domain=domain, k=1, epsilon=1.0, oracle="FLH", hash_bits=1, cohorts=cohorts, people=0), values)


@pytest.mark.parametrize("options", [{}, {"alphabet": "té", "threshold": 2, "salt": 2**63}, {"cohorts": 3, "holdout": 0.3, "keep": 50}])
def test_a_search_resumes_from_its_json(options):
    search = SFP(**{"domain": dn.Text(6), "k": 4, "epsilon": 5.0, "people": PEOPLE} | options)
    resumes(search, crowd(WORDS, lambda i: f"w{i % 9000}")[::8])


def test_damaged_json_is_refused():
    refuses_damage(
        SFP(domain=dn.Text(6), k=4, epsilon=5.0, alphabet="ab"),
        *((b'"alphabet":"6162ff"', b'"alphabet":' + other) for other in (b'"62"', b'"6261ff"', b"7")),
        (b'"fragment":2', b'"fragment":3'),
        (b'"cohorts":1', b'"cohorts":0'),
        (b'"hash_bits":8', b'"hash_bits":9'),
        (b'"kind":"text"', b'"kind":"index"'),
    )


@pytest.mark.parametrize(("options", "people"), [({}, 0), ({}, 1), ({}, 5), ({"alphabet": "é"}, 2), ({"cohorts": 4}, 2)])
def test_hardly_anyone(options, people):
    answers_hardly_anyone(SFP(domain=dn.Text(5), k=3, epsilon=1.0, **options), "é", people)


@pytest.mark.parametrize("word", ["", "x", "日本"])
def test_everyone_alike(word):
    search = SFP(domain=dn.Text(6), k=5, epsilon=3.0, people=5000)
    assert search.run([word] * 5000, source=ReplaySource.from_key("alike")).values[0] == word


BAD = {"domain": [dn.Integers(0, 9), dn.Text(3000), None], "fragment": [0, 3], "hash_bits": [0, 17], "cohorts": [0, 100], "keep": [0]}
BAD |= {"bits": [8], "k": [0], "epsilon": [0], "oracle": ["OLH"], "alphabet": [["a"]], "holdout": [1], "threshold": [float("inf")]}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_bad_parameters_are_named(name, value):
    with pytest.raises(ParameterError) as caught:
        SFP(**{"domain": dn.Text(6), "k": 4, "epsilon": 1.0} | {name: value})
    assert name in caught.value.parameter or value == dn.Text(3000)  # too many positions: cohorts are named


def test_bad_values_are_refused():
    search = SFP(domain=dn.Text(6), k=2, epsilon=1.0)
    with pytest.raises(DomainError):
        search.run(["tea", "too long a word"])
