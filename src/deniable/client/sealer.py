"""How a report leaves a device: as it is to the collector, or sealed to the first of the task's shufflers.

The client needs the standard library only. Sealing is looked up when a task of shuffle trust asks for it, and needs the extra ``sealed``.
The ledger keeps the shuffler's address next to the report that waits, so that a resend needs nobody else's answer.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple

from deniable.client.board import Board
from deniable.client.ledger import Ledger
from deniable.contract.envelope import MEDIA_TYPE, Envelope, open_batch
from deniable.contract.sealed import MEDIA_TYPE as SEALS
from deniable.contract.sealed import pack_seals, seal_id
from deniable.contract.task import Task
from deniable.errors import MissingExtra

_SEALING = "deniable.sealing.seal"
_RELAY = "first shuffler"


class Addressed(NamedTuple):
    """A request that brings a report, and the id by which its answer names the report."""

    path: str
    body: bytes
    type: str
    id: bytes


def sealer_for(task: Task, board: Board, ledger: Ledger, now: float) -> Callable[[Envelope], bytes]:
    """Return the function that turns an envelope into the bytes to keep and send; for shuffle trust, fetch the keys to seal for.

    Nothing was spent if this fails: MissingExtra without the extra, ProtocolError or WireError if a key is missing or forged.
    """
    if task.mixing is None:
        return Envelope.pack
    try:
        seal_report = importlib.import_module(_SEALING).seal_report  # the client knows only the name
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        raise MissingExtra("reports through a shuffler", "sealed", error.name) from error
    keys = board.keys(task, now)
    first = task.mixing.shufflers[0].url.encode()
    ledger.remember(task.id, _RELAY, lambda: first)

    def seal(envelope: Envelope) -> bytes:
        sealed: bytes = seal_report(task, envelope, keys.analyst, keys.shufflers)
        return sealed

    return seal


def relay_of(task: bytes, ledger: Ledger) -> str | None:
    """Return the address of the shuffler that a task's reports are sent to; None if they go to the collector."""
    kept = ledger.recall(task, _RELAY)
    return None if kept is None else kept.decode()


def addressed(report: bytes, relay: str | None) -> Addressed:
    """Return the request that brings a kept report, the same bytes every time."""
    if relay is None:
        return Addressed("/v1/reports", report, MEDIA_TYPE, open_batch(report)[0].id)
    return Addressed("/v1/seals", pack_seals([report]), SEALS, seal_id(report))
