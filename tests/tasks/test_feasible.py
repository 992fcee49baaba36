"""Whatever a constructor takes, a device answers and a collector can finish; whatever it refuses, the error lists what it takes."""

from __future__ import annotations

import ast
import re
import sys
import tracemalloc
from dataclasses import fields
from itertools import combinations, count

import numpy as np
import pytest

import deniable as dn
from deniable.client.frequency import FrequencySpec
from deniable.client.numeric import NumericSpec
from deniable.contract.guarantee import Guarantee
from deniable.contract.protocol import PROTOCOLS, Protocol
from deniable.contract.spec import MECHANISMS
from deniable.contract.subsets import Subsets
from deniable.contract.survey import Survey
from deniable.contract.task import OpenedRound
from deniable.contract.work import MOST_WORK, Work, check_work
from deniable.core.run import ask
from deniable.errors import ParameterError
from deniable.tasks.heavy_hitters import SFP, IndependentSegments, MultipleChannels, SegmentPairs
from deniable.tasks.heavy_hitters.sfp import puzzled
from deniable.tasks.itemsets import PSFO, SVSM, estimate
from deniable.tasks.marginals import Marginals
from deniable.tasks.marginals.columns import Columns
from deniable.tasks.marginals.designs import cover, wanted
from deniable.tasks.places import Box, Grid, QuadTree, UniformGrid
from deniable.testing import ReplaySource
from tests.client.fake import Device, FakeCollector, rounds_task
from tests.tasks.oracles import accepted, refusal

LISTED = ("Bigrams", "Terms", "WordPairs")
SETTINGS = {
    **{name: {"vocabulary": ("milk", "tea", "water")} for name in LISTED},
    "AHEAD": {"domain": dn.Integers(0, 15)},
    "Hierarchy": {"domain": dn.Integers(0, 15)},
    "Movement": {"grid": Grid(Box(0, 0, 4, 4, plane=True), 3, 3), "longest": 2},
    "NewWords": {"known": ("milk",), "longest": 2, "k": 2},
    "NodeDegrees": {"nodes": 60, "starts": (0, 1, 2, 4, 8)},
    "PSFO": {"domain": Subsets(dn.IndexRange(8)), "length": 2},
    "QuadTree": {"box": Box(0, 0, 4, 4, plane=True), "depth": 2},
    "SVIM": {"domain": Subsets(dn.IndexRange(8)), "k": 2},
    "SVSM": {"domain": Subsets(dn.IndexRange(8)), "k": 2},
    "UniformGrid": {"grid": Grid(Box(0, 0, 4, 4, plane=True), 3, 3)},
}
"""What a protocol cannot do without; searches find two words."""
VALUES = {
    **dict.fromkeys((*LISTED, "NewWords"), "tea, milk"),
    "AHEAD": 3,
    "Hierarchy": 3,
    "Movement": [0, 1, 8],
    "NodeDegrees": 59,
    "PSFO": [1, 2],
    "SVIM": [1, 2],
    "SVSM": [1, 2],
    "QuadTree": 3,
    "UniformGrid": 8,
}
ROUNDS = {name: made for name, made in PROTOCOLS.load().items() if not made.needs}
CHOOSING = [name for name, made in ROUNDS.items() if any(field.name == "oracle" for field in fields(made))]
KEPT = ["DBitFlipPM", "LOLOHA", "LongitudinalGRR", "LongitudinalUnary", "RAPPOR"]


def settings_of(name):
    return {"epsilon": 2.0} | SETTINGS.get(name, {"domain": dn.Text(2), "k": 2})


def listed(error):
    """The names in the list that an error allows."""
    return set(ast.literal_eval(re.search(r"[\[(].*[\])]", error.allowed)[0])) - {"auto"}


@pytest.mark.parametrize("name", CHOOSING)
def test_what_is_accepted_is_answered_and_what_is_refused_is_not_listed(name):
    made, settings = PROTOCOLS.load()[name], settings_of(name)
    fit = accepted(made, **settings)
    assert fit
    assert not set(fit) & set(KEPT)
    for oracle in [*MECHANISMS, "nothing of that name"]:
        error = refusal(made, oracle, **settings)
        if error is None:
            assert answered(made(oracle=oracle, **settings), VALUES.get(name, "te"))
        else:
            assert error.parameter == "oracle"
            assert listed(error) == set(fit)


