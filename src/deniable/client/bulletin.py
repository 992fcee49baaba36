"""The bulletin: a folder of reports that anyone may read, in place of a collector or next to one.

A device posts the envelope that its ledger recorded, under the SHA-256 of its bytes. Posting it again changes nothing, and it is paid for
once, however many places it goes to. ``deniable tally`` counts a folder, and everyone who counts the same files gets the same result.

A file is complete as soon as it has its name, and all files carry the same date. Only the folder's host can see who wrote a file and when
(its inode and the folder's own date show that). Copies of the folder show neither.

Do not use open folders for a task with tokens or a secret: anyone who reads a token there could spend it on a report of their own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from deniable.client.ledger import PENDING, SENT
from deniable.client.reporter import outcome
from deniable.client.transport import HTTPTransport, Response, Transport, TransportError
from deniable.contract.admission import OPEN
from deniable.contract.arguments import typed
from deniable.contract.durable import write_durably
from deniable.contract.envelope import Envelope, open_batch
from deniable.errors import ParameterError, ProtocolError, WireError

REPORT, TASK = ".report", ".task"
"""How the names of files end: a report, and a task as a collector serves it."""
ONE_DATE = 315_619_200
"""The date of every file, 2 January 1980: the first day that all archives can write in every time zone."""
_REPORTS = "/v1/reports"


@typed
class Bulletin:
    """An open ``folder`` as a device's transport: ``Reporter(Bulletin("open"), task=..., ledger=...)``.

    The folder must exist: if it is not mounted, reports stay pending. Tasks are read from files named by their id, which a device verifies
    as if a collector had sent them. Only a collector can open rounds.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"<Bulletin in {str(self.folder)!r}>"

    def request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """Return a collector's answer to a method, path, body and headers of HTTP; OSError if the folder does not take a report."""
        if method == "POST" and path == _REPORTS:
            for envelope in open_batch(body):
                self._post(envelope)
            return Response(201, {}, b"")
        known = path.removeprefix("/v1/tasks/")
        if method == "GET" and len(known) == 64 and known.isalnum() and (file := self.folder / f"{known}{TASK}").is_file():
            return Response(200, {}, check_open(file.read_bytes()))
        code = "no_round" if path.endswith("/round") else "not_here"
        return Response(404, {}, json.dumps({"error": {"code": code}}).encode())

    def _post(self, envelope: Envelope) -> None:
        if envelope.token:
            raise _not_open("a report with a token")
        data = envelope.pack()
        # The same bytes under the same name, however often.
        write_durably(self.folder / report_name(data), data, mode=0o644, date=ONE_DATE)


class Everywhere:
    """Several places as one transport: collectors by address or transport, and folders as ``Bulletin``.

    A report is sent once every place has answered, and at least one has taken it; until then it is pending, and ``flush`` sends the same
    bytes to all of them again, which does no harm. Folders come last, after every collector has answered: otherwise anyone could read a
    report in the open and send a collector another one under its id first. Tasks and rounds are asked for in turn, tokens at the first.
    """

    def __init__(self, *places: str | Transport) -> None:
        if not places:
            raise ParameterError("places", places, allowed="one or more", fix="name a collector or a Bulletin")
        self._own = [HTTPTransport(place) for place in places if isinstance(place, str)]
        opened = iter(self._own)
        made: list[Transport] = [next(opened) if isinstance(place, str) else place for place in places]
        self._places = sorted(made, key=lambda place: isinstance(place, Bulletin))

    def __repr__(self) -> str:
        return f"<Everywhere: {', '.join(map(repr, self._places))}>"

    def request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send a report to all places, or anything else to the first that knows, by method, path, body and headers of HTTP."""
        if method == "POST" and path == _REPORTS:
            return self._send(body, headers)
        if method != "GET":
            return self._places[0].request(method, path, body, headers)
        answer = self._ask(path, headers)
        public = answer.status == 200 and isinstance(self._places[-1], Bulletin)
        return answer._replace(body=check_open(answer.body)) if public else answer

    def _ask(self, path: str, headers: Mapping[str, str]) -> Response:
        """Return the first answer that knows. If none does, a place that is away counts more: it might have known."""
        answers: list[Response] = []
        missing: OSError | None = None
        for place in self._places:
            try:
                answers.append(place.request("GET", path, b"", headers))
            except OSError as error:
                missing = missing or error
                continue
            if answers[-1].status == 200:
                return answers[-1]
        if missing:
            raise missing
        return answers[0]

    def close(self) -> None:
        """Close the connections to places that were given by address."""
        for place in self._own:
            place.close()

    def _send(self, body: bytes, headers: Mapping[str, str]) -> Response:
        report = open_batch(body)[0].id
        answers: list[tuple[str, Response]] = []
        missing: OSError | None = None
        for place in self._places:
            if isinstance(place, Bulletin) and (missing or any(state == PENDING for state, _ in answers)):
                break
            try:
                answer = place.request("POST", _REPORTS, body, headers)
                answers.append((outcome(answer, report)[0], answer))
            except OSError as error:
                missing = missing or error
            except WireError as error:  # somebody else answered
                missing = missing or TransportError(_REPORTS, "something else", allowed="a collector's answer", fix=str(error))
        if missing:
            raise missing
        return next((answer for wanted in (PENDING, SENT) for state, answer in answers if state == wanted), answers[0][1])


def report_name(data: bytes) -> str:
    """Return the name of a report's file."""
    return hashlib.sha256(data).hexdigest() + REPORT


def check_open(body: bytes) -> bytes:
    """Return a task or a round as it was served; ProtocolError if the task must not be answered in the open."""
    try:
        admission = json.loads(json.loads(body)["task"]).get("admission", OPEN)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return body  # no task: the caller that asked for one will raise
    if admission != OPEN:
        raise _not_open(f"a task with the admission {admission!r}")
    return body


def _not_open(received: str) -> ProtocolError:
    fix = "send it only to the collector: anyone who reads a token in an open folder could spend it"
    return ProtocolError("bulletin", received, allowed="a task that is open to everybody", fix=fix)
