"""The aggregator of one sum with its store and its time: what a request may do, and when a step is over.

A step ends when every party has sent what is due, or when its time is over; late parties drop out. A steady clock measures the time of a
step, and it begins again when the process restarts, because nobody could send meanwhile.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass

from deniable.collect.kit.log import note
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.sum_store import ABORTED, OPENED, RUNNING, SumStore
from deniable.collect.sums.agreement import Agreement
from deniable.core.estimate import Estimate
from deniable.errors import ParameterError, ProtocolError
from deniable.multiparty.message import Message
from deniable.multiparty.roles import Aggregator

LOST, LATE = "lost", "late"
"""The answers to a party that is too late: before its vector arrived, or after."""


LONGEST_STEP = 366 * 86_400
"""Seconds."""


class Over(Exception):  # noqa: N818  # not an error: an answer to a party
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
            if not 0 < getattr(self, parameter) <= LONGEST_STEP:
                raise ParameterError(f"{parameter}-seconds", getattr(self, parameter), allowed="up to a year", fix="try 3600")


class Aggregation:
    """One sum; ``secret`` is the aggregator's file of a dealer, where its engine has one. Safe to share between threads."""

    def __init__(self, store: SumStore, *, steady: Callable[[], float], patience: Patience | None = None, secret: bytes = b"") -> None:
        self.store, self._secret = store, secret
        kept = store.kept()
        self.agreement = Agreement.from_json(kept.agreement)
        self.state, self.result = kept.state, kept.result
        self._patience, self._steady = patience or Patience(), steady
        self._lock = threading.RLock()
        self._due = store.due()
        self.told: set[int] = set()
        """The parties that heard of the end since this process began."""
        self._roles = self.agreement.roles
        self._engine = self._load()
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
                self._engine = self._load()  # what could not be kept was not received
                raise

    def look(self, party: int) -> bytes | None:
        """What is there for a party; None if it has answered it, or nothing is there yet. Over if there will be nothing more."""
        with self._lock:
            self._check_over(party)
            return self._due.get(party) if party in self._engine.waiting else None

    def status(self) -> dict[str, str | int | float]:
        """For operators and parties: how far it is, of how many members the step waits for a message, and how many seconds longer."""
        with self._lock:
            found: dict[str, str | int | float] = {
                "sum": self.agreement.id.hex(),
                "state": self.state,
                "parties": len(self.agreement.parties),
            }
            if self.state == RUNNING:
                found |= {"step": self._roles.steps[self._engine.step], "waiting": len(self._engine.waiting)}
                found |= {"seconds": max(self.step_seconds - (self._steady() - self._since), 0.0)}
            return found

    @property
    def step_seconds(self) -> float:
        """How long the current step may take."""
        begins = self._engine.step == next(iter(self._roles.steps))
        return self._patience.join if begins else self._patience.step

    def _check_over(self, party: int) -> None:
        adds = party < len(self.agreement.parties)
        if self.state != RUNNING:
            self.told.add(party)
            raise Over(LOST if self.state == OPENED and adds and not self._counted(party) else self.state)
        if party not in self._engine.present:
            raise Over(LATE if self._counted(party) else LOST)

    def _counted(self, party: int) -> bool:
        """Whether a party's vector is in the sum, if that is opened."""
        return party in self.store.senders(self._roles.counted)

    # --- steps ---

    def tend(self) -> bool:
        """End the step if it is over; whether it was."""
        with self._lock:
            if self.state != RUNNING:
                return False
            if self._engine.waiting and self._steady() - self._since < self.step_seconds:
                return False
            self._end_step()
            return True

    def _end_step(self) -> None:
        step, lost, present = self._engine.step, len(self._engine.waiting), self._engine.present
        name, survivors = self._roles.steps[step], len(self.store.senders(self._roles.counted))
        try:
            due = self._engine.close()
        except ProtocolError as error:
            self._end(ABORTED, str(error), survivors, present)
            note("aborted", level="warning", step=name, lost=lost)
            return
        note("a step is over", step=name, lost=lost)
        if self._engine.total is not None:
            self._end(OPENED, json.dumps(self._engine.total.tolist()), survivors, present)
            note("opened", parties=survivors)
            return
        try:
            self.store.advance(self._engine.save(), due, survivors)
        except StorageError:
            self._engine = self._load()  # nothing was sent: the step goes on
            raise
        self._due, self._since = due, self._steady()

    def _end(self, state: str, result: str, survivors: int, present: set[int]) -> None:
        try:
            self.store.end(state, result, survivors, present)
        except StorageError:
            self._engine = self._load()
            raise
        self.state, self.result, self._due = state, result, self.store.due()

    def _load(self) -> Aggregator:
        """The engine as the store has it."""
        kept = self.store.kept()
        found = self._roles.aggregator(self._secret, kept.engine)
        for data in self.store.messages().values():
            found.receive(data)
        return found

    # --- the end ---

    @property
    def everybody_told(self) -> bool:
        """Whether all who were there at the last step know that it is over."""
        with self._lock:
            return self.state != RUNNING and self._due.keys() <= self.told

    def estimate(self) -> Estimate:
        """The sums with their errors; ProtocolError if there are none."""
        return estimate_of(self.store)


def estimate_of(store: SumStore) -> Estimate:
    """What a folder's sum came to; ProtocolError if it was not opened."""
    kept = store.kept()
    agreement = Agreement.from_json(kept.agreement)
    if kept.state == ABORTED:
        raise ProtocolError("sum", "aborted", allowed="a sum that was opened", fix=kept.result)
    if kept.state != OPENED:
        raise ProtocolError("sum", "not over yet", allowed="a sum that was opened", fix="run: deniable aggregate run")
    return agreement.plan.estimate(kept.total, survivors=kept.survivors, labels=agreement.values or None)
