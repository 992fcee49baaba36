"""Answers that were given, kept: the same request again gets the same answer, after a crash too, and noise is shown once.

They lie in a file beside the ledger, chained and locked as it is. An answer is kept *before* it is sent, and the first that is kept is the
only one that anybody sees: two processes may draw for the same request, but the second finds the first one's answer and forgets its own.
"""

from __future__ import annotations

from pathlib import Path

from deniable.accounting.journal import JournalError, Step, step
from deniable.central.release import Question
from deniable.contract.canonical import number, read_number
from deniable.errors import ProtocolError

HEAD = {"kind": "answers", "version": 1}


class Answers:
    """The answers of one ledger, by request."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with step(path, create=True) as book:
            if not book.records:
                book.append(dict(HEAD))
            elif book.records[0] != HEAD:
                raise JournalError("answers", book.records[0], allowed=f"{HEAD}", fix="name another ledger, or upgrade deniable")

    def find(self, request: str, question: Question) -> tuple[int, ...] | None:
        """What was answered to a request; None if nothing was."""
        with step(self.path, write=False) as book:
            return _found(book, request, question)

    def keep(self, request: str, question: Question, released: tuple[int, ...]) -> tuple[int, ...]:
        """Keep an answer, durably, unless there is one: returns the one that is kept."""
        with step(self.path) as book:
            found = _found(book, request, question)
            if found is None:
                book.append(
                    {"kind": "answer", "request": request, "question": question.identity, "released": [number(each) for each in released]}
                )
            return released if found is None else found


def _found(book: Step, request: str, question: Question) -> tuple[int, ...] | None:
    for record in book.records[1:]:
        if record["kind"] == "answer" and record["request"] == request:
            if record["question"] != question.identity:
                raise ProtocolError("request", request, allowed="an id for the question that it was first used for", fix="take a new id")
            return tuple(read_number("released", each) for each in record["released"])
    return None
