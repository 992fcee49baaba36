"""A shuffler from its operator's settings: the tasks fetched and verified, its position in each, and the next hop."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deniable.client.transport import HTTPTransport, Transport
from deniable.collect.shuffler.forwarder import CollectorLink, Link, ShufflerLink
from deniable.collect.shuffler.judge import Station, station_of
from deniable.collect.shuffler.shuffler import Served, Shuffler
from deniable.collect.storage.shuffle_store import ShuffleStore
from deniable.collect.tasks.batch_price import check_claim
from deniable.contract.batch import LARGEST_MANIFEST, LARGEST_MESSAGE, MOST_SEALS
from deniable.contract.notice import ANALYST, SHUFFLER, KeyNotice, read_keys
from deniable.contract.sealed import mixing_of, seal_sizes
from deniable.contract.task import Task
from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.sealing.keys import GRACE, LIFETIME, KeyRing
from deniable.shuffle.mixer import LARGEST_BATCH, Rules

USUAL_BATCH = 1 << 14
ANSWER_SECONDS = 300.0
"""How long one exchange with the next station may take in all: a batch has up to 64 MB, and a collector opens all of it first."""


@dataclass(frozen=True, kw_only=True)
class ShufflerPlan:
    """What an operator decides.

    ``batch``: seals that go at once while a period is open; 0 takes the larger of 16,384 and the minimum. ``grace``: seconds for which a
    key opens after its end; 0 takes a week, or the longest period with its time for late reports where that is more.
    """

    folder: Path
    tasks: tuple[bytes, ...]
    collector: str
    following: str = ""
    batch: int = 0
    pad: int = 1
    lifetime: int = LIFETIME
    grace: int = 0
    insecure: bool = False

    def __post_init__(self) -> None:
        if not self.tasks or any(len(task) != 32 for task in self.tasks):
            raise ParameterError("task", [task.hex() for task in self.tasks], allowed="ids of 64 digits", fix="name one task at least")
        for parameter, least in (("lifetime", 1), ("grace", 0)):
            value = getattr(self, parameter)
            if not least <= value <= 366 * 86_400:
                allowed = f"from {least} seconds to a year"
                raise ParameterError(parameter, value, allowed=allowed, fix="keys that live long open what was seized long ago")


def arrange(plan: ShufflerPlan, *, clock: Callable[[], float]) -> tuple[Shuffler, Mapping[bytes, Link]]:
    """A shuffler and the ways from it, by task; DeniableError if it has no place in one of them, or one claims what does not hold."""
    store = ShuffleStore(plan.folder)
    try:
        return _arrange(plan, store, clock)
    except BaseException:
        store.close()
        raise


def _arrange(plan: ShufflerPlan, store: ShuffleStore, clock: Callable[[], float]) -> tuple[Shuffler, Mapping[bytes, Link]]:
    ring = KeyRing(plan.folder, SHUFFLER)
    collector = HTTPTransport(plan.collector, timeout=ANSWER_SECONDS, insecure=plan.insecure)
    kept = store.tasks()
    served: list[Served] = []
    links: dict[bytes, Link] = {}
    for identity in plan.tasks:
        task = read_task(kept.get(identity) or fetch_task(collector, identity), identity)
        check_claim(task)  # the author of the task may be the very party to protect people from
        station = station_of(task, ring.identity)
        served.append(_served(plan, station, collector))
        links[identity] = CollectorLink(collector, identity) if station.last else _next(plan, station)
    ring.grace = _grace(plan, [item.station.task for item in served])
    return Shuffler(store, ring, served, clock=clock, lifetime=plan.lifetime), links


def _grace(plan: ShufflerPlan, tasks: Sequence[Task]) -> int:
    """How long keys open after their end: what was sealed as a period began may come when the shuffler before lets it go at the end."""
    longest = max(task.period + task.late for task in tasks)
    if plan.grace and plan.grace < longest:
        allowed = f"{longest} seconds or more, for the longest period and its late reports"
        raise ParameterError("grace", plan.grace, allowed=allowed, fix="seals that come at the end could not be opened; 0 takes enough")
    return plan.grace or max(GRACE, longest)


def fetch_task(collector: Transport, identity: bytes) -> bytes:
    """The text of a task, from its collector."""
    answer = collector.request("GET", f"/v1/tasks/{identity.hex()}", b"", {})
    try:
        return str(json.loads(answer.body)["task"]).encode()
    except (ValueError, KeyError, TypeError) as error:
        raise ProtocolError("task", f"status {answer.status}", allowed="a task", fix="check the id and the collector's address") from error


def read_task(text: bytes, identity: bytes) -> Task:
    """Return the task of an id, from any sender; raise WireError if it is another one, or is not shuffled."""
    if hashlib.sha256(text).digest() != identity:
        raise WireError("task", hashlib.sha256(text).hexdigest(), allowed=identity.hex(), fix="do not trust this collector")
    task = Task.from_json(text)
    mixing_of(task)
    return task


def _served(plan: ShufflerPlan, station: Station, collector: Transport) -> Served:
    mixing = mixing_of(station.task)
    size = seal_sizes(station.task)[station.position + 1]
    most = min(MOST_SEALS, (LARGEST_MESSAGE - LARGEST_MANIFEST - 1024) // size)  # seals in a message
    room = min(LARGEST_BATCH, (most - plan.pad) // 2)  # the last batch may be almost two, and be padded
    if plan.pad > 1 and room < max(mixing.minimum, plan.batch):
        allowed = f"from 1 to {max(1, most - 2 * max(mixing.minimum, plan.batch))}, for seals of {size} bytes"
        raise ParameterError("pad", plan.pad, allowed=allowed, fix="1 adds no dummies; a message has its limit")
    batch = plan.batch or min(max(USUAL_BATCH, mixing.minimum), room)
    if not mixing.minimum <= batch <= room:
        allowed = f"from the task's minimum, {mixing.minimum}, to {room}, for seals of {size} bytes"
        raise ParameterError("batch", batch, allowed=allowed, fix="larger batches hide more, and come later; a message has its limit")
    threshold = mixing.threshold if station.last else None
    rules = Rules(minimum=mixing.minimum, batch=batch, pad=plan.pad, threshold=threshold)
    if plan.pad > 1 and not station.last:
        raise ParameterError("pad", plan.pad, allowed="1 but for the last shuffler of a chain", fix="let the last one pad")

    def analyst(now: float) -> KeyNotice:
        return read_keys(collector.request("GET", "/v1/keys", b"", {}).body, station.task.key, now, ANALYST)

    return Served(station, rules, analyst)


def _next(plan: ShufflerPlan, station: Station) -> ShufflerLink:
    """By the address in the task, unless the operator knows a better one."""
    url = plan.following or mixing_of(station.task).shufflers[station.position + 1].url
    return ShufflerLink(HTTPTransport(url, timeout=ANSWER_SECONDS, insecure=plan.insecure))
