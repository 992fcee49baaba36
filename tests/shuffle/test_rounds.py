"""Rounds of one mechanism: the pair that composes, against every data set of a few people, for one round and for two."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import log

import pytest

import deniable as dn
from deniable.accounting import Repeated, account, event_from_json
from deniable.accounting.combinations import Bag
from deniable.accounting.pld import curve
from deniable.errors import ParameterError
from deniable.shuffle.blanket import Blanket
from tests.shuffle.exhaustive import divergence, histogram_law, randomized_response
from tests.shuffle.test_cells import grr_pair

POWERS = [Fraction(6, 5), Fraction(3, 2), Fraction(2)]
E0 = 3
"""E^epsilon0."""


def true_delta(k, n, rounds, power):
    """The largest divergence of so many rounds over all pairs of the victim's values, both orders, and all values of the others."""
    rows, worst = randomized_response(k, E0), Fraction(0)
    for others in combinations_with_replacement(range(k), n - 1):
        laws = []
        for value in range(k):
            one = histogram_law(rows, (value, *others))
            law = {(): Fraction(1)}
            for _ in range(rounds):
                law = {(*seen, key): weight * more for (seen, weight), (key, more) in product(law.items(), one.items())}
            laws.append(law)
        worst = max(worst, *(divergence(a, b, power) for a, b in product(laws, laws) if a is not b))
    return worst


def certified(k, n, rounds, power):
    return curve(Bag({dn.shuffle.ShuffledGRR(epsilon0=log(E0), domain_size=k, n=n): rounds}))(log(power))


@pytest.mark.parametrize("power", POWERS, ids=str)
@pytest.mark.parametrize(
    ("k", "n", "rounds"), [(2, 3, 1), (3, 2, 1), (3, 4, 1), (5, 3, 1), (2, 2, 2), (2, 3, 2), (3, 2, 2), (3, 3, 2), (4, 2, 2)]
)
def test_no_data_set_has_a_larger_delta(k, n, rounds, power):
    truth = float(true_delta(k, n, rounds, power))
    assert truth <= certified(k, n, rounds, power)


def test_people_who_are_not_there_are_caught():
    """Twice as many people as there are: the claim falls below the truth, in one round and in two."""
    for rounds, (n, claimed) in product((1, 2), ((2, 6), (3, 9))):
        assert certified(3, claimed, rounds, Fraction(3, 2)) < float(true_delta(3, n, rounds, Fraction(3, 2)))


def test_two_values_are_the_coins():
    for epsilon0, times in ((1.0, 1), (2.0, 30)):
        coin, grr = (
            account(Repeated(event=event, times=times), delta=1e-6, rules=("PLD",)).epsilon
            for event in (
                dn.shuffle.Shuffled(epsilon0=epsilon0, n=5000, binary=True),
                dn.shuffle.ShuffledGRR(epsilon0=epsilon0, n=5000, domain_size=2),
            )
        )
        assert grr == pytest.approx(coin, rel=1e-9)


@pytest.mark.parametrize(("k", "loss"), [(10, 0.01), (100, 0.12)])
def test_between_the_blanket_and_any_mechanism(k, loss):
    """In the regime of calibrated histograms: nearly the blanket for one round, and a third less than the clone pair for ten."""
    epsilon0, n = 7.0, 100_000
    one, any_ = dn.shuffle.ShuffledGRR(epsilon0=epsilon0, n=n, domain_size=k), dn.shuffle.Shuffled(epsilon0=epsilon0, n=n)
    single = account(one, delta=1e-6, rules=("PLD",)).epsilon
    blanket = Blanket(grr_pair(k, epsilon0), n=n, delta=1e-6).epsilon()
    assert blanket * (1 - 1e-6) <= single <= blanket * (1 + loss)
    ten = [account(Repeated(event=event, times=10), delta=1e-6, rules=("PLD",)).epsilon for event in (one, any_)]
    assert ten[0] < 0.7 * ten[1]


PROMISE = {"epsilon": 1.0, "delta": 1e-6, "n": 20_000}
PROTOCOLS = {  # and by how much the pair that composes is looser than the promise
    "coins": (dn.shuffle.ShuffledBinarySum(**PROMISE), 1e-4),
    "histogram": (dn.shuffle.ShuffledHistogram(domain_size=10, **PROMISE), 0.03),
    "real sum": (dn.shuffle.ShuffledRealSum(low=0, high=1, **PROMISE), 0.03),
    "dummies": (dn.shuffle.PoissonHistogram(domain_size=10, **PROMISE), 1e-9),
    "shares": (dn.shuffle.SplitAndMixSum(low=0, high=1, **PROMISE), 1e-9),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_batch_of_a_protocol_costs_what_it_promised(name):
    """One batch as an event: never less than was promised to be enough, and hardly more; four cost less than four times as much."""
    protocol, loss = PROTOCOLS[name]
    one = account(protocol.event, delta=1e-6).epsilon
    assert 1.0 - 1e-4 <= one <= 1.0 + loss
    bill = account(Repeated(event=protocol.event, times=4), delta=1e-5)
    assert bill.epsilon <= 4.0
    assert name in ("dummies", "shares") or bill.epsilon < 2.5


def test_events_of_one_mechanism_are_checked():
    event = dn.shuffle.ShuffledGRR(epsilon0=1.0, n=1000, domain_size=4)
    assert event_from_json(json.loads(event.canonical)) == event
    for change in ({"domain_size": 1}, {"n": 0}, {"epsilon0": 0.0}, {"neighbors": "add-remove"}):
        with pytest.raises(ParameterError):
            dn.shuffle.ShuffledGRR(**{"epsilon0": 1.0, "n": 9, "domain_size": 4} | change)
