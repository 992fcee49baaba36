"""What is in a body of seals, and whether each of them may be taken: by its size, its key, what is inside, and its one-time token.

Only what a process that opens seals needs: it is started with little, and sees nothing of a request but its body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from struct import Struct
from typing import NamedTuple

from deniable.collect.token_check import is_issued
from deniable.contract.admission import NUMBER_BYTES, spend_id
from deniable.contract.notice import ID_BYTES, SHUFFLER
from deniable.contract.sealed import HEADER, ROUTE_BYTES, VERSION, extras, mixing_of, open_seals, seal_id, seal_sizes
from deniable.contract.task import Task
from deniable.errors import WireError
from deniable.sealing.keys import KeyPair
from deniable.sealing.seal import open_box

BAD_SEAL, BAD_TOKEN, UNKNOWN_KEY, UNKNOWN_TASK = "bad_seal", "bad_token", "unknown_key", "unknown_task"
"""Why a seal is not taken."""
_KEY, _BOUND = slice(1, 9), slice(9, HEADER.size)
"""Where a seal has its key; and its task and period, which the next one shares."""
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


class OpenedSeals(NamedTuple):
    """What was in one body: rows by address, and task, id and code of what cannot be taken."""

    rows: dict[Address, list[Row]]
    refused: list[tuple[bytes, bytes, str]]
    seals: int


class Shape(NamedTuple):
    """How all seals of a task look at this station. One length for all: so the places of what is inside are known, too."""

    task: Task
    size: int
    token: int
    crowd: int
    inside: Struct
    last: bool

    @classmethod
    def at(cls, station: Station) -> Shape:
        """The shape of the seals that come to a station."""
        size, following, *_ = seal_sizes(station.task)[station.position :]
        token, crowd = extras(station.task) if station.last else (0, 0)
        inside = Struct(f"<{ROUTE_BYTES}sH{token}sB{crowd}s{following}s")  # as ``contract.sealed`` lays it out
        return cls(station.task, size, token, crowd, inside, station.last)


class Judge:
    """Opens bodies and judges what is in them. Lives in a process, with the tasks that it was started with."""

    def __init__(self, stations: Sequence[Station]) -> None:
        self._shapes = {station.task.id: Shape.at(station) for station in stations}

    def open(self, body: bytes, pairs: Mapping[bytes, KeyPair], most: int) -> OpenedSeals:
        """What was in a body; WireError if it is no list of seals, or of too many."""
        seals = open_seals(body, most=most)
        rows: dict[Address, list[Row]] = {}
        refused: list[tuple[bytes, bytes, str]] = []
        for seal in seals:
            version, key, task, period = HEADER.unpack_from(seal)
            found = self._look(seal, self._shapes.get(task), pairs.get(key)) if version == VERSION else BAD_SEAL
            if isinstance(found, str):
                refused.append((task, seal_id(seal), found))
            else:
                route, row = found
                rows.setdefault((task, period, route), []).append(row)
        return OpenedSeals(rows, refused, len(seals))

    def _look(self, seal: bytes, shape: Shape | None, pair: KeyPair | None) -> tuple[bytes, Row] | str:
        """The route of a seal and what is kept of it, or why it is not taken. It runs for every seal: hence flat."""
        if shape is None or len(seal) != shape.size or pair is None:
            return UNKNOWN_TASK if shape is None else UNKNOWN_KEY if len(seal) == shape.size else BAD_SEAL
        try:
            route, token_bytes, token, crowd_bytes, crowd, following = shape.inside.unpack(open_box(pair, seal, SHUFFLER))
        except WireError:
            return BAD_SEAL
        if token_bytes != shape.token or (token and not is_issued(shape.task, token)):
            return BAD_TOKEN
        # The route from the last shuffler is that of the collector's key: both are its SHA-256, of which an id shows a part.
        leads_on = not shape.last or following[_KEY] == route[:ID_BYTES]
        if crowd_bytes != shape.crowd or following[0] != VERSION or following[_BOUND] != seal[_BOUND] or not leads_on:
            return BAD_SEAL
        spent = spend_id(token[:NUMBER_BYTES]) if token else b""
        return route, (seal_id(seal), sha256(following).digest()[:16], crowd, following, spent)


def station_of(task: Task, identity: bytes) -> Station:
    """The place of a shuffler with this identity in a task; WireError if it has none."""
    relays = task.mixing.shufflers if task.mixing else ()
    for position, relay in enumerate(relays):
        if relay.key == identity:
            return Station(task, position)
    named = [relay.key.hex() for relay in relays]
    fix = "put the identity that `deniable shuffle keys show` prints into the task file" if named else "its reports need no shuffler"
    raise WireError("identity", identity.hex(), allowed=f"one of the task's shufflers, {named}", fix=fix)
