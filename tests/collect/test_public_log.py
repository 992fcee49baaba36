"""The public log: whatever is done to a chain is noticed, and the entry where it was done is named."""

from __future__ import annotations

import hashlib

import pytest

from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.ed25519 import TASK_CONTEXT
from deniable.contract.public_log import LOG_CONTEXT, Head, LogEntry, head_of, log_record, verify_chain
from deniable.errors import ParameterError, WireError
from deniable.sealing.identity import new_identity, public_key, sign
from deniable.testing import ReplaySource

SEED = new_identity(ReplaySource.from_key("public log"))
KEY = public_key(SEED)
TASKS = [b'{"name":"one"}', b'{"name":"two"}']
IDS = [hashlib.sha256(task).digest() for task in TASKS]
PUBLISHED = [
    ("task", IDS[0], TASKS[0], None),
    ("task", IDS[1], TASKS[1], None),
    ("round", IDS[1], b"round 0", 0),
    ("closed", IDS[0], b"", None),
    ("round", IDS[1], b"round 1", 1),
]


def chain(published=PUBLISHED, seed=SEED, before=()):
    entries = list(before)
    for kind, task, content, period in published:
        previous = entries[-1].hash if entries else bytes(32)
        record = log_record(len(entries), kind, task, content, previous, period=period)
        entries.append(LogEntry(record, sign(seed, LOG_CONTEXT, record)))
    return entries


ENTRIES = chain()


def test_a_whole_chain_is_good():
    verify_chain(ENTRIES, KEY)
    verify_chain([], KEY)
    for length in range(1, len(ENTRIES) + 1):  # a log as it was earlier
        verify_chain(ENTRIES[:length], KEY)


def test_a_record_says_what_was_published():
    assert parse_canonical(ENTRIES[2].record) == {
        "sequence": 2,
        "kind": "round",
        "task": IDS[1].hex(),
        "content": hashlib.sha256(b"round 0").hexdigest(),
        "previous": hashlib.sha256(ENTRIES[1].record).hexdigest(),
        "period": 0,
    }
    assert "period" not in parse_canonical(ENTRIES[0].record)
    assert ENTRIES[0].content.previous == bytes(32)


@pytest.mark.parametrize("number", range(len(ENTRIES)))
def test_no_byte_of_a_record_can_change(number):
    entry = ENTRIES[number]
    for place in range(len(entry.record)):
        damaged = bytearray(entry.record)
        damaged[place] ^= 1
        changed = [*ENTRIES[:number], LogEntry(bytes(damaged), entry.signature), *ENTRIES[number + 1 :]]
        with pytest.raises(WireError, match=f"^log entry {number}:"):
            verify_chain(changed, KEY)


def test_no_byte_of_a_signature_can_change():
    for place in range(64):
        damaged = bytearray(ENTRIES[1].signature)
        damaged[place] ^= 128
        with pytest.raises(WireError, match=r"^log entry 1:"):
            verify_chain([ENTRIES[0], LogEntry(ENTRIES[1].record, bytes(damaged)), *ENTRIES[2:]], KEY)


@pytest.mark.parametrize("number", range(len(ENTRIES) - 1))
def test_no_entry_can_be_taken_out(number):
    with pytest.raises(WireError, match=f"^log entry {number}:"):
        verify_chain(ENTRIES[:number] + ENTRIES[number + 1 :], KEY)


@pytest.mark.parametrize("number", range(len(ENTRIES)))
def test_no_entry_can_be_repeated(number):
    with pytest.raises(WireError, match=f"^log entry {number + 1}:"):
        verify_chain(ENTRIES[: number + 1] + ENTRIES[number:], KEY)


@pytest.mark.parametrize(("first", "second"), [(i, j) for i in range(len(ENTRIES)) for j in range(i + 1, len(ENTRIES))])
def test_no_two_entries_can_change_places(first, second):
    moved = list(ENTRIES)
    moved[first], moved[second] = moved[second], moved[first]
    with pytest.raises(WireError, match=f"^log entry {first}:"):
        verify_chain(moved, KEY)


@pytest.mark.parametrize("cut", range(1, len(ENTRIES)))
def test_the_front_cannot_be_cut_off(cut):
    with pytest.raises(WireError, match=r"^log entry 0:"):
        verify_chain(ENTRIES[cut:], KEY)


def test_not_even_the_collector_can_change_an_entry_below_others():
    """It can sign anything; the hashes above are what it cannot change."""
    other = chain([("task", IDS[1], TASKS[1], None)])
    with pytest.raises(WireError, match=r"^log entry 1: .* an entry before it was changed"):
        verify_chain([*other, *ENTRIES[1:]], KEY)


