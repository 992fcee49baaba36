"""Secure sums without a network: what a party keeps before it speaks, what an aggregator cannot make it say, and mistakes told plainly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import numpy as np
import pytest

from deniable.cli.extra import summing_extra
from deniable.client.transport import Response, TransportError
from deniable.collect.clock import SYSTEM_CLOCK
from deniable.collect.kit.limits import Limits
from deniable.collect.settings import Settings
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.sum_store import SumStore
from deniable.collect.sums import party_folder
from deniable.collect.sums.aggregation import Aggregation, Over, Patience, estimate_of
from deniable.collect.sums.agreement_file import read_agreement_file
from deniable.collect.sums.participation import Way, patient, take_part
from deniable.collect.sums.party_folder import PartyFolder
from deniable.collect.sums.service import SumService
from deniable.collect.sums.signature import MEDIA_TYPE, path_of, sign_request
from deniable.errors import MissingExtra, ParameterError, ProtocolError, WireError
from deniable.multiparty.masking import layout
from deniable.multiparty.masking.party import MaskingParty
from deniable.multiparty.message import Message

TEXT = """
name = "admissions"
values = ["flu", "rsv"]
unit = "person"
epsilon = 1.0
honest = "3/5"
corrupt = "1/5"
lost = "1/5"
signed = false
[numbers]
largest = 1000
[parties]
"""


class Direct:
    """The way to an aggregation in the same process; ``lie`` may change what a party gets, ``sent`` is what it sent."""

    def __init__(self, sum_: Aggregation) -> None:
        self.sum = sum_
        self.sent: list[bytes] = []
        self.lie: Callable[[bytes], bytes] = lambda message: message
        self.before: Callable[[bytes], None] = lambda body: None

    def request(self, method, path, body, headers):
        party = int(path.rpartition("/")[2])
        try:
            if method == "POST":
                self.before(body)
                self.sent.append(body)
                self.sum.take(party, body)
                return Response(204, {}, b"")
            message = self.sum.look(party)
            if message is None:
                raise TransportError("aggregator", "nothing", allowed="a message", fix="later")  # the party gives up for now
            return Response(200, {}, self.lie(message))
        except Over as over:
            return Response(410, {}, json.dumps({"error": {"code": over.state, "message": ""}}).encode())


class Five:
    """Five parties with folders, and their aggregation."""

    def __init__(self, folder, text=TEXT):
        self.folders = [PartyFolder(folder / str(number)) for number in range(5)]
        keys = "".join(f'party-{number} = "{own.make_identity().hex()}"\n' for number, own in enumerate(self.folders))
        self.agreement = read_agreement_file((text + keys).encode())
        self.now = 0.0
        self.store = SumStore(folder / "store", self.agreement.canonical)
        self.sum = Aggregation(self.store, steady=lambda: self.now, patience=Patience(100, 10))
        self.ways = [Direct(self.sum) for _ in range(5)]
        self.said: list[str] = []

    def go(self, *numbers):
        """Have parties go on as far as they can: they give up where nothing is there for them yet."""
        ends = []
        for number in numbers or range(5):
            way = Way(self.ways[number], self.agreement, self.folders[number].identity(), patient(0))
            try:
                ends.append(take_part(self.folders[number], way, lambda number=number: [10 * number, number], say=self.said.append))
            except TransportError:
                ends.append("")
        return ends


@pytest.fixture
def five(tmp_path):
    whole = Five(tmp_path)
    yield whole
    whole.store.close()


def test_a_sum_goes_through_however_often_everybody_is_stopped(five):
    """Each step of each party is a new start; the aggregator is made anew from its folder after every message, too."""
    for way in five.ways:
        way.before = lambda body, way=way: setattr(way, "sum", Aggregation(five.store, steady=lambda: 0.0))
    for _ in range(4):
        assert five.go() == [""] * 5
        five.sum = Aggregation(five.store, steady=lambda: 0.0)
        assert five.sum.tend()
        for way in five.ways:
            way.sum = five.sum
    assert five.go() == ["opened"] * 5
    assert five.said.count("going on with the numbers that it began with") == 20
    estimate = estimate_of(five.store)
    assert estimate.values == ("flu", "rsv")
    assert np.abs(estimate.point - [100, 10]).max() < 100
    assert five.go() == ["opened"] * 5  # and nobody takes part again
    assert len(five.ways[0].sent) == 4 + 4  # one message for each step, and one again for each start


def test_nothing_is_sent_before_it_is_on_disk(five):
    """Whenever a message leaves, the folder has it, with a state after which there is no other answer to the same question."""
    seen = []

    def look(body):
        kept = five.folders[0].standing(five.agreement.id)
        assert bytes.fromhex(kept.outgoing) == body
        assert json.loads(kept.engine)["sent"] == Message.open(body).kind
        seen.append(Message.open(body).kind)

    five.ways[0].before = look
    for _ in range(4):
        five.go()
        five.sum.tend()
    assert set(seen) == {layout.ADVERTISE, layout.SHARES, layout.MASKED, layout.REVEALED}


@pytest.mark.parametrize("saves", range(4))
def test_a_party_whose_disk_fails_says_nothing(five, monkeypatch, saves):
    for _ in range(saves):
        five.go()
        five.sum.tend()
    five.go(1, 2, 3, 4)
    real, before = party_folder.write_private, list(five.ways[0].sent)

    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(party_folder, "write_private", full)
    with pytest.raises(OSError, match="No space"):
        five.go(0)
    assert set(five.ways[0].sent) == set(before)  # at most what was on disk
    monkeypatch.setattr(party_folder, "write_private", real)
    for _ in range(saves, 4):
        five.go()
        five.sum.tend()
    assert five.go() == ["opened"] * 5


def test_never_two_answers_about_survivors(five):
    """A lying aggregator asks about all, and after the party was killed about all but one: both shares of that one would unmask it."""
    for _ in range(3):
        five.go()
        five.sum.tend()
    way = five.ways[0]

    def cut(_):
        raise KeyboardInterrupt  # as good as kill -9: the answer is on disk, and did not leave

    way.before = lambda body: cut(body) if Message.open(body).kind == layout.REVEALED else None
    with pytest.raises(KeyboardInterrupt):
        five.go(0)
    first = bytes.fromhex(five.folders[0].standing(five.agreement.id).outgoing)
    way.before = lambda body: None
    way.request = lying(way, lambda message: message._replace(body=layout.pack_survivors(4, [1, 2, 3])))
    with pytest.raises(ProtocolError, match="in its turn"):
        five.go(0)
    revealed = {body for body in way.sent if Message.open(body).kind == layout.REVEALED}
    assert revealed == {first}


def lying(way, change):
    """Ask a party again about what it has answered, with another body."""
    asked = [Message(layout.SURVIVORS, 0, way.sum.agreement.id, b"")]
    honest = way.request

    def request(method, path, body, headers):
        if method == "GET":
            return Response(200, {}, change(asked[0]).pack())
        return honest(method, path, body, headers)

    return request


@pytest.mark.parametrize(("signed", "bound"), [(False, 3), (True, 4)])
def test_a_step_ends_in_time_and_not_before(tmp_path, signed, bound):
    whole = Five(tmp_path, TEXT.replace("signed = false", f"signed = {str(signed).lower()}"))
    whole.go(0, 1, 2, 3)
    whole.now = 99.0
    assert not whole.sum.tend()
    whole.now = 100.0
    assert whole.sum.tend()  # the last one is lost
    assert whole.go(4) == ["lost"]
    for _ in range(bound):
        whole.go(0, 1, 2, 3)
        assert whole.sum.tend()
    assert whole.go(0, 1, 2, 3) == ["opened"] * 4
    assert whole.store.kept().survivors == 4
    whole.store.close()


def test_who_is_late_after_its_vector_is_in_the_sum(tmp_path):
    whole = Five(tmp_path, TEXT.replace("signed = false", "signed = true"))
    for _ in range(3):
        whole.go()
        whole.sum.tend()
    whole.go(0, 1, 2, 3)
    whole.now = 10.0
    assert whole.sum.tend()
    assert whole.go(4) == ["late"]
    assert whole.folders[4].standing(whole.agreement.id).spent
    whole.go(0, 1, 2, 3)
    assert whole.sum.tend()
    assert whole.store.kept().survivors == 5
    with pytest.raises(Over, match="opened"):
        whole.sum.look(4)
    whole.store.close()


@pytest.mark.parametrize(
    ("lie", "error"),
    [
        (lambda message: b"garbage", WireError),
        (lambda message: message[:-1], WireError),
        (lambda message: Message.open(message)._replace(sum=bytes(32)).pack(), ProtocolError),
        (lambda message: Message.open(message)._replace(party=1).pack(), ProtocolError),
        (lambda message: Message.open(message)._replace(kind=layout.SURVIVORS).pack(), ProtocolError),
        (lambda message: Message.open(message)._replace(body=b"").pack(), ProtocolError),
    ],
    ids=["garbage", "cut", "another sum", "another party", "another step", "nobody"],
)
def test_a_party_says_nothing_to_what_is_not_due(five, lie, error):
    five.go()
    five.sum.tend()
    sent = set(five.ways[0].sent)
    five.ways[0].lie = lie
    with pytest.raises(error):
        five.go(0)
    assert set(five.ways[0].sent) == sent
    five.ways[0].lie = lambda message: message
    for _ in range(3):
        five.go()
        five.sum.tend()
    assert five.go() == ["opened"] * 5


def test_too_few_are_aborted_and_told(five):
    five.go(0, 1, 2)
    five.now = 100.0
    assert five.sum.tend()
    assert not five.sum.everybody_told
    assert five.go(0, 1, 2, 3) == ["aborted"] * 4
    assert five.sum.everybody_told
    assert not five.folders[0].standing(five.agreement.id).spent
    with pytest.raises(ProtocolError, match="nothing was opened"):
        estimate_of(five.store)


def test_what_could_not_be_stored_was_not_taken(five):
    """The database refuses to write, for a message and for a step; afterwards all goes on as if nothing had been asked."""
    five.go(1, 2, 3, 4)
    five.store._database.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageError):
        five.go(0)
    assert five.sum.status()["waiting"] == 1
    five.store._database.execute("PRAGMA query_only = OFF")
    five.go(0)
    five.store._database.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageError):
        five.sum.tend()
    assert (five.sum.status()["step"], five.sum.look(0)) == ("keys", None)
    five.store._database.execute("PRAGMA query_only = OFF")
    for _ in range(4):
        assert five.sum.tend()
        five.go()
    assert five.sum.state == "opened"


def test_a_party_with_a_slow_line_can_send_its_message(five):
    """Who sends is known before the body is read, and a message can be of 134 MB: ten seconds are too short."""
    settings = Settings(store=str(five.folders[0].folder), limits=Limits(body_seconds=0.01))
    service = SumService(five.sum, settings, SYSTEM_CLOCK, linger=0.0, over=pytest.fail)
    message = MaskingParty(five.agreement.terms, 0, five.folders[0].identity(), np.array([1, 1])).first()
    path, sent = path_of(five.agreement, 0), []
    named = sign_request(five.folders[0].identity(), "POST", path, message) | {
        "content-type": MEDIA_TYPE,
        "content-length": str(len(message)),
    }
    parts = iter([(message[:9], True), (message[9:], False)])

    async def receive():
        await asyncio.sleep(0.2)
        body, more = next(parts)
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(part):
        sent.append(part)

    headers = [(name.encode(), value.encode()) for name, value in named.items()]
    asyncio.run(service({"type": "http", "method": "POST", "path": path, "headers": headers}, receive, send))
    assert sent[0]["status"] == 204


# --- what is kept, and what is missing ---


def test_a_party_shows_no_secret_and_keeps_its_folder_to_itself(five):
    five.go(0)
    own, kept = five.folders[0], five.folders[0].standing(five.agreement.id)
    assert kept.engine not in repr(kept)
    assert all(path.stat().st_mode & 0o077 == 0 for path in own.folder.rglob("*"))
    handle = own.hold()
    with pytest.raises(StorageError, match="held by another process"):
        five.go(0)
    party_folder.DISK.close(handle)
    (own.folder / "identity.json").chmod(0o644)
    with pytest.raises(ParameterError, match="chmod 600"):
        own.identity()
    (own.folder / "identity.json").chmod(0o600)
    (own.folder / "sums" / f"{five.agreement.id.hex()}.json").write_text("{")
    with pytest.raises(WireError, match="cannot go on"):
        five.go(0)


def test_a_missing_package_is_told_as_the_extras_to_install():
    with pytest.raises(MissingExtra, match=r'pip install "\.\[server,multiparty\]"'), summing_extra("deniable party"):
        import no_such_package  # noqa: F401  # importing is what fails
