"""Forwarding of batches until they are acknowledged: retried with growing pauses, and always in the same form.

A batch is sent as the message recorded when it was mixed, so receivers recognize repetitions by its id. A collector has a batch once it
answers with that id: any web page may have status 200. Another shuffler gets it in pieces, recognizes each sealed report on its own, and
lists those that it rejects. Of those, malformed reports are dropped and the rest are kept. Permanent refusals (a claim that does not hold,
a period that was counted) are logged and retried, too, because the receiver may be repaired. Retries end when the task does.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from deniable.client.retries import Retries, Waits, is_temporary, retry_after
from deniable.client.transport import Response, Transport
from deniable.collect.faults import fault_point
from deniable.collect.kit.log import note, note_error
from deniable.collect.shuffler.judge import BAD_SEAL, BAD_TOKEN
from deniable.collect.storage.shuffle_store import ShuffleStore, Waiting
from deniable.contract.batch import MEDIA_TYPE as BATCH
from deniable.contract.sealed import MEDIA_TYPE as SEALS
from deniable.contract.sealed import open_seals, pack_seals, seal_id
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ProtocolError
from deniable.shuffle.mixer import USED

LONGEST_WAIT = 300.0
"""Seconds between attempts."""
PIECE = 1 << 18
"""Bytes of seals that are sent to another shuffler at once."""
FINAL = frozenset({BAD_SEAL, BAD_TOKEN, USED})
"""Codes that are about the seal alone: no other time, key or setting would change them."""
_CODE, _ID = re.compile(r"[a-z_]{1,40}"), re.compile(r"[0-9a-f]{32}")


class Delivery(NamedTuple):
    """What became of a batch: acknowledged, or to be tried again after so many seconds at least; ``why`` as the log tells it.

    ``left`` has the seals that are still to be delivered, where the others were taken.
    """

    done: bool
    least: float = 0.0
    why: str = ""
    left: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class CollectorLink:
    """The way from a task's last shuffler to its collector."""

    transport: Transport
    task: bytes

    def deliver(self, batch: bytes, message: bytes) -> Delivery:
        """Send a batch, and wait for an answer that names it."""
        answer = self.transport.request("POST", f"/v1/tasks/{self.task.hex()}/batches", message, {"Content-Type": BATCH})
        if answer.status not in (200, 201):
            return _refused(answer)
        if _content(answer).get("batch") != batch.hex():
            return Delivery(False, 0.0, f"status {answer.status}, but not from a collector that has it")
        return Delivery(True)


@dataclass(frozen=True)
class ShufflerLink:
    """The way to the next shuffler of a chain."""

    transport: Transport

    def deliver(self, batch: bytes, message: bytes) -> Delivery:
        """Send a batch in pieces, each until it is answered."""
        left: list[bytes] = []
        codes: set[str] = set()
        dropped = 0
        for piece in _pieces(open_seals(message)):
            answer = self.transport.request("POST", "/v1/seals", pack_seals(piece), {"Content-Type": SEALS})
            if answer.status == 201:
                continue
            if answer.status != 200:
                return _refused(answer)
            rejected = _rejected(answer, {seal_id(seal) for seal in piece})
            codes |= set(rejected.values())
            dropped += sum(code in FINAL for code in rejected.values())
            left += [seal for seal in piece if rejected.get(seal_id(seal), USED) not in FINAL]  # not named: taken
        if left:
            return Delivery(False, 0.0, f"rejected: {', '.join(sorted(codes))}", tuple(left))
        if dropped:
            note("the next shuffler rejects seals that were made wrong", level="warning", seals=dropped, codes=", ".join(sorted(codes)))
        return Delivery(True)


Link = CollectorLink | ShufflerLink


@dataclass
class _Try:
    """When a batch is tried again."""

    waits: Waits
    at: float = 0.0
    why: str = ""


