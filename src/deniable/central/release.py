"""Releases: what a session was asked, what it answered at which price, and the journal of all answers.

The same request again gets the same answer, after a crash too, and noise is shown once. Answers lie in a file next to the ledger, chained
and locked as it is. The file has an id, which the ledger names in a record of kind "answers": a ledger that was moved, linked or copied
without its answers is refused, since it would draw again what was sent already. An answer is kept *before* it is sent, and the first that
is kept is the only one that anybody sees: two processes may draw for the same request, but the second finds the first one's answer and
forgets its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from deniable.accounting.event import NEIGHBORS
from deniable.accounting.journal import JournalError, OpenJournal, open_journal
from deniable.contract.canonical import number, read_number
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ProtocolError

ROW = "one row of the table"
KIND = "answers"


@dataclass(frozen=True)
class TableQuestion:
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
        """The guarantee of this answer alone. The session's budget covers all answers together."""
        return Guarantee(
            epsilon=self.epsilon,
            model="central",
            unit=f"one answer, for {ROW}",
            neighbors=NEIGHBORS[self.neighbors],
            honest="the curator",
        )

    def headline(self) -> str:
        """What was asked, and at which price."""
        return f"{self.ask}: {self.mechanism}, epsilon = {self.epsilon:.4g}, {self.neighbors}"


class AnswerJournal:
    """The answers of one ledger, by request."""

    def __init__(self, ledger: Path, source: Source = SYSTEM) -> None:
        self.path = ledger.with_name(ledger.name + ".answers")
        with open_journal(ledger) as book:  # held until both agree, so that two sessions do not both make a file
            named = [record["id"] for record in book.records if record["kind"] == KIND]
            if named and not self.path.exists():
                self._refuse("no such file")
            with open_journal(self.path, create=True) as kept:
                if not kept.records:
                    kept.append({"kind": KIND, "version": 1, "id": f"{source.word():016x}{source.word():016x}"})
                head, *answered = kept.records
                if head.get("kind") != KIND or head.get("version") != 1 or (head.get("id") not in named if named else answered):
                    self._refuse(head)
            if not named:
                book.append({"kind": KIND, "id": head["id"]})

    def _refuse(self, found: object) -> NoReturn:
        fix = f"restore {self.path}, or name another ledger: without the file, answers that were sent would get new noise"
        raise JournalError("answers", found, allowed="the answers that belong to the ledger", fix=fix)

    def find(self, request: str, question: TableQuestion) -> tuple[int, ...] | None:
        """What was answered to a request; None if nothing was."""
        with open_journal(self.path, write=False) as book:
            return _found(book, request, question)

    def keep(self, request: str, question: TableQuestion, released: tuple[int, ...]) -> tuple[int, ...]:
        """Keep an answer, durably, unless there is one: returns the one that is kept."""
        with open_journal(self.path) as book:
            found = _found(book, request, question)
            if found is None:
                book.append(
                    {"kind": "answer", "request": request, "question": question.identity, "released": [number(each) for each in released]}
                )
            return released if found is None else found


def _found(book: OpenJournal, request: str, question: TableQuestion) -> tuple[int, ...] | None:
    for record in book.records[1:]:
        if record["kind"] == "answer" and record["request"] == request:
            if record["question"] != question.identity:
                raise ProtocolError("request", request, allowed="an id for the question that it was first used for", fix="take a new id")
            return tuple(read_number("released", each) for each in record["released"])
    return None