def answered(protocol, value):
    """Whether a device answers the first round, if it is its turn; tried until it is."""
    task = rounds_task(protocol=protocol.canonical, epsilon=protocol.guarantee.epsilon)
    collector = FakeCollector(task)
    collector.rounds[task.id.hex()] = OpenedRound(task=task.id, number=0, scale=protocol.scale, round=protocol.open(), state=bytes(32))
    for person in count():
        receipt = Device(collector, task, source=ReplaySource.from_key(f"person {person}")).report(value)
        if receipt is not None:
            return receipt.state == "sent"


HEAVY = {
    "bits and values that are all solved for": lambda: dn.PEM(domain=dn.Text(6), k=10, epsilon=4.0, oracle="BloomRR"),
    "long steps": lambda: dn.PEM(domain=dn.Text(6), k=100, epsilon=4.0, step_bits=24),
    "combinations": lambda: IndependentSegments(domain=dn.Text(6), k=9, epsilon=4.0, keep=1 << 16, most=1 << 16),
    "pairs": lambda: SegmentPairs(domain=dn.Text(6), k=9, epsilon=4.0, keep=1 << 14),
    "channels": lambda: MultipleChannels(domain=dn.Text(6), k=9, epsilon=4.0, channel_bits=23),
    "pieces": lambda: SFP(domain=dn.Text(20), k=9, epsilon=4.0, fragment=2, keep=1 << 16),
    "squares": lambda: QuadTree(box=Box(0, 0, 1, 1, plane=True), depth=12, epsilon=1.0),
    "cells": lambda: UniformGrid(grid=Grid(Box(0, 0, 1, 1, plane=True), 4096, 4096), epsilon=1.0),
    "cells with their covariance": lambda: Marginals(columns={"a": list(map(str, range(90))), "b": list(map(str, range(90)))}, epsilon=1.0),
    "many marginals": lambda: Marginals(columns={f"c{i}": list("abcdefghijklmnopqrst") for i in range(10)}, k=3, epsilon=1.0),
    "items": lambda: PSFO(domain=Subsets(dn.IndexRange(1 << 26)), length=2, epsilon=1.0),
    "values": lambda: Survey.of(what=dn.GRR(domain_size=1 << 26, epsilon=1.0)),
    "a survey's regression": lambda: Survey.of(what=dn.BloomRR(domain_size=1 << 13, epsilon=1.0)),
    "points of a distribution": lambda: Survey.of(what=dn.SquareWave(low=0, high=1, steps=1 << 16, epsilon=1.0)),
}


@pytest.mark.parametrize("what", HEAVY)
def test_what_nobody_could_finish_is_refused_with_the_figure_before_it_takes_any_memory(what):
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match=r"GiB of memory and [\d,]+ s of work"):
            HEAVY[what]()
        assert tracemalloc.get_traced_memory()[1] < 1 << 27
    finally:
        tracemalloc.stop()


def test_the_error_names_the_setting_to_change():
    with pytest.raises(ParameterError) as caught:
        HEAVY["bits and values that are all solved for"]()
    assert caught.value.parameter == "oracle"
    assert "PGR" in listed(caught.value)
    with pytest.raises(ParameterError, match=r"^step_bits, keep: got '[\d,.]+ GiB"):
        HEAVY["long steps"]()


@pytest.mark.parametrize("name", [name for name, made in MECHANISMS.items() if issubclass(made, FrequencySpec)])
def test_predicted_memory_is_enough_and_not_far_too_much(name):
    values = 2 if name == "RR" else 1024
    spec = MECHANISMS[name](domain_size=values, epsilon=2.0)
    tally = spec.tally(spec.privatize(np.arange(500) % values))
    spec.estimate(tally)  # kernels are compiled before anything is counted
    tracemalloc.start()
    try:
        estimate = spec.estimate(tally)
        assert len(estimate.counts) == len(estimate.stderr) == len(estimate.select(np.arange(values)).counts)
        peak = tracemalloc.get_traced_memory()[1] + tally.counters.nbytes
    finally:
        tracemalloc.stop()
    predicted = spec.finishing(values).bytes
    assert peak < predicted + (1 << 16)  # Python's own, whatever the size
    assert predicted < 8 * peak + (1 << 16)


