"""Shuffle trust for the collector's tests: a task, seals as devices make them, batches as a shuffler signs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deniable.client import GRR
from deniable.collect.collector import Collector
from deniable.contract.admission import SIZES
from deniable.contract.batch import Batch, Manifest, open_batch, pack_batch
from deniable.contract.envelope import HEADER, Envelope
from deniable.contract.mixing import Mixing, Relay
from deniable.contract.notice import ANALYST, KeyNotice, read_keys
from deniable.contract.source import SYSTEM
from deniable.contract.spec import Spec
from deniable.contract.task import Task
from deniable.sealing.identity import public_key, sign
from deniable.sealing.keys import KeyPair
from deniable.sealing.seal import dummy, open_outer, seal_report
from tests.collect.crowd import envelope, survey_task

SEED = bytes([7]) * 32
"""The last shuffler's identity."""
OTHER_SEED = bytes([8]) * 32
MINIMUM = 40


def drink() -> GRR:
    """What is asked: small enough that few people keep a claim."""
    return GRR(domain_size=4, epsilon=1.0)


def mixing_for(spec: Spec, admission: str = "open", **rules) -> Mixing:
    """A claim that ``MINIMUM`` people keep with ``drink``, and not many fewer."""
    size = HEADER.size + SIZES[admission] + sum(column.row_bytes for column in spec.layout)
    usual = {"epsilon": 0.36, "delta": 1e-3, "minimum": MINIMUM, "size": size}
    return Mixing(**usual | {"shufflers": (Relay("https://shuffler.example.org", public_key(SEED)),)} | rules)


def shuffle_task(key: bytes, spec: Spec | None = None, *, admission: str = "open", issuer: bytes = b"", **rules) -> Task:
    """A task of shuffle trust; rules named as in ``Mixing`` are its mixing's."""
    spec = spec or drink()
    mine = {name: rules.pop(name) for name in ("epsilon", "delta", "minimum", "honest", "threshold", "shufflers") if name in rules}
    made = survey_task(key, spec, name="mixed", **rules)
    return replace(made, model="shuffle", mixing=mixing_for(spec, admission, **mine), admission=admission, issuer=issuer)


def published(collector: Collector, **rules) -> Task:
    """A task of shuffle trust that the collector has published."""
    task = shuffle_task(collector.registry.key, **rules)
    collector.publish(task)
    return task


def analyst_key(collector: Collector, task: Task) -> KeyNotice:
    """The key that a device would seal for now."""
    return read_keys(collector.keys.announcement(), task.key, collector.clock(), ANALYST)


def reports(task: Task, count: int, *, period: int = 0) -> list[Envelope]:
    """The reports of so many people, each with an id of its own."""
    return [envelope(task, place % 4, period=period) for place in range(count)]


def seals(task: Task, envelopes: Sequence[Envelope], notice: KeyNotice) -> list[bytes]:
    """What comes out of the shuffler: each was sealed for it by a device, and opened by it."""
    pair = KeyPair.make(0, 1 << 38)
    return [open_outer(pair, seal_report(task, each, notice, [pair.notice("shuffler")])).next for each in envelopes]


def dummies(task: Task, count: int, notice: KeyNotice, period: int = 0) -> list[bytes]:
    """Seals that count for nothing."""
    return [dummy(task, period, notice) for _ in range(count)]


def message(task: Task, sealed: Sequence[bytes], *, batch: bytes | None = None, period: int = 0, seed: bytes = SEED, **changes) -> bytes:
    """A batch as it is sent."""
    name = batch or b"".join(word.to_bytes(8, "little") for word in SYSTEM.words(2))
    threshold = task.mixing.threshold if task.mixing is not None else None
    manifest = Manifest.of(sealed, batch=name, task=task.id, period=period, threshold=threshold)
    manifest = replace(manifest, **changes)
    return pack_batch(manifest, sign(seed, b"", manifest.signed), sealed)


def opened(data: bytes, seed: bytes = SEED) -> Batch:
    """A message as the collector gets it from its network."""
    return open_batch(data, public_key(seed))


def hand_in(collector: Collector, task: Task, envelopes: Sequence[Envelope], *, extra: Sequence[bytes] = (), **about) -> str:
    """Seal and hand in a batch; what became of it."""
    sealed = [*seals(task, envelopes, analyst_key(collector, task)), *extra]
    return collector.receive(opened(message(task, sealed, **about))).outcome


def count(collector: Collector, task: Task, period: int = 0) -> int:
    """How many reports are counted in a period."""
    return sum(tally.n for address, tally in collector.tallies(task.id, [period]).items())
