"""The aggregator of one sum with its store and its time: what a request may do, and when a step is over.

A step ends when everybody has sent what is due, or when its time is over; whoever is late is lost. The time of a step is told by a clock
that nobody sets, and begins anew when the process is started again: while it was away nobody could send.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass

from deniable.collect.storage.log import StorageError
from deniable.collect.summing.agreement import Agreement
from deniable.collect.summing.store import ABORTED, OPENED, RUNNING, SumStore
from deniable.collect.web.journal import note
from deniable.errors import ParameterError, ProtocolError
from deniable.multiparty.estimate import SumEstimate
from deniable.multiparty.masking import layout
from deniable.multiparty.masking.aggregator import MaskingAggregator
from deniable.multiparty.masking.secrets import SEALED_BYTES
from deniable.multiparty.message import HEADER, SIGNATURE_BYTES, Message

STEPS = {
    layout.ADVERTISE: "keys",
    layout.SHARES: "shares",
    layout.MASKED: "vectors",
    layout.AGREED: "agreement",
    layout.REVEALED: "opening",
}
LOST, LATE = "lost", "late"
"""What a party is told that did not keep up: before its vector was there, or after."""


class Over(Exception):  # noqa: N818  # not an error: what a party is told
    """There is nothing more to do for a party: the sum was opened or aborted, or the party did not keep up."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


@dataclass(frozen=True)
class Patience:
    """Seconds: for everybody to begin, and for each later step."""

    join: float = 86_400.0
    step: float = 3_600.0

    def __post_init__(self) -> None:
        for parameter in ("join", "step"):
            if not 0 < getattr(self, parameter) <= 366 * 86_400:
                raise ParameterError(f"{parameter}-seconds", getattr(self, parameter), allowed="up to a year", fix="try 3600")


class Aggregation:
    """One sum. Safe to share between threads."""

    def __init__(self, store: SumStore, *, steady: Callable[[], float], patience: Patience | None = None) -> None:
        self.store = store
        kept = store.kept()
        self.agreement = Agreement.from_json(kept.agreement)
        self.state, self.result = kept.state, kept.result
        self._survivors = kept.survivors
        self._patience, self._steady = patience or Patience(), steady
        self._lock = threading.RLock()
        self._due = store.due()
        self.told: set[int] = set()
        """The parties that were told that it is over, since this process began."""
        terms = self.agreement.terms
        self._engine = MaskingAggregator.resume(kept.engine, terms=terms) if kept.engine else MaskingAggregator(terms)
        if self.state == RUNNING:
            for data in store.messages().values():
                self._engine.receive(data)
        self._since = steady()

    # --- requests ---

    def take(self, party: int, data: bytes) -> None:
        """Keep a party's message; the same one again changes nothing. WireError, ProtocolError or Over if it cannot be taken."""
        message = Message.open(data)
        with self._lock:
            message.expect(kind=message.kind, sum=self.agreement.id, party=party)
            if self.store.repeated(message.kind, party, data):
                return
            self._check_over(party)
            self._engine.receive(data)
            try:
                self.store.take(message.kind, party, data)
            except StorageError:
                self._reload()  # what could not be kept was not received
                raise

    def look(self, party: int) -> bytes | None:
        """What is there for a party; None if it has answered it, or nothing is there yet. Over if there will be nothing more."""
        with self._lock:
            self._check_over(party)
            return self._due.get(party) if party in self._engine.waiting else None

    def status(self) -> dict[str, str | int]:
        """For the operator: how far it is, in numbers of parties."""
        with self._lock:
            found: dict[str, str | int] = {"sum": self.agreement.id.hex(), "state": self.state, "parties": len(self.agreement.parties)}
            if self.state == RUNNING:
                found |= {"step": STEPS[self._engine.step], "waiting": len(self._engine.waiting)}
            return found

    def _check_over(self, party: int) -> None:
        if self.state != RUNNING:
            self.told.add(party)
            raise Over(self.state if self.state == ABORTED or self.store.counted(party) else LOST)
        if self._engine.step != layout.ADVERTISE and party not in self._due:
            raise Over(LATE if self.store.counted(party) else LOST)

    # --- steps ---

    def tend(self) -> bool:
        """End the step if it is over; whether it was."""
        with self._lock:
            if self.state != RUNNING:
                return False
            allowed = self._patience.join if self._engine.step == layout.ADVERTISE else self._patience.step
            if self._engine.waiting and self._steady() - self._since < allowed:
                return False
            self._end_step()
            return True

    def _end_step(self) -> None:
        step, lost = self._engine.step, len(self._engine.waiting)
        try:
            due = self._engine.close()
        except ProtocolError as error:
            self._end(ABORTED, str(error))
            note("aborted", level="warning", step=STEPS[step], lost=lost)
            return
        note("a step is over", step=STEPS[step], lost=lost)
        if step == layout.MASKED:
            self._survivors = len(due)
        if self._engine.total is not None:
            self._end(OPENED, json.dumps(self._engine.total.tolist()))
            note("opened", parties=self._survivors)
            return
        try:
            self.store.advance(self._engine.save(), due, self._survivors)
        except StorageError:
            self._reload()  # nothing was sent: the step goes on
            raise
        self._due, self._since = due, self._steady()

    def _end(self, state: str, result: str) -> None:
        try:
            self.store.end(state, result)
        except StorageError:
            self._reload()
            raise
        self.state, self.result, self._due = state, result, self.store.due()

    def _reload(self) -> None:
        """The engine as the store has it."""
        kept, terms = self.store.kept(), self.agreement.terms
        self._engine = MaskingAggregator.resume(kept.engine, terms=terms) if kept.engine else MaskingAggregator(terms)
        self._survivors = kept.survivors
        for data in self.store.messages().values():
            self._engine.receive(data)

    # --- the end ---

    @property
    def everybody_told(self) -> bool:
        """Whether all who were there at the last step know that it is over."""
        with self._lock:
            return self.state != RUNNING and self._due.keys() <= self.told

    def estimate(self) -> SumEstimate:
        """The sums with their errors; ProtocolError if there are none."""
        return estimate_of(self.store)


def estimate_of(store: SumStore) -> SumEstimate:
    """What a folder's sum came to; ProtocolError if it was not opened."""
    kept = store.kept()
    agreement = Agreement.from_json(kept.agreement)
    if kept.state == ABORTED:
        raise ProtocolError("sum", "aborted", allowed="a sum that was opened", fix=kept.result)
    if kept.state != OPENED:
        raise ProtocolError("sum", "not over yet", allowed="a sum that was opened", fix="run: deniable aggregate run")
    return agreement.plan.estimate(kept.total, survivors=kept.survivors, labels=agreement.values or None)


def largest_message(agreement: Agreement) -> int:
    """The most bytes that a party has to send at once."""
    neighbors = agreement.terms.degree.neighbors
    bodies = (64, 32 + (4 + SEALED_BYTES) * neighbors, agreement.length * agreement.word_bits // 8, 37 * neighbors)
    return HEADER.size + max(bodies) + SIGNATURE_BYTES
