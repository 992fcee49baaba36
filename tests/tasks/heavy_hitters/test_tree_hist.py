"""The tree of prefixes in one round: planted values are found, levels are not mixed, privacy is exact, and crowds at the edge."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.client import FLH, HCMS
from deniable.contract.codes import code_bits
from deniable.contract.question import Question
from deniable.contract.spec import MECHANISMS
from deniable.errors import DomainError, ParameterError
from deniable.tasks.heavy_hitters.one_round import oracle_for, standing_out
from deniable.tasks.heavy_hitters.prefixes import extended, strongest
from deniable.tasks.heavy_hitters.tree_hist import TreeHist
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


@pytest.mark.parametrize("oracle", ["auto", "FLH", "CMS", "HCMS"])
@pytest.mark.parametrize("step", [None, 4])
def test_planted_numbers_are_found_and_counted(oracle, step):
    search = TreeHist(bits=32, k=4, epsilon=4.0, oracle=oracle, step_bits=step, people=PEOPLE)
    wanted = 4 if oracle in ("auto", "FLH", "CMS") and step is None else 2  # one bit, or more levels: less is certain
    found = finds(search, NUMBERS, f"numbers/{oracle}/{step}", HEAVY, wanted)
    assert sorted(-found.counts) == (-found.counts).tolist()


@of_every_kind
def test_values_of_every_kind(domain, heavy, other):
    search = TreeHist(domain=domain, k=4, epsilon=5.0, people=PEOPLE)
    assert search.bits == code_bits(domain)
    found = search.run(crowd(heavy, other), source=ReplaySource.from_key("kinds"))
    assert found.values == heavy


def test_every_level_has_a_sketch_of_its_own():
    """The evil twin sums all levels into one sketch, as pure-ldp does: every level then has the noise of all people, and it finds fewer."""
    search = TreeHist(bits=32, k=4, epsilon=1.0, oracle="HCMS", step_bits=8, keep=8, people=PEOPLE)
    salts = {question.spec.salt for question in search.open().questions}
    assert len(salts) == 4
    honest, mixed = 0, 0
    for run in range(5):
        honest += len(set(search.run(NUMBERS, source=ReplaySource.from_key(f"levels/{run}")).ranked.values) & set(HEAVY))
        spec = HCMS(domain=dn.Integers(0, 2**33 - 1), epsilon=1.0, hashes=256)
        source = ReplaySource.from_key(f"mixed/{run}")
        lengths = 8 + 8 * np.array([source.below(4) for _ in NUMBERS])
        reported = (1 << lengths) | (np.array(NUMBERS) >> (32 - lengths))  # a leading one tells the levels apart
        tally = spec.tally(spec.privatize(reported, source=source))
        kept = (0,)
        for length in (8, 16, 24, 32):
            children = extended(kept, 8)
            asked = [1 << length | child for child in children]
            most, false = (8, 1.0) if length < 32 else (4, 0.05)
            _, best = standing_out(Question(name="mixed", spec=spec), tally, asked, threshold=None, most=most, false=false)
            kept = tuple(children[i] for i in best)
        mixed += len(set(kept) & set(HEAVY))
    assert honest >= 10
    assert mixed <= honest // 2


@pytest.mark.parametrize(("oracle", "step"), [("auto", 1), ("FLH", 1), ("FLH", 2), ("auto", None)])
def test_the_whole_answer_keeps_epsilon_exactly(oracle, step):
    keeps_epsilon_exactly(TreeHist(bits=2, k=1, epsilon=1.0, oracle=oracle, step_bits=step, people=0), range(4))


@pytest.mark.parametrize("options", [{}, {"threshold": 3, "salt": 2**64 - 1, "oracle": "CMS"}, {"step_bits": 1}, {"people": 10**15}])
def test_a_search_resumes_from_its_json(options):
    resumes(TreeHist(**{"bits": 32, "k": 4, "epsilon": 4.0, "people": PEOPLE} | options), NUMBERS[::8])


def test_damaged_json_is_refused():
    refuses_damage(
        TreeHist(bits=32, k=4, epsilon=4.0),
        (b'"keep":8', b'"keep":0'),
        (b'"lengths":[11,19,27,32]', b'"lengths":[]'),
        (b'"lengths":[11,19,27,32]', b'"lengths":[11,19,27]'),
        (b'"lengths":[11,19,27,32]', b'"lengths":[19,11,27,32]'),
        (b'"lengths":[11,19,27,32]', b'"lengths":[true,11,19,27,32]'),
        (b'"oracle":"auto"', b'"oracle":"OLH"'),
        (b'"salt":0', b'"salt":"0"'),
        (b'"salt":0', b'"salt":0,"threshold":"nan"'),
        (b'"salt":0', b'"salt":0,"threshold":"3"'),
    )


@pytest.mark.parametrize("people", [0, 1, 2, 5])
@pytest.mark.parametrize("search", [TreeHist(bits=64, k=3, epsilon=1.0, people=0), TreeHist(domain=dn.Text(3), k=3, epsilon=1.0, people=0)])
def test_hardly_anyone(search, people):
    answers_hardly_anyone(search, 2**64 - 1 if search.bits == 64 else "é", people)


def test_one_bit_and_everyone_alike():
    search = TreeHist(bits=1, k=2, epsilon=2.0, people=2000)
    assert search.lengths == (1,)
    assert search.run([1] * 1500 + [0] * 500, source=ReplaySource.from_key("bit")).values == [1, 0]
    assert search.run([1] * 2000, source=ReplaySource.from_key("bit")).values == [1]
    for options in ({}, {"oracle": "HCMS"}, {"step_bits": 2}):
        alike = TreeHist(bits=20, k=5, epsilon=3.0, people=5000, **options)
        found = alike.run([2**20 - 1] * 5000, source=ReplaySource.from_key("alike")).values
        assert found[0] == 2**20 - 1
        assert len(found) <= 2  # one result in twenty has a false value, one in 800 has two


def test_nothing_is_found_where_nothing_is_frequent():
    """Everyone has a value of their own: by the default threshold, five results in a hundred have a false one, so 3 of 10 in one in 87."""
    search = TreeHist(bits=32, k=4, epsilon=2.0, people=5000)
    values = [77_003 * i for i in range(5000)]
    found = [search.run(values, source=ReplaySource.from_key(f"nothing/{run}")).values for run in range(10)]
    assert sum(bool(values) for values in found) <= 2
    eager = TreeHist(bits=32, k=4, epsilon=2.0, people=5000, threshold=0)
    eagerly = eager.run(values, source=ReplaySource.from_key("eager"))
    assert len(eagerly.ranked.values) == 4
    assert len(eagerly.values) == 0  # whatever threshold the walk had, values that are named are significant


def test_the_default_threshold_is_what_noise_exceeds_once():
    """Supports are skewed where epsilon is large; the exact law is used, so as many pass as were allowed (100 runs: 4 sigma)."""
    spec = FLH(domain=dn.Integers(0, 2**20 - 1), epsilon=6.0, hashes=2048)
    passed, normal = 0, 0
    for run in range(100):
        tally = spec.tally(spec.privatize(np.arange(2000), source=ReplaySource.from_key(f"calibration/{run}")))
        asked = Question(name="nobody", spec=spec), tally, list(range(10**6, 10**6 + 4000))
        passed += standing_out(*asked, threshold=None, most=4000, false=1.0)[1].size
        normal += standing_out(*asked, threshold=3.48, most=4000, false=1.0)[1].size  # the evil twin: 1 in 4000 by the normal law
    assert passed < 140
    assert normal > 200


def test_oracles_can_be_tallied_before_candidates_are_known():
    for domain in (dn.Integers(0, 1), dn.Integers(0, 2**20 - 1), dn.Integers(0, 2**21 - 1), dn.Text(9)):
        for epsilon in (0.1, 1.0, 4.0, 12.0, 20.0):
            spec = oracle_for("auto", domain, epsilon=epsilon, people=10_000, candidates=8192, salt=3)
            assert MECHANISMS[spec.mechanism].needs_listed_domain <= (domain.listed and domain.size <= 2**20)
            assert domain.listed or not spec.candidates_at_tally


@pytest.mark.parametrize(
    "options",
    [
        {"bits": 0},
        {"bits": 65},
        {"bits": 8, "domain": dn.Text(3)},
        {"domain": 7},
        {"k": 0},
        {"k": True},
        {"epsilon": 0.0},
        {"epsilon": float("nan")},
        {"oracle": "OLH"},
        {"oracle": "GRR"},
        {"step_bits": 0},
        {"step_bits": 17},
        {"keep": 0},
        {"threshold": -1.0},
        {"threshold": float("nan")},
        {"threshold": "4"},
        {"people": -1},
        {"salt": 2**64},
        {"bits": None, "domain": dn.Text(9000)},
        {"lengths": (4, 4, 32)},
        {"lengths": (30, 32)},
    ],
)
def test_bad_parameters_are_named(options):
    with pytest.raises(ParameterError) as caught:
        TreeHist(**{"bits": 32, "k": 4, "epsilon": 1.0} | options)
    assert any(name in caught.value.parameter for name in (*options, "lengths"))


def test_bad_values_are_refused():
    search = TreeHist(bits=8, k=2, epsilon=1.0)
    with pytest.raises(DomainError):
        search.run([1, 256])
    assert strongest(np.zeros(3), 2, b"").size == 2
