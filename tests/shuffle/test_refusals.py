"""Mistakes are told: what was wrong, what came, what is allowed, how to fix it. And both epsilons are said in plain words."""

from __future__ import annotations

import json
from math import inf

import pytest

import deniable as dn
from deniable.accounting import Repeated, account, event_from_json
from deniable.collect.plain_answer import PlainAnswer
from deniable.contract.guarantee import Guarantee
from deniable.errors import ParameterError, WireError

GRR = dn.GRR(domain_size=4, epsilon=1.0)
LINKED = dn.LongitudinalGRR(domain_size=4, epsilon=2.0, first_epsilon=1.0)
MISTAKES = {
    "nobody": (lambda: dn.shuffle.amplify(epsilon0=1.0, n=0, delta=1e-6), ["n", "got 0", "distinct people"]),
    "half a person": (lambda: dn.shuffle.amplify(epsilon0=1.0, n=2.5, delta=1e-6), ["n", "2.5", "integer"]),
    "no delta": (lambda: dn.shuffle.amplify(epsilon0=1.0, n=9, delta=0), ["delta", "got 0", "1e-6"]),
    "delta of one": (lambda: dn.shuffle.amplify(epsilon0=1.0, n=9, delta=1.0), ["delta", "1.0"]),
    "neither": (lambda: dn.shuffle.amplify(n=9, delta=1e-6), ["spec, epsilon0", "one of the two"]),
    "both": (lambda: dn.shuffle.amplify(GRR, epsilon0=1.0, n=9, delta=1e-6), ["spec, epsilon0", "one of the two"]),
    "epsilon0 negative": (lambda: dn.shuffle.amplify(epsilon0=-1.0, n=9, delta=1e-6), ["epsilon0", "-1.0"]),
    "epsilon0 infinite": (lambda: dn.shuffle.amplify(epsilon0=inf, n=9, delta=1e-6), ["epsilon0", "inf"]),
    "no mechanism": (lambda: dn.shuffle.amplify("GRR", n=9, delta=1e-6), ["spec", "'GRR'", "GRR(domain_size"]),
    "no privacy": (lambda: dn.shuffle.amplify(PlainAnswer(domain=dn.IndexRange(4)), n=9, delta=1e-6), ["spec", "pure local epsilon"]),
    "reports that are linked": (lambda: dn.shuffle.amplify(LINKED, n=9, delta=1e-6), ["spec", "for one report"]),
    "no target": (lambda: dn.shuffle.local_epsilon_for(epsilon=0.0, n=9, delta=1e-6), ["epsilon", "0.0"]),
    "out of reach": (lambda: dn.shuffle.people_for(epsilon0=30.0, epsilon=1e-6, delta=1e-9), ["n", "out of reach"]),
    "a shuffle with a person more": (lambda: dn.shuffle.Shuffled(epsilon0=1.0, n=9, neighbors="add-remove"), ["neighbors", "is public"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told(mistake):
    act, words = MISTAKES[mistake]
    with pytest.raises(ParameterError) as refusal:
        act()
    for word in words:
        assert word in str(refusal.value)


def test_a_shuffled_event_is_checked_when_it_is_read():
    event = dn.shuffle.Shuffled(epsilon0=1.0, n=1000, binary=True)
    assert event_from_json(json.loads(event.canonical)) == event
    for change in ({"n": 0}, {"epsilon0": "0.0"}, {"binary": 1}):
        with pytest.raises(WireError):
            event_from_json(event.to_json() | change)


def test_coins_are_worth_more_in_rounds_too():
    general, coins = (
        account(Repeated(event=dn.shuffle.Shuffled(epsilon0=2.0, n=1000, binary=binary), times=5), delta=1e-6).epsilon
        for binary in (False, True)
    )
    assert coins < general


def test_the_statement_says_both_epsilons_and_rounds_them_up():
    promise = dn.shuffle.amplify(GRR, n=500, delta=1e-6)
    said = promise.statement()
    assert f"epsilon = {promise.epsilon:.4f}"[:-1] in said
    assert "500 honest, distinct people" in said
    assert "only the local epsilon = 1 holds" in said
    bare = Guarantee(epsilon=1.0, delta=1e-6, model="shuffle", honest="the shuffler", people=9, local_epsilon=inf).statement()
    assert "otherwise nothing is promised" in bare


def test_a_large_delta_needs_no_epsilon_at_all():
    promise = dn.shuffle.amplify(epsilon0=0.1, n=10_000, delta=0.5, lower_bound=True)
    assert (promise.epsilon, promise.epsilon_at_least) == (0.0, 0.0)
    assert dn.shuffle.amplify(GRR, n=10_000, delta=0.5).epsilon == 0.0
