"""The way to a collector: HTTP from the standard library.

A request asks for something public or carries a report under its own id, so each of them can be repeated without harm. HTTP and TLS take
a while to load: only a device that sends something pays for them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from deniable.contract.arguments import typed
from deniable.errors import DeniableError, ParameterError

if TYPE_CHECKING:
    import ssl

    from deniable.client.connection import Connection

LARGEST_RESPONSE = 1 << 22
"""The most bytes that a device reads of an answer; analysts read longer ones."""


class TransportError(DeniableError, OSError):
    """No answer came from a collector; whether the request arrived is not known."""


class Response(NamedTuple):
    """An answer; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """A way to one collector. It raises ``OSError``, or ``TransportError``, if no whole answer came."""

    def request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send a request and wait for its answer."""


@typed
class HTTPTransport:
    """Requests to one ``address`` over connections that are kept. Safe to share between threads; close it when done.

    Certificates are checked against those that the system trusts, unless ``context`` says otherwise. Without TLS a network sees and
    changes everything, so plain ``http`` is for this machine only, unless ``insecure`` allows it. Redirects are not followed. A whole
    exchange, from connecting to the last byte of the answer, takes ``timeout`` seconds at most, and an answer may have ``largest`` bytes.
    """

    def __init__(
        self,
        address: str,
        *,
        timeout: float = 10.0,
        context: ssl.SSLContext | None = None,
        insecure: bool = False,
        largest: int = LARGEST_RESPONSE,
    ) -> None:
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(address)
            port, bare = parts.port, not (parts.query or parts.fragment or "@" in parts.netloc)
        except ValueError:  # a port that is no number, a bracket that is not closed
            parts, port, bare = urlsplit(""), None, False
        if parts.scheme not in ("http", "https") or not parts.hostname or not bare:
            raise ParameterError("address", address, allowed="https://host, with a port and a path if need be", fix="check the address")
        if parts.scheme == "http" and not insecure and not _is_loopback(parts.hostname):
            allowed = "https, or http to this machine itself"
            raise ParameterError("address", address, allowed=allowed, fix="use https, or pass insecure=True on a network you trust")
        self.address = address
        self._host, self._port, self._prefix = parts.hostname, port, parts.path.rstrip("/")
        checked = None if context is None and parts.scheme == "http" else _checked(context)
        self._context = None if parts.scheme == "http" else checked
        self.timeout, self._largest = timeout, largest
        self._idle: deque[Connection] = deque()

    def __repr__(self) -> str:
        return f"<HTTPTransport to {self.address}>"

    def request(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Response:
        """Send a request, with a method, path, body and headers of HTTP, and wait for its answer.

        It is sent once more, on a fresh connection, if a kept one turns out to be closed; all of that by one deadline.
        """
        from http.client import HTTPException

        from deniable.client.connection import Connection

        end = time.monotonic() + self.timeout
        while True:
            try:
                connection, kept = self._idle.pop(), True
            except IndexError:
                connection, kept = Connection(self._host, self._port, self._context), False
            connection.within(self.timeout, end)
            try:
                return self._exchange(connection, method, self._prefix + path, body, headers or {})
            except (OSError, HTTPException) as error:
                connection.close()
                if not kept:
                    fix = _advice(error)
                    allowed, received = "a whole answer from the collector itself", _trouble(error)
                    raise TransportError(f"{method} {path}", received, allowed=allowed, fix=fix) from error

    def close(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            self._idle.pop().close()

    def _exchange(self, connection: Connection, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        from http.client import HTTPException, IncompleteRead

        connection.request(method, path, body or None, dict(headers))
        answer = connection.getresponse()
        data = answer.read(self._largest + 1)
        if len(data) > self._largest:
            raise HTTPException(f"more than {self._largest} bytes")
        if answer.length:
            raise IncompleteRead(data, answer.length)
        if 300 <= answer.status < 400:  # as of a hotel's login page: it does not lead to the collector
            raise HTTPException(f"a redirect, status {answer.status}")
        if answer.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return Response(answer.status, {name.lower(): value for name, value in answer.getheaders()}, data)


TRUSTED = "use a certificate from an authority that this system trusts, or add yours to those (SSL_CERT_FILE names a file of them)"
CERTIFICATES = {
    9: "set this machine's clock, or wait: the certificate is not valid yet",
    10: "renew the collector's certificate, or set this machine's clock: the certificate has expired",
    18: f"{TRUSTED}: it is self-signed",
    62: "use the name in the certificate as the address's host: the certificate is for another host",
    64: "use the name in the certificate as the address's host: the certificate is for another host",
}
"""What to do about a certificate, by OpenSSL's codes."""


def _advice(error: Exception) -> str:
    """Return what to do if no answer came."""
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        return CERTIFICATES.get(error.verify_code, TRUSTED)
    if isinstance(error, ssl.SSLError) and error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return "check the address: this port does not speak TLS, so https cannot reach it"
    if isinstance(error, ConnectionRefusedError):
        return "start the collector, or check the address: nothing listens there"
    return "try again later, or check address and network"


def _trouble(error: Exception) -> str:
    """Return what went wrong, in the words of the system."""
    words = getattr(error, "verify_message", None) or getattr(error, "strerror", None) or str(error)
    return words or type(error).__name__


def _checked(context: ssl.SSLContext | None) -> ssl.SSLContext:
    """Return the TLS settings that a caller gave, or those of the system."""
    import ssl

    if context is not None and not isinstance(context, ssl.SSLContext):
        fix = "leave it out for the certificates that the system trusts"
        raise ParameterError("context", type(context).__name__, allowed="an ssl.SSLContext", fix=fix)
    return context or ssl.create_default_context()


def _is_loopback(host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
