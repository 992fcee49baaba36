"""A party takes part in a sum: it asks the aggregator, answers, and goes on after whatever interrupts it.

Each answer is on disk, with the state after it, before it is sent (``party_folder``). So a party that was killed sends the same bytes
again, and a second message of the same step, or one for other survivors, finds a party that has moved on: the engine refuses it here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from deniable.client.retries import Retries, is_temporary, trouble_of
from deniable.client.transport import Response, Transport, TransportError
from deniable.collect.faults import fault_point
from deniable.collect.storage.files import DISK
from deniable.collect.storage.sum_store import ABORTED, OPENED
from deniable.collect.sums.aggregation import LATE, LONGEST_STEP, LOST
from deniable.collect.sums.agreement import Agreement
from deniable.collect.sums.party_folder import RUNNING, PartyFolder, Standing, begun
from deniable.collect.sums.signature import MEDIA_TYPE, path_of, sign_request
from deniable.collect.tasks.spans import until
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.kernels.compiled import Array
from deniable.multiparty.message import Message
from deniable.multiparty.roles import Party
from deniable.sealing.identity import public_key

ENDS = (OPENED, ABORTED, LOST, LATE)


def patient(patience: float, *, say: Callable[[str], object] = bool, **means: Any) -> Retries:
    """How a party repeats a request while the aggregator is away or busy: for ``patience`` seconds. ``means`` are those of ``Retries``."""

    def tell(text: str, left: float) -> None:
        say(f"{text}: trying again until {until(left)}" if left else text)

    return Retries(peer="the aggregator", first=0.25, longest=30.0, attempts=None, patience=patience, say=tell, **means)


def insist(retries: Retries, request: Callable[[], Response]) -> Response:
    """The answer; TransportError if none came in all that time."""
    try:
        answer = retries.answer(request)
        if not is_temporary(answer.status):
            return answer
        trouble = trouble_of(answer)
    except OSError as error:
        trouble = trouble_of(error)
    allowed, fix = "an aggregator that answers", "check the address, then run the same command again: it goes on where it stopped"
    raise TransportError("aggregator", trouble, allowed=allowed, fix=fix)


def fetch_agreement(transport: Transport, retries: Retries) -> Agreement:
    """The agreement that an aggregator shows; WireError or ParameterError if it is none that could be kept."""
    answer = insist(retries, lambda: transport.request("GET", "/v1/sum", b"", {}))
    if answer.status != 200:
        raise ProtocolError("agreement", f"status {answer.status}", allowed="an agreement", fix="check the aggregator's address")
    return Agreement.from_json(answer.body)


def confirmed(agreement: Agreement, sum_: str) -> Agreement:
    """The agreement, if it is the one that somebody has read and confirmed by its id."""
    if agreement.id.hex() != sum_:
        allowed = f"{agreement.id.hex()}, the sum that this aggregator has"
        raise ParameterError("--sum", sum_, allowed=allowed, fix="read its terms first, and confirm them by this id")
    return agreement


@dataclass
class Way:
    """The way to the aggregator, for one party or decryptor; ``secret`` is its file of a dealer, where its role has one."""

    transport: Transport
    agreement: Agreement
    identity: bytes
    retries: Retries
    secret: bytes = b""

    def __post_init__(self) -> None:
        self.number = self.agreement.place(public_key(self.identity))
        self._path = path_of(self.agreement, self.number)

    def __repr__(self) -> str:
        return f"Way(party {self.number})"  # and neither identity nor secret

    def send(self, message: bytes) -> str:
        """Send a message until it is kept; empty, or how the sum ended for this party."""
        answer = self._insist("POST", message)
        return "" if answer.status == 204 else _ended(answer)

    def ask(self) -> tuple[bytes | None, str]:
        """What is there for this party, if anything; and how the sum ended, or empty."""
        answer = self._insist("GET", b"")
        if answer.status == 200:
            return answer.body, ""
        return None, "" if answer.status == 204 else _ended(answer)

    def progress(self) -> str:
        """What the aggregator waits for, of whom and until when, in its own numbers; empty if it does not say."""
        answer = insist(self.retries, lambda: self.transport.request("GET", f"/v1/sums/{self.agreement.id.hex()}", b"", {}))
        try:
            found = json.loads(answer.body)
            step, absent, seconds = found["step"], int(found["waiting"]), float(found["seconds"])
        except (ValueError, KeyError, TypeError):  # it is over, or an older version's
            return ""
        known = step in self.agreement.roles.steps.values() and 0 <= seconds <= LONGEST_STEP
        return (
            f"{step}: waiting for {absent} of {len(self.agreement.members)} members, until {until(seconds)} at the latest" if known else ""
        )

    def _insist(self, method: str, body: bytes) -> Response:
        headers = sign_request(self.identity, method, self._path, body) | ({"content-type": MEDIA_TYPE} if body else {})
        return insist(self.retries, lambda: self.transport.request(method, self._path, body, headers))


def take_part(folder: PartyFolder, way: Way, numbers: Callable[[], Any], *, say: Callable[[str], object], source: Source = SYSTEM) -> str:
    """Go through a sum, from wherever this party stands in it; how it ended: opened, aborted, lost or late.

    ``numbers`` is only called if a party has not begun: from then on its contribution, with its share of the noise, is what was kept.
    Decryptors have none.
    """
    handle = folder.hold()
    try:
        standing = folder.standing(way.agreement.id)
        if standing is not None and standing.state != RUNNING:
            say("this party has taken part in this sum before; it ended then")
            return standing.state
        return _Part(folder, way, say, source).run(standing, numbers)
    finally:
        DISK.close(handle)


class _Part:
    """One party in one sum."""

    def __init__(self, folder: PartyFolder, way: Way, say: Callable[[str], object], source: Source) -> None:
        self._folder, self._way, self._say, self._source = folder, way, say, source
        self._roles, self._id = way.agreement.roles, way.agreement.id
        self._told = ""

    def run(self, standing: Standing | None, numbers: Callable[[], Any]) -> str:
        if standing is None:
            party = self._roles.party(*self._own, lambda: self._contribution(numbers()), self._source)
            standing = self._keep(begun(self._way.agreement, b"", b""), party, party.first() or b"")
            self._say("begun; it stays until the sum is over")
        else:
            party = self._roles.resume(standing.engine.encode(), *self._own, self._source)
            self._say("going on with the numbers that it began with")
        end = self._send(standing)
        while not end:
            message, end = self._way.ask()
            if message is None and not end:
                self._tell(self._way.progress())
            if message is not None:
                answer = party.answer(message)
                if answer is None:
                    raise ProtocolError("message", "one without an answer", allowed="the messages of a sum", fix="upgrade deniable")
                standing = self._keep(standing, party, answer)
                end = self._send(standing)
        self._folder.end(self._id, standing, end)
        return end

    def _tell(self, progress: str) -> None:
        """Say what is waited for, once for each step."""
        step = progress.partition(":")[0]
        if step and step != self._told:
            self._told = step
            self._say(progress)

    @property
    def _own(self) -> tuple[int, bytes, bytes]:
        return self._way.number, self._way.identity, self._way.secret

    def _contribution(self, numbers: Any) -> Array:
        return self._way.agreement.plan.contribution(numbers, None if self._source is SYSTEM else self._source)

    def _keep(self, standing: Standing, party: Party, outgoing: bytes) -> Standing:
        spent = standing.spent or (bool(outgoing) and Message.open(outgoing).kind == self._roles.counted)
        new = replace(standing, engine=party.save().decode(), outgoing=outgoing.hex(), spent=spent)
        self._folder.keep(self._id, new)
        return new

    def _send(self, standing: Standing) -> str:
        if not standing.outgoing:
            return ""  # a decryptor waits to be asked
        end = self._way.send(bytes.fromhex(standing.outgoing))
        fault_point("answer sent")
        return end


def _ended(answer: Response) -> str:
    """How the sum ended, as a status of 410 says; ProtocolError for whatever else was refused."""
    try:
        problem = json.loads(answer.body)["error"]
        code, message = str(problem["code"]), str(problem["message"])[:500]
    except (ValueError, KeyError, TypeError) as error:
        raise WireError("answer", f"status {answer.status}", allowed="an aggregator's", fix="check the address") from error
    if answer.status == 410 and code in ENDS:
        return code
    raise ProtocolError("aggregator", f"status {answer.status}, {code}", allowed="what is due", fix=message)