def test_a_hash_that_all_pieces_share_does_not_fill_the_memory():
    """Made-up reports can put every piece under one hash: 100 pieces at each of three positions are a million words."""
    pieces = [[(float(count), 1, fragment) for fragment, count in enumerate(range(100, 0, -1))]] * 3
    tracemalloc.start()
    try:
        words = puzzled(pieces, [8, 8, 8], b"salt")
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
    assert len(words) == 1 << 16
    assert (1, 0) in words


def test_work_within_the_limits_is_accepted():
    check_work(MOST_WORK, "k", fix="less")
    for more in (replace_part("bytes"), replace_part("steps")):
        with pytest.raises(ParameterError, match=r"^k: got '.* to finish a round'"):
            check_work(more, "k", fix="less")


def replace_part(name):
    return MOST_WORK._replace(**{name: getattr(MOST_WORK, name) + 1})


def test_light_work_is_not_heavy():
    assert not dn.PEM(domain=dn.Text(6), k=10, epsilon=4.0).work().heavy
    assert Work((1 << 28) + 1, 0).heavy
    assert Work(0, 10**10 + 1).heavy


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_counters_of_a_tally_are_predicted(name):
    made = MECHANISMS[name]
    numbers = issubclass(made, NumericSpec)
    values = 2 if name in ("RR", "SignRR") else 64
    settings = {"low": 0, "high": values - 1, "steps": values - 1} if numbers else {} if name == "RR" else {"domain_size": values}
    spec = made(**settings, epsilon=2.0)
    tally = spec.tally(spec.privatize(np.zeros(5, dtype=np.int64)))
    assert spec.finishing(values).counters >= tally.counters.size


TABLE = {f"f{i}": np.linspace(0, 1, 400) ** (i + 1) for i in range(3)}
FEATURES = {name: dn.Numbers(0, 1) for name in TABLE}
COLUMNS = {name: (10 * column).astype(int) % 3 for name, column in TABLE.items()}
SETS = [[i % 8, (i + 1) % 8, (i + 3) % 8] for i in range(400)]
WRITTEN = ["tea and milk", "water, tea", ""] * 200
BATCH = {"delta": 1e-3, "n": 400}
TRIED = {
    **dict.fromkeys((*LISTED, "NewWords"), ({}, WRITTEN)),
    "AHEAD": ({}, np.arange(400) % 16),
    "Bitstogram": ({"k": 2, "domain": dn.Bytes(1)}, [b"a", b"b"] * 200),
    "HaarHRR": ({"domain": dn.Integers(0, 15)}, np.arange(400) % 16),
    "Hierarchy": ({}, np.arange(400) % 16),
    "IndependentSegments": ({}, ["te", "mi"] * 200),
    "KMeans": ({"features": FEATURES, "clusters": 40, "rounds": 2}, TABLE),
    "LDPMiner": ({"domain": Subsets(dn.IndexRange(8)), "k": 6, "length": 2}, SETS),
    "LogisticRegression": ({"features": FEATURES, "label": "y", "rounds": 2}, TABLE | {"y": np.arange(400) % 2}),
    "Marginals": ({"columns": {name: dn.IndexRange(3) for name in TABLE}}, COLUMNS),
    "Movement": ({}, [[0, 1, 8], [], [4], [2, 2]] * 100),
    "MultipleChannels": ({}, ["te", "mi"] * 200),
    "NodeDegrees": ({}, np.arange(400) % 60),
    "PEM": ({}, ["te", "mi"] * 200),
    "PSFO": ({}, SETS),
    "QuadTree": ({"adaptive": True}, np.arange(400) % 16),
    "RotatingModels": ({"features": FEATURES, "label": "y", "rounds": 2, "models": 2}, TABLE | {"y": np.arange(400) % 2}),
    "SFP": ({"domain": dn.Text(2), "k": 2}, ["te", "mi"] * 200),
    "SVIM": ({"k": 8}, SETS),
    "SVSM": ({"k": 40}, SETS),
    "SampledFactorization": ({"items": 3, "low": 1, "high": 5, "rounds": 2}, [{0: 5, 2: 1.5}, {}, {1: 3}, {2: 4}] * 100),
    "SegmentPairs": ({"domain": dn.Text(4)}, ["teas", "milk"] * 200),
    "ShuffledBinarySum": (BATCH, np.arange(400) % 2),
    "ShuffledHistogram": (BATCH | {"domain": dn.IndexRange(8)}, np.arange(400) % 8),
    "ShuffledRealSum": (BATCH | {"low": 0, "high": 1}, TABLE["f1"]),
    "TreeHist": ({}, ["te", "mi"] * 200),
    "UniformGrid": ({}, np.arange(400) % 9),
    "WholeSets": ({"domain": Subsets(dn.IndexRange(8)), "k": 2}, SETS),
}


