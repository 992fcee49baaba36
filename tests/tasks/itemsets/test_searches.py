"""Searches for frequent items and sets: who is asked what and once, resuming, what they find, their errors, and crowds at the edge."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import deniable as dn
from deniable.client.answerable import takes_all
from deniable.client.board import Board
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.guarantee import Guarantee
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.question import Question, Round
from deniable.contract.sets import PadAndSample
from deniable.contract.subsets import Subsets
from deniable.contract.task import OpenedRound
from deniable.core.run import ask, draw_tickets
from deniable.core.sets import ItemSets
from deniable.errors import DomainError, MergeError, ParameterError, ProtocolError, WireError
from deniable.lab.audit import joint_audit
from deniable.tasks.itemsets import PSFO, SVIM, SVSM, LDPMiner, WholeSets
from deniable.tasks.itemsets.estimate import set_estimate
from deniable.tasks.itemsets.lengths import Lengths, length_question
from deniable.tasks.itemsets.rules import association_rules
from deniable.tasks.itemsets.svim import SVIMState
from deniable.tasks.itemsets.svsm import SVSMState, likely_sets
from deniable.tasks.itemsets.whole_sets import supersets
from deniable.testing import ReplaySource
from tests.client.fake import Device, FakeCollector, rounds_task

ITEMS = Subsets(dn.Categories(*(f"item {i}" for i in range(12))))
WIDE = Subsets(dn.IndexRange(200))
COMMON = {"domain": ITEMS, "epsilon": 2.0}
PROTOCOLS = {
    "PSFO": (PSFO(length=2, **COMMON), [1]),
    "SVIM": (SVIM(k=3, **COMMON), [1, 1, 1]),
    "SVIM as published, capped": (SVIM(k=3, projection="norm-sub", longest=2, oracle="OLH", **COMMON), [1, 1, 1]),
    "LDPMiner": (LDPMiner(k=3, length=3, **COMMON), [1, 1]),
    "LDPMiner as published": (LDPMiner(k=3, length=3, split="epsilon", **COMMON), [2, 2]),
    "SVSM": (SVSM(k=3, **COMMON), [1, 1, 1, 1, 1]),
    "WholeSets": (WholeSets(k=3, **COMMON), [1]),
}
BASKETS = [["item 0", "item 1"], ["item 0"], ["item 2", "item 0", "item 1", "item 3"], []] * 100


def states(first, crowd, source):
    """Every state of a run, each read back from what would be stored, and at last the result."""
    state, tickets = first, draw_tickets(first, len(crowd), source)
    while isinstance(state, Protocol):
        state = protocol_from_json(state.canonical)
        yield state, tickets
        state = state.close(ask(state, crowd, tickets, source=source))
    yield state, tickets


@pytest.mark.parametrize("name", PROTOCOLS)
def test_everyone_reports_once_with_the_whole_epsilon_and_runs_resume(name):
    first, rounds = PROTOCOLS[name]
    crowd = ItemSets.of(ITEMS, BASKETS)
    asked, spent = np.zeros(len(crowd), dtype=int), np.zeros(len(crowd))
    *steps, (result, _) = states(first, crowd, ReplaySource.from_key(name))
    for state, tickets in steps:
        for i, ticket in enumerate(tickets.tolist()):
            if question := state.question(ticket):
                asked[i] += 1
                spent[i] += question.epsilon
    assert len(steps) == len(rounds)
    assert set(asked.tolist()) == {2 if "published" in name and "Miner" in name else 1}
    assert spent.max() <= first.guarantee.epsilon == 2.0
    plain = first.run(BASKETS, source=ReplaySource.from_key(name))
    assert set(plain.parts) == set(result.parts)
    assert plain.guarantee == first.guarantee
    for one, other in ((plain, result), *((plain.parts[part], result.parts[part]) for part in plain.parts)):
        assert list(one.values) == list(other.values)
        assert one.frequencies.tolist() == other.frequencies.tolist()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_devices_answer_every_round(name):
    """Each round as a collector opens it, behind its signature: the empty set, many items, and reports that its spec reads."""
    first, _ = PROTOCOLS[name]
    task = rounds_task(protocol=first.canonical, epsilon=first.epsilon, answers=2)
    collector, source = FakeCollector(task), ReplaySource.from_key(name)
    for number, (state, _) in enumerate(states(first, BASKETS, source)):
        if not isinstance(state, Protocol):
            break
        opened = OpenedRound(task=task.id, number=number, scale=state.scale, round=state.open(), state=bytes(32))
        collector.rounds[task.id.hex()] = opened
        for question, edge in zip(state.open().questions, state.open().edges(state.scale), strict=False):  # and where the last one ends
            assert takes_all(question, ITEMS)
            before = len(collector.reports)
            for held in ([], ["item 7"], [f"item {i}" for i in range(12)]):
                device = Device(Board(collector, keep_rounds=True), task, source=source)
                device.ledger.ticket(task.id, lambda turn=edge: turn)
                assert device.report(held).state == "sent"
                assert float(device.ledger.entries()[-1].epsilon) == question.epsilon <= 2.0
            sent = [envelope.payload for envelope in collector.reports.values()][before:]
            assert question.spec.tally([question.spec.decode(payload) for payload in sent]).n == 3


def test_a_louder_mechanism_is_answered_only_behind_the_sample_that_pays_for_it():
    task, loud = rounds_task(ITEMS, epsilon=1.0), dn.GRR(domain_size=14, epsilon=1.489)
    for encoder, refused in ((PadAndSample(ITEMS, 2), False), (PadAndSample(ITEMS, 1), True)):
        collector = FakeCollector(task)
        question = Question(name="items", spec=loud, encoder=encoder)
        collector.rounds[task.id.hex()] = OpenedRound(task=task.id, number=0, scale=1, round=Round((question,)), state=bytes(32))
        device = Device(collector, task)
        if refused:
            with pytest.raises(ProtocolError, match="the task promises more"):
                device.report(["item 1"])
        else:
            assert device.report(["item 1"]).state == "sent"
            assert float(device.ledger.entries()[0].epsilon) == pytest.approx(1.0, abs=2e-3)
        with pytest.raises(DomainError, match="sets that name each item once"):
            device.report(["item 1", "item 1"])
    assert not takes_all(Question(name="small", spec=dn.GRR(domain_size=13, epsilon=1.0), encoder=PadAndSample(ITEMS, 2)), ITEMS)
    assert not takes_all(Question(name="other", spec=dn.GRR(domain_size=99, epsilon=1.0), encoder=PadAndSample(WIDE, 2)), ITEMS)


def test_every_question_of_the_search_for_sets_is_private_for_all_sets():
    """The exact law of whole answers for all 64 sets of six items, in each of the five rounds."""
    six = Subsets(dn.IndexRange(6))
    everything = [list(held) for size in range(7) for held in combinations(range(6), size)]
    asked = []
    for state, _ in states(SVSM(domain=six, k=2, epsilon=1.5), everything * 8, ReplaySource.from_key("audit")):
        if isinstance(state, Protocol):
            for question in state.open().questions:
                audit = joint_audit(question, everything)
                assert set(audit.failures) <= {"tight"}, audit
                assert audit.claimed <= 1.5
                asked.append(question.name)
    assert asked == ["sample", "lengths", "items", "overflow", "set-lengths", "itemsets"] + ["overflow"] * (len(asked) - 6)


def crowd_of(people, key):
    """Sets of 200 items: 0 is held by half, 1 by 0.4, 2 by 0.3, and 0 and 1 together by 0.35; and up to three of the rest."""
    source = ReplaySource.from_key(key)
    words = np.array(source.words(4 * people), dtype=np.uint64).reshape(people, 4) / 2.0**64
    held = np.zeros((people, 200), dtype=bool)
    held[:, 0], held[:, 1], held[:, 2] = words[:, 0] < 0.5, (words[:, 0] < 0.35) | (words[:, 0] > 0.95), words[:, 1] < 0.3
    held[np.arange(people), 3 + (words[:, 2] * 197).astype(int)] = True
    held[np.arange(people), 3 + (words[:, 3] ** 3 * 197).astype(int)] = True
    return ItemSets.of(WIDE, held)


def test_items_and_sets_are_found_with_honest_errors():
    """40,000 people, epsilon 4: the three frequent items, the frequent pair, every error within 4.89 standard errors."""
    crowd = crowd_of(40_000, "crowd")
    source = ReplaySource.from_key("found")
    items = SVIM(domain=WIDE, k=3, epsilon=4.0).run(crowd, source=source)
    assert items.values == [0, 1, 2]
    lengths = items.parts["lengths"]
    low, high = Lengths(lengths).limits
    assert 2 <= low <= items.law.length <= high <= 4
    assert abs(lengths.counts[:4].sum() - lengths.n) < 4.892 * np.sqrt((lengths.stderr[:4] ** 2).sum())
    miner = LDPMiner(domain=WIDE, k=3, epsilon=4.0, length=4).run(crowd, source=source)
    assert miner.law.length == 6
    for found in (items, miner):
        truth = crowd.counts[found.values] / len(crowd)
        sampling = np.sqrt(truth * (1 - truth) / found.n)  # those who are asked are a sample
        assert np.all(np.abs(found.frequencies - truth) < 4.892 * np.hypot(found.frequency_stderr, sampling) + 0.02)
    sets = SVSM(domain=WIDE, k=4, epsilon=4.0).run(crowd, source=source)
    assert set(sets.values) == {(0,), (1,), (2,), (0, 1)}
    assert sets.n.tolist()[0] < 10_000 < sets.n[sets.values.index((0, 1))]
    rules = association_rules(sets)
    rule = rules.values.index(((1,), (0,)))
    assert rules.values == association_rules(sets.parts["counted"]).values
    low, high = rules.interval(1 - 1e-6)
    assert low[rule] - 0.02 < 0.35 / 0.4 < high[rule] + 0.02
    assert abs(rules.details["lift"][rule] - 0.35 / 0.2) < 5 * rules.details["lift_stderr"][rule] + 0.05


def test_a_length_histogram_must_be_projected():
    """People hold 1, 2 or 3 of 64 candidates. The published projection keeps a length near 3; zeroing what is negative, the evil twin,
    makes it explode; and only cutting the noise off keeps the scale at its true value of 1."""
    question = length_question("lengths", WIDE, tuple((key,) for key in range(64)), epsilon=1.0, share=Fraction(1))
    found = {"cut": [], "norm-sub": [], "clipped": []}
    for run in range(20):
        reports = question.spec.privatize(np.repeat([1, 2, 3], 6000), source=ReplaySource.from_key(f"lengths/{run}"))
        estimate = question.spec.estimate(question.spec.tally(reports))
        for name in ("cut", "norm-sub"):
            measured = Lengths(estimate, projection=name)
            found[name].append((measured.length, measured.scale))
        clipped = np.cumsum(np.clip(estimate.counts, 0, None))
        found["clipped"].append((int(np.flatnonzero(clipped >= 0.9 * clipped[-1])[0]), 0.0))
    lengths = {name: [length for length, _ in rows] for name, rows in found.items()}
    assert set(lengths["cut"]) == {3}
    assert np.median(lengths["norm-sub"]) <= 12
    assert min(lengths["clipped"]) > 30
    assert max(scale for _, scale in found["cut"]) < 1.01
    assert np.mean([scale for _, scale in found["norm-sub"]]) > 1.1
    assert Lengths(estimate, longest=2).length == 2


def test_the_strawman_counts_supersets_and_says_how_badly():
    """Sums over all sets that contain one; 80 runs against the stated error, for randomized response and for hashing."""
    for d, epsilon in ((3, 2.0), (6, 1.0)):
        domain = Subsets(dn.IndexRange(d))
        sets = [[0], [0, 1], [0, 1, 2], []] * 50
        search = WholeSets(domain=domain, k=2, epsilon=epsilon)
        assert search.open().questions[0].spec.mechanism == ("GRR" if d == 3 else "OLH")
        column = ItemSets.of(domain, sets)
        runs = [search.run(column, source=ReplaySource.from_key(f"straw/{d}/{run}")).parts["counted"] for run in range(80)]
        place, truth = [runs[0].values.index(value) for value in ((0,), (0, 1), (2,))], np.array([0.75, 0.5, 0.25])
        found = np.array([[run.frequencies[run.values.index(runs[0].values[i])] for i in place] for run in runs])
        stated = np.sqrt(np.mean([[run.stderr[run.values.index(runs[0].values[i])] ** 2 for i in place] for run in runs], axis=0))
        assert np.all(np.abs(found.mean(axis=0) - truth) < 4.892 * stated / np.sqrt(80))
        assert found.std(axis=0, ddof=1) == pytest.approx(stated, rel=0.35)
    counts = np.arange(16.0)
    assert supersets(counts, 4).tolist() == [sum(counts[other] for other in range(16) if other & code == code) for code in range(16)]


@pytest.mark.parametrize("people", [0, 1, 5])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_few_people_and_empty_sets_get_an_answer(name, people):
    first, _ = PROTOCOLS[name]
    for sets in ([[]] * people, [["item 0"]] * people):
        result = first.run(sets, source=ReplaySource.from_key(f"{name}/{people}"))
        for found in (result, *result.parts.values()):
            assert np.all(np.isfinite(found.frequencies)), found.about
            assert np.all(np.isfinite(found.interval(0.95)))
            assert repr(found)


def test_more_is_wanted_than_there_is():
    two = Subsets(dn.IndexRange(2))
    found = SVIM(domain=two, k=50, epsilon=3.0).run([[0], [0, 1]] * 500, source=ReplaySource.from_key("two"))
    assert sorted(found.values) == [0, 1]
    sets = SVSM(domain=two, k=50, epsilon=3.0).run([[0], [0, 1]] * 500, source=ReplaySource.from_key("two"))
    assert set(sets.parts["counted"].values) <= {(0,), (1,), (0, 1)}


def test_guesses_come_in_the_order_of_their_products():
    frequencies = np.array([0.31, 0.07, 0.22, 0.5, 0.44])
    share = 0.9 * frequencies / 0.5
    every = [held for size in range(2, 6) for held in combinations(range(5), size)]
    expected = sorted(every, key=lambda held: -np.prod(share[list(held)]))
    assert [tuple(sorted(held)) for held in likely_sets(frequencies, 26)] == expected
    assert likely_sets(np.array([-0.1, 0.0]), 5) == []


def test_rules_need_what_stands_out_and_say_when_nothing_is_known():
    values = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c")]
    shares, errors = np.array([0.5, 0.02, 0.4, 0.3, 0.01]), np.array([0.01, 0.02, 0.01, 0.01, 0.01])
    counted = set_estimate(values, shares, errors, np.full(5, 900), Guarantee(epsilon=1.0))
    rules = association_rules(counted)
    assert set(rules.values) == {(("a",), ("b",)), (("b",), ("a",))}  # a and c together are noise
    low, high = rules.interval(0.95)
    unknown = rules.values.index((("b",), ("a",)))
    assert (low[unknown], high[unknown]) == (0.0, 1.0)
    assert low[1 - unknown] < 0.6 < high[1 - unknown]
    assert association_rules(counted, confidence=0.7).values == [(("b",), ("a",))]


BAD = [(SVIM, {"k": 0}), (SVIM, {"k": 3, "epsilon": -1.0}), (SVIM, {"k": 3, "domain": dn.IndexRange(4)}), (SVIM, {"k": 3, "oracle": "OUE"})]
BAD += [(SVIM, {"k": 3, "shares": (1, 1, 1)}), (SVIM, {"k": 3, "longest": 0}), (SVIM, {"k": 3, "projection": "clip"})]
BAD += [(SVIM, {"k": 3, "state": SVIMState(candidates=(5, 2))}), (SVIM, {"k": 3, "state": SVIMState(lengths="00")})]
BAD += [(SVSM, {"k": 3, "state": SVSMState(lengths="00")}), (SVSM, {"k": 3, "state": SVSMState(svim=SVIM(k=4, **COMMON))})]
BAD += [(LDPMiner, {"k": 3, "length": 0}), (LDPMiner, {"k": 3, "length": 2, "split": "both"}), (PSFO, {"length": 1 << 20})]
BAD += [(WholeSets, {"k": 3, "domain": WIDE}), (WholeSets, {"k": 0})]


@pytest.mark.parametrize(
    ("made", "options"), BAD, ids=[f"{made.__name__}-{sorted(options)[-1]}-{i}" for i, (made, options) in enumerate(BAD)]
)
def test_bad_settings_are_refused(made, options):
    with pytest.raises(ParameterError):
        made(**COMMON | options)


def test_foreign_tallies_and_damaged_states_are_refused():
    search = SVIM(k=3, **COMMON)
    with pytest.raises(ProtocolError, match="sample"):
        search.close({"items": None})
    state = search.close(ask(search, BASKETS, source=ReplaySource.from_key("damage")))
    later = state.close(ask(state, BASKETS, source=ReplaySource.from_key("damage")))
    other = SVIM(k=4, state=SVIMState(candidates=(0, 1)), **COMMON)
    with pytest.raises(MergeError):
        later.learned(candidates=(0, 1))
    for data in (
        state.canonical.replace(b'"k":3', b'"k":"3"'),
        later.canonical.replace(b'"lengths":"', b'"lengths":"ff'),
        other.canonical[:-1],
    ):
        with pytest.raises(WireError):
            protocol_from_json(data)
    *_, after, _, _ = (step for step, _ in states(SVSM(k=3, **COMMON), BASKETS, ReplaySource.from_key("damage")))
    stored = parse_canonical(after.canonical)
    assert len(stored["items"]) == 2  # the counts, and what they miss
    for items in (stored["items"][:1], stored["items"] * 2, stored["items"][0], 7, ["zz", "zz"]):
        with pytest.raises(WireError):
            protocol_from_json(canonical_json(stored | {"items": items}))
