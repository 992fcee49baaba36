"""The kit of the processes: routes, errors as statuses, answers in one piece, and chores that go on."""

from __future__ import annotations

import asyncio
import json

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from deniable.collect.kit.answers import Failures, HTTPAnswer, Refusal
from deniable.collect.kit.connection import Sender
from deniable.collect.kit.process import Chore
from deniable.collect.kit.routes import Route, Routes, public
from deniable.collect.storage.log import StorageError
from deniable.errors import DeniableError, ProtocolError

PATIENCE = 60.0
FULL = StorageError("disk", "full", allowed="some room", fix="make some")
EARLY = ProtocolError("sum", "early", allowed="later", fix="wait")


def ask(routes, method, path):
    """The status, headers and content of an answer; None if there is none."""
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b"what came"}

    asyncio.run(routes({"type": "http", "method": method, "path": path, "headers": []}, receive, send))
    if not sent:
        return None
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}, sent[1]["body"]


def behind(**methods) -> Routes:
    """Routes to a page, and to numbered things with these methods."""

    async def page():
        return HTTPAnswer(200, b"[]")

    return Routes(
        [public("/page", page), Route("/things/(?P<number>[0-9]+)", methods, "things are sent by POST")],
        Failures("process", {ProtocolError: lambda error: Refusal(409, "not_due", str(error))}),
        missing="there are pages and things",
        always=((b"x-always", b"yes"),),
    )


def raising(error):
    async def answer(_):
        raise error

    return answer


def test_a_route_is_found_by_its_path_and_method():
    async def take(request):
        body = await request.receive()
        return HTTPAnswer(201, body["body"] + request.names["number"].encode(), "text/plain")

    status, headers, content = ask(behind(POST=take), "POST", "/things/12")
    assert (status, headers["content-type"], headers["x-always"], content) == (201, "text/plain", "yes", b"what came12")


def test_the_head_of_a_page_has_its_length_and_no_content():
    status, headers, content = ask(behind(), "HEAD", "/page")
    assert (status, headers["content-length"], content) == (200, "2", b"")


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("POST", "/page", 405, "GET, HEAD"),
        ("GET", "/things/1", 405, "POST"),
        ("GET", "/things/x", 404, None),
        ("GET", "/pagex", 404, None),
        ("GET", "/", 404, None),
    ],
)
def test_all_else_is_refused_in_one_form(method, path, status, allow):
    found, headers, content = ask(behind(POST=raising(FULL)), method, path)
    assert (found, headers.get("allow"), headers["connection"], headers["x-always"]) == (status, allow, "close", "yes")
    assert set(json.loads(content)["error"]) == {"code", "message"}


@pytest.mark.parametrize(
    ("error", "status", "code", "retry"),
    [
        (Refusal(403, "signature", "no"), 403, "signature", None),
        (EARLY, 409, "not_due", None),
        (FULL, 507, "storage", "5"),
        (asyncio.CancelledError(), 503, "stopping", "5"),
        (DeniableError("what", "this", allowed="that", fix="do"), 500, "bug", "5"),
        (ZeroDivisionError("what was sent"), 500, "bug", "5"),
    ],
)
def test_every_error_has_its_status(error, status, code, retry, caplog):
    found, headers, content = ask(behind(POST=raising(error)), "POST", "/things/1")
    assert (found, json.loads(content)["error"]["code"], headers.get("retry-after")) == (status, code, retry)
    assert [record.message for record in caplog.records] == (["a request failed"] if status == 500 else [])
    assert "what was sent" not in caplog.text + content.decode()


def test_whoever_is_gone_gets_no_answer():
    async def gone(_):
        return None

    assert ask(behind(POST=gone), "POST", "/things/1") is None


def test_a_chore_goes_on_after_an_error_and_is_over_when_it_says_so():
    turns = iter([0.0, OSError(), 0.0, None])
    failed = []

    def step():
        failed.append(chore.fails)
        turn = next(turns)
        if isinstance(turn, OSError):
            raise turn
        return turn

    chore = Chore("trying", step, every=0.0)
    chore.start()
    assert chore.ended(PATIENCE)
    assert failed == [False, False, True, False]


def test_a_chore_can_be_woken_and_stopped():
    steps = []
    chore = Chore("waiting", lambda: steps.append(0) or 3600.0, every=3600.0)
    chore.start()
    chore.wake()
    while not steps:
        assert not chore.ended(0.01)
    chore.stop()
    assert chore.ended(PATIENCE)
    assert len(steps) == 1


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written, self.closed = b"", False

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def exchange(*, keep_alive=True):
    """One request whose answer is awaited, its connection, and the list that its end is noted in."""
    wire, ends = Wire(), []
    own = [(b"date", b"today")]
    given = {"logger": None, "access_logger": None, "access_log": False, "default_headers": own, "message_event": asyncio.Event()}
    scope = {"type": "http", "method": "POST", "headers": []}
    cycle = RequestResponseCycle(
        scope, wire, FlowControl(wire), **given, expect_100_continue=False, keep_alive=keep_alive, on_response=lambda: ends.append(1)
    )
    return cycle, wire, ends


@pytest.mark.parametrize("keep_alive", [True, False])
def test_an_answer_in_one_piece_is_the_one_that_the_server_would_write(keep_alive):
    headers = ((b"content-length", b"0"), (b"x-more", b"yes"))
    usual, quick = exchange(keep_alive=keep_alive), exchange(keep_alive=keep_alive)

    async def by_messages(send):
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    asyncio.run(by_messages(Sender(usual[0])))
    assert Sender(quick[0]).whole(201, headers)
    assert quick[1].written == usual[1].written
    assert quick[1].closed == usual[1].closed == (not keep_alive)
    assert quick[2] == usual[2] == [1]
    assert quick[0].response_complete
    assert quick[0].message_event.is_set()


@pytest.mark.parametrize("why", ["reads nothing", "is gone", "is being left"])
def test_nothing_is_written_at_once_for_a_peer_that(why):
    cycle, wire, ends = exchange()
    cycle.disconnected = why == "is gone"
    wire.closed = why == "is being left"
    cycle.flow.write_paused = why == "reads nothing"
    assert not Sender(cycle).whole(201, ())
    assert (wire.written, ends, cycle.response_started) == (b"", [], False)
