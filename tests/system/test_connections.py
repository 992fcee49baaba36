"""Peers that ask and never read, send heads without end, or ask for everything at once: at collector, shuffler and aggregator alike."""

from __future__ import annotations

import json
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deniable.collect.kit.connection import LARGEST_HEAD, MOST_PIPELINED
from deniable.collect.sums.signature import MEDIA_TYPE as MESSAGE
from deniable.contract.envelope import MEDIA_TYPE as REPORT
from deniable.contract.sealed import MEDIA_TYPE as SEAL
from tests.collect.crowd import envelope
from tests.system.certificates import make_certificate
from tests.system.conftest import TIMEOUT, Answer, Server
from tests.system.impatient import MOST, PROGRAM, SECONDS
from tests.system.load import wait_for
from tests.system.nursery import Nursery
from tests.system.shuffling import Receiver, ShufflerProcess, rank_task, seal_ranks
from tests.system.summing import Sum
from tests.system.test_server import CLEAR, published

ASK = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"
CLOSED = select.POLLERR | select.POLLHUP


@dataclass
class Target:
    """A process under attack. ``honest`` does what a device or a party does; ``asks`` has an answer for everyone, ``sends`` is where
    messages of a type go.
    """

    url: str
    honest: Callable[[], Answer]
    asks: bytes
    sends: tuple[str, str]
    log: Callable[[], str]

    def connect(self, window: int = 0) -> socket.socket:
        """A connection, with a tiny window if asked for."""
        parts = urlsplit(self.url)
        made = socket.socket()
        made.settimeout(TIMEOUT)
        if window:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        made.connect((parts.hostname, parts.port))
        if parts.scheme == "http":
            return made
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(made)


def collector(folder: Path, stack: ExitStack, _: Nursery, *options: str) -> Target:
    server = Server(folder / "collector", *options, cafile=options[1] if options else None, program=PROGRAM)
    stack.enter_context(server)
    task = published(server, CLEAR, server.token("admin"))
    return Target(server.url, lambda: server.send(envelope(task, 7)), b"/openapi.json", ("/v1/reports", REPORT), server.errors.read_text)


def collector_with_tls(folder: Path, stack: ExitStack, nursery: Nursery) -> Target:
    make_certificate(folder / "certificate.pem", folder / "key.pem")
    return collector(folder, stack, nursery, "--certificate", str(folder / "certificate.pem"), "--key-file", str(folder / "key.pem"))


def shuffler(folder: Path, stack: ExitStack, _: Nursery) -> Target:
    receiver = stack.enter_context(Receiver(folder / "receiver"))
    process = stack.enter_context(ShufflerProcess(folder / "shuffler", "--batch", "50", "--workers", "1", program=PROGRAM))
    task = rank_task([process.relay], minimum=20)
    receiver.serve(task)
    process.serve(task, receiver.url)
    seals = seal_ranks(task, receiver.analyst, [process.notice()], range(1))
    return Target(process.url, lambda: process.hand_in(seals), b"/v1/keys", ("/v1/seals", SEAL), process.errors.read_text)


def aggregator(folder: Path, stack: ExitStack, nursery: Nursery) -> Target:
    whole = stack.enter_context(Sum(folder, nursery))
    whole.serve(program=PROGRAM)
    path = f"/v1/sums/{whole.id.hex()}/parties/0"
    log = whole.out.with_suffix(".err").read_text
    return Target(whole.url, lambda: whole.request("GET", "/v1/sum"), b"/v1/sum", (path, MESSAGE), log)


@pytest.fixture(params=[collector, collector_with_tls, shuffler, aggregator], ids=lambda make: make.__name__)
def target(request: pytest.FixtureRequest, tmp_path: Path, nursery: Nursery) -> Iterator[Target]:
    with ExitStack() as stack:
        found = request.param(tmp_path, stack, nursery)
        yield found
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
        peer.sendall("POST {} HTTP/1.1\r\nContent-Type: {}\r\n".format(*target.sends).encode() + end + b"X-Long: ")
        for _ in range(256):
            peer.sendall(b"x" * (1 << 16))
            time.sleep(SECONDS / 100)  # under TLS a connection ends when its time is over: until then, what comes is dropped
    assert target.honest().status in (200, 201)


def test_peers_that_begin_no_tls_do_not_hold_connections(tmp_path, nursery):
    """They are not connections yet, so no limit counts them; each holds a file of the process."""
    with ExitStack() as stack:
        parts = urlsplit(collector_with_tls(tmp_path, stack, nursery).url)
        peers = [stack.enter_context(socket.create_connection((parts.hostname, parts.port))) for _ in range(2 * MOST)]
        since = time.monotonic()
        assert [peer.recv(1) for peer in peers] == [b""] * len(peers)
        assert time.monotonic() - since < 30  # the loop's own limit is 60


def read_all(peer: socket.socket) -> bytes:
    with peer.makefile("rb") as answer:
        return answer.read()


@pytest.fixture
def busy(tmp_path: Path, nursery: Nursery) -> Iterator[Target]:
    with ExitStack() as stack:
        yield collector(tmp_path, stack, nursery)


@pytest.mark.parametrize(("ahead", "answered"), [(MOST_PIPELINED + 1, True), (MOST_PIPELINED + 2, False)])
def test_so_many_requests_may_wait_and_no_more(busy, ahead, answered):
    with busy.connect() as peer:
        peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * ahead)
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
