"""Searches whose candidates are counted by a last group: what they find and what they cannot, privacy, resuming, edges."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import deniable as dn
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import exp_below
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.core.run import ask, draw_tickets
from deniable.errors import DomainError, ParameterError, WireError
from deniable.tasks.heavy_hitters.multiple_channels import MultipleChannels
from deniable.tasks.heavy_hitters.segment_pairs import SegmentPairs
from deniable.tasks.heavy_hitters.segments import IndependentSegments
from deniable.testing import ReplaySource, law_of

SEARCHES = [IndependentSegments, SegmentPairs, MultipleChannels]
HITTERS = [0xCAFE_F00D_0123, 0xDEAD_BEEF_4567, 0x0000_0000_0001, 0xFFFF_FFFF_FFFF]
CROWD = np.repeat(np.array([*HITTERS, 77], dtype=np.uint64), [10_000, 8000, 6000, 5000, 1000])


def found_by(protocol, values, key="found"):
    return protocol.run(values, source=ReplaySource.from_key(key))


def resumed(protocol, values, key):
    """The search, stored after every round as JSON and its tallies as bytes; also how many rounds it took."""
    source = ReplaySource.from_key(key)
    tickets = draw_tickets(protocol, len(values), source)
    state, rounds = protocol, 0
    while isinstance(state, Protocol):
        stored = protocol_from_json(state.canonical)
        assert stored == state
        assert stored.scale == protocol.scale
        tallies = ask(stored, values, tickets, source=source)
        state = stored.close({name: dn.Tally.from_bytes(tally.to_bytes()) for name, tally in tallies.items()})
        rounds += 1
    return state, rounds


# --- what is found ---


@pytest.mark.parametrize(("search", "epsilon"), [(IndependentSegments, 2.0), (SegmentPairs, 2.0), (MultipleChannels, 4.0)])
def test_planted_values_are_found_and_counted(search, epsilon):
    protocol = search(bits=48, k=4, epsilon=epsilon, people=CROWD.size)
    found = found_by(protocol, CROWD)
    assert set(found.values) == set(HITTERS)
    truth = np.array([np.mean(np.uint64(value) == CROWD) for value in found.values])
    assert np.all(np.abs(found.frequencies - truth) < 5 * found.frequency_stderr + 5 * np.sqrt(truth / found.n))
    assert abs(found.n - CROWD.size * protocol.holdout) < 5 * math.sqrt(found.n)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("domain", "words"),
    [(dn.Text(6), ["", "tea", "日本"]), (dn.Bytes(3), [b"", b"\x80\x00", b"abc"]), (dn.Integers(-(2**63), 2**63 - 1), [-1, 0, 2**62])],
    ids=["text", "bytes", "64 bits"],
)
def test_any_kind_of_value_is_found(search, domain, words):
    values = [word for word, count in zip(words, (12_000, 8000, 4000), strict=True) for _ in range(count)]
    found = found_by(search(domain=domain, k=3, epsilon=6.0, people=len(values)), values)
    assert list(found.values) == words


def test_more_oracles_can_be_asked():
    for oracle in ("GRR", "OUE", "OLH", "HadamardResponse"):
        protocol = SegmentPairs(bits=12, k=2, epsilon=3.0, oracle=oracle)
        assert {question.spec.mechanism for question in protocol.open().questions} == {oracle}
        assert list(found_by(protocol, [4000] * 6000 + [77] * 4000).values) == [4000, 77]


def test_independent_segments_lose_what_pairs_still_find():
    """Six values and eight segments make 6^8 combinations: a reason to ask about pairs, not a defect of noise."""
    hitters = [int.from_bytes(bytes([16 * i + j for j in range(8)])) for i in range(6)]
    values = np.repeat(np.array(hitters, dtype=np.uint64), 30_000)
    options = {"bits": 64, "k": 6, "epsilon": 8.0, "segments": 8, "keep": 6, "people": values.size}
    assert len(set(found_by(IndependentSegments(**options), values).values) & set(hitters)) <= 2
    assert set(found_by(SegmentPairs(**options), values).values) == set(hitters)


def test_only_cliques_of_frequent_pairs_are_counted():
    """Of 4^3 combinations of frequent segments, those four whose pairs are frequent, too."""
    state = SegmentPairs(bits=48, k=4, epsilon=8.0, keep=4, people=CROWD.size)
    source = ReplaySource.from_key("cliques")
    tickets = draw_tickets(state, CROWD.size, source)
    for _ in range(2):
        state = state.close(ask(state, CROWD, tickets, source=source))
    assert state.state.candidates == tuple(sorted(HITTERS))


# --- privacy ---


@pytest.mark.parametrize("oracle", ["GRR", "OUE"])
@pytest.mark.parametrize("search", SEARCHES)
def test_encoder_and_oracle_keep_epsilon_together_in_every_round(search, oracle):
    """The exact law of the whole answer, over every value of the domain, ticket included."""
    options = {} if search is MultipleChannels else {"segments": 2, "keep": 2}
    state = search(bits=3, k=1, epsilon=1.0, oracle=oracle, **options)
    rounds = 0
    while isinstance(state, Protocol):
        laws = [law_of(lambda source, value=value, state=state: answer(state, value, source)) for value in range(8)]
        assert all(law.total == 1 for law in laws)
        worst = max(a.ratio(b) for a in laws for b in laws)
        assert worst == max(question.spec.ratio for question in state.open().questions) <= exp_below(1.0)
        state = state.close(ask(state, [5] * 3000 + [1] * 1000, source=ReplaySource.from_key("law")))
        rounds += 1
    assert rounds == (3 if search is SegmentPairs else 2)
    assert search(bits=3, k=1, epsilon=1.0).guarantee == Guarantee(epsilon=1.0, unit="one report, in one group of the search")


def answer(state, value, source):
    question = state.question(state.ticket(source))
    return None if question is None else (question.name, question.answer(value, source))


@pytest.mark.parametrize("search", SEARCHES)
def test_everybody_is_asked_once(search):
    """Over all rounds the questions' intervals share the tickets out, without overlap."""
    state = search(bits=20, k=2, epsilon=4.0, people=5000)
    edges = []
    while isinstance(state, Protocol):
        edges += pairwise(state.open().edges(state.scale))
        state = state.close(ask(state, [7] * 3000 + [2**19] * 2000, source=ReplaySource.from_key("once")))
    assert edges[0][0] == 0
    assert edges[-1][1] == search(bits=20, k=2, epsilon=4.0).scale
    assert all(before[1] == after[0] for before, after in pairwise(edges))