@pytest.mark.parametrize("name", [name for name in ROUNDS if name not in ("Survey", "TrieHH")])
def test_no_round_has_more_counters_than_the_first_one_predicts(name):
    made, (own, values) = PROTOCOLS.load()[name], TRIED[name]
    settings = settings_of(name) if name in CHOOSING or not own else {"epsilon": 2.0}
    state = first = made(**settings | own)
    source = ReplaySource.from_key(name)
    while isinstance(state, Protocol):
        tallies = ask(state, values, source=source)
        assert sum(tally.counters.size for tally in tallies.values()) <= min(first.work().counters, state.work().counters)
        state = state.close(tallies)


def test_later_rounds_of_set_searches_are_predicted():
    few, many = (SVSM(domain=Subsets(dn.IndexRange(1 << 14)), k=k, epsilon=2.0).work() for k in (8, 1 << 15))
    assert many.steps > 10**9 > few.steps
    assert many.counters > 1 << 17 > few.counters
    capped = SVSM(domain=Subsets(dn.IndexRange(40)), k=1 << 15, longest=8, epsilon=2.0).work()
    assert capped.counters == (1 << 16) + 8 + 2


def test_what_cut_lists_hide_is_computed_once_for_all_sets(monkeypatch):
    asked = []
    monkeypatch.setattr(estimate, "most_missing", lambda overflow, alpha: asked.append(overflow) or np.full(1, 0.5))
    overflow = dn.RR(epsilon=1.0).estimate(dn.RR(epsilon=1.0).tally(dn.RR(epsilon=1.0).privatize([0, 1]))).law
    groups = np.repeat([0, -1], [400, 100])
    law = estimate.set_estimate(
        range(500), np.zeros(500), np.ones(500), np.ones(500), Guarantee(epsilon=1.0), overflows=(overflow,), groups=groups
    ).law
    assert law.missing(0.01).tolist() == [0.5] * 400 + [0.0] * 100
    assert asked == [overflow]


def test_a_table_of_many_columns_is_designed_in_few_steps():
    """Each column is looked at some times for each view that has it, not every marginal for every column and view."""
    columns = Columns.of({f"c{i}": dn.IndexRange(4) for i in range(56)})
    pairs, steps = wanted(columns, 2, None), count()
    sys.setprofile(lambda *_: next(steps))
    try:
        views = cover(columns, pairs, 6)
    finally:
        sys.setprofile(None)
    assert next(steps) < 10**6  # it was 10^8
    assert {frozenset(pair) for view in views for pair in combinations(view, 2)} >= set(map(frozenset, pairs))


def test_more_marginals_than_can_be_answered_are_refused_before_they_are_listed():
    with pytest.raises(ParameterError, match=r"^k: got '20: 4,191,844,505,805,495 marginals'; allowed: at most 81,920"):
        Marginals(columns={f"c{i}": dn.IndexRange(2) for i in range(60)}, k=20, epsilon=1.0)
