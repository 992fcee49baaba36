"""What is in a body of seals, and whether each of them may be taken: by its size, its key, what is inside, and its one-time token.

Only what a process that opens seals needs: it is started with little, and sees nothing of a request but its body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from deniable.collect.spending import holds
from deniable.contract.admission import NUMBER_BYTES, spend_id
from deniable.contract.envelope import Envelope
from deniable.contract.sealed import HEADER, Outer, extras, mixing_of, open_seals, read_header, seal_id, seal_sizes
from deniable.contract.task import Task
from deniable.errors import WireError
from deniable.sealing.keys import KeyPair
from deniable.sealing.seal import open_outer

BAD_SEAL, BAD_TOKEN, UNKNOWN_KEY, UNKNOWN_TASK = "bad_seal", "bad_token", "unknown_key", "unknown_task"
"""Why a seal is not taken."""
Address = tuple[bytes, int, bytes]
"""Task, period and route."""
Row = tuple[bytes, bytes, bytes, bytes, bytes]
"""Id of the seal, digest of the next seal, its crowd, the next seal, id of the token: plain, since it crosses from process to process."""


class Station(NamedTuple):
    """What a shuffler has to know of a task to judge its seals: the task, and its own place in the chain."""

    task: Task
    position: int

    @property
    def last(self) -> bool:
        """Whether the collector comes next."""
        return self.position == len(mixing_of(self.task).shufflers) - 1

    def closes(self, period: int) -> float:
        """When a period is over here: those further down the chain wait for longer, and the collector waits for all of them."""
        late = self.task.late * (self.position + 1) / (len(mixing_of(self.task).shufflers) + 1)
        return self.task.period_span(period)[1] + late


class Opened(NamedTuple):
    """What was in one body: rows by address, and task, id and code of what cannot be taken."""

    rows: dict[Address, list[Row]]
    refused: list[tuple[bytes, bytes, str]]
    seals: int


class Judge:
    """Opens bodies and judges what is in them. Lives in a process, with the tasks that it was started with."""

    def __init__(self, stations: Sequence[Station]) -> None:
        self._sizes = {station.task.id: seal_sizes(station.task)[station.position :] for station in stations}
        self._extras = {station.task.id: extras(station.task) if station.last else (0, 0) for station in stations}
        self._tasks = {station.task.id: station.task for station in stations}

    def open(self, body: bytes, pairs: Mapping[bytes, KeyPair], most: int) -> Opened:
        """What was in a body; WireError if it is no list of seals, or of too many."""
        seals = open_seals(body, most=most)
        rows: dict[Address, list[Row]] = {}
        refused: list[tuple[bytes, bytes, str]] = []
        for seal in seals:
            _, key, task, period = HEADER.unpack_from(seal)  # the version is looked at when it is opened
            outer = self._outer(seal, task, pairs.get(key))
            if isinstance(outer, str):
                refused.append((task, seal_id(seal), outer))
                continue
            token = spend_id(outer.token[:NUMBER_BYTES]) if outer.token else b""
            row = (seal_id(seal), sha256(outer.next).digest()[:16], outer.crowd, outer.next, token)
            rows.setdefault((task, period, outer.route), []).append(row)
        return Opened(rows, refused, len(seals))

    def _outer(self, seal: bytes, task: bytes, pair: KeyPair | None) -> Outer | str:
        """What is in a seal, or why it is not taken."""
        sizes = self._sizes.get(task)
        if sizes is None:
            return UNKNOWN_TASK
        if len(seal) != sizes[0]:
            return BAD_SEAL
        if pair is None:
            return UNKNOWN_KEY
        try:
            outer = open_outer(pair, seal)
        except WireError:
            return BAD_SEAL
        token, crowd = self._extras[task]
        if len(outer.token) != token or (token and not self._holds(task, outer.token)):
            return BAD_TOKEN
        whole = len(outer.crowd) == crowd and len(outer.next) == sizes[1]
        return outer if whole and (len(sizes) > 2 or _leads_on(outer)) else BAD_SEAL

    def _holds(self, task: bytes, token: bytes) -> bool:
        return holds(self._tasks[task], b"", Envelope(task, 0, 0, 0, spend_id(token[:NUMBER_BYTES]), b"", token))


def _leads_on(outer: Outer) -> bool:
    """Whether the route from the last shuffler is that of the collector's key: both are the SHA-256 of it, of which ids show a part."""
    key = read_header(outer.next).key
    return outer.route[: len(key)] == key


def station_of(task: Task, identity: bytes) -> Station:
    """The place of a shuffler with this identity in a task; WireError if it has none."""
    relays = task.mixing.shufflers if task.mixing else ()
    for position, relay in enumerate(relays):
        if relay.key == identity:
            return Station(task, position)
    named = [relay.key.hex() for relay in relays]
    fix = "put the identity that `deniable shuffle keys show` prints into the task file" if named else "its reports need no shuffler"
    raise WireError("identity", identity.hex(), allowed=f"one of the task's shufflers, {named}", fix=fix)
