"""Reports in the open: a folder that anyone may read takes the place of a collector, or stands beside one.

What is posted is the very envelope that the ledger recorded, under the SHA-256 of its bytes: posting it again changes nothing, and it was
paid for once, however many places it goes to. ``deniable tally`` counts a folder, and whoever counts the same files gets the same.

A file is complete from the moment it has its name, and all carry one and the same date. What remains to be seen is what a folder's host
sees: who wrote a file, and when it appeared (its inode and the folder's own date tell). Copies of the folder tell neither.

A task with tokens or a secret is not for open folders: whoever reads a token there could spend it on a report of their own.
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
"""The second of January 1980, of every file: the first day that all archives can write, wherever they are."""
_REPORTS = "/v1/reports"


@typed
class Bulletin:
    """An open ``folder`` as a device's transport: ``Reporter(Bulletin("open"), task=..., ledger=...)``.

    The folder must be there: one that is not mounted leaves reports pending. Tasks are read from files in it named by their id, which a
    device verifies as if a collector had sent them; rounds are a collector's to open.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"<Bulletin in {str(self.folder)!r}>"

    def request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """What a collector would answer to a method, path, body and headers of HTTP; OSError if the folder does not take a report."""
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
    bytes to all of them again, which does no harm. Folders come last, after every collector has answered: whoever reads a report in the
    open must not be the first to bring a collector another one under its id. Tasks and rounds are asked for in turn, tokens at the first.
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
        """The answer of all places to a report, or of the first that knows what is asked for, by method, path, body and headers of HTTP."""
        if method == "POST" and path == _REPORTS:
            return self._send(body, headers)
        if method != "GET":
            return self._places[0].request(method, path, body, headers)
        answer = self._ask(path, headers)
        public = answer.status == 200 and isinstance(self._places[-1], Bulletin)
        return answer._replace(body=check_open(answer.body)) if public else answer

    def _ask(self, path: str, headers: Mapping[str, str]) -> Response:
        """The first answer that says something; a place that is away may have known better than one that knows nothing."""
        told: list[Response] = []
        missing: OSError | None = None
        for place in self._places:
            try:
                told.append(place.request("GET", path, b"", headers))
            except OSError as error:
                missing = missing or error
                continue
            if told[-1].status == 200:
                return told[-1]
        if missing:
            raise missing
        return told[0]

    def close(self) -> None:
        """Close the connections to places that were given by address."""
        for place in self._own:
            place.close()

    def _send(self, body: bytes, headers: Mapping[str, str]) -> Response:
        report = open_batch(body)[0].id
        told: list[tuple[str, Response]] = []
        missing: OSError | None = None
        for place in self._places:
            if isinstance(place, Bulletin) and (missing or any(state == PENDING for state, _ in told)):
                break
            try:
                answer = place.request("POST", _REPORTS, body, headers)
                told.append((outcome(answer, report)[0], answer))
            except OSError as error:
                missing = missing or error
            except WireError as error:  # somebody else answered
                missing = missing or TransportError(_REPORTS, "something else", allowed="a collector's answer", fix=str(error))
        if missing:
            raise missing
        return next((answer for wanted in (PENDING, SENT) for state, answer in told if state == wanted), told[0][1])


def report_name(data: bytes) -> str:
    """The name of a report's file."""
    return hashlib.sha256(data).hexdigest() + REPORT


def check_open(body: bytes) -> bytes:
    """A task or a round as it was served; ProtocolError if the task asks for what must not lie open."""
    try:
        admission = json.loads(json.loads(body)["task"]).get("admission", OPEN)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return body  # no task: whoever asked for one will say so
    if admission != OPEN:
        raise _not_open(f"a task with the admission {admission!r}")
    return body


def _not_open(received: str) -> ProtocolError:
    fix = "send it only to the collector: anyone who reads a token in an open folder could spend it"
    return ProtocolError("bulletin", received, allowed="a task that is open to everybody", fix=fix)
