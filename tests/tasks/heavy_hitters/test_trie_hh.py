"""TrieHH: its constants, its proof in numbers, what is found, and that it says what it is: central, without counts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, poisson

import deniable as dn
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.protocol import protocol_from_json
from deniable.errors import DomainError, ParameterError, ProtocolError, WireError
from deniable.tasks.heavy_hitters.trie_hh import TrieHH, TrieHHState
from deniable.testing import ReplaySource

WORDS = ["tea"] * 40_000 + ["日本茶"] * 30_000 + [""] * 20_000 + [str(i) for i in range(10_000)]


def found_by(search, values, key="found"):
    return search.run(values, source=ReplaySource.from_key(key)).values


# --- constants ---


def test_the_published_constants():
    search = TrieHH(domain=dn.Text(10), epsilon=1.0, delta=2.3e-12)
    assert (search.levels, search.theta) == (10, 15)
    assert float(search.probability) == pytest.approx(0.0063442, abs=5e-8)
    assert float(search.probability) == pytest.approx((math.exp(0.1) - 1) / (15 * math.exp(0.1)), rel=1e-12)
    assert search.probability < Fraction(1, 15)
    assert [TrieHH(bits=8, epsilon=1.0, delta=delta).theta for delta in (0.9, 0.0125, 0.0124, 1e-6, 1e-9)] == [5, 5, 6, 10, 13]


def test_the_poisson_tail_of_the_proof_is_below_its_bound():
    """With the mean theta / (theta - 1); beyond, the tail times theta! tends to 1 + 1 / (2 theta), the bound to 1 + 1 / (theta - 3)."""
    for theta in range(5, 150):
        assert poisson.sf(theta - 1, theta / (theta - 1)) <= (theta - 2) / ((theta - 3) * math.factorial(theta))


def level_delta(theta, p, x):
    """The chance that a prefix is added which too few people hold for a factor of e^x between any two values of one of them."""
    others = theta - 1 + math.ceil(theta * (1 - p) / (math.exp(x) * (1 - p) - 1))
    return float(binom.sf(theta - 1, others, p))


@pytest.mark.parametrize("delta", [0.0125, 1e-3, 1e-6, 2.3e-12, 1e-30])
@pytest.mark.parametrize("levels", [1, 2, 10, 64])
def test_delta_is_kept_by_the_proof_in_numbers(delta, levels):
    for epsilon in (0.01, 0.1, 1.0, 4.0, 20.0):
        search = TrieHH(bits=64, epsilon=epsilon, delta=delta, levels=levels)
        assert level_delta(search.theta, float(search.probability), epsilon / levels) <= delta


@pytest.mark.parametrize("x", [0.1, 1.0])
def test_one_level_keeps_epsilon_and_delta_exactly(x):
    """Hockey-stick divergence of the law of one level, for one person moving between prefixes that c and d others hold."""
    search = TrieHH(bits=8, epsilon=x, delta=1e-3)
    p, theta = float(search.probability), search.theta

    added = binom.sf(theta - 1, np.arange(402), p)
    here, there = (added[1:, None], added[None, :-1]), (added[:-1, None], added[None, 1:])  # what c and d others make of both prefixes
    excess = np.zeros((401, 401))
    for first in (0, 1):
        for second in (0, 1):
            mass = [np.abs(1 - first - a) * np.abs(1 - second - b) for a, b in (here, there)]
            excess += np.maximum(mass[0] - math.exp(x) * mass[1], 0.0)
    worst = excess.max()
    assert 0 < worst <= 1e-3


def test_a_batch_of_fixed_size_would_not():
    """The evil twin: as many people as the paper's batch, drawn without replacement, all of one mind but for one."""
    search = TrieHH(domain=dn.Text(10), epsilon=1.0, delta=2.3e-12)
    n = 2365
    batch = int(n * search.probability)
    assert batch == search.theta
    nobody_if_all_agree = 0.0  # the batch holds theta votes for one prefix
    nobody_if_one_differs = batch / n  # theta - 1 votes are left if that one is drawn
    assert nobody_if_one_differs - math.e * nobody_if_all_agree > 1e9 * search.delta


def test_everyone_is_drawn_independently_with_the_probability_promised():
    """Binomial, tested at five standard deviations (error probability below 6e-7); one word for each person, as a device would draw."""
    search = TrieHH(bits=8, epsilon=4.0, delta=1e-3, levels=1)
    n = 200_000
    votes = search.vote(np.arange(n) % 256, ReplaySource.from_key("draw"))
    expected = n * float(search.probability)
    assert abs(votes.total() - expected) < 5 * math.sqrt(expected)
    source = ReplaySource.from_key("draw")
    assert votes.total() == sum(source.bernoulli(search.threshold) for _ in range(n))


# --- what is found ---


