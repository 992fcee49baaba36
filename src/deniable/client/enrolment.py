"""A device's one-time tokens: drawn, signed blindly in exchange for a code, kept in the ledger, and put on reports.

What was drawn is kept before anything is sent, so that after a crash or a lost answer the very same request is made again, and the issuer
gives the same answer. The first answer to a task takes the first token, the second the second: which one is settled by the ledger, in the
step that also records the report, and a report that is sent again carries the token that it had.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from deniable.client.ledger import Ledger
from deniable.client.transport import Response
from deniable.contract.admission import (
    ASSIGNED,
    MODULUS_BYTES,
    NUMBER_BYTES,
    OPEN,
    SECRET,
    SECRET_BYTES,
    SECRET_MARK,
    TOKEN,
    TOKEN_BYTES,
    check_issuer,
    prove,
    spend_id,
    token_message,
)
from deniable.contract.assigned import assigned_seed, seed_words
from deniable.contract.blind_rsa import Blinded, blind, draw_bytes, finalize
from deniable.contract.envelope import Envelope
from deniable.contract.source import Source
from deniable.contract.spec import Spec
from deniable.contract.task import Task
from deniable.errors import ParameterError, ProtocolError, WireError

DRAWN, TOKENS = "drawn tokens", "tokens"
"""Under which names the ledger keeps them, before and after they are signed."""
DRAWN_BYTES = NUMBER_BYTES + 2 * MODULUS_BYTES
"""A number, what undoes its blinding, and what the issuer gets to see."""
Stamp = Callable[[Envelope, int], Envelope]
"""Puts the token on a report, given how many answers the task had before."""


def enrol(task: Task, code: str, ledger: Ledger, post: Callable[[bytes], Response], source: Source) -> None:
    """Exchange a code for tokens and keep them; do nothing if the ledger has them already."""
    if task.admission != TOKEN:
        raise ParameterError("task", task.name, allowed="a task with one-time tokens", fix="report without enrolling")
    check_issuer(task)
    if ledger.recall(task.id, TOKENS) is not None:
        return
    drawn = _cut(ledger.remember(task.id, DRAWN, lambda: b"".join(_draw(task, source) for _ in range(task.answers))), DRAWN_BYTES)
    answer = post(json.dumps({"code": code.strip(), "blinded": [part[-MODULUS_BYTES:].hex() for part in drawn]}).encode())
    if answer.status != 200:
        raise ProtocolError("code", f"status {answer.status}", allowed="a code of this task that is still good", fix="check the code")
    try:
        signed = [bytes.fromhex(part) for part in json.loads(answer.body)["signatures"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise WireError("answer", answer.body, allowed="a list of signatures", fix="check the collector's address") from error
    if len(signed) != len(drawn):
        raise WireError("signatures", len(signed), allowed=f"{len(drawn)}", fix="do not trust this collector")
    tokens = b"".join(_token(task, part, signature) for part, signature in zip(drawn, signed, strict=True))
    ledger.remember(task.id, TOKENS, lambda: tokens)


def stamp_for(task: Task, ledger: Ledger, secret: str | None) -> Stamp:
    """Return the function that puts the token on a report; raise if the task asks for a token that this device does not have."""
    if task.admission == OPEN:
        return lambda envelope, _: envelope
    if task.admission == SECRET:
        shared = read_secret(secret)
        return lambda envelope, _: envelope._replace(token=prove(shared, envelope))
    tokens = _tokens(task, ledger)
    return lambda envelope, place: envelope._replace(id=spend_id(tokens[place][:NUMBER_BYTES]), token=tokens[place])


def seeds_for(task: Task, ledger: Ledger) -> Callable[[Spec, int], tuple[int, ...]]:
    """Return what gives a report its assigned seed, from its mechanism and the number of earlier answers; empty if it draws its own."""
    if task.seeds != ASSIGNED:
        return lambda _spec, _place: ()
    tokens = _tokens(task, ledger)
    return lambda spec, place: assigned_seed(tokens[place], seed_words(spec))


def read_secret(text: str | None) -> bytes:
    """Return the shared secret behind the text that the operator handed out; no error ever shows it."""
    try:
        found = bytes.fromhex((text or "").strip().removeprefix(SECRET_MARK))
    except ValueError:
        found = b""
    if len(found) != SECRET_BYTES:
        received = "none" if text is None else f"{len(text)} characters"
        raise ParameterError("secret", received, allowed=f"{SECRET_MARK} and {2 * SECRET_BYTES} digits", fix="pass secret=... as given out")
    return found


def _tokens(task: Task, ledger: Ledger) -> list[bytes]:
    kept = ledger.recall(task.id, TOKENS)
    if kept is None:
        raise ProtocolError("tokens", "none", allowed=f"a device that enrolled for {task.name!r}", fix="call enrol(code) first")
    return _cut(kept, TOKEN_BYTES)


def _draw(task: Task, source: Source) -> bytes:
    number = draw_bytes(source, NUMBER_BYTES)
    blinded = blind(task.issuer, token_message(task.id, number), source)
    return number + blinded.inverse + blinded.message


def _token(task: Task, drawn: bytes, signature: bytes) -> bytes:
    number, inverse, shown = drawn[:NUMBER_BYTES], drawn[NUMBER_BYTES:-MODULUS_BYTES], drawn[-MODULUS_BYTES:]
    return number + finalize(task.issuer, token_message(task.id, number), signature, Blinded(shown, inverse))


def _cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]
