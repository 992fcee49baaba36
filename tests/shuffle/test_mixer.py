"""The mixer: what is held back, what goes, in which order, and that each of its duties would be missed."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import count, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import deniable as dn
from deniable.accounting import account
from deniable.contract.mixing import Threshold
from deniable.errors import ParameterError, ProtocolError
from deniable.shuffle import mixer as module
from deniable.shuffle.mixer import LARGEST_BATCH, Held, Mixer, Rules, Taken, mix, permutation
from deniable.shuffle.threshold import draw_drops, price, shift_of, threshold_event
from deniable.testing import ReplaySource
from tests.shuffle.ordering import REJECTED, likeness, score

ALPHA = 1e-6
RULE = Threshold(minimum=20, sigma="2")


def held(number: int, crowd: bytes = b"") -> Held:
    return Held(number.to_bytes(4, "big"), crowd, b"%8d" % number)


def people(amount: int, crowd: bytes = b"") -> list[Held]:
    return [held(number, crowd) for number in range(amount)]


def numbers(batch) -> list[int]:
    return [int(seal) for seal in batch]


# --- order ---


def test_every_order_of_five_is_as_likely_as_any_other():
    """120 orders, 60,000 draws: power above 0.99 against one order that is a tenth too likely and pushes the others down."""
    draws = 60_000
    found = Counter(tuple(permutation(5).tolist()) for _ in range(draws))
    assert len(found) == 120
    assert statistic(found, draws) < chi2.isf(ALPHA, 119)
    biased = Counter(tuple(np.argsort(np.random.default_rng(i).integers(0, 4, 5), kind="stable").tolist()) for i in range(draws))
    assert statistic(biased, draws) > chi2.isf(ALPHA, 119)  # the evil twin: ties are not drawn again


def statistic(found: Counter[tuple[int, ...]], draws: int) -> float:
    expected = draws / 120
    return sum((found[order] - expected) ** 2 / expected for order in permutations(range(5)))


def test_a_tie_is_drawn_again_and_a_stream_that_ends_is_told():
    assert permutation(3, ReplaySource([5, 1, 5, 9, 2, 4])).tolist() == [1, 2, 0]
    with pytest.raises(ProtocolError):
        permutation(3, ReplaySource([5, 1, 5, 9]))
    assert permutation(0).tolist() == []


@pytest.mark.parametrize("twin", [None, "identity", "fixed key"])
def test_batches_say_nothing_about_the_order_of_arrival(monkeypatch, twin):
    """Rank correlations with the arrival and between two batches, at alpha = 1e-6; both evil twins are rejected by one of them."""
    fixed = permutation(2000)
    if twin == "identity":
        monkeypatch.setattr(module, "permutation", lambda amount, source: np.arange(amount))
    if twin == "fixed key":
        monkeypatch.setattr(module, "permutation", lambda amount, source: fixed)
    orders = []
    for _ in range(2):
        mixer = Mixer(Rules(minimum=10, batch=2000))
        for number in range(2000):
            mixer.take(Taken(b"%d" % number, held(number)))
        (batch,) = mixer.release(over=True).batches
        orders.append(numbers(batch))
    scores = [abs(score(orders[0])), abs(score(orders[1])), abs(likeness(*orders))]
    assert all(sorted(order) == list(range(2000)) for order in orders)
    assert (max(scores) > REJECTED) == (twin is not None), scores


def test_what_stays_behind_is_a_random_part():
    """Of 300 that came, 200 go: were it the first or the last, the law of how many of the first half go would show it."""
    early = [
        sum(number < 150 for number in numbers(mix(Rules(minimum=100, batch=200), people(300), over=False).batches[0])) for _ in range(200)
    ]
    mean, spread = 100, np.sqrt(200 * 0.5 * 0.5 * (100 / 299))  # hypergeometric
    assert abs(np.mean(early) - mean) < 4.9 * spread / np.sqrt(200)


# --- how many ---


@given(
    st.integers(1, 50),
    st.integers(0, 60),
    st.integers(0, 400),
    st.booleans(),
)
def test_nothing_goes_below_the_minimum_and_the_rest_never_strands(minimum, more, amount, over):
    rules = Rules(minimum=minimum, batch=minimum + more)
    parts = rules.parts(amount, over=over)
    rest = amount - sum(parts)
    assert all(part >= minimum for part in parts)
    assert rest == 0 or rest >= minimum or not parts
    assert bool(parts) == (amount >= minimum if over else amount >= rules.batch + minimum)
    assert all(part < 2 * rules.batch for part in parts)
    if over and parts:
        assert rest == 0
    if not over:
        assert rest < rules.batch + minimum


def test_dummies_count_towards_nothing(monkeypatch):
    """99 people and any number of dummies are 99 people. The mutant that pads first lets them go."""
    made = count()
    rules = Rules(minimum=100, batch=100, pad=50)
    few = mix(rules, people(99), over=True, dummy=lambda: b"dummy %d" % next(made))
    assert few.batches == few.gone == ()
    assert next(made) == 0
    (batch,) = mix(rules, people(101), over=True, dummy=lambda: b"dummy").batches
    assert (len(batch), batch.count(b"dummy")) == (150, 49)
    together = [number for number, seal in enumerate(batch) if seal == b"dummy"]
    assert together != list(range(101, 150))  # a chance of 1 in 10^40

    def padded_first(self, amount, *, over):
        return original(self, amount + -amount % self.pad, over=over)

    original = Rules.parts
    monkeypatch.setattr(Rules, "parts", padded_first)
    assert mix(rules, people(99), over=True, dummy=lambda: b"dummy").batches


def test_rules_that_no_message_could_keep_are_refused():
    for rules in (
        {"minimum": 0, "batch": 5},
        {"minimum": 5, "batch": 4},
        {"minimum": 5, "batch": LARGEST_BATCH + 1},
        {"minimum": LARGEST_BATCH + 1, "batch": LARGEST_BATCH + 1},
        {"minimum": 5, "batch": 5, "pad": 0},
        {"minimum": 5, "batch": LARGEST_BATCH, "pad": 1000},
    ):
        with pytest.raises(ParameterError):
            Rules(**rules)
    with pytest.raises(ParameterError, match="last shuffler"):
        mix(Rules(minimum=2, batch=2, pad=5), people(3), over=True)


# --- replays and tokens ---


def test_replays_repeated_content_and_used_tokens_add_nothing():
    mixer = Mixer(Rules(minimum=2, batch=2))
    assert mixer.take(Taken(b"a", held(1), b"token 1")) == "taken"
    assert mixer.take(Taken(b"a", held(1), b"token 1")) == "repeated"
    assert mixer.take(Taken(b"b", held(2), b"token 1")) == "token_used"
    assert mixer.take(Taken(b"c", held(1), b"token 2")) == "repeated"  # the same seal in another box
    assert mixer.held == 1
    assert mixer.take(Taken(b"d", held(3), b"token 3")) == "taken"
    assert len(mixer.release(over=True).batches[0]) == 2
    assert mixer.take(Taken(b"a", held(1), b"token 1")) == "repeated"  # long gone
    assert mixer.take(Taken(b"e", held(4))) == "too_late"
    assert mixer.release(over=True).batches == ()


# --- thresholds ---


def test_small_crowds_go_and_large_ones_lose_a_noisy_few():
    rules = Rules(minimum=20, batch=100, threshold=RULE)
    crowd = [held(number, b"large") for number in range(200)] + [held(200 + number, b"small") for number in range(15)]
    assert mix(rules, crowd, over=False) == mix(rules, [], over=True)  # one look, at the end
    lost = []
    for _ in range(200):
        found = mix(rules, crowd, over=True)
        kept = numbers(found.batches[0])
        assert max(kept) < 200
        assert len(found.gone) == 215
        assert found.dropped == 215 - len(kept)
        lost.append(200 - len(kept))
    assert min(lost) >= 0
    assert abs(np.mean(lost) - shift_of(RULE)) < 4.9 * 2 / np.sqrt(200)
    assert len(set(lost)) > 3  # noise


def test_what_the_threshold_leaves_too_small_is_never_looked_at_again():
    mixer = Mixer(Rules(minimum=100, batch=100, threshold=RULE))
    for number in range(100):
        mixer.take(Taken(b"%d" % number, held(number, bytes([number % 20]))))
    found = mixer.release(over=True)
    assert (found.batches, found.dropped, mixer.held) == ((), 100, 0)


def test_the_released_count_is_a_noisy_count():
    """Exact tails: the law of what is left of 60 and of 61 in a crowd differ by no more than the price says, counted over outcomes.

    The evil twin compares the true count with the minimum and drops nothing: 60 and 61 then never give the same.
    """
    draws = 20_000
    one, other = (Counter(crowd - draw_drops(RULE, crowd) for _ in range(draws)) for crowd in (60, 61))
    epsilon = account(threshold_event(RULE), delta=1e-6, rules=("PLD",)).epsilon / 2  # one count of the two that a replacement changes
    common = [left for left in one | other if one[left] + other[left] > 1000]
    assert len(common) >= 5
    for left in common:
        ratio = (one[left] + 1) / (other[left] + 1)
        assert np.exp(-epsilon - 0.2) < ratio < np.exp(epsilon + 0.2)


def test_the_price_of_a_batch_includes_its_threshold():
    """The mutant that thresholds on the true count pays nothing for it; an honest price is that of the noise, on top of the shuffle's."""
    spec = dn.GRR(domain_size=10, epsilon=2.0)
    free = price(spec, n=1000, delta=1e-6)
    paid = price(spec, n=1000, delta=1e-6, threshold=RULE)
    alone = account(threshold_event(RULE), delta=5e-7).epsilon
    half = dn.shuffle.amplify(spec, n=1000, delta=5e-7).epsilon
    assert free == dn.shuffle.amplify(spec, n=1000, delta=1e-6)
    assert paid.epsilon >= alone + half > free.epsilon + 3
    assert paid.delta == 1e-6
    assert price(spec, n=1000, delta=1e-6, threshold=Threshold(minimum=20, sigma="20")).epsilon < free.epsilon + 0.5
    with pytest.raises(ParameterError):  # the tail alone is more than this delta
        price(spec, n=1000, delta=1e-17, threshold=RULE)
    assert shift_of(Threshold(minimum=1, sigma="2.1")) == 17 == -(-8 * Fraction("2.1") // 1)
