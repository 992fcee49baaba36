"""HTTP against real sockets: connections that are kept, cut, closed meanwhile, and answers that are none."""

from __future__ import annotations

import pickle
import socket
import ssl
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deniable.client import MemoryLedger, Reporter
from deniable.client.connection import Connection
from deniable.client.retries import Retries
from deniable.client.transport import LARGEST_RESPONSE, HTTPTransport, TransportError
from deniable.errors import DeniableError, ParameterError
from tests.answering import answering
from tests.client.fake import START, FakeCollector, drink_task


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.connections += 1

    def do_GET(self):
        self.server.seen.append((self.command, self.path, {name.lower() for name in self.headers}))
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.answer(self, body)

    do_POST = do_GET  # noqa: N815  # the standard library's name

    def log_message(self, *parts):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"content_length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = False
    tls: ssl.SSLContext | None = None

    def get_request(self):
        connection, address = super().get_request()
        return (self.tls.wrap_socket(connection, server_side=True) if self.tls else connection), address


@contextmanager
def serving(answer, tls=None):
    """A server whose requests are answered by a function of the handler and the body, and a way to it."""
    server = Server(("127.0.0.1", 0), Handler)
    server.answer, server.connections, server.seen, server.tls = answer, 0, [], tls
    server.address = f"{'https' if tls else 'http'}://localhost:{server.server_port}"
    with answering(server), closing(HTTPTransport(server.address, timeout=5.0)) as transport:
        yield server, transport


def test_one_connection_for_many_requests_and_nothing_about_the_device():
    with serving(lambda handler, body: handler.reply(200, body[::-1], x_Case="Kept")) as (server, transport):
        for i in range(5):
            answer = transport.request("POST", f"/v1/{i}", b"abc", {"content-type": "text/plain"})
            assert (answer.status, answer.body, answer.headers["x-case"]) == (200, b"cba", "Kept")
        assert server.connections == 1
        assert server.seen[0] == ("POST", "/v1/0", {"host", "accept-encoding", "content-length", "content-type"})


def test_a_path_before_the_collector_s_own():
    with serving(lambda handler, body: handler.reply(200)) as (server, _):
        transport = HTTPTransport(f"{server.address}/statistics/")
        transport.request("GET", "/v1/tasks")
        transport.close()
        assert server.seen[0][1] == "/statistics/v1/tasks"


def test_a_kept_connection_that_the_server_closed_is_replaced():
    def answer(handler, body):
        handler.reply(200)
        handler.close_connection = True  # without saying so

    with serving(answer) as (server, transport):
        for _ in range(3):
            assert transport.request("GET", "/").status == 200
        assert server.connections == 3


@pytest.mark.parametrize("status", [300, 301, 302, 307, 308, 399])
def test_a_redirect_is_not_followed(status):
    with serving(lambda handler, body: handler.reply(status, location="/login")) as (server, transport):
        with pytest.raises(TransportError, match="redirect"):
            transport.request("GET", "/v1/tasks")
        assert len(server.seen) == 1


@pytest.mark.parametrize("status", [299, 400])
def test_what_is_no_redirect_is_an_answer(status):
    with serving(lambda handler, body: handler.reply(status)) as (_, transport):
        assert transport.request("GET", "/v1/tasks").status == status


def test_an_answer_without_end_is_cut_off():
    sizes = iter([LARGEST_RESPONSE, LARGEST_RESPONSE + 1])
    with serving(lambda handler, body: handler.reply(200, bytes(next(sizes)))) as (_, transport):
        assert len(transport.request("GET", "/").body) == LARGEST_RESPONSE
        transport.close()  # else the request is repeated on a fresh connection
        with pytest.raises(TransportError, match="more than"):
            transport.request("GET", "/")


def test_an_answer_cut_short_is_no_answer():
    def answer(handler, body):
        handler.reply(200, b"half", content_length="8")
        handler.close_connection = True

    with serving(answer) as (_, transport), pytest.raises(TransportError, match="IncompleteRead"):
        transport.request("GET", "/")


def test_nobody_there_and_nobody_answering():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(TransportError, match="timed out"):
            HTTPTransport(address, timeout=0.05).request("GET", "/")
    with pytest.raises(TransportError, match="refused") as raised:
        HTTPTransport(address).request("GET", "/")
    assert isinstance(raised.value, OSError)
    assert isinstance(raised.value, DeniableError)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def certificate(path):
    """A certificate for localhost that signs itself, with its key, as one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    day = timedelta(days=1)
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, datetime.now(UTC) - day, datetime.now(UTC) + day)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(plain + builder.public_bytes(serialization.Encoding.PEM))
    return path


def test_a_certificate_that_nobody_vouches_for(tmp_path):
    path = certificate(tmp_path / "pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(path)
    with serving(lambda handler, body: handler.reply(200), tls) as (server, transport):
        with pytest.raises(TransportError, match="self-signed"):
            transport.request("GET", "/")
        assert server.seen == []
        trusting = HTTPTransport(server.address, context=ssl.create_default_context(cafile=path))
        assert trusting.request("GET", "/").status == 200
        trusting.close()


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1", "http://localhost", "http://[::1]:8", "https://example.org", "HTTPS://example.org/a"]
)
def test_addresses_that_are_taken(address):
    HTTPTransport(address)


@pytest.mark.parametrize(
    "address",
    [
        "example.org",
        "ftp://example.org",
        "https://",
        "https://me@example.org",
        "https://example.org?x=1",
        "https://example.org#x",
        "https://a:b",
        "https://[::1",
    ],
)
def test_addresses_that_are_none(address):
    with pytest.raises(ParameterError, match="https://host"):
        HTTPTransport(address)


def test_the_usual_port_is_that_of_the_protocol():
    """And ``Host`` leaves out what ``default_port`` is."""
    made = [Connection("example.org", None, context) for context in (None, ssl.create_default_context())]
    assert [(each.port, each.default_port) for each in made] == [(80, 80), (443, 443)]


@pytest.mark.parametrize("host", ["example.org", "192.168.0.1", "127.0.0.1.example.org", "localhost.example.org"])
def test_plain_http_is_for_this_machine(host):
    with pytest.raises(ParameterError, match="insecure=True"):
        HTTPTransport(f"http://{host}")
    HTTPTransport(f"http://{host}", insecure=True)


def test_no_attempt_is_no_request():
    with pytest.raises(ParameterError, match="attempts"):
        Retries(attempts=0).answer(lambda: pytest.fail("asked"))


def test_a_reporter_over_a_real_connection():
    task = drink_task()
    collector = FakeCollector(task)

    def answer(handler, body):
        headers = {"content-type": handler.headers["content-type"]} if body else {}
        status, _, content = collector.request(handler.command, handler.path, body, headers)
        handler.reply(status, content)

    with serving(answer) as (server, _):
        ledger = MemoryLedger(lifetime_epsilon=1.0)
        ledger.consent(task.id)
        with Reporter(server.address, task=task.id.hex(), ledger=ledger, clock=lambda: START + 1.0) as reporter:
            assert reporter.report("tea").state == "sent"
        assert server.connections == 1
    assert len(collector.reports) == 1