def test_nobody_else_can_write_an_entry():
    forger = new_identity(ReplaySource.from_key("forger"))
    forged = chain([("closed", IDS[1], b"", None)], seed=forger, before=ENTRIES)
    with pytest.raises(WireError, match=r"^log entry 5: .* somebody else wrote it"):
        verify_chain(forged, KEY)
    with pytest.raises(WireError, match=r"^log entry 0:"):
        verify_chain(ENTRIES, public_key(forger))


def test_a_signature_of_another_kind_is_none():
    record = ENTRIES[0].record
    with pytest.raises(WireError, match=r"^log entry 0:"):
        verify_chain([LogEntry(record, sign(SEED, TASK_CONTEXT, record))], KEY)


# --- what a visitor remembers ---


@pytest.mark.parametrize("seen", range(1, len(ENTRIES) + 1))
def test_a_visitor_may_come_back_for_the_rest(seen):
    head = head_of(ENTRIES[:seen])
    assert head == Head(seen - 1, hashlib.sha256(ENTRIES[seen - 1].record).digest())
    verify_chain(ENTRIES, KEY, head=head)
    verify_chain(ENTRIES[seen - 1 :], KEY, head=head)  # from the remembered entry on


@pytest.mark.parametrize("seen", range(1, len(ENTRIES) + 1))
def test_an_end_that_was_cut_off_is_missed(seen):
    head = head_of(ENTRIES[:seen])
    for length in range(seen):
        with pytest.raises(WireError, match=f"^log entry {seen - 1}: .* the end of the log was cut off"):
            verify_chain(ENTRIES[:length], KEY, head=head)


@pytest.mark.parametrize("fork", range(1, len(ENTRIES)))
def test_a_fork_is_seen_from_the_other_branch(fork):
    """The collector itself writes two logs that agree at first: each is good alone, and none for who remembers the other."""
    other = chain([("task", IDS[0], TASKS[0], None), ("closed", IDS[0], b"", None)], before=ENTRIES[:fork])
    while len(other) < len(ENTRIES):
        other = chain([("closed", IDS[0], b"", None)], before=other)
    verify_chain(other, KEY)
    with pytest.raises(WireError, match=f"^log entry {len(ENTRIES) - 1}: .* written anew"):
        verify_chain(other, KEY, head=head_of(ENTRIES))
    with pytest.raises(WireError, match=r"^log entry 0:"):  # nor can the rest be served alone
        verify_chain(other[len(ENTRIES) - 1 :], KEY, head=head_of(ENTRIES))


def test_a_log_begins_with_its_tasks():
    lone = chain([("round", IDS[0], b"round 0", 0)])
    with pytest.raises(WireError, match=r"^log entry 0: .* a task that was published before it"):
        verify_chain(lone, KEY)
    misnamed = chain([("task", IDS[0], TASKS[1], None)])
    with pytest.raises(WireError, match=r"^log entry 0: .* a task's id is its hash"):
        verify_chain(misnamed, KEY)


# --- over the network ---


def test_entries_travel_as_json():
    for entry in ENTRIES:
        assert LogEntry.from_json(entry.to_json()) == entry


@pytest.mark.parametrize(
    "change",
    [
        {"sequence": 1},
        {"sequence": False},
        {"hash": "00" * 32},
        {"hash": ENTRIES[0].hash.hex().upper()},
        {"signature": "xy"},
        {"signature": ENTRIES[0].signature.hex().upper()},
        {"record": "{}"},
        {"record": 7},
        {"record": ENTRIES[0].record.decode() + " "},
        {"record": "\udcff"},
        {"more": 1},
    ],
)
def test_json_that_does_not_agree_with_its_record_is_refused(change):
    with pytest.raises(WireError):
        LogEntry.from_json(ENTRIES[0].to_json() | change)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"kind": 1},
        {"sequence": -1},
        {"sequence": "0"},
        {"sequence": True},
        {"task": "00"},
        {"task": "0X" * 32},
        {"previous": 3},
        {"task": "00" * 31 + " 00"},
        {"content": "00" * 33},
        {"period": -1},
        {"more": 1},
    ],
)
def test_records_of_another_form_are_refused_even_if_signed(change):
    record = canonical_json(parse_canonical(ENTRIES[0].record) | change)
    with pytest.raises(WireError, match=r"^log entry 0:"):
        verify_chain([LogEntry(record, sign(SEED, LOG_CONTEXT, record))], KEY)


# --- keys ---


def test_seeds_are_new_and_never_shown():
    assert new_identity() != new_identity()
    assert len(new_identity()) == 32
    for wrong in (b"secret", "secret", SEED + b"x"):
        with pytest.raises(ParameterError) as caught:
            sign(wrong, LOG_CONTEXT, b"")
        assert "secret" not in str(caught.value)
        assert repr(SEED)[2:20] not in str(caught.value)
