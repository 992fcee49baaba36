"""Frequent items of people who hold sets, over a collector's rounds and through its answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.collect.analysis.analyst import ReportSelection, estimate
from deniable.collect.analysis.disclosure import answer_of, by_name
from deniable.contract.envelope import Envelope
from deniable.contract.protocol import Protocol
from deniable.contract.subsets import Subsets
from deniable.tasks.itemsets import SVIM
from deniable.testing import ReplaySource
from tests.collect.crowd import send, survey_task
from tests.collect.rows import rows_of

SHOP = Subsets(dn.Categories("tea", "milk", "bread", "jam", "salt", "rice"))


@pytest.mark.parametrize("address", ["embedded"], indirect=True)
def test_a_search_for_items_over_a_collector_is_the_protocol_itself(collector):
    """Devices' reports, one by one, in three rounds: the same result as the library's own loop, and told at the epsilon that was paid."""
    search, source = SVIM(domain=SHOP, k=2, epsilon=4.0), ReplaySource.from_key("sets over a collector")
    base = survey_task(collector.registry.key, dn.RR(epsilon=4.0))
    task = replace(base, name="items", protocol=search.canonical, rounds=True, period=0, answers=1)
    collector.publish(task)
    state, number = search, 0
    while isinstance(state, Protocol):
        tallies = {}
        for place, question in enumerate(collector.registry.state(task.id, number).open().questions):
            reports = [question.answer(held, source) for held in [["tea", "milk"], ["tea"], ["tea", "jam", "milk"], []] * 30]
            sent = [
                Envelope(task.id, number, place, 0, bytes([number, place]) + i.to_bytes(14, "big"), question.spec.encode(report))
                for i, report in enumerate(reports)
            ]
            assert send(collector, *sent) == {}
            tallies[question.name] = question.spec.tally(reports)
        state = state.close(tallies)
        assert collector.advance(task.id) == isinstance(state, Protocol)
        number += 1
    assert number == 3
    found = collector.outcome(task.id, 2)
    assert list(found.values) == list(state.values) == ["tea", "milk"]
    np.testing.assert_array_equal(found.counts, state.counts)
    (items,) = estimate(collector, task.id).to_json()["answers"]
    assert (items["question"], items["mechanism"], list(items["estimate"]["parts"])) == ("items", "SVIM", ["lengths"])
    assert items["epsilon"] == pytest.approx(4.0)
    assert items["promise"].startswith("No true answer makes")
    assert found.spec.epsilon > 4.3
    assert [row["value"] for row in rows_of(items)] == ["tea", "milk"]


@pytest.mark.parametrize("address", ["embedded"], indirect=True)
def test_a_part_with_few_reports_is_withheld_and_the_rest_is_shown(collector):
    search = SVIM(domain=SHOP, k=2, epsilon=4.0)
    base = survey_task(collector.registry.key, dn.RR(epsilon=4.0))
    task = replace(base, name="items", protocol=search.canonical, rounds=True, period=0, answers=1, minimum_batch=100)
    found = search.run([["tea", "milk"], ["tea"], ["tea", "jam", "milk"], []] * 300, source=ReplaySource.from_key("few"))
    spec = found.parts["lengths"].spec
    few = replace(found, parts={"lengths": spec.estimate(spec.tally(spec.privatize([0] * 99)))})
    answer = answer_of(task, by_name(task, few), ReportSelection())
    assert answer.withheld == ("items: lengths",)
    assert answer.estimates["items"].parts == {}
    assert answer.to_json()["withheld"] == ["items: lengths"]
    whole = answer_of(task, by_name(task, found), ReportSelection())
    assert (whole.withheld, list(whole.estimates["items"].parts)) == ((), ["lengths"])
