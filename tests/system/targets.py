"""The processes that speak HTTP, each as what attacks need of it: collector, shuffler and aggregator, in the clear or by TLS."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import rsa

from deniable.collect.sums.signature import MEDIA_TYPE as MESSAGE
from deniable.collect.sums.signature import path_of, sign_request
from deniable.collect.web.batches import HEAD_BYTES, LARGEST_BODY
from deniable.contract.admission import spend_id
from deniable.contract.batch import MEDIA_TYPE as BATCH
from deniable.contract.envelope import MEDIA_TYPE as REPORT
from deniable.contract.sealed import MEDIA_TYPE as SEAL
from deniable.sealing.seal import seal_report
from tests.collect.crowd import envelope
from tests.system.certificates import make_certificate
from tests.system.conftest import TIMEOUT, Answer, Server
from tests.system.impatient import PROGRAM
from tests.system.nursery import Nursery
from tests.system.shuffled_crowd import Receiver, ShufflerProcess, rank_task
from tests.system.shuffled_crowd import envelope as rank_of
from tests.system.sum_crowd import Sum
from tests.system.test_server import CLEAR, published
from tests.system.test_shuffler_refusals import tampered, token

ENDLESS = 1 << 40
"""Bytes that no process takes."""


@dataclass(kw_only=True)
class Target:
    """A process under attack.

    ``honest`` does what a device or a party does, ``asks`` has an answer for everyone. ``takes`` gives path, type and further headers of a
    request whose body is read, by its length. ``unread`` has heads, perhaps with the beginning of a body, of requests that are refused
    before their body comes, and the status. ``wrong`` brings a wrong token or signature, and is answered with one of ``codes``.
    """

    url: str
    log: Callable[[], str]
    honest: Callable[[], Answer]
    asks: bytes
    takes: Callable[[int], tuple[str, str, dict[str, str]]]
    unread: list[tuple[bytes, int]] = field(default_factory=list)
    wrong: Callable[[], Answer]
    codes: set[str]

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

    def begun(self, length: int) -> bytes:
        """The head of a request whose body is read, and is so long."""
        path, kind, headers = self.takes(length)
        return head("POST", path, {"Content-Type": kind, "Content-Length": str(length)} | headers)


def head(method: str, path: str, headers: dict[str, str]) -> bytes:
    """The head of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode()


def announced(path: str, kind: str, length: int = ENDLESS) -> bytes:
    """The head of a request with a body of some length."""
    return head("POST", path, {"Content-Type": kind, "Content-Length": str(length)})


def collector(folder: Path, stack: ExitStack, _: Nursery, *options: str) -> Target:
    server = Server(folder / "collector", *options, cafile=options[1] if options else None, program=PROGRAM)
    stack.enter_context(server)
    admin = server.token("admin")
    task = published(server, CLEAR, admin)
    path = f"/v1/tasks/{task.id.hex()}"

    def honest() -> Answer:
        """A device, and an analyst with a token."""
        answer = server.get(f"{path}/status", admin)
        return server.send(envelope(task, 7)) if answer.status == 200 else answer

    return Target(
        url=server.url,
        log=server.errors.read_text,
        honest=honest,
        asks=b"/openapi.json",
        takes=lambda _: ("/v1/reports", REPORT, {}),
        unread=[
            (announced("/v1/reports", REPORT), 413),
            (announced("/v1/reports", "text/plain", 1000), 415),
            (announced("/v1/tasks", "application/toml", 1000), 401),  # and no token
            (announced(f"{path}/batches", BATCH, LARGEST_BODY) + bytes(HEAD_BYTES), 422),  # its head must be read: there is the signature
        ],
        wrong=lambda: server.get(f"{path}/status", "dn_" + "ab" * 32),
        codes={"bad_token", "too_many_failures"},
    )


def shuffler(folder: Path, stack: ExitStack, _: Nursery, *options: str) -> Target:
    """Its task takes one-time tokens: the only ones that it knows."""
    receiver = stack.enter_context(Receiver(folder / "receiver"))
    process = ShufflerProcess(folder / "shuffler", "--batch", "50", "--workers", "1", *options, program=PROGRAM)
    process.cafile = options[1] if options else None
    stack.enter_context(process)
    issuer = rsa.generate_private_key(65537, 2048)
    modulus = issuer.private_numbers().public_numbers.n.to_bytes(256, "big")
    task = rank_task([process.relay], minimum=20, admission="token", issuer=modulus)
    receiver.serve(task)
    process.serve(task, receiver.url)
    notice, paid = process.notice(), token(task, issuer)
    sealed, forged = (
        seal_report(task, rank_of(task, 1, token=each, report=spend_id(each[:32])), receiver.analyst, [notice])
        for each in (paid, tampered(paid, 100))
    )
    return Target(
        url=process.url,
        log=process.errors.read_text,
        honest=lambda: process.hand_in([sealed]),
        asks=b"/v1/keys",
        takes=lambda _: ("/v1/seals", SEAL, {}),
        unread=[(announced("/v1/seals", SEAL), 413), (announced("/v1/seals", "text/plain", 1000), 415)],
        wrong=lambda: process.hand_in([forged]),
        codes={"bad_token"},
    )


def aggregator(folder: Path, stack: ExitStack, nursery: Nursery, *options: str) -> Target:
    whole = stack.enter_context(Sum(folder, nursery))
    whole.serve(program=PROGRAM, options=options)
    path, most = path_of(whole.agreement, 0), whole.agreement.roles.largest
    own, stranger = (whole.folders[number].identity() for number in (0, 1))

    def takes(length: int) -> tuple[str, str, dict[str, str]]:
        return path, MESSAGE, sign_request(own, "POST", path, bytes(length))

    signed = sign_request(stranger, "POST", path, bytes(most))
    return Target(
        url=whole.url,
        log=whole.out.with_suffix(".err").read_text,
        honest=lambda: whole.request("GET", "/v1/sum"),
        asks=b"/v1/sum",
        takes=takes,
        unread=[
            (announced(path, MESSAGE), 413),
            (announced(path, "text/plain", most), 415),
            (announced(path, MESSAGE, most), 403),
            (head("POST", path, {"Content-Type": MESSAGE, "Content-Length": str(most)} | signed), 403),
        ],
        wrong=lambda: whole.send(0, b"a message", by=1),
        codes={"signature"},
    )


def by_tls(make: Callable[..., Target]) -> Callable[..., Target]:
    """The same process with a certificate."""

    def made(folder: Path, stack: ExitStack, nursery: Nursery) -> Target:
        make_certificate(folder / "certificate.pem", folder / "key.pem")
        return make(folder, stack, nursery, "--certificate", str(folder / "certificate.pem"), "--key-file", str(folder / "key.pem"))

    made.__name__ = f"{make.__name__}_with_tls"
    return made


PROCESSES = [collector, shuffler, aggregator]
"""What makes a target in a folder, and has its processes ended with the stack."""
