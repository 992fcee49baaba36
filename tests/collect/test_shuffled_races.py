"""Batches that come at once, to one collector or to several of one database: each is taken once, and no report counts in two."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice

import pytest

from deniable.collect import batch_intake
from deniable.collect.batch_intake import BatchRefused
from deniable.collect.collector import Collector
from deniable.collect.storage.store import Store
from tests.collect.mixing import MINIMUM, analyst_key, count, message, opened, published, reports, seals

TIMES = 6


@pytest.fixture
def collectors(address, clock, identity):
    """Two of one database where that can be shared, else one twice."""
    stores = [Store.open(address)]
    stores += [Store.open(address)] if stores[0].catalog.shared else []
    made = [Collector(store, clock=clock) for store in stores]
    yield [made[0], made[-1]]
    for store in stores:
        store.close()


def all_at_once(collectors, task, batches):
    """Hand in every batch, to one collector after the other; what became of them."""
    for collector in collectors:
        collector.refresh()

    def receive(pair):
        collector, batch = pair
        try:
            return collector.receive(batch).outcome
        except BatchRefused as error:
            return error.code

    with ThreadPoolExecutor(len(batches)) as pool:
        return Counter(pool.map(receive, zip(islice(cycle(collectors), len(batches)), batches, strict=True)))


def test_one_batch_many_times(collectors):
    task = published(collectors[0])
    batch = opened(message(task, seals(task, reports(task, MINIMUM), analyst_key(collectors[0], task))))
    assert all_at_once(collectors, task, [batch] * TIMES) == {"taken": 1, "repeated": TIMES - 1}
    assert [count(collector, task) for collector in collectors] == [MINIMUM, MINIMUM]


def test_batches_that_share_their_reports(collectors):
    """All of them but the first to come have too few of their own."""
    task = published(collectors[0])
    key, common = analyst_key(collectors[0], task), reports(task, MINIMUM)
    batches = [opened(message(task, seals(task, [*common, *reports(task, 3)], key))) for _ in range(TIMES)]
    assert all_at_once(collectors, task, batches) == {"taken": 1, "too_few": TIMES - 1}
    assert count(collectors[1], task) == MINIMUM + 3


def test_batches_beside_a_seal(collectors):
    """Whatever comes first: what is counted is what the batches say, and nothing of a batch is counted without the rest."""
    task = published(collectors[0])
    key = analyst_key(collectors[0], task)
    first = opened(message(task, seals(task, reports(task, MINIMUM), key)))
    assert collectors[0].receive(first).outcome == "taken"
    collectors[1].refresh()
    batches = [opened(message(task, seals(task, reports(task, MINIMUM + place), key))) for place in range(TIMES)]
    with ThreadPoolExecutor(1) as pool:
        sealing = pool.submit(collectors[1].seal, task.id, 0)
        outcomes = all_at_once(collectors, task, batches)
        sealing.result()
    assert set(outcomes) <= {"taken", "sealed"}
    listed = collectors[0].batches.listed(task.id)
    assert len(listed) == 1 + outcomes["taken"]
    assert count(collectors[0], task) == sum(batch.reports for batch in listed)
    assert collectors[0].batches.begun() == []


def test_a_seal_while_a_batch_is_opened(collectors, monkeypatch):
    """The reason is the seal, not that nothing of the batch could be counted."""
    task = published(collectors[0])
    key = analyst_key(collectors[0], task)
    assert collectors[0].receive(opened(message(task, seals(task, reports(task, MINIMUM), key)))).outcome == "taken"
    open_seals = batch_intake.open_seals

    def seal_first(*arguments):
        collectors[0].seal(task.id, 0)
        return open_seals(*arguments)

    monkeypatch.setattr(batch_intake, "open_seals", seal_first)
    late = opened(message(task, seals(task, reports(task, MINIMUM), key)))
    with pytest.raises(BatchRefused, match="already counted"):
        collectors[0].receive(late)
