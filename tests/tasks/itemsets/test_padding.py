"""Padding and sampling: the reference's figures, privacy over all sets, the exact estimator, and the single dummy that breaks it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import exp, log

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.contract.encoder import ENCODERS
from deniable.contract.question import Question
from deniable.contract.sets import Overflow, PadAndSample
from deniable.contract.subsets import Subsets
from deniable.core.sets import ItemSets
from deniable.lab.audit import joint_audit
from deniable.lab.audit.joint import answer_laws
from deniable.tasks.itemsets import PSFO
from deniable.tasks.itemsets.padding import padded_estimate, padded_question, threshold
from deniable.testing import ReplaySource

SIX = Subsets(dn.IndexRange(6))
ALL = [list(held) for size in range(7) for held in combinations(range(6), size)]


@dataclass(frozen=True)
class OneDummy(PadAndSample):
    """The evil twin: what is missing is filled up with one and the same dummy, as in public code."""

    def encode(self, value, source):
        return min(super().encode(value, source), self.counted)


del ENCODERS["OneDummy"]


def test_check_values_of_the_reference():
    louder = {3: 1.8172396554020775, 5: 2.260867816817827, 20: 3.5657406303027943}
    assert {length: dn.GRR.epsilon_before(1.0, length) for length in louder} == pytest.approx(louder, rel=1e-14)
    edges = {
        0.5: [5.946163812100385, 24.082097789801793, 157.62852071651218, 644.00129557305],
        1.0: [9.154845485377136, 39.05594559842663, 259.2367737036093, 1061.1299130990276],
        2.0: [23.16716829679195, 104.4467853850291, 702.9603293984118, 2882.731878582954],
        4.0: [164.7944500994327, 765.3741004640193, 5187.824253148702, 21294.278512926252],
    }
    for epsilon, row in edges.items():
        assert [threshold(epsilon, length) for length in (1, 2, 5, 10)] == pytest.approx(row, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "length"), [(1.0, 1), (1.0, 2), (2.0, 5), (0.5, 10)])
def test_the_rule_is_where_the_variances_cross(epsilon, length):
    """And the variances are those of the shipping oracles, at a length-fold count of a rare item."""
    e, d = exp(epsilon), 30
    domain = Subsets(dn.IndexRange(d))
    grr, olh = (padded_question("x", domain, length, None, epsilon=epsilon, oracle=name).spec for name in ("GRR", "OLH"))
    assert grr.domain_size == d + length
    assert length**2 * grr.variance(1) == pytest.approx((d + length - 1 + length * (e - 1)) / (e - 1) ** 2, rel=1e-9)
    assert length**2 * olh.variance(1) == pytest.approx(4 * length**2 * e / (e - 1) ** 2, rel=0.012)  # a whole number of symbols
    edge = threshold(epsilon, length)
    assert (edge + length - 1 + length * (e - 1)) / (e - 1) ** 2 == pytest.approx(4 * length**2 * e / (e - 1) ** 2)
    chosen = [padded_question("x", Subsets(dn.IndexRange(size)), length, None, epsilon=epsilon) for size in (int(edge), int(edge) + 1)]
    assert [question.spec.mechanism for question in chosen] == ["GRR", "OLH"]


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_all_sets_of_six_items_are_private_together(length):
    """Randomized response, louder behind the sampling, costs epsilon and uses it up: for the empty set, and for more items than fit."""
    question = padded_question("items", SIX, length, None, epsilon=1.0, oracle="GRR")
    audit = joint_audit(question, ALL)
    assert audit.passed, audit
    assert 1.0 - 1e-9 <= audit.epsilon <= question.epsilon <= 1.0
    assert question.spec.epsilon == pytest.approx(log(length * (exp(1) - 1) + 1))


def test_a_single_dummy_is_rejected():
    """Brute force over all sets of six items, length 3, epsilon 1: 1.000 with different dummies, 1.817 with one."""
    sound = padded_question("items", SIX, 3, None, epsilon=1.0, oracle="GRR")
    evil = Question(name="items", spec=dn.GRR(domain_size=7, epsilon=sound.spec.epsilon), encoder=OneDummy(SIX, 3))
    audit = joint_audit(evil, ALL)
    assert audit.failures == ["privacy"]
    assert audit.epsilon == pytest.approx(1.817, abs=5e-4)
    assert evil.epsilon == pytest.approx(1.0)  # what it would claim


@pytest.mark.parametrize("candidates", [None, ((0,), (0, 1), (2,), (3, 4, 5))], ids=["items", "sets"])
def test_hashing_gains_nothing_and_is_not_said_to(candidates):
    question = padded_question("items", SIX, 2, candidates, epsilon=1.0, oracle="OLH")
    audit = joint_audit(question, ALL)
    assert question.epsilon == question.spec.epsilon == audit.claimed == 1.0
    assert set(audit.failures) <= {"tight"}  # two dummies, or two items, need not share a symbol


def test_the_estimator_is_exactly_unbiased_up_to_the_length_and_known_beyond():
    """Over the whole law, as Fractions: 1 for a holder of at most l candidates, l / m for one of m > l, 0 for all others."""
    candidates = ((0,), (0, 1), (2,), (3,))
    for length, listed in ((2, None), (2, candidates), (4, candidates)):
        question = padded_question("items", SIX, length, listed, epsilon=1.0, oracle="GRR")
        asked = listed if listed is not None else tuple((key,) for key in range(6))
        for held, law in zip(ALL, answer_laws(question, ALL), strict=True):
            inside = [set(keys) <= set(held) for keys in asked]
            for place, owns in enumerate(inside):
                mean = sum((weight * question.spec.score(report, place) for report, weight in law.items()), Fraction(0)) * length
                assert mean == (Fraction(length, max(length, sum(inside))) if owns else 0)


def test_what_a_count_misses_is_never_more_than_the_overflow():
    """For each of the 64 sets, exactly: a holder is counted as 1 at most, and, with the probability of an overflow, as 1 at least. The twin
    that asks about a list one longer than the one that is drawn from misses more."""
    candidates = ((0,), (0, 1), (2,), (3,), (4, 5))
    asked = padded_question("items", SIX, 2, candidates, epsilon=1.0, oracle="GRR")
    over, twin = (Question(name="o", spec=dn.RR(epsilon=1.0), encoder=Overflow(SIX, length, candidates)) for length in (2, 3))
    laws = zip(ALL, *(answer_laws(question, ALL) for question in (asked, over, twin)), strict=True)
    short = 0
    for held, items, *bits in laws:
        missing, less = (sum((weight * dn.RR(epsilon=1.0).score(bit, 1) for bit, weight in law.items()), Fraction(0)) for law in bits)
        for place, keys in enumerate(candidates):
            mean = sum((weight * asked.spec.score(report, place) for report, weight in items.items()), Fraction(0)) * 2
            owns = set(keys) <= set(held)
            assert mean <= owns <= mean + missing
            short += owns > mean + less
    assert short


def test_devices_and_bulk_draw_alike():
    """The same words, the same inputs: rows shorter and longer than the list, and the empty one."""
    rows = [list(held) for held in ALL] * 3
    for encoder in (
        PadAndSample(SIX, 1),
        PadAndSample(SIX, 3),
        PadAndSample(SIX, 2, ((0,), (0, 1), (1, 2, 5), (4,))),
        PadAndSample(SIX, 2, ()),
        Overflow(SIX, 2, ((0,), (0, 1), (1, 2, 5), (4,))),
    ):
        one_by_one, at_once = ReplaySource.from_key("draws"), ReplaySource.from_key("draws")
        assert encoder.encode_many(rows, at_once).tolist() == [encoder.encode(row, one_by_one) for row in rows]
        assert at_once.consumed == one_by_one.consumed


def test_errors_and_intervals_have_the_exact_probabilities():
    """A report supports an item with q + (p - q) / l if its sender holds it, and with q if not: what errors and intervals are made of."""
    question = padded_question("items", SIX, 3, None, epsilon=1.0, oracle="GRR")
    estimate = padded_estimate(question, question.spec.tally(question.spec.privatize([0] * 9)), range(6))
    fitting = [held for held in ALL if len(held) <= 3]
    chances = {(place in held, law[place]) for held, law in zip(fitting, answer_laws(question, fitting), strict=True) for place in range(6)}
    assert {owns: float(chance) for owns, chance in chances} == pytest.approx(
        {True: float(estimate.law.p), False: float(estimate.law.q)}, rel=1e-14
    )
    assert len(chances) == 2


def deviation(oracle, encode):
    """The sum of six squared errors in standard errors, of 100,000 people with 0 to 3 items, one unheld and one frequent."""
    column = ItemSets.of(SIX, [[0], [0, 1], [0, 1, 2], [], [3, 4]] * 20_000)
    question = padded_question("items", SIX, 3, None, epsilon=1.0, oracle=oracle)
    source = ReplaySource.from_key(f"deviation/{oracle}")
    reports = question.spec.privatize(encode(question.encoder, column, source), source=source)
    estimate = padded_estimate(question, question.spec.tally(reports), range(6))
    return float((((estimate.counts - column.counts) / np.sqrt(estimate.law.variance(column.counts))) ** 2).sum())


@pytest.mark.parametrize("oracle", ["GRR", "OLH"])
def test_a_crowd_is_counted_as_the_theory_says(oracle):
    """At alpha = 1e-6; the sum of six squares stays near that of six independent ones. Evil twins are ten times beyond it:
    a sample without dummies, and one that always takes the first item of a full list."""

    def without_dummies(encoder, column, source):
        drawn, full = encoder.encode_many(column, source), np.flatnonzero(column.sizes)
        drawn[full] = column.items[column.offsets[full]]
        return drawn

    def favoring_the_first(encoder, column, source):
        drawn, full = encoder.encode_many(column, source), np.flatnonzero(column.sizes == 3)
        drawn[full] = column.items[column.offsets[full]]
        return drawn

    limit = stats.chi2.isf(1e-6, 6) * 1.5
    assert deviation(oracle, lambda encoder, column, source: encoder.encode_many(column, source)) < limit
    assert deviation(oracle, without_dummies) > 10 * limit
    assert deviation(oracle, favoring_the_first) > 10 * limit


def test_more_items_than_fit_count_for_less():
    """Everybody holds all six of a list of two: each item is estimated at a third of the people, and nothing is dropped or refused."""
    survey = PSFO(domain=SIX, length=2, epsilon=3.0)
    found = survey.run([list(range(6))] * 60_000, source=ReplaySource.from_key("many"))
    assert np.all(np.abs(found.counts - 20_000) < 4.892 * np.sqrt(found.law.variance(found.counts)))
    assert survey.guarantee.neighbors == "any two sets of one person"
