"""One deadline for a whole exchange, against real servers that drip: never silent for long, and never done."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from contextlib import contextmanager

import pytest

from deniable.client.transport import HTTPTransport, TransportError
from tests.client.test_transport import certificate

DEADLINE = 0.5
GENEROUS = 10.0
"""Seconds by which a device must be done at the latest, on a slow machine; the servers would drip for minutes."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4000\r\n\r\n"


@contextmanager
def dripping(behave):
    """A server that treats each connection as ``behave`` says, and a way to its address."""
    over = threading.Event()

    def drip(connection, data, step=lambda connection, byte: connection.sendall(byte)):
        for byte in data:
            if over.wait(0.05):
                return
            step(connection, bytes([byte]))

    def serve(connection):
        try:
            with connection:
                behave(connection, drip)
        except OSError:
            pass  # the device has left, as it should

    def accept():
        while not over.is_set():
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            started.append(threading.Thread(target=serve, args=(connection,)))
            started[-1].start()

    started = [threading.Thread(target=accept)]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)
        started[0].start()
        try:
            yield f"localhost:{listening.getsockname()[1]}"
        finally:
            over.set()
            for thread in started:
                thread.join()


def drip_body(connection, drip):
    connection.recv(1 << 16)
    connection.sendall(HEAD)
    drip(connection, bytes(4000))


def drip_chunks(connection, drip):
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    drip(connection, b"1\r\nx\r\n" * 1000)


def drip_head(connection, drip):
    connection.recv(1 << 16)
    drip(connection, b"HTTP/1.1 200 OK\r\n" + b"x-more: more\r\n" * 300)


def drip_interim(connection, drip):
    """One answer after the other says that the real one will follow."""
    connection.recv(1 << 16)
    drip(connection, b"HTTP/1.1 100 Continue\r\n\r\n" * 200)


def read_slowly(connection, drip):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    drip(connection, bytes(4000), lambda connection, _: connection.recv(1))


def drip_handshake(connection, drip):
    """A record of TLS whose end never comes."""
    drip(connection, b"\x16\x03\x03\x10\x00\x02\x00\x0f\xfc" + bytes(4000))


@pytest.mark.parametrize("behave", [drip_body, drip_chunks, drip_head, drip_interim])
def test_a_dripping_answer_ends_at_the_deadline(behave):
    with dripping(behave) as place:
        transport = HTTPTransport(f"http://{place}", timeout=DEADLINE)
        begun = time.monotonic()
        with pytest.raises(TransportError, match="timed out"):
            transport.request("GET", "/v1/tasks")
        assert time.monotonic() - begun < GENEROUS


def test_a_server_that_reads_slowly_ends_at_the_deadline():
    with dripping(read_slowly) as place:
        transport = HTTPTransport(f"http://{place}", timeout=DEADLINE)
        begun = time.monotonic()
        with pytest.raises(TransportError, match="timed out"):
            transport.request("POST", "/v1/reports", bytes(1 << 25))
        assert time.monotonic() - begun < GENEROUS


def test_a_dripping_handshake_ends_at_the_deadline():
    with dripping(drip_handshake) as place:
        transport = HTTPTransport(f"https://{place}", timeout=DEADLINE)
        begun = time.monotonic()
        with pytest.raises(TransportError, match="timed out"):
            transport.request("GET", "/v1/tasks")
        assert time.monotonic() - begun < GENEROUS


@pytest.mark.parametrize("behave", [drip_body, drip_head])
def test_a_dripping_answer_within_tls_ends_at_the_deadline(behave, tmp_path):
    path = certificate(tmp_path / "pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(path)

    def secured(connection, drip):
        with tls.wrap_socket(connection, server_side=True) as wrapped:
            behave(wrapped, drip)

    with dripping(secured) as place:
        transport = HTTPTransport(f"https://{place}", timeout=DEADLINE, context=ssl.create_default_context(cafile=path))
        begun = time.monotonic()
        with pytest.raises(TransportError, match="timed out"):
            transport.request("GET", "/v1/tasks")
        assert time.monotonic() - begun < GENEROUS


def test_a_kept_connection_that_drips_leaves_no_time_for_a_fresh_one():
    """The deadline is that of the exchange: the second connection does not get another one."""
    asked = []

    def behave(connection, drip):
        connection.recv(1 << 16)
        asked.append("first")
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        connection.recv(1 << 16)
        asked.append("kept")
        connection.sendall(HEAD)
        drip(connection, bytes(4000))

    with dripping(behave) as place:
        transport = HTTPTransport(f"http://{place}", timeout=DEADLINE)
        assert transport.request("GET", "/").status == 200
        with pytest.raises(TransportError, match="timed out"):
            transport.request("GET", "/")
        assert asked == ["first", "kept"]


def test_a_dead_address_leaves_time_for_the_next(monkeypatch):
    """As where a name has an IPv6 address and the network loses its packets."""
    with socket.socket() as dead, dripping(answer) as place:
        dead.bind(("127.0.0.1", 0))
        dead.listen(0)
        with socket.create_connection(dead.getsockname()):  # its queue is full: what comes now is dropped
            addresses = [dead.getsockname(), ("127.0.0.1", int(place.partition(":")[2]))]
            found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", address) for address in addresses]
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
            transport = HTTPTransport(f"http://{place}", timeout=4 * DEADLINE)
            assert transport.request("GET", "/v1/tasks").status == 200
            transport.close()


def test_an_address_that_hangs_in_the_handshake_leaves_time_for_the_next(tmp_path, monkeypatch):
    """As a machine does whose process is stuck: its kernel still accepts connections."""
    path = certificate(tmp_path / "pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(path)

    def secured(connection, drip):
        with tls.wrap_socket(connection, server_side=True) as wrapped:
            answer(wrapped, drip)

    with socket.create_server(("127.0.0.1", 0)) as stuck, dripping(drip_handshake) as slow, dripping(secured) as place:
        ports = [stuck.getsockname()[1], *(int(each.partition(":")[2]) for each in (slow, place))]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port)) for port in ports]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        transport = HTTPTransport(f"https://{place}", timeout=8 * DEADLINE, context=ssl.create_default_context(cafile=path))
        assert transport.request("GET", "/v1/tasks").status == 200
        transport.close()


def answer(connection, _):
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
