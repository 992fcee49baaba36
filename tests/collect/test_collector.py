"""The collector on real stores: what is taken, when it is counted, and that it is counted once."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from deniable.collect.collector import Collector
from deniable.collect.storage.block import Block, Bucket
from deniable.collect.storage.store import Store
from deniable.contract.ed25519 import TASK_CONTEXT, verify
from deniable.contract.public_log import verify_chain
from deniable.errors import ParameterError
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task


@pytest.fixture
def task(collector):
    task = survey_task(collector.registry.key, strata=(("platform", ("phone", "web")),))
    collector.publish(task)
    return task


def interrupted(*_):
    raise KeyboardInterrupt


def counts(collector, task, period=0, question=0, stratum=0):
    """The values that were counted, each as often as it was."""
    tally = collector.tallies(task.id).get((period, question, stratum))
    return [] if tally is None else np.repeat(np.arange(tally.counters.size), tally.counters).tolist()


def test_a_published_task_is_signed_and_logged(collector, task):
    (stored,) = collector.store.tasks()
    assert stored.canonical == task.canonical
    assert verify(task.key, TASK_CONTEXT + stored.canonical, stored.signature)
    verify_chain(collector.registry.entries(), task.key)
    collector.publish(task)  # again: nothing happens
    assert len(collector.store.tasks()) == len(collector.registry.entries()) == 1


def test_a_task_for_another_collector_is_refused(collector, task):
    with pytest.raises(ParameterError, match="key"):
        collector.publish(replace(task, key=bytes(32)))


def test_another_meaning_needs_another_name_or_a_word(collector, task):
    other = replace(task, question="Which number is not yours?")
    with pytest.raises(ParameterError, match="question"):
        collector.publish(other)
    collector.publish(other, new_meaning=True)
    assert {stored.id for stored in collector.store.tasks()} == {task.id, other.id}


def test_a_meaning_that_was_changed_on_purpose_is_the_meaning_from_then_on(collector, task):
    other = replace(task, question="Which number is not yours?")
    collector.publish(other, new_meaning=True)
    collector.publish(replace(other, end=other.end + HOUR))  # later than the last, though not what the first one meant
    with pytest.raises(ParameterError, match="question"):
        collector.publish(replace(task, end=task.end + HOUR))


def test_originals_that_could_not_be_deleted_are_deleted_later(collector, task, clock):
    from deniable.collect.storage.log import StorageError

    send(collector, envelope(task, 4))
    clock.now = NOON + 2 * HOUR

    def fail(bucket):
        raise StorageError("log", "a broken disk", allowed="a disk", fix="repair it")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collector.store.log, "drop_open", fail)
        with pytest.raises(StorageError):
            collector.tend()
    assert collector.store.buckets()[0].state == "sealed"
    dropped = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collector.store.log, "drop_open", dropped.append)
        collector.tend()
        collector.tend()
    assert dropped == [Bucket(task.id, 0)]


def test_the_codes_of_refusal(collector, task, clock):
    good = envelope(task, 7)
    cases = {
        "unknown_task": good._replace(task=bytes(32)),
        "bad_question": good._replace(question=1),
        "bad_stratum": good._replace(stratum=2),
        "bad_token": good._replace(token=b"t"),
        "bad_payload": good._replace(payload=b""),
        "too_early": good._replace(period=1),
    }
    sent = [bad._replace(id=bytes([i]) * 16) for i, bad in enumerate(cases.values())]
    assert list(send(collector, *sent, good).values()) == list(cases)
    assert counts(collector, task) == [7]
    assert send(collector, good._replace(period=24)) == {good.id: "too_early"}
    clock.now = NOON + HOUR - 300
    assert send(collector, envelope(task, 8, period=1)) == {}  # a device's clock may be five minutes ahead
    clock.now = NOON + HOUR + 600 - 0.5
    assert send(collector, envelope(task, 9)) == {}  # late, but within what the task allows
    clock.now += 1
    assert list(send(collector, envelope(task, 9)).values()) == ["too_late"]
    collector.close_task(task.id)
    assert list(send(collector, envelope(task, 9, period=1)).values()) == ["sealed"]
    assert list(send(collector, envelope(task, 9, period=2)).values()) == ["closed"]


def test_only_the_same_report_is_a_resend_of_what_is_sealed(collector, task):
    sent = envelope(task, 7, stratum=1)
    send(collector, sent, envelope(task, 8))
    collector.seal(task.id, 0)
    assert send(collector, sent) == {}
    assert send(collector, sent._replace(stratum=0)) == send(collector, sent._replace(stratum=9)) == {sent.id: "sealed"}


def test_asking_for_an_unknown_task_costs_no_look_into_the_database(collector, monkeypatch):
    monkeypatch.setattr(collector.store, "tasks", interrupted)
    with pytest.raises(ParameterError, match="task"):
        collector.task(bytes(32))


def test_bad_reports_in_a_large_batch_do_not_touch_the_others(collector, task):
    sent = [envelope(task, value) for value in range(100)]
    sent[13] = sent[13]._replace(payload=b"\0")
    sent[14] = sent[14]._replace(payload=sent[14].payload + b"\0")  # with the one before, lengths add up
    assert send(collector, *sent) == {sent[13].id: "bad_payload", sent[14].id: "bad_payload"}
    assert counts(collector, task) == [value for value in range(100) if value not in (13, 14)]


def test_a_resend_is_a_success_before_and_after_sealing_and_counts_once(collector, task):
    first, second = envelope(task, 1), envelope(task, 2)
    liar = first._replace(payload=second.payload)  # the same id with another answer: the first counts
    assert send(collector, first, first) == send(collector, first) == send(collector, liar, second) == {}
    assert counts(collector, task) == [1, 2]  # an open period is counted as it would be sealed
    collector.seal(task.id, 0)
    assert counts(collector, task) == [1, 2]
    assert send(collector, first) == {}
    assert list(send(collector, envelope(task, 3)).values()) == ["sealed"]
    assert counts(collector, task) == [1, 2]
    (stored,) = collector.store.buckets()
    assert (stored.state, stored.reports) == ("sealed", 2)


def test_sealing_twice_changes_nothing_and_rebuilding_agrees_to_the_byte(collector, task, clock):
    for stratum in (0, 1):
        send(collector, *(envelope(task, value, stratum=stratum) for value in range(50 * stratum, 50 * stratum + 50)))
    collector.seal(task.id, 0)
    before = {address: tally.to_bytes() for address, tally in collector.store.tallies(task.id).items()}
    clock.now += 5
    collector.seal(task.id, 0)
    assert {address: tally.to_bytes() for address, tally in collector.store.tallies(task.id).items()} == before
    assert counts(collector, task, stratum=1) == list(range(50, 100))
    assert list(collector.store.rebuild(collector.questions)) == [(Bucket(task.id, 0), "same")]


def test_a_tally_that_was_tampered_with_is_found_and_repaired(collector, task):
    from deniable.collect.storage import tables

    send(collector, *(envelope(task, value) for value in range(9)))
    collector.seal(task.id, 0)
    good = collector.store.tallies(task.id)[0, 0, 0]
    with collector.store.catalog.writing() as connection:
        forged = replace(good, n=9, counters=np.roll(good.counters, 1))
        connection.execute(tables.tally.update().values(image=forged.to_bytes()))
    ((_, verdict),) = collector.store.rebuild(collector.questions)
    assert verdict == "differs: question and stratum [(0, 0)]"
    ((_, verdict),) = collector.store.rebuild(collector.questions, repair=True)
    assert verdict.startswith("repaired")
    assert collector.store.tallies(task.id)[0, 0, 0] == good
    with collector.store.catalog.writing() as connection:
        blocks = collector.store.log.read_sealed(connection, Bucket(task.id, 0))
        collector.store.log.drop_sealed(connection, Bucket(task.id, 0))
        collector.store.log.write_sealed(connection, Bucket(task.id, 0), [Block(0, 0, blocks[0].rows[:3])])
    for repair in (False, True):  # well-formed, but not what was sealed: no reason to believe it
        ((_, verdict),) = collector.store.rebuild(collector.questions, repair=repair)
        assert verdict.startswith("damaged")


def test_time_seals_and_retention_deletes(collector, task, clock):
    send(collector, envelope(task, 4))
    clock.now = NOON + HOUR + 599
    assert collector.tend() == []
    clock.now += 1
    assert collector.tend() == [f"sealed {Bucket(task.id, 0)}"]
    clock.now += 90 * 86_400
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collector.store.log, "drop_sealed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            collector.tend()
    assert list(collector.store.rebuild(collector.questions)) == [(Bucket(task.id, 0), "dropping")]  # which is no damage
    assert collector.tend() == [f"dropped the reports of {Bucket(task.id, 0)}"]
    assert counts(collector, task) == [4]  # the tally stays
    assert list(collector.store.rebuild(collector.questions)) == [(Bucket(task.id, 0), "dropped")]
    assert list(send(collector, envelope(task, 5)).values()) == ["sealed"]


def test_a_deleted_task_leaves_its_text_beside_its_entry_in_the_log_and_nothing_else(collector, task, address):
    send(collector, *(envelope(task, value) for value in range(3)))
    collector.seal(task.id, 0)
    collector.delete_task(task.id)
    assert collector.store.tasks() == collector.store.buckets() == []
    assert list(send(collector, envelope(task, 3)).values()) == ["unknown_task"]
    assert len(collector.registry.entries()) == 2
    entries = collector.registry.entries()
    verify_chain(entries, task.key)
    canonical, signature = collector.store.text(task.id)
    assert hashlib.sha256(canonical).digest() == entries[0].content.published
    assert verify(task.key, TASK_CONTEXT + canonical, signature)
    with pytest.raises(ParameterError, match="deleted"):  # whoever answered would be asked again
        collector.publish(task)
    if not isinstance(address, str):
        assert [path for path in address.rglob("*") if task.id.hex() in str(path) and path.is_file()] == []


@pytest.mark.parametrize("address", ["postgres"], indirect=True)  # an embedded store has one collector
def test_another_collector_on_the_same_database_learns_what_happens(collector, task, address, clock):
    store = Store.open(address)
    other = Collector(store, clock=clock)
    assert other.registry.key == collector.registry.key
    assert send(other, envelope(task, 1)) == send(collector, envelope(task, 2)) == {}
    collector.seal(task.id, 0)
    assert list(send(other, envelope(task, 3)).values()) == ["sealed"]  # before it has heard of the seal
    other.refresh()
    assert counts(other, task) == [1, 2]
    store.close()