def test_frequent_words_are_found_and_no_others():
    search = TrieHH(domain=dn.Text(9), epsilon=2.0, delta=1e-9)
    assert found_by(search, WORDS) == ["tea", "日本茶", ""]  # in the order of their codes
    assert min(search.chance(count) for count in (40_000, 30_000, 20_000)) > 0.999
    assert search.chance(search.theta - 1) == 0


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (dn.Integers(0, 2**64 - 1), [0, 2**64 - 1]),
        (dn.Integers(-7, 8), [-7, 8]),
        (dn.Integers(0, 1), [0, 1]),
        (dn.Bytes(9), [b"", b"\x80\x00\x80"]),
        (dn.Text(30), ["a long text of two words", "é"]),
    ],
    ids=repr,
)
def test_any_kind_of_value_is_found(domain, values):
    crowd = [value for value in values for _ in range(30_000)]
    assert set(found_by(TrieHH(domain=domain, epsilon=8.0, delta=1e-6), crowd)) == set(values)


def test_fewer_levels_find_more():
    few, many = (TrieHH(bits=64, epsilon=1.0, delta=1e-9, levels=levels) for levels in (1, 8))
    assert few.chance(2000) > 0.99 > 0.01 > many.chance(1000)
    values = np.repeat(np.arange(10, dtype=np.uint64) << np.uint64(60), 2000)
    assert set(found_by(few, values)) > set(found_by(many, values, "many"))


def test_theta_votes_are_enough_and_one_less_is_not():
    search = TrieHH(bits=16, epsilon=1.0, delta=2.3e-12)
    assert search.close({"votes": {7: 15, 9: 14, 200: 99}}).state.prefixes == (7, 200)
    assert search.close({"votes": {9: 14}}).values == []


def test_rare_words_are_never_followed():
    """Each step of the trie has theta true votes behind it."""
    search = TrieHH(domain=dn.Text(9), epsilon=4.0, delta=1e-6)
    values = ["tea"] * 20_000 + ["teapot"] * (search.theta - 1)
    state, source = search, ReplaySource.from_key("rare")
    while isinstance(state, TrieHH):
        votes = state.vote(values, source)
        state = state.close({"votes": votes})
        if isinstance(state, TrieHH):
            assert set(state.state.prefixes) == {code for code, count in votes.items() if count >= search.theta}
    assert state.values == ["tea"]


# --- what it says ---


def test_it_is_labeled_central_and_gives_no_counts():
    search = TrieHH(domain=dn.Text(9), epsilon=1.0, delta=1e-9)
    guarantee = search.guarantee
    assert (guarantee.model, guarantee.epsilon, guarantee.delta) == ("central", 1.0, 1e-9)
    assert (guarantee.honest, guarantee.certificate) == ("the party that samples and counts the votes", "theorem")
    assert "must be trusted" in guarantee.statement()
    assert "own device" not in guarantee.statement()
    result = search.run(WORDS, source=ReplaySource.from_key("label"))
    assert not hasattr(result, "counts")
    assert "votes are not private" in repr(result)
    assert result.to_arrow().column_names == ["value"]
    with pytest.raises(ProtocolError, match="true votes"):
        search.question(search.ticket(ReplaySource([])))


# --- edges ---


def test_damaged_states_are_refused():
    search = TrieHH(bits=16, epsilon=4.0, delta=1e-3)
    state = search.close({"votes": {7: 100, 9: 100}})
    for bad in (
        {"delta": "0"},
        {"delta": "nan"},
        {"delta": 1},
        {"epsilon": "0"},
        {"stage": 2},
        {"stage": 0},
        {"levels": 0},
        {"levels": 17},
        {"prefixes": ["9", "7"]},
        {"prefixes": ["100"]},
        {"prefixes": ["07"]},
        {"prefixes": [7]},
        {"domain": {}},
        {"more": 1},
    ):
        with pytest.raises(WireError):
            protocol_from_json(canonical_json(parse_canonical(state.canonical) | bad))


@pytest.mark.parametrize("people", [0, 1, 4])
def test_small_crowds_find_nothing(people):
    for domain, value in ((dn.Integers(0, 2**64 - 1), 7), (dn.Text(20), "é")):
        result = TrieHH(domain=domain, epsilon=20.0, delta=1e-3).run([value] * people)
        assert result.values == []
        assert "0 values" in repr(result)
        assert result.to_arrow().num_rows == 0


def test_parameters_that_cannot_be_are_refused():
    good = {"bits": 16, "epsilon": 1.0, "delta": 1e-9}
    for bad in (
        {"bits": 0},
        {"bits": 65},
        {"delta": 0.0},
        {"delta": 1.0},
        {"delta": 0},
        {"epsilon": -1},
        {"levels": 17},
        {"levels": 0},
        {"state": TrieHHState(stage=2)},
        {"state": TrieHHState(prefixes=(1,))},
        {"domain": dn.Integers(0, 9)},
    ):
        with pytest.raises(ParameterError):
            TrieHH(**good | bad)
    with pytest.raises(DomainError, match="65536"):
        TrieHH(**good).run([1, 65536])
