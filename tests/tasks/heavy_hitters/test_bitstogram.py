"""Values read off bit by bit: planted values are found, ties have no favorite, privacy is exact, and crowds at the edge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.contract.fragment import Fragment
from deniable.contract.probability import exp_below
from deniable.contract.protocol import protocol_from_json
from deniable.core.run import ask, draw_tickets
from deniable.core.tally import Tally
from deniable.errors import DomainError, ParameterError, ProtocolError, WireError
from deniable.tasks.heavy_hitters.bitstogram import Bitstogram, most_frequent
from deniable.tasks.heavy_hitters.one_round import COUNT
from deniable.testing import ReplaySource, law_of
from tests.tasks.heavy_hitters.test_tree_hist import HEAVY, NUMBERS, PEOPLE, WORDS, crowd

RESULT = "heavy_hitters"


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
    search = Bitstogram(bits=32, k=4, epsilon=4.0, people=PEOPLE, **options)
    found = search.run(NUMBERS, source=ReplaySource.from_key("numbers"))[RESULT]
    assert found.values[:wanted] == HEAVY[:wanted]
    assert set(found.values) <= set(HEAVY)
    assert found.frequencies[0] == pytest.approx(0.25, abs=5 * float(found.frequency_stderr[0]))


@pytest.mark.parametrize(
    ("domain", "heavy", "other"),
    [
        (dn.Text(6), WORDS, lambda i: f"w{i % 9000}"),
        (dn.Bytes(4), [b"", b"\x80", b"\x00\x00", b"\xff\xff\xff\xff"], lambda i: (i % 9000).to_bytes(4, "big")),
        (dn.Integers(0, 2**64 - 1), [2**64 - 1, 0, 2**63, 5], lambda i: 2**50 + (i << 20)),
        (dn.Text(12), [word * 2 for word in WORDS], lambda i: f"long{i % 9000}"),
        (dn.Integers(-5, 1000), [-5, 1000, 0, 3], lambda i: i % 900),
    ],
    ids=lambda x: str(x)[:12] if isinstance(x, dn.Text | dn.Bytes | dn.Integers) else "",
)
def test_values_of_every_kind(domain, heavy, other):
    search = Bitstogram(domain=domain, k=4, epsilon=5.0, people=PEOPLE)
    found = search.run(crowd(heavy, other), source=ReplaySource.from_key("kinds"))[RESULT]
    assert found.values == heavy


def test_values_that_share_a_cell_need_another_function():
    """With two cells and one function, four values cannot all be spelled; with twelve functions each is alone in some cell."""
    options = {"bits": 12, "k": 4, "epsilon": 6.0, "hash_bits": 1, "people": PEOPLE}
    values = crowd([11, 2222, 333, 4000], lambda i: i % 4096)
    one = Bitstogram(functions=1, **options).run(values, source=ReplaySource.from_key("cells"))[RESULT]
    many = Bitstogram(functions=12, **options).run(values, source=ReplaySource.from_key("cells"))[RESULT]
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
    """The law of ticket, hash, bit and mechanism together, for any two values."""
    options = {"bits": 2, "k": 1, "epsilon": 1.0, "hash_bits": 1, "people": 0}
    search = Bitstogram(oracle=oracle, step_bits=step, functions=functions, **options)

    def answer(value, source):
        question = search.question(search.ticket(source))
        return question.name, question.answer(value, source)

    laws = [law_of(lambda source, value=value: answer(value, source)) for value in range(4)]
    assert all(law.total == 1 for law in laws)
    worst = max(a.ratio(b) for a in laws for b in laws)
    assert worst == max(question.spec.ratio for question in search.open().questions)
    assert worst <= exp_below(1.0) * (1 + Fraction(1, 2**40))
    assert search.guarantee.epsilon == 1.0


@pytest.mark.parametrize(
    "options", [{}, {"threshold": 3.5, "salt": 2**64 - 1, "holdout": Fraction(1, 7)}, {"step_bits": 1, "functions": 2}]
)
def test_a_search_resumes_from_its_json(options):
    search = Bitstogram(**{"bits": 32, "k": 4, "epsilon": 4.0, "people": PEOPLE} | options)
    again = protocol_from_json(search.canonical)
    assert again == search
    assert again.open() == search.open()
    source, other = ReplaySource.from_key("resume"), ReplaySource.from_key("resume")
    values = NUMBERS[::8]
    direct = search.run(values, source=source)[RESULT]
    tallies = ask(again, values, draw_tickets(again, len(values), other), source=other)
    stored = {name: Tally.from_bytes(tally.to_bytes()) for name, tally in tallies.items()}
    later = protocol_from_json(again.canonical).close(stored)[RESULT]
    assert later.values == direct.values
    assert later.counts.tolist() == direct.counts.tolist()


def test_damaged_json_is_refused():
    canonical = Bitstogram(bits=32, k=4, epsilon=4.0).canonical
    for old, new in (
        (b'"functions":2', b'"functions":0'),
        (b'"hash_bits":6', b'"hash_bits":60'),
        (b'"holdout":"1/4"', b'"holdout":"2/8"'),
        (b'"holdout":"1/4"', b'"holdout":"5/4"'),
        (b'"holdout":"1/4"', b'"holdout":"1/0"'),
        (b'"step_bits":8', b'"step_bits":true'),
    ):
        damaged = canonical.replace(old, new)
        assert damaged != canonical
        with pytest.raises(WireError):
            protocol_from_json(damaged)


@pytest.mark.parametrize("people", [0, 1, 2, 5])
@pytest.mark.parametrize("search", [Bitstogram(bits=64, k=3, epsilon=1.0), Bitstogram(domain=dn.Text(3), k=3, epsilon=1.0, step_bits=1)])
def test_hardly_anyone(search, people):
    """Fewer people than questions: nothing stands out, and the result says so."""
    values = [2**64 - 1 if search.bits == 64 else "é"] * people
    found = search.run(values, source=ReplaySource.from_key("few"))[RESULT]
    assert len(found.values) == found.counts.size <= 1
    assert found.n <= people
    assert repr(found)


def test_one_bit_and_everyone_alike():
    search = Bitstogram(bits=1, k=2, epsilon=3.0, people=2000)
    assert search.run([1] * 1500 + [0] * 500, source=ReplaySource.from_key("bit"))[RESULT].values == [1, 0]
    for options in ({}, {"oracle": "HCMS"}, {"step_bits": 1}):
        alike = Bitstogram(bits=20, k=5, epsilon=3.0, people=5000, **options)
        assert alike.run([2**20 - 1] * 5000, source=ReplaySource.from_key("alike"))[RESULT].values[0] == 2**20 - 1


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


def test_bad_values_and_tallies_are_refused():
    search = Bitstogram(bits=8, k=2, epsilon=1.0)
    with pytest.raises(DomainError):
        search.run([1, 256])
    with pytest.raises(ProtocolError):
        search.close({})
