"""A shuffler with its store, its keys and its tasks: what it takes, when it lets go, what it forgets. No network but what it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from deniable.collect.admission import SKEW
from deniable.collect.clock import Watch
from deniable.collect.faults import fault_point
from deniable.collect.kit.log import note
from deniable.collect.shuffler.judge import BAD_SEAL, Address, Row, Station
from deniable.collect.shuffler.retention import Retention
from deniable.collect.storage.shuffle_store import Group, ShuffleStore
from deniable.contract.batch import BATCH_CONTEXT, Manifest, pack_batch
from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.notice import KeyNotice
from deniable.contract.sealed import mixing_of, pack_seals
from deniable.contract.source import SYSTEM, Source
from deniable.sealing.keys import LIFETIME, KeyPair, KeyRing
from deniable.sealing.seal import dummy
from deniable.shuffle.mixer import CLOSED, Held, MixerOutput, Rules, Taken, mix


class Served(NamedTuple):
    """A task, this shuffler's place in it, the rules of its release, and where to ask for the collector's keys if it pads."""

    station: Station
    rules: Rules
    analyst: Callable[[float], KeyNotice] | None = None


class Shuffler:
    """Everything but the sockets. Safe to share between threads."""

    def __init__(
        self,
        store: ShuffleStore,
        ring: KeyRing,
        tasks: Iterable[Served],
        *,
        clock: Callable[[], float],
        lifetime: int = LIFETIME,
        source: Source = SYSTEM,
    ) -> None:
        self.store = store
        self.ring = ring
        self.tasks: Mapping[bytes, Served] = {served.station.task.id: served for served in tasks}
        self.watch = Watch(clock)
        self.lifetime = lifetime
        self._source = source
        self.held: Mapping[Group, int] = {}
        """How many seals each group held when it was last looked at."""
        for served in self.tasks.values():
            store.add_task(served.station.task.id, served.station.task.canonical)
        self._retention = Retention(store, clock)  # also of tasks that are no longer served
        self.tend_keys()

    # --- keys ---

    def tend_keys(self) -> None:
        """Make a key before the newest one ends, and delete those that ended long ago."""
        now = self.watch.now().earliest  # with a clock that jumped ahead, keys would be lost permanently
        if self.ring.tend(now, self.lifetime, settled=self._retention.time(now)):
            note("keys changed", announced=len(self.ring.notices(now)))

    def pairs(self) -> list[KeyPair]:
        """What seals are opened with: nothing beyond its grace, even if it was not deleted yet."""
        now = self.watch.now().earliest
        return [pair for pair in self.ring.pairs.values() if now < pair.end + self.ring.grace]

    def announcement(self) -> bytes:
        """What ``GET /v1/keys`` answers."""
        return self.ring.announcement(self.watch.now().latest)

    # --- seals ---

    def append(self, rows: dict[Address, list[Row]]) -> frozenset[tuple[bytes, str]]:
        """Make what was opened durable; ids and codes of what is not taken. A committer's ``append``."""
        fault_point("seals opened")
        moment = self.watch.now()
        taken: dict[Group, list[Taken]] = {}
        refused: dict[Group, str] = {}
        for address, came in rows.items():
            group = Group(*address)
            taken[group] = [Taken(seal, Held(digest, crowd, following), token) for seal, digest, crowd, following, token in came]
            code = self.code(group, moment.earliest, moment.latest)
            if code:
                refused[group] = code
        told = self.store.take(taken, refused)
        fault_point("seals durable")
        return told

    def code(self, group: Group, earliest: float, latest: float) -> str:
        """Why a group takes nothing now; empty if it does."""
        station = self.tasks[group.task].station
        if group.period >= station.task.period_count:
            return BAD_SEAL
        if station.task.period_span(group.period)[0] > latest + SKEW:
            return "too_early"
        return CLOSED if earliest >= station.closes(group.period) else ""

    # --- batches ---

    def tend(self) -> int:
        """Let go of every group that may go, and forget tasks that are over; how many batches were made."""
        now = self.watch.follow().earliest
        self.tend_keys()
        made = 0
        self.held = self.store.groups()
        for group, count in self.held.items():
            served = self.tasks.get(group.task)
            if served is None or count < served.rules.minimum:  # few of a made-up route cost no more than this
                continue  # a task that this process was not started for: its seals wait
            over = now >= served.station.closes(group.period)
            if served.rules.parts(count, over=over):
                made += self.release(group, over=over)
        self._retention.forget(now)
        return made

    def release(self, group: Group, *, over: bool) -> int:
        """Mix what a group holds, and record the batches; how many."""
        served = self.tasks[group.task]
        task = served.station.task
        make = None
        if served.analyst is not None and served.rules.pad > 1:
            notice = served.analyst(self.watch.now().latest)

            def make() -> bytes:
                return dummy(task, group.period, notice)

        if over:  # first, so that nothing is acknowledged that the mixing does not see
            self.store.close_period(group.task, group.period)
        found = mix(served.rules, self.store.held(group), over=over, dummy=make, source=self._source)
        if not found.gone:
            return 0
        batches = [self._message(served.station, group, seals) for seals in found.batches]
        self.store.release(group, found.gone, batches)
        _tell(found)
        return len(batches)

    def _message(self, station: Station, group: Group, seals: tuple[bytes, ...]) -> tuple[bytes, int, bytes]:
        batch = draw_bytes(self._source, 16)
        if not station.last:
            return batch, len(seals), pack_seals(seals)
        threshold = mixing_of(station.task).threshold
        manifest = Manifest.of(seals, batch=batch, task=group.task, period=group.period, threshold=threshold)
        signature = self.ring.sign(BATCH_CONTEXT, manifest.canonical)
        return batch, len(seals), pack_batch(manifest, signature, seals)


def _tell(found: MixerOutput) -> None:
    sizes = [len(batch) for batch in found.batches]
    note("let go", batches=len(sizes), seals=sum(sizes), dropped=found.dropped)
