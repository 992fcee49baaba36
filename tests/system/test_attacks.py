"""Attacks on the three processes that speak HTTP: peers that never read, send heads without end, let bodies trickle, or ask for everything.

Each test runs against a real collector, shuffler and aggregator, and ends with an honest peer that is served.
"""

from __future__ import annotations

import json
import select
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deniable.collect.kit.limits import LARGEST_HEAD, MOST_PIPELINED
from tests.system.conftest import TIMEOUT
from tests.system.impatient import MOST, SECONDS
from tests.system.load import wait_for
from tests.system.nursery import Nursery
from tests.system.targets import PROCESSES, Target, by_tls, collector

ASK = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"
CLOSED = select.POLLERR | select.POLLHUP


@pytest.fixture(params=[*PROCESSES, by_tls(collector)], ids=lambda make: make.__name__)
def target(request: pytest.FixtureRequest, tmp_path: Path, nursery: Nursery) -> Iterator[Target]:
    with ExitStack() as stack:
        found = request.param(tmp_path, stack, nursery)
        yield found
        assert found.honest().status in (200, 201)
        assert "Traceback" not in found.log()
        assert "Exception" not in found.log()


def ask_on(peer: socket.socket, path: bytes) -> None:
    """Ask again and again, and read nothing, until the other side takes no more or is gone."""
    peer.setblocking(False)
    try:
        while True:
            peer.send(ASK % path * (MOST_PIPELINED // 2))
            time.sleep(0.001)
    except OSError:  # it would block, or the connection is gone
        return


def cut(peer: socket.socket) -> bool:
    """Whether the other side has dropped a connection, found out without reading."""
    looking = select.poll()
    looking.register(peer, 0)
    return any(events & CLOSED for _, events in looking.poll(0))


def test_peers_that_never_read_do_not_hold_connections(target):
    """As many as there may be: all are gone within the time that a peer has, and devices are served."""
    with ExitStack() as stack:
        peers = [stack.enter_context(target.connect(window=1024)) for _ in range(MOST)]
        for peer in peers:
            ask_on(peer, target.asks)
        wait_for(lambda: target.honest().status in (200, 201))
        wait_for(lambda: all(cut(peer) for peer in peers))


def test_a_head_that_is_too_long_is_refused(target):
    """Whether it comes at once or in pieces, in one header, in many, or in the address."""
    one, many = b"Cookie: deniable=" + b"x" * 60_000, b"\r\n".join(b"X-%d: y" % number for number in range(2000))
    for begin, rest in [(b"GET /openapi.json", one), (b"GET /openapi.json", many), (b"GET /" + b"x" * 60_000, b"Host: x")]:
        with target.connect() as peer:
            peer.sendall(begin + b" HTTP/1.1\r\n" + rest + b"\r\n\r\n")
            answer = read_all(peer)
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "head_too_large"
    with target.connect() as peer:
        peer.sendall(b"GET /openapi.json HTTP/1.1\r\nConnection: close\r\nCookie: " + b"x" * (LARGEST_HEAD - 200) + b"\r\n\r\n")
        assert read_all(peer)[9:12] in (b"200", b"404")


@pytest.mark.parametrize("end", [b"", b"Transfer-Encoding: chunked\r\n\r\n0\r\n"], ids=["header", "trailer"])
def test_a_header_without_end_is_not_kept(target, end):
    """Not after a body, either: each piece of it would be copied again with every one that follows."""
    with target.connect() as peer, pytest.raises((ConnectionError, ssl.SSLError)):  # noqa: PT012  # which of them fails is a matter of time
        peer.sendall("POST {} HTTP/1.1\r\nContent-Type: {}\r\n".format(*target.takes(0)).encode() + end + b"X-Long: ")
        for _ in range(256):
            peer.sendall(b"x" * (1 << 16))
            time.sleep(SECONDS / 100)  # under TLS a connection ends when its time is over: until then, what comes is dropped


@pytest.mark.parametrize("beginning", [b"", b"GET /he", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: "])
def test_a_head_that_is_not_finished_holds_no_connection(target, beginning):
    """Nor does one of which a byte comes now and then."""
    with target.connect() as silent, target.connect() as dripping:
        for peer in (silent, dripping):
            peer.sendall(beginning)
        assert silent.recv(1) == b""  # the other side has closed it; a time-out would raise
        dripping.settimeout(SECONDS / 20)
        assert any(closed(dripping, b"x") for _ in range(10_000))


LONG = b"Host: x\r\nContent-Length: 1000000\r\n\r\n"


@pytest.mark.parametrize(("method", "rest", "drop"), [(b"GET", LONG, b"x"), (b"POST", LONG, b"x"), (b"GET", b"Host: x\r\n\r\n", b"\r\n")])
def test_what_nobody_reads_may_not_trickle_in(target, method, rest, drop):
    """A body after an answer, or empty lines before the next request."""
    with target.connect() as peer:
        peer.sendall(method + b" " + target.asks + b" HTTP/1.1\r\n" + rest)
        assert peer.recv(1 << 16).startswith(b"HTTP/1.1 ")
        peer.settimeout(SECONDS / 20)
        assert any(closed(peer, drop) for _ in range(10_000))


def test_a_body_may_not_trickle_in(target):
    """As many as there may be; each is told so, and is gone."""
    with ExitStack() as stack:
        peers = [stack.enter_context(target.connect()) for _ in range(MOST - 2)]
        for peer in peers:
            peer.sendall(target.begun(200))
        wait_for(lambda: target.honest().status in (200, 201))  # while they are there
        waiting, told = dict.fromkeys(peers, b""), []
        end = time.monotonic() + TIMEOUT
        while waiting:
            assert time.monotonic() < end
            for peer in list(waiting):
                trickle(peer, waiting, told)
            time.sleep(SECONDS / 20)
    assert any(told)
    assert {answer[:13] for answer in told} <= {b"HTTP/1.1 408 ", b""}  # an answer that comes with the end can be lost


def trickle(peer: socket.socket, waiting: dict[socket.socket, bytes], told: list[bytes]) -> None:
    """Send one more byte, and read what there is; whoever is sent away waits no more."""
    peer.settimeout(0.001)
    try:
        peer.sendall(b"x")
        read = peer.recv(1 << 16)
        waiting[peer] += read
        gone = not read
    except TimeoutError:
        gone = False
    except OSError:  # cut
        gone = True
    if gone:
        told.append(waiting.pop(peer))


def test_a_body_is_not_read_before_its_sender_may_send_it(target):
    """Whoever announces what is not taken is answered by its head, and none of what it would send is read: it need not come."""
    for begun, status in target.unread * 3:
        with target.connect() as peer:
            peer.sendall(begun)
            assert peer.recv(100).startswith(b"HTTP/1.1 %d " % status)


def test_wrong_tokens_lock_nobody_out(target):
    """Tokens of analysts, one-time tokens, signatures: a flood of wrong ones is refused one by one, and right ones are taken meanwhile."""
    for _ in range(4):
        answers = [target.wrong() for _ in range(15)]
        assert {code_of(answer.json) for answer in answers} <= target.codes
        assert target.honest().status in (200, 201)


def code_of(content: dict) -> str:
    """The code of an error, or of the one thing that was rejected."""
    return content["error"]["code"] if "error" in content else content["rejected"][0]["code"]


def test_a_connection_too_many_is_told(target):
    with ExitStack() as stack:
        for _ in range(MOST):
            peer = stack.enter_context(target.connect())
            peer.sendall(ASK % target.asks)  # at once: it has half a second for that
            assert peer.recv(100).startswith(b"HTTP/1.1 200 ")
        with target.connect() as another:
            answer = read_all(another)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "busy"
    wait_for(lambda: target.honest().status in (200, 201))


def test_garbage_is_no_request(target):
    with target.connect() as peer:
        peer.sendall(b"\x16\x03\x01 not HTTP at all\r\n\r\n")
        assert peer.recv(100).startswith(b"HTTP/1.1 400 ")


def closed(peer: socket.socket, drop: bytes) -> bool:
    """Send a little, and see whether the other side is gone."""
    try:
        peer.sendall(drop)
        return peer.recv(1 << 16) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("make", PROCESSES, ids=lambda make: make.__name__)
def test_peers_that_begin_no_tls_do_not_hold_connections(make, tmp_path, nursery):
    """They are not connections yet, so no limit counts them; each holds a file of the process. Half of them begin, and stop there."""
    with ExitStack() as stack:
        target = by_tls(make)(tmp_path, stack, nursery)
        parts = urlsplit(target.url)
        peers = [stack.enter_context(socket.create_connection((parts.hostname, parts.port))) for _ in range(2 * MOST)]
        since = time.monotonic()
        for peer in peers[::2]:
            peer.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")  # a greeting of 512 bytes, of which eleven come
        with target.connect() as honest:
            honest.sendall(ASK % target.asks)
            assert honest.recv(100).startswith(b"HTTP/1.1 200 ")
        assert [ended(peer) for peer in peers] == [True] * len(peers)
        assert time.monotonic() - since < 30  # the loop's own limit is 60


def ended(peer: socket.socket) -> bool:
    try:
        return peer.recv(1) == b""
    except ConnectionError:
        return True


def read_all(peer: socket.socket) -> bytes:
    with peer.makefile("rb") as answer:
        return answer.read()


@pytest.fixture
def busy(tmp_path: Path, nursery: Nursery) -> Iterator[Target]:
    with ExitStack() as stack:
        yield collector(tmp_path, stack, nursery)


@pytest.mark.parametrize(("ahead", "answered"), [(MOST_PIPELINED + 1, True), (MOST_PIPELINED + 2, False)])
def test_so_many_requests_may_wait_and_no_more(target, ahead, answered):
    with target.connect() as peer:
        peer.sendall(ASK % target.asks * ahead)
        if answered:
            assert sum(peer_lines(peer, ahead)) == ahead
        else:
            assert read_all(peer) == b""


def peer_lines(peer: socket.socket, most: int) -> Iterator[bool]:
    """For each of so many answers whether it is a success."""
    with peer.makefile("rb") as answers:
        for _ in range(most):
            head = iter(answers.readline, b"\r\n")
            status = next(head)
            length = next(int(line.split(b":")[1]) for line in head if line.lower().startswith(b"content-length:"))
            list(head)
            answers.read(length)
            yield status.startswith(b"HTTP/1.1 200 ")


def test_a_peer_that_reads_slowly_gets_everything(busy):
    """For longer than a peer may owe: what counts is that it goes on reading."""
    found, since = b"", time.monotonic()
    with busy.connect(window=1 << 14) as peer:
        peer.sendall(ASK % busy.asks * MOST_PIPELINED)
        while found.count(b"HTTP/1.1 200 OK") < MOST_PIPELINED or not found.endswith(b"}"):
            found += peer.recv(1 << 14)
            time.sleep(SECONDS / 16)
    assert time.monotonic() - since > 2 * SECONDS