# --- resuming ---


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("oracle", ["auto", "OLH"])
def test_a_search_resumes_after_any_round_bit_for_bit(search, oracle):
    for options in ({"bits": 24}, {"domain": dn.Text(3)}):
        values = [9, 2**24 - 1] if "bits" in options else ["", "é!"]
        values = [values[0]] * 4000 + [values[1]] * 3000
        protocol = search(k=2, epsilon=3.0, oracle=oracle, people=7000, **options)
        whole = found_by(protocol, values, "resume")
        again, rounds = resumed(protocol, values, "resume")
        assert rounds == (3 if search is SegmentPairs else 2)
        assert list(again.values) == list(whole.values)
        assert (again.counts == whole.counts).all()


@pytest.mark.parametrize("search", SEARCHES)
def test_damaged_states_are_refused(search):
    protocol = search(bits=16, k=2, epsilon=1.0)
    state = protocol.close(ask(protocol, [7] * 900, source=ReplaySource.from_key("damage")))
    for bad in (
        {"k": 0},
        {"k": "2"},
        {"holdout": "1/0"},
        {"holdout": "2/8"},
        {"holdout": 1},
        {"holdout": "3/2"},
        {"epsilon": "nan"},
        {"epsilon": 1},
        {"oracle": "none"},
        {"domain": {}},
        {"more": 1},
        *({"candidates": bad} for bad in (["zz"], ["9", "1"], ["10000"], [7], 7)),
        {"segments": 99},
        {"keep": 0},
        {"most": 1 << 20},
        {"channel_bits": 40},
        {"frequent_segments": [["1"]]},
        {"frequent_segments": [["1"], []]},
        {"frequent_segments": [["2", "1"], ["1"]]},
    ):
        content = parse_canonical(state.canonical) | bad
        with pytest.raises(WireError):
            protocol_from_json(canonical_json(content))


# --- edges ---


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("people", [0, 1, 3])
def test_small_crowds_are_no_error(search, people):
    for domain, value in ((dn.Integers(0, 2**40 - 1), 7), (dn.Text(5), "é")):
        found = found_by(search(domain=domain, k=5, epsilon=1.0, people=people), [value] * people)
        assert len(found.values) <= 5 * min(people, 1)  # nobody holds nothing
        assert found.n <= people
        assert len(found.interval()[0]) == len(found.values)
        assert "reports" in repr(found)
        assert found.to_arrow().num_rows == len(found.values)


@pytest.mark.parametrize("search", SEARCHES)
def test_short_and_long_codes(search):
    values = [1] * 3000 + [0] * 1000
    found = found_by(search(bits=1, k=5, epsilon=3.0), values)
    assert found.values[0] == 1
    assert len(found.values) <= 2  # k is larger than the domain
    wide = found_by(search(bits=64, k=1, epsilon=8.0), [2**64 - 1] * 9000)
    assert list(wide.values) == [2**64 - 1]
    assert abs(wide.frequencies[0] - 1) < 0.1
    long = found_by(search(domain=dn.Text(24), k=1, epsilon=8.0), ["日本茶日本茶tea!!!"] * 20_000)  # 192 bits: beyond a machine word
    assert list(long.values) == ["日本茶日本茶tea!!!"]


@pytest.mark.parametrize("search", SEARCHES)
def test_parameters_that_cannot_be_are_refused(search):
    good = {"bits": 16, "k": 2, "epsilon": 1.0}
    for bad in (
        {"bits": 0},
        {"bits": 65},
        {"bits": None},
        {"k": 0},
        {"k": True},
        {"epsilon": 0},
        {"oracle": "none"},
        {"holdout": 0},
        {"holdout": 1},
        {"holdout": math.nan},
        {"holdout": "half"},
        {"holdout": 1e-9},
        {"people": -1},
        {"domain": dn.Integers(0, 9)},
    ):
        with pytest.raises(ParameterError):
            search(**good | bad)
    with pytest.raises(ParameterError, match="groups"):
        search(domain=dn.Text(60_000), k=1, epsilon=1.0)
    with pytest.raises(DomainError, match="65536"):
        found_by(search(**good), [1, 65536])


@pytest.mark.parametrize("search", [IndependentSegments, SegmentPairs])
def test_segments_are_cut_evenly(search):
    protocol = search(bits=50, k=2, epsilon=1.0, segments=4)
    assert protocol.parts == ((0, 12), (12, 13), (25, 12), (37, 13))
    for bad in ({"segments": 2}, {"segments": 51}, {"keep": 0}, {"most": 0}):
        with pytest.raises(ParameterError):
            search(**{"bits": 50, "k": 2, "epsilon": 1.0} | bad)
    assert SegmentPairs(bits=50, k=10**6, epsilon=1.0).keep == 256
