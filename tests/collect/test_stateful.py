"""A random life of a collector: uploads, resends, lies, seals, crashes, torn tails and clock jumps against a model that is a dictionary.

Answers are unique numbers through the identity, so a correct count holds only zeros and ones. The model remembers, for each period, the
first answer under each id that was acknowledged. What is known *not* to hold: that every report is taken in the end. A device whose
period was sealed before its first upload arrived is refused, and its answer is lost.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from deniable.collect.collector import Collector
from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.storage.store import Store
from deniable.contract.domain import IndexRange
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task

USUAL = {"deadline": None, "suppress_health_check": list(HealthCheck)}


class Life(RuleBasedStateMachine):
    """One collector, killed and started again, on an embedded store."""

    sent = Bundle("sent")

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.now = float(NOON)
        self.counted: dict[int, dict[bytes, int]] = {}
        self.sealed: set[int] = set()
        self.next_value = 0
        self.open()
        self.task = survey_task(self.collector.registry.key, PlainAnswer(domain=IndexRange(4096)), period=HOUR, late=600, retention=10_000)
        self.collector.publish(self.task)

    def open(self):
        self.store = Store.open(Path(self.folder.name) / "store")
        self.collector = Collector(self.store, clock=lambda: self.now)

    def teardown(self):
        if not hasattr(self, "store"):
            return
        try:
            for period in self.counted:
                self.collector.seal(self.task.id, period)
            self.agrees()
            assert all(verdict == "same" for _, verdict in self.store.rebuild(self.collector.questions))
        finally:
            self.store.close()
            self.folder.cleanup()

    # --- what devices do ---

    def take(self, *envelopes):
        refused = send(self.collector, *envelopes)
        for sent in envelopes:
            if sent.id not in refused:
                value = int.from_bytes(sent.payload, "little")
                self.counted.setdefault(sent.period, {}).setdefault(sent.id, value)
        return refused

    @rule(target=sent, offset=st.sampled_from([0, 0, 0, -1, 1]), size=st.integers(1, 12))
    def upload(self, offset, size):
        """Reports for the present period, the last or the next."""
        period = max(int(self.now - NOON) // HOUR + offset, 0)
        envelopes = [envelope(self.task, self.next_value + i, period=period) for i in range(size)]
        self.next_value += size
        refused = self.take(*envelopes)
        in_time = NOON + period * HOUR - 300 <= self.now < NOON + (period + 1) * HOUR + 600
        assert (not refused) == (in_time and period < 24 and period not in self.sealed)
        assert len(refused) in (0, size)
        return multiple(*(envelopes if not refused else ()))

    @rule(envelopes=st.lists(sent, min_size=1, max_size=5))
    def resend(self, envelopes):
        """The reply was lost: the same bytes come again. Where the collector still looks, that is a success."""
        before = {period: dict(ids) for period, ids in self.counted.items()}
        refused = self.take(*envelopes)
        assert self.counted == before  # nothing new was acknowledged
        assert all(code == "too_late" for code in refused.values())
        for late in (one for one in envelopes if one.id in refused):  # it is told to come again when the period is counted
            assert self.collector.uncounted([late])

    @rule(one=sent, value=st.integers(0, 9))
    def lie(self, one, value):
        """The same id with another answer."""
        spec = self.task.survey.questions[0].spec
        self.take(one._replace(payload=spec.encode(4000 + value)))

    # --- what the collector does ---

    @rule(seconds=st.sampled_from([1, 299, 600, HOUR, -HOUR]))
    def clock(self, seconds):
        self.now = max(self.now + seconds, float(NOON))

    @rule()
    def tend(self):
        self.collector.tend()
        self.sealed |= {period for period in self.counted if self.now >= self.task.start + (period + 1) * HOUR + 600}

    @precondition(lambda self: getattr(self, "counted", None))
    @rule(data=st.data())
    def seal(self, data):
        period = data.draw(st.sampled_from(sorted(self.counted)))
        self.collector.seal(self.task.id, period)
        self.sealed.add(period)

    @rule(torn=st.binary(max_size=40))
    def crash(self, torn):
        """Whatever was being written when the power went is a torn tail: bytes that nobody was promised."""
        self.store.close()
        logs = sorted(Path(self.folder.name).rglob("*.log"))
        if logs:
            with logs[-1].open("ab") as file:
                file.write(torn)
        self.open()

    # --- what must hold ---

    @invariant()
    def agrees(self):
        if not hasattr(self, "collector"):
            return
        tallies = self.collector.tallies(self.task.id)
        for period, ids in self.counted.items():
            tally = tallies[period, 0, 0]
            values = sorted(ids.values())
            assert tally.n == len(values)
            assert tally.counters.nonzero()[0].tolist() == values


def test_no_life_of_a_collector_loses_or_doubles_a_report(monkeypatch):
    monkeypatch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)
    run_state_machine_as_test(Life, settings=settings(max_examples=25, stateful_step_count=30, **USUAL))


def test_the_model_notices_a_collector_that_counts_twice(monkeypatch):
    """The evil twin: a seal that keeps repetitions."""
    monkeypatch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)
    monkeypatch.setattr("deniable.collect.storage.store.sort_once", list)
    once = {"phases": [Phase.generate], "database": None}  # to be found is enough, it need not be made small
    with pytest.raises((AssertionError, ParameterError)):  # by the model, or already by the log, which refuses to seal repetitions
        run_state_machine_as_test(Life, settings=settings(max_examples=25, stateful_step_count=30, **USUAL | once))
