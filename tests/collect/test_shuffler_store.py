"""The shuffler's store does what the mixer in memory does, whatever comes in which order, and across restarts."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from deniable.collect.storage.log import StorageError
from deniable.collect.storage.shuffle_store import Group, ShuffleStore
from deniable.shuffle.mixer import Held, Mixer, Rules, Taken, mix

TASK, ROUTE = b"t" * 32, b"r" * 32
GROUP = Group(TASK, 0, ROUTE)
RULES = Rules(minimum=3, batch=4)


def seal(number: int) -> Taken:
    """Two seals in five hide the same, or carry the same token, as another; every third has no token."""
    inner, token = number % 18, number % 12
    return Taken(b"%16d" % number, Held(b"%16d" % inner, b"", b"next %d" % inner), b"%16d" % token if token % 3 else b"")


SEALS = st.builds(seal, st.integers(0, 30))


class Beside(RuleBasedStateMachine):
    """The store and the model side by side: the same seals, the same answers, the same crowd."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "own"
        self.store = ShuffleStore(self.path)
        self.store.add_task(TASK, b"text")
        self.model = Mixer(RULES)
        self.delivered: list[bytes] = []
        self.expected: list[bytes] = []

    @rule(came=st.lists(SEALS, min_size=1, max_size=6))
    def take(self, came: list[Taken]) -> None:
        """One group commit; what is twice in it counts once."""
        outcomes = {}
        for item in came:
            outcomes.setdefault(item.id, self.model.take(item))
        refused = {(seal, code) for seal, code in outcomes.items() if code not in ("taken", "repeated")}
        assert self.store.take({GROUP: came}, {}) == refused

    @rule(came=SEALS, code=st.sampled_from(["too_early", "too_late"]))
    def take_nothing_new(self, came: Taken, code: str) -> None:
        known = self.store.known(TASK, [came.id])
        assert self.store.take({GROUP: [came]}, {GROUP: code}) == (frozenset() if known else {(came.id, code)})

    @rule(over=st.booleans())
    def release(self, over: bool) -> None:
        held = self.store.held(GROUP)
        found = mix(RULES, held, over=over)
        model = self.model.release(over=over)
        assert [len(batch) for batch in found.batches] == [len(batch) for batch in model.batches]
        # Which of them stayed is random: the model continues with what the store has.
        self.model._held = {item.digest: item for item in held if item.digest not in set(found.gone)}
        if found.gone:
            batches = [(b"%16d" % number, len(batch), b"".join(batch)) for number, batch in enumerate(found.batches, len(self.expected))]
            self.expected += [message for _, _, message in batches]
            if over:
                self.store.close_period(TASK, 0)
            self.store.release(GROUP, found.gone, batches)

    @rule()
    def deliver(self) -> None:
        for batch in self.store.batches():
            assert batch.task == TASK
            self.delivered.append(self.store.message(batch.id))
            self.store.acknowledged(batch.id)
        assert sorted(self.delivered) == sorted(self.expected)

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = ShuffleStore(self.path)
        assert self.store.tasks() == {TASK: b"text"}

    @invariant()
    def holds_the_same(self) -> None:
        if hasattr(self, "store"):
            assert {item.digest for item in self.store.held(GROUP)} == set(self.model._held)
            assert self.store.groups() == ({GROUP: self.model.held} if self.model.held else {})

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


TestBeside = Beside.TestCase
TestBeside.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)


def test_the_folder_is_private_and_has_one_owner(tmp_path):
    store = ShuffleStore(tmp_path / "own")
    modes = {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in [tmp_path / "own", *(tmp_path / "own").iterdir()]}
    assert modes == {0}
    with pytest.raises(StorageError, match="held by another process"):
        ShuffleStore(tmp_path / "own")
    store.close()
    ShuffleStore(tmp_path / "own").close()


def test_a_newer_store_is_not_opened(tmp_path):
    store = ShuffleStore(tmp_path)
    store._database.execute("PRAGMA user_version = 2")
    store.close()
    with pytest.raises(StorageError, match="upgrade"):
        ShuffleStore(tmp_path)


def test_a_task_that_is_over_leaves_nothing(tmp_path):
    store = ShuffleStore(tmp_path)
    store.add_task(TASK, b"text")
    store.take({GROUP: [Taken(b"seal", Held(b"digest", b"", b"next"), b"token")]}, {})
    store.release(GROUP, [b"digest"], [(b"batch", 1, b"message")])
    assert store.forget(TASK) == 1
    assert (store.groups(), store.batches(), store.known(TASK, [b"seal"])) == ({}, [], set())
    store.close()


def test_many_appends_become_few_runs_and_what_goes_is_nowhere_on_the_disk(tmp_path):
    """Seals alone in their appends, the digests in another order than they came: 300 of them are at most seven runs of each level."""
    store = ShuffleStore(tmp_path)
    store.add_task(TASK, b"text")
    came = [Taken(b"%16d" % i, Held(b"%16d" % (i * 7 % 300), b"", b"secret %d." % i)) for i in range(300)]
    for item in came:
        assert store.take({GROUP: [item]}, {}) == frozenset()
    (runs, most) = store._database.execute("SELECT count(*), max(level) FROM run").fetchone()
    assert (runs, most) == (300 % 8 + 300 // 8 % 8 + 300 // 64, 2)
    assert store.held(GROUP) == sorted(item.held for item in came)
    staying = came[17].held
    store.release(GROUP, [item.held.digest for item in came if item.held != staying], [])
    assert (store.held(GROUP), store.groups()) == ([staying], {GROUP: 1})
    store.close()
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [i for i in range(300) if b"secret %d." % i in left] == [17]
    store = ShuffleStore(tmp_path)
    assert (store.held(GROUP), store.groups()) == ([staying], {GROUP: 1})
    store.close()


def test_seals_that_come_alone_do_not_rewrite_thousands_that_came_together(tmp_path):
    store = ShuffleStore(tmp_path)
    store.add_task(TASK, b"text")
    store.take({GROUP: [Taken(b"%16d" % i, Held(b"%16d" % i, b"", b"together")) for i in range(5000)]}, {})
    written = []
    store._database.set_trace_callback(lambda statement: written.append(len(statement)) if "INTO run" in statement else None)
    for i in range(5000, 5100):
        store.take({GROUP: [Taken(b"%16d" % i, Held(b"%16d" % i, b"", b"alone"))]}, {})
    store._database.set_trace_callback(None)
    assert len(store.held(GROUP)) == 5100
    assert max(written) < 64 * 200  # of what is written as text, two digits for each byte: never more than 64 seals
    store.close()
