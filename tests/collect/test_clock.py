"""A clock that jumps ahead: nothing is counted or refused by it, and everything goes on when it is right again."""

from __future__ import annotations

import pytest

from deniable.collect.clock import OFFSET_FILE, TESTING, TOLERANCE, Clock, Moment, Watch, clock_of, since_start
from deniable.collect.collector import Collector
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.store import Store
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task

DAY = 24 * HOUR


class Machine:
    """A machine whose time passes, and whose time of day can be wrong."""

    def __init__(self) -> None:
        self.passed, self.wrong = 0.0, 0.0
        self.clock = Clock(lambda: NOON + self.passed + self.wrong, lambda: self.passed)


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture
def collector(identity, address, machine):
    store = Store.open(address)
    yield Collector(store, clock=machine.clock)
    store.close()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (0, (HOUR, HOUR)),
        (TOLERANCE, (HOUR + TOLERANCE, HOUR + TOLERANCE)),
        (TOLERANCE + 1, (HOUR, HOUR + TOLERANCE + 1)),
        (DAY, (HOUR, HOUR + DAY)),
        (-DAY, (HOUR - DAY, HOUR - DAY)),
    ],
)
def test_only_a_jump_ahead_is_doubted(machine, wrong, told):
    watch = Watch(machine.clock)
    machine.passed, machine.wrong = HOUR, wrong
    assert watch.now() == Moment(NOON + told[0], NOON + told[1])
    assert watch.now().doubt == told[1] - told[0]


def test_small_steps_are_corrections_and_do_not_add_up_but_jumps_do(machine):
    watch = Watch(machine.clock)
    for step in range(1, 10):
        machine.wrong = step * TOLERANCE
        assert watch.follow().doubt == 0
    machine.wrong += TOLERANCE + 1
    assert watch.follow().doubt == watch.follow().doubt == TOLERANCE + 1
    machine.wrong -= TOLERANCE + 1 + DAY
    assert watch.follow().doubt == 0
    machine.wrong += DAY  # what was believed before is believed again
    assert watch.follow().doubt == 0


def test_a_plain_function_is_believed():
    times = [0.0]
    watch = Watch(lambda: times[0])
    times[0] = 1e9
    assert watch.now() == (1e9, 1e9)


def test_a_period_is_not_sealed_and_nobody_is_refused_by_a_clock_that_jumped(collector, machine):
    task = survey_task(collector.registry.key)
    collector.publish(task)
    assert send(collector, envelope(task, 1)) == {}
    machine.passed, machine.wrong = 60, 5 * HOUR
    assert send(collector, envelope(task, 2)) == {}  # even before anyone has looked at the clock
    assert collector.tend() == []
    assert send(collector, envelope(task, 3)) == {}
    assert send(collector, envelope(task, 4, period=5)) == {}  # perhaps the new time is right
    machine.passed = HOUR + 600
    assert collector.tend() == [f"sealed {Bucket(task.id, 0)}"]  # by the time that has passed
    machine.wrong = 0
    assert list(send(collector, envelope(task, 5, period=5)).values()) == ["too_early"]
    assert collector.tend() == []
    machine.passed = 6 * HOUR + 600
    assert collector.tend() == [f"sealed {Bucket(task.id, 5)}"]
    assert collector.tallies(task.id)[0, 0, 0].n == 3
    assert collector.tallies(task.id)[5, 0, 0].n == 1


def test_reports_are_not_deleted_by_a_clock_that_jumped(collector, machine):
    task = survey_task(collector.registry.key, retention=1)
    collector.publish(task)
    assert send(collector, envelope(task, 1)) == {}
    machine.wrong = 10 * DAY
    collector.seal(task.id, 0)
    assert collector.tend() == []
    machine.passed = DAY
    assert collector.tend() == [f"dropped the reports of {Bucket(task.id, 0)}"]


def test_a_new_start_says_that_the_time_is_right(identity, address, machine):
    for start in range(2):
        store = Store.open(address)
        collector = Collector(store, clock=machine.clock)
        if start == 0:
            task = survey_task(collector.registry.key)
            collector.publish(task)
            assert send(collector, envelope(task, 1)) == {}
            machine.wrong = DAY
        assert collector.tend() == ([f"sealed {Bucket(task.id, 0)}"] if start else [])
        store.close()


@pytest.mark.usefixtures("identity")  # which is known from the call on, and must not be any more when the test is over
def test_what_tests_set(tmp_path):
    """One number: so much time has passed. A second: the time of day is wrong."""
    file = tmp_path / "clock"
    clock = clock_of({TESTING: "1", OFFSET_FILE: str(file)})
    file.write_text("0")
    watch = Watch(clock)
    file.write_text(str(DAY))
    assert watch.now().doubt == 0
    assert clock.steady() - since_start() == pytest.approx(DAY, abs=60)
    file.write_text(f"{DAY} {HOUR}")
    assert watch.now().doubt == pytest.approx(HOUR, abs=60)
