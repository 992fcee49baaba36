"""What an answer is: who asked for what, at which price. It travels with every estimate of a session."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from deniable.accounting.event import NEIGHBORS
from deniable.contract.guarantee import Guarantee

ROW = "one row of the table"


@dataclass(frozen=True)
class Question:
    """What is asked, in data that do not depend on anyone's row. Equal questions have equal identities."""

    ask: str
    """What it is called in the ledger: "sum of age"."""
    parts: tuple[Any, ...]
    """Everything that the answer depends on but the rows: the table's version and, where it is public, their number belong to it."""

    @property
    def identity(self) -> str:
        """64 hexadecimal digits; the question itself is not kept."""
        return sha256(repr((self.ask, self.parts)).encode()).hexdigest()

    @property
    def request(self) -> str:
        """The request id of a question that was not given one: asked again, it is the same request."""
        return f"{self.ask[:150]} {self.identity[:16]}"


@dataclass(frozen=True)
class Release:
    """One answer that left, and the promise that it kept."""

    request: str
    ask: str
    mechanism: str
    epsilon: float
    neighbors: str
    domain: None = None  # of values that nobody has to declare as a domain

    @property
    def guarantee(self) -> Guarantee:
        """The promise of this answer alone. The session's budget holds for all of them together."""
        return Guarantee(
            epsilon=self.epsilon,
            model="central",
            unit=f"one answer, for {ROW}",
            neighbors=NEIGHBORS[self.neighbors],
            honest="whoever keeps the table",
        )

    def headline(self) -> str:
        """What was asked, and at which price."""
        return f"{self.ask}: {self.mechanism}, epsilon = {self.epsilon:.4g}, {self.neighbors}"
