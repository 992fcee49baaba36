"""Events are data: they survive JSON, refuse what no mechanism has, and never let two relations add up."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.accounting import (
    RDP,
    ZCDP,
    Approximate,
    BoundedRange,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    GaussianEvent,
    GroupEvent,
    LaplaceEvent,
    Parallel,
    Pure,
    Repeated,
    Replaced,
    Sampled,
    Sequential,
    account,
    event_from_json,
    leaf_of,
)
from deniable.accounting.combinations import worlds
from deniable.accounting.event import EVENTS
from deniable.client import OLH
from deniable.errors import ParameterError, WireError
from deniable.shuffle.event import Shuffled, ShuffledGRR

PLUS = "add-remove"
scale = st.floats(0.01, 50.0)
leaves = st.one_of(
    st.builds(Pure, epsilon=st.floats(0, 5), neighbors=st.just(PLUS)),
    st.builds(Approximate, epsilon=st.floats(0, 5), delta=st.floats(0, 0.1), neighbors=st.just(PLUS)),
    st.builds(BoundedRange, epsilon=scale, neighbors=st.just(PLUS)),
    st.builds(LaplaceEvent, scale=scale),
    st.builds(DiscreteLaplaceEvent, scale=scale, sensitivity=st.integers(1, 9)),
    st.builds(GaussianEvent, sigma=scale, sensitivity=scale),
    st.builds(DiscreteGaussianEvent, sigma=scale),
    st.builds(ZCDP, rho=st.floats(0, 3)),
    st.just(RDP(orders=(2.0, 4.0), epsilons=(0.1, 0.25))),
    st.builds(Sampled, event=st.builds(GaussianEvent, sigma=scale), rate=st.floats(0.01, 1)),
)
events = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Sequential, events=st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Parallel, events=st.lists(inner, min_size=1, max_size=3).map(tuple), by=st.sampled_from(["person", "value"])),
        st.builds(Repeated, event=inner, times=st.integers(1, 5)),
        st.builds(GroupEvent, event=inner, size=st.integers(1, 3)),
    ),
    max_leaves=5,
)


@given(event=events)
def test_every_event_survives_json(event):
    assert event_from_json(json.loads(event.canonical)) == event


def test_every_registered_event_is_drawn_or_tested_by_name():
    event_from_json({"kind": "Pure", "epsilon": "1.0"})
    drawn = {Pure, Approximate, BoundedRange, LaplaceEvent, DiscreteLaplaceEvent, GaussianEvent, DiscreteGaussianEvent, ZCDP, RDP, Sampled}
    assert set(EVENTS.values()) == drawn | {Sequential, Parallel, Repeated, GroupEvent, Replaced, Shuffled, ShuffledGRR}
    for event in (
        Replaced(event=LaplaceEvent(scale=1.0)),
        Shuffled(epsilon0=1.0, n=1000),
        ShuffledGRR(epsilon0=1.0, n=1000, domain_size=4),
    ):
        assert event_from_json(json.loads(event.canonical)) == event


def test_a_number_of_numpy_is_written_as_a_number():
    event = Pure(epsilon=np.float64(0.1))
    assert event.to_json() == Pure(epsilon=0.1).to_json() == {"kind": "Pure", "epsilon": "0.1", "neighbors": "replace"}


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"kind": "os.system"},
        {"kind": "Pure"},
        {"kind": "Pure", "epsilon": "-1.0"},
        {"kind": "Pure", "epsilon": "nan"},
        {"kind": "Pure", "epsilon": True},
        {"kind": "Pure", "epsilon": "1.0", "neighbors": "friends"},
        {"kind": "Pure", "epsilon": "1.0", "sigma": "1.0"},
        {"kind": "Repeated", "event": {"kind": "Pure", "epsilon": "1.0"}, "times": 0},
        {"kind": "Sequential", "events": []},
        {"kind": "Sequential", "events": ["Pure"]},
        {"kind": "Sampled", "event": {"kind": "Gaussian", "sigma": "1.0"}, "rate": "1.5"},
        {"kind": "RDP", "orders": ["1.0"], "epsilons": ["0.1"]},
    ],
)
def test_what_is_no_event_is_refused(data):
    with pytest.raises(WireError):
        event_from_json(data)


@pytest.mark.parametrize(
    ("event", "named"),
    [
        (Sequential(events=(GaussianEvent(sigma=1.0), Pure(epsilon=1.0))), "Pure"),
        (Sequential(events=(Pure(epsilon=1.0), Sequential(events=(GaussianEvent(sigma=3.0),)))), "Sequential"),
        (Parallel(events=(Pure(epsilon=1.0), LaplaceEvent(scale=7.0)), by="person"), "LaplaceEvent(scale=7.0"),
    ],
)
def test_promises_for_different_neighbors_do_not_add_up(event, named):
    with pytest.raises(ParameterError, match="relation") as refusal:
        account(event, delta=1e-6)
    assert named in str(refusal.value)


def test_parallel_parts_cost_the_dearest_one_and_a_replacement_costs_two_of_them():
    """One count for each city. The evil twin, which bills a replacement at the dearest part alone, is what a caller gets refused."""
    cities = LaplaceEvent(scale=1.0), LaplaceEvent(scale=2.0)
    by_value = Parallel(events=cities, by="value")
    assert account(by_value, delta=0).epsilon == 1.0
    assert account(Replaced(event=by_value), delta=0).epsilon == 2.0
    with pytest.raises(ParameterError, match="two parts"):
        Parallel(events=(Pure(epsilon=1.0),), by="value")
    assert account(Parallel(events=(Pure(epsilon=1.0), Pure(epsilon=0.5)), by="person"), delta=0).epsilon == 1.0


def test_a_person_who_moves_between_the_parts_is_charged_for_the_worst_way():
    tea, coffee = Pure(epsilon=1.0), Pure(epsilon=0.3)
    rounds = Repeated(event=Parallel(events=(tea, coffee), by="person"), times=3)
    assert len(worlds(rounds)) == 4
    assert account(rounds, delta=0).epsilon == 3.0


def test_two_counts_that_one_replaced_person_leaves_and_enters():
    """By hand: histogram of two cities with Laplace noise of scale 1; moving one person changes both counts by one."""
    moved = Replaced(event=Parallel(events=(LaplaceEvent(scale=1.0), LaplaceEvent(scale=1.0)), by="value"))
    assert account(moved, delta=0).epsilon == 2.0


@pytest.mark.parametrize(
    ("event", "size", "want"),
    [
        (Pure(epsilon=0.5), 3, Pure(epsilon=1.5)),
        (GaussianEvent(sigma=2.0), 3, GaussianEvent(sigma=2.0, sensitivity=3.0)),
        (ZCDP(rho=0.1), 3, ZCDP(rho=9 * 0.1)),
        (DiscreteLaplaceEvent(scale=2.0), 2, DiscreteLaplaceEvent(scale=2.0, sensitivity=2)),
    ],
)
def test_a_group_scales_what_is_known(event, size, want):
    ((leaf,),) = worlds(GroupEvent(event=event, size=size))
    assert leaf == want


def test_a_group_of_approximate_events():
    """Delta grows by 1 + e^eps + e^(2 eps) for three people."""
    ((leaf,),) = worlds(GroupEvent(event=Approximate(epsilon=1.0, delta=1e-6), size=3))
    assert leaf.epsilon == 3.0
    assert leaf.delta == pytest.approx(1e-6 * (1 + 2.718281828459045 + 7.38905609893065), rel=1e-12)
    assert leaf.delta > 1e-6 * (1 + 2.718281828459045 + 7.38905609893065)


@pytest.mark.parametrize("event", [Sampled(event=GaussianEvent(sigma=1.0), rate=0.1), RDP(orders=(2.0,), epsilons=(0.1,))])
def test_a_group_that_nobody_can_price_is_refused_by_name(event):
    with pytest.raises(ParameterError, match=type(event).__name__):
        account(GroupEvent(event=event, size=2), delta=1e-6)


@pytest.mark.parametrize("rule", ["advanced", "zCDP", "RDP", "exact", "PLD"])
def test_a_rule_names_the_event_that_it_does_not_know(rule):
    strange = {"advanced": GaussianEvent(sigma=9.0), "zCDP": Approximate(epsilon=1.0, delta=1e-7, neighbors=PLUS), "PLD": ZCDP(rho=0.25)}
    strange |= {"RDP": strange["zCDP"], "exact": GaussianEvent(sigma=9.0)}
    whole = Sequential(events=(Pure(epsilon=1.0, neighbors=PLUS), strange[rule]))
    with pytest.raises(ParameterError) as refusal:
        account(whole, delta=1e-6, rules=(rule,))
    assert repr(strange[rule])[:20] in str(refusal.value)
    assert rule in account(whole, delta=1e-6).refusals  # and the others still answer


def test_a_specs_promise_is_an_event():
    assert leaf_of(OLH(domain_size=9, epsilon=0.7).guarantee) == Pure(epsilon=0.7)
