"""Values read off bit by bit: planted values are found, ties have no favorite, privacy is exact, and crowds at the edge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.contract.fragment import Fragment
from deniable.core.run import ask
from deniable.errors import DomainError, ParameterError
from deniable.tasks.heavy_hitters.bitstogram import Bitstogram, most_frequent
from deniable.tasks.heavy_hitters.one_round import COUNT
from deniable.testing import ReplaySource
from tests.tasks.heavy_hitters.searches import (
    HEAVY,
    NUMBERS,
    PEOPLE,
    answers_hardly_anyone,
    crowd,
    finds,
    keeps_epsilon_exactly,
    of_every_kind,
    refuses_damage,
    resumes,
)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, 4),
        ({"functions": 3}, 4),
        ({"step_bits": 1}, 2),  # the paper's: 32 questions, each with a third of the people of four
        ({"oracle": "FLH"}, 4),
        ({"oracle": "HCMS"}, 2),
        ({"holdout": 0.5}, 3),
    ],
)
def test_planted_numbers_are_found_and_counted(options, wanted):
    finds(Bitstogram(bits=32, k=4, epsilon=4.0, people=PEOPLE, **options), NUMBERS, "numbers", HEAVY, wanted)


@of_every_kind
def test_values_of_every_kind(domain, heavy, other):
    search = Bitstogram(domain=domain, k=4, epsilon=5.0, people=PEOPLE)
    found = search.run(crowd(heavy, other), source=ReplaySource.from_key("kinds"))
    assert found.values == heavy


def test_values_that_share_a_cell_need_another_function():
    """With two cells and one function, four values cannot all be spelled; with twelve functions each is alone in some cell."""
    options = {"bits": 12, "k": 4, "epsilon": 6.0, "hash_bits": 1, "people": PEOPLE}
    values = crowd([11, 2222, 333, 4000], lambda i: i % 4096)
    one = Bitstogram(functions=1, **options).run(values, source=ReplaySource.from_key("cells"))
    many = Bitstogram(functions=12, **options).run(values, source=ReplaySource.from_key("cells"))
    assert len(set(one.values) & {11, 2222, 333, 4000}) <= 2
    assert set(many.values) == {11, 2222, 333, 4000}


def test_equal_counts_have_no_favorite():
    """Of bits that nobody reported about, half are one, whatever the position (4 sigma)."""
    spelled = np.array([most_frequent(np.zeros(512), 1, bytes([salt])) for salt in range(64)])
    assert abs(spelled.mean() - 0.5) < 4 * 0.5 / spelled.size**0.5
    assert most_frequent(np.array([1.0, 3.0, 2.0, 0.0, 0.0, 0.0, 0.0, 9.0]), 2, b"").tolist() == [1, 3]


def test_candidates_come_from_their_own_cell():
    """Noise spells something in every cell; hardly any of it hashes there, so that hardly any is counted."""
    search = Bitstogram(bits=32, k=4, epsilon=1.0, hash_bits=8, people=2000, threshold=0)
    values = [77_003 * i for i in range(2000)]
    tallies = ask(search, values, source=ReplaySource.from_key("noise"))
    spelled = list(search._read(search._spelling[0], tallies))
    assert len(spelled) < 12  # of 256 candidates each stays with probability 1/256: 12 do with probability 1e-9


@pytest.mark.parametrize(("oracle", "step", "functions"), [("auto", 1, 1), ("FLH", 1, 2), ("FLH", 2, 1)])
def test_the_whole_answer_keeps_epsilon_exactly(oracle, step, functions):
    options = {"bits": 2, "k": 1, "epsilon": 1.0, "hash_bits": 1, "people": 0}
    keeps_epsilon_exactly(Bitstogram(oracle=oracle, step_bits=step, functions=functions, **options), range(4))


@pytest.mark.parametrize(
    "options", [{}, {"threshold": 3.5, "salt": 2**64 - 1, "holdout": Fraction(1, 7)}, {"step_bits": 1, "functions": 2}]
)
def test_a_search_resumes_from_its_json(options):
    resumes(Bitstogram(**{"bits": 32, "k": 4, "epsilon": 4.0, "people": PEOPLE} | options), NUMBERS[::8])


def test_damaged_json_is_refused():
    refuses_damage(
        Bitstogram(bits=32, k=4, epsilon=4.0),
        (b'"functions":2', b'"functions":0'),
        (b'"hash_bits":6', b'"hash_bits":60'),
        (b'"holdout":"1/4"', b'"holdout":"2/8"'),
        (b'"holdout":"1/4"', b'"holdout":"5/4"'),
        (b'"holdout":"1/4"', b'"holdout":"1/0"'),
        (b'"step_bits":8', b'"step_bits":true'),
    )


@pytest.mark.parametrize("people", [0, 1, 2, 5])
@pytest.mark.parametrize("search", [Bitstogram(bits=64, k=3, epsilon=1.0), Bitstogram(domain=dn.Text(3), k=3, epsilon=1.0, step_bits=1)])
def test_hardly_anyone(search, people):
    answers_hardly_anyone(search, 2**64 - 1 if search.bits == 64 else "é", people)


def test_one_bit_and_everyone_alike():
    search = Bitstogram(bits=1, k=2, epsilon=3.0, people=2000)
    assert search.run([1] * 1500 + [0] * 500, source=ReplaySource.from_key("bit")).values == [1, 0]
    for options in ({}, {"oracle": "HCMS"}, {"step_bits": 1}):
        alike = Bitstogram(bits=20, k=5, epsilon=3.0, people=5000, **options)
        assert alike.run([2**20 - 1] * 5000, source=ReplaySource.from_key("alike")).values[0] == 2**20 - 1


def test_defaults_follow_the_crowd():
    """Two functions where noise is small; cells for 16 k values; steps as long as what is listed allows."""
    assert Bitstogram(bits=48, k=10, epsilon=4.0, people=10**6).functions == 2
    assert Bitstogram(bits=48, k=10, epsilon=1.0, people=10**4).functions == 1
    many = Bitstogram(bits=48, k=1000, epsilon=4.0)
    assert (many.hash_bits, many.step_bits) == (14, 6)
    assert sum(question.share for question in many.open().questions) == 1
    assert {question.encoder.salt for question in many.open().questions if question.name != COUNT} == {0}
    assert len({question.spec.salt for question in Bitstogram(bits=32, k=4, epsilon=1.0, oracle="CMS").open().questions}) == 5
    assert isinstance(many.open().questions[0].encoder, Fragment)


@pytest.mark.parametrize(
    "options",
    [
        {"bits": 0},
        {"k": 0},
        {"k": 2**17},
        {"epsilon": -1.0},
        {"oracle": "OLH"},
        {"hash_bits": 0},
        {"hash_bits": 20},
        {"step_bits": 0},
        {"step_bits": 16},
        {"functions": 0},
        {"functions": 400, "step_bits": 1},
        {"holdout": 0},
        {"holdout": 1.0},
        {"holdout": float("nan")},
        {"holdout": "1/4"},
        {"holdout": 1e-9},
        {"threshold": -1},
        {"domain": dn.Text(9000), "bits": None, "step_bits": 8},
    ],
)
def test_bad_parameters_are_named(options):
    with pytest.raises(ParameterError) as caught:
        Bitstogram(**{"bits": 32, "k": 4, "epsilon": 1.0} | options)
    assert any(name in caught.value.parameter for name in (*options, "hash_bits"))


def test_bad_values_are_refused():
    search = Bitstogram(bits=8, k=2, epsilon=1.0)
    with pytest.raises(DomainError):
        search.run([1, 256])
