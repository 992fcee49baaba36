"""Shuffled batches in a collector: taken as a whole and once, priced by their real size, or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy.exc import OperationalError

from deniable.collect.analysis.analyst import TooFew, estimate, task_status
from deniable.collect.batch_intake import BatchRefused
from deniable.collect.collector import Collector
from deniable.collect.storage.block import Bucket
from deniable.collect.tasks.batch_price import price
from deniable.contract.mixing import Threshold
from deniable.errors import ParameterError, WireError
from tests.collect.crowd import HOUR, NOON, send, survey_task
from tests.collect.mixing import (
    MINIMUM,
    OTHER_SEED,
    SEED,
    analyst_key,
    count,
    drink,
    dummies,
    hand_in,
    message,
    opened,
    published,
    reports,
    seals,
    shuffle_task,
)


def refused(collector, task, envelopes, **about) -> str:
    """The code of a batch that is not taken; nothing of it may be stored or shown."""
    before = count(collector, task)
    with pytest.raises(BatchRefused) as caught:
        hand_in(collector, task, envelopes, **about)
    assert count(collector, task) == before
    assert collector.batches.begun() == []
    return caught.value.code


def test_a_batch_is_counted_once_and_shown_with_both_epsilons(collector):
    task = published(collector)
    with pytest.raises(TooFew):
        estimate(collector, task.id)
    sealed = seals(task, reports(task, MINIMUM + 10), analyst_key(collector, task))
    batch = opened(message(task, sealed))
    assert [collector.receive(batch).outcome for _ in range(3)] == ["taken", "repeated", "repeated"]
    assert count(collector, task) == MINIMUM + 10
    told = estimate(collector, task.id).to_json()
    assert told["model"] == "shuffle"
    assert told["shuffle"]["epsilon"] == price(task, MINIMUM + 10).epsilon < task.mixing.epsilon
    assert (told["shuffle"]["local_epsilon"], told["shuffle"]["sizes"]) == (task.epsilon, [MINIMUM + 10])
    promise = told["shuffle"]["promise"]
    assert "only the local epsilon = 1 holds" in promise
    assert "neither the collector nor its analysts run" in promise
    collector.seal(task.id, 0)
    assert estimate(collector, task.id).to_json()["shuffle"] == told["shuffle"]


def test_the_worst_of_several_batches_is_told_by_size_and_not_in_the_order_of_arrival(collector):
    task = published(collector)
    for size in (MINIMUM + 30, MINIMUM, MINIMUM + 5):
        assert hand_in(collector, task, reports(task, size)) == "taken"
    told = estimate(collector, task.id).to_json()["shuffle"]
    assert (told["batches"], told["sizes"]) == (3, [MINIMUM, MINIMUM + 5, MINIMUM + 30])
    assert (told["epsilon"], told["people"]) == (price(task, MINIMUM).epsilon, MINIMUM)
    assert task_status(collector, task.id)["shuffle"]["batches"] == 3


def test_dummies_repetitions_and_what_is_stored_already_do_not_count(collector):
    task = published(collector)
    notice = analyst_key(collector, task)
    few = reports(task, MINIMUM - 1)
    assert refused(collector, task, few, extra=dummies(task, MINIMUM, notice)) == "too_few"
    assert refused(collector, task, few, extra=seals(task, few, notice)) == "too_few"
    assert refused(collector, task, [], extra=dummies(task, MINIMUM, notice)) == "too_few"
    assert hand_in(collector, task, [*few, *reports(task, 1)], extra=dummies(task, 8, notice)) == "taken"
    more = reports(task, MINIMUM - 1)
    assert refused(collector, task, [*more, few[0]]) == "too_few"  # the same report again, in another batch
    assert hand_in(collector, task, [*more, *reports(task, 2), few[0]]) == "taken"
    assert count(collector, task) == 2 * MINIMUM + 1
    assert estimate(collector, task.id).to_json()["shuffle"]["sizes"] == [MINIMUM, MINIMUM + 1]


def test_what_a_device_spoils_is_left_out_and_spoils_nothing_else(collector):
    task = published(collector)
    notice = analyst_key(collector, task)
    good = reports(task, MINIMUM)
    bad = [
        good[0]._replace(id=bytes(16), question=1),
        good[0]._replace(id=bytes([1]) * 16, payload=b"\xff"),
        good[0]._replace(id=bytes([2]) * 16, stratum=9),
        *reports(task, 1, period=1),
    ]
    spoiled = seals(task, bad, notice)
    broken = bytearray(seals(task, good[:1], notice)[0])
    broken[-1] ^= 1
    unknown = bytearray(seals(task, good[:1], notice)[0])
    unknown[1] ^= 1
    extra = [*spoiled, bytes(broken), bytes(unknown), *dummies(task, 2, notice)]
    sealed = [*seals(task, good, notice), *extra]
    received = collector.receive(opened(message(task, sealed)))
    assert received.left_out == {"dummy": 2, "damaged": 3, "bad_question": 1, "bad_payload": 1, "bad_stratum": 1}
    assert count(collector, task) == MINIMUM
    assert refused(collector, task, good[: MINIMUM - 1], extra=extra) == "too_few"


def test_a_batch_is_priced_without_those_who_may_not_be_honest(collector):
    with pytest.raises(ParameterError) as caught:
        published(collector, honest="9/10")
    assert caught.value.parameter == "shuffle"
    task = published(collector, honest="9/10", epsilon=0.39)
    assert hand_in(collector, task, reports(task, MINIMUM + 1)) == "taken"
    told = estimate(collector, task.id).to_json()["shuffle"]
    assert told["people"] == 36
    assert told["epsilon"] == price(replace(task, mixing=replace(task.mixing, honest="1")), 36).epsilon


def test_a_batch_whose_claim_does_not_hold_is_refused(collector):
    """The collector publishes no such task; one that an older one published is held to its claim all the same."""
    task = shuffle_task(collector.registry.key, epsilon=0.3)
    collector.registry.publish(task, collector.now())
    collector.refresh()
    collector.tend()
    assert refused(collector, task, reports(task, MINIMUM)) == "claim"
    assert hand_in(collector, task, reports(task, 2 * MINIMUM)) == "taken"


def test_a_threshold_has_its_price_and_is_the_tasks_own(collector):
    rule = Threshold(minimum=5, sigma="30")
    task = published(collector, threshold=rule, epsilon=0.7)
    dearer = price(task, MINIMUM).epsilon - price(replace(task, mixing=replace(task.mixing, threshold=None)), MINIMUM).epsilon
    assert 0.1 < dearer < 0.3
    assert refused(collector, task, reports(task, MINIMUM), threshold=None) == "wrong_threshold"
    assert refused(collector, task, reports(task, MINIMUM), threshold=Threshold(minimum=5, sigma="31")) == "wrong_threshold"
    assert hand_in(collector, task, reports(task, MINIMUM)) == "taken"


@pytest.mark.parametrize(
    ("hours", "period", "code"),
    [(0.5, 1, "too_early"), (3, 0, "too_late"), (0, 24, "too_early")],
)
def test_batches_have_the_time_that_reports_have(collector, clock, hours, period, code):
    task = published(collector)
    envelopes = reports(task, MINIMUM, period=period)
    clock.now = NOON + hours * HOUR
    collector.watch.follow()
    restarted = Collector(collector.store, clock=clock)  # which believes its clock
    assert refused(restarted, task, envelopes, period=period) == code
    restarted.close_task(task.id)
    assert refused(restarted, task, envelopes, period=period) == "closed"


def test_a_batch_for_a_period_that_was_sealed_leaves_no_trace(collector):
    task = published(collector)
    assert hand_in(collector, task, reports(task, MINIMUM)) == "taken"
    late = Collector(collector.store, clock=collector.clock)  # another one, which does not know of the seal
    collector.seal(task.id, 0)
    assert refused(late, task, reports(task, MINIMUM)) == "sealed"
    assert estimate(late, task.id).to_json()["shuffle"]["sizes"] == [MINIMUM]


def test_another_batch_under_the_same_id_is_refused(collector):
    task = published(collector)
    name = bytes(range(16))
    assert hand_in(collector, task, reports(task, MINIMUM), batch=name) == "taken"
    assert refused(collector, task, reports(task, MINIMUM), batch=name) == "other_batch"


def test_reports_that_come_one_by_one_are_refused(collector):
    task = published(collector)
    sent = reports(task, 3)
    assert set(send(collector, *sent).values()) == {"shuffled_only"}
    assert hand_in(collector, task, reports(task, MINIMUM)) == "taken"
    assert set(send(collector, *sent).values()) == {"shuffled_only"}  # whatever the batch made it remember


def test_a_task_of_local_trust_takes_no_batches(collector):
    task = shuffle_task(collector.registry.key)
    local = survey_task(collector.registry.key, drink(), name="local")
    collector.publish(task)
    collector.publish(local)
    sealed = seals(task, reports(task, MINIMUM), analyst_key(collector, task))
    with pytest.raises(BatchRefused) as caught:
        collector.receive(opened(message(local, sealed)))
    assert caught.value.code == "local_task"


def test_seals_for_another_task_count_for_nothing(collector):
    first, second = published(collector), shuffle_task(collector.registry.key, minimum=MINIMUM + 1)
    collector.publish(replace(second, name="second"))
    second = replace(second, name="second")
    sealed = seals(first, reports(first, MINIMUM + 1), analyst_key(collector, first))
    with pytest.raises(BatchRefused) as caught:
        collector.receive(opened(message(second, sealed)))
    assert caught.value.code == "too_few"
    with pytest.raises(BatchRefused) as caught:
        collector.receive(opened(message(first, [seal + b"\0" for seal in sealed])))
    assert caught.value.code == "wrong_size"


def test_a_message_that_was_not_signed_as_it_is_cannot_be_opened(collector):
    task = published(collector)
    data = message(task, seals(task, reports(task, MINIMUM), analyst_key(collector, task)))
    with pytest.raises(WireError, match="signature"):
        opened(data, OTHER_SEED)
    for place in (10, len(data) // 2, len(data) - 1):  # manifest, seals
        altered = bytearray(data)
        altered[place] ^= 1
        with pytest.raises(WireError):
            opened(bytes(altered), SEED)
    with pytest.raises(WireError):
        opened(data[:-1])


def test_the_store_keeps_nothing_of_the_order_of_a_batch(collector):
    """What lies in the batch until it is done, and in the log after that, is sorted by id."""
    task, seen = published(collector), []
    append = collector._receiver._append

    def look(rows):
        found = collector.batches.find(*collector.batches.begun()[0])
        width = len(found.rows) // found.reports
        seen.append([found.rows[at : at + 16] for at in range(0, len(found.rows), width)])
        return append(rows)

    collector._receiver._append = look
    assert hand_in(collector, task, reports(task, 4 * MINIMUM)) == "taken"
    with collector.store.catalog.reading() as connection:
        (block,) = collector.store.log.read_open(connection, Bucket(task.id, 0))
    seen.append([row[:16].tobytes() for row in block.rows])
    assert [ids == sorted(ids) and len(ids) == 4 * MINIMUM for ids in seen] == [True, True]
    assert collector.batches.begun() == []


def test_nothing_tells_in_which_order_batches_came(collector):
    """The file has no numbers that count up with arrival: rows lie by ids that a shuffler has drawn."""
    task = published(collector)
    ids = [bytes([place]) * 16 for place in (9, 1, 5)]
    for place, batch in enumerate(ids):
        assert hand_in(collector, task, reports(task, MINIMUM + place), batch=batch) == "taken"
    if collector.store.catalog.shared:
        return
    with collector.store.catalog.reading() as connection:
        assert connection.exec_driver_sql("SELECT id FROM batch NOT INDEXED").scalars().all() == sorted(ids)
        with pytest.raises(OperationalError, match="rowid"):
            connection.exec_driver_sql("SELECT rowid FROM batch")
