"""The report log in a folder under many threads: appends and seals take turns, and nothing is lost between them."""

# ruff: noqa: F811  # fixtures are imported

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from deniable.collect.storage.block import sort_once
from deniable.collect.storage.embedded import EmbeddedLog
from deniable.collect.storage.files import Files
from tests.collect.disk import A, B, block, reports
from tests.collect.test_embedded import log  # noqa: F401  # a fixture


class Gate(Files):
    """A disk that stops in a sync until it may go on."""

    def __init__(self) -> None:
        self.shut = False
        self.reached, self.go = threading.Event(), threading.Event()

    def sync(self, handle):
        if self.shut:
            self.reached.set()
            assert self.go.wait(60)
        super().sync(handle)


def test_closing_waits_for_an_append_in_progress(tmp_path):
    gate = Gate()
    log = EmbeddedLog(tmp_path / "log", files=gate)
    log.append({A: [block(1)], B: [block(2)]})
    gate.shut = True
    found = []

    def close():
        with log.closing(A):
            found.extend(reports(log.read_open(None, A)))

    appending = threading.Thread(target=log.append, args=({A: [block(3)]},))
    closing = threading.Thread(target=close)
    appending.start()
    assert gate.reached.wait(60)
    closing.start()
    assert reports(log.read_open(None, B)) == reports([block(2)]), "other buckets do not wait"
    assert found == []
    gate.go.set()
    appending.join()
    closing.join()
    assert found == reports([block(1, 3)])
    assert log.append({A: [block(4)], B: [block(5)]}) == {A}
    assert reports(log.read_open(None, A)) == reports([block(1, 3)])
    assert reports(log.read_open(None, B)) == reports([block(2, 5)])
    log.close()


@pytest.mark.parametrize("fails", [False, True])
def test_an_append_waits_for_what_comes_of_a_seal(log, fails):
    answers = []
    appending = threading.Thread(target=lambda: answers.append(log.append({A: [block(2)], B: [block(3)]})))
    log.append({A: [block(1)]})
    with suppress(ZeroDivisionError), log.closing(A):
        appending.start()
        assert reports(log.read_open(None, A)) == reports([block(1)])
        assert answers == []
        if fails:
            raise ZeroDivisionError
    appending.join()
    assert answers == [frozenset() if fails else {A}]
    assert reports(log.read_open(None, A)) == reports([block(1, 2)] if fails else [block(1)])
    assert reports(log.read_open(None, B)) == reports([block(3)])


def test_a_seal_gets_its_turn_however_fast_appends_follow(tmp_path):
    """The seal asks while an append is under way. The next append, by the same thread and at once, comes after it."""
    gate = Gate()
    log = EmbeddedLog(tmp_path / "log", files=gate)
    log.append({A: [block(1)]})
    gate.shut = True
    answers = []

    def append_twice():
        answers.extend(log.append({A: [block(number)]}) for number in (2, 3))

    def close():
        with log.closing(A):
            pass

    appending, closing = threading.Thread(target=append_twice), threading.Thread(target=close)
    appending.start()
    assert gate.reached.wait(60)
    closing.start()
    while not log._turns._waiting:  # until the seal has asked
        pass
    gate.go.set()
    appending.join()
    closing.join()
    assert answers == [frozenset(), {A}]
    log.close()


def test_a_seal_under_load_has_exactly_what_was_acknowledged(log):
    """Four threads append to both buckets until the first is closed; what the seal read is what they were told was stored."""
    taken = {A: [], B: []}
    busy = threading.Semaphore(0)

    def device(number):
        while True:
            closed = log.append({A: [block(number)], B: [block(number)]})
            for bucket in {A, B} - closed:
                taken[bucket].append(number)
            busy.release()
            if closed:
                return
            number += 10

    threads = [threading.Thread(target=device, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        busy.acquire()
    with log.closing(A):
        sealed = sort_once(log.read_open(None, A))
        log.write_sealed(None, A, sealed)
    log.drop_open(A)
    for thread in threads:
        thread.join()
    assert len(taken[A]) >= 40
    assert sorted(reports(sealed)) == sorted(reports([block(*taken[A])]))
    assert sorted(reports(log.read_open(None, B))) == sorted(reports([block(*taken[B])]))
    assert log.read_open(None, A) == []