class Forwarder:
    """Sends what waits. ``link`` gives the way for a task; None if it is not served any more."""

    def __init__(
        self,
        store: ShuffleStore,
        link: Callable[[bytes], Link | None],
        *,
        observe: Callable[[bool], None] = lambda done: None,
        clock: Callable[[], float] = time.monotonic,
        source: Source = SYSTEM,
    ) -> None:
        self._store = store
        self._link = link
        self._observe = observe
        self._clock = clock
        self._retries = Retries(longest=LONGEST_WAIT, attempts=None, source=source)
        self._tries: dict[bytes, _Try] = {}

    def step(self) -> float | None:
        """Send everything that is due; seconds until the next is, or None if nothing waits."""
        waiting = [batch for batch in self._store.batches() if self._link(batch.task) is not None]
        self._tries = {batch.id: self._tries.get(batch.id) or _Try(self._retries.waits()) for batch in waiting}
        for batch in waiting:
            attempt = self._tries[batch.id]
            if attempt.at <= self._clock():
                self._send(batch, attempt)
        left = [attempt.at for attempt in self._tries.values()]
        return max(0.0, min(left) - self._clock()) if left else None

    def _send(self, batch: Waiting, attempt: _Try) -> None:
        link = self._link(batch.task)
        if link is None:
            return
        found = self._deliver(link, batch, attempt)
        self._observe(found.done)
        if found.done:
            fault_point("batch answered")
            self._store.acknowledged(batch.id)
            fault_point("batch deleted")
            del self._tries[batch.id]
            note("passed on", seals=batch.seals)
            return
        if found.left and len(found.left) < batch.seals:
            self._store.replace(batch.id, len(found.left), pack_seals(found.left))
        if found.why != attempt.why:  # once, not for every attempt
            attempt.why = found.why
            left = len(found.left) or batch.seals
            note("a batch cannot be passed on; it is kept and tried again", level="warning", seals=left, why=found.why)
        attempt.at = self._clock() + attempt.waits.next(found.least)

    def _deliver(self, link: Link, batch: Waiting, attempt: _Try) -> Delivery:
        """Try once. Whatever one receiver does, the batches for others must go."""
        try:
            return link.deliver(batch.id, self._store.message(batch.id))
        except OSError as error:  # nobody there, or cut off: whether it arrived is not known, and does not matter
            return Delivery(False, 0.0, type(error).__name__)
        except Exception as error:
            if attempt.why != type(error).__name__:
                note_error("an answer was not understood", error)
            return Delivery(False, 0.0, type(error).__name__)


def _refused(answer: Response) -> Delivery:
    problem = _content(answer).get("error", {})
    code = problem.get("code") if isinstance(problem, dict) else None
    shown = code if isinstance(code, str) and _CODE.fullmatch(code) else "no code"
    final = "" if is_temporary(answer.status) else ", refused"
    return Delivery(False, retry_after(answer), f"status {answer.status}, {shown}{final}")


def _rejected(answer: Response, sent: set[bytes]) -> dict[bytes, str]:
    """Return the ids and codes of rejected reports; raise ProtocolError unless the answer lists nothing else, and only what was sent."""
    listed = _content(answer).get("rejected")
    found: dict[bytes, str] = {}
    for item in listed if isinstance(listed, list) else ():
        code = item.get("code") if isinstance(item, dict) else None
        seal = item.get("id") if isinstance(item, dict) else None
        if not isinstance(code, str) or not _CODE.fullmatch(code) or not isinstance(seal, str) or not _ID.fullmatch(seal):
            found.clear()
            break
        found[bytes.fromhex(seal)] = code
    if not found or not set(found) <= sent:
        allowed = "which of the seals were rejected, and why"
        raise ProtocolError("answer", "status 200 with something else", allowed=allowed, fix="check the address of the next shuffler")
    return found


def _content(answer: Response) -> dict[str, Any]:
    try:
        content = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _pieces(seals: list[bytes]) -> Iterator[list[bytes]]:
    each = max(1, PIECE // (len(seals[0]) + 4)) if seals else 1
    for start in range(0, len(seals), each):
        yield seals[start : start + each]
