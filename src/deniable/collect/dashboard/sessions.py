"""Signing in: the form for a token, and a random cookie for each session, kept as a digest in memory for at most half a day.

A session ends when its token is revoked. Sessions live in one process: visitors who reach another collector of the same database sign in
there again.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from deniable.collect.dashboard.html import Node, element
from deniable.collect.web.access import Access, digest_of
from deniable.contract.source import SYSTEM

LIFETIME = 12 * 3600
MOST = 1000
"""The most sessions at once; the oldest is dropped."""
_NEXT = re.compile(r"/(tasks/[0-9a-f]{64})?")


class Sessions:
    """Exchanges tokens for cookies, and knows which are still valid."""

    def __init__(self, access: Access, *, secure: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._access = access
        self._secure = secure
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[bytes, tuple[bytes, float]] = {}
        """By the digest of a cookie: the digest of its token, and when it ends."""

    @property
    def name(self) -> str:
        """The cookie's name. With the prefix, browsers accept it only from this host and over TLS."""
        return "__Host-deniable" if self._secure else "deniable"

    def begin(self, token: str) -> str:
        """Return the Set-Cookie header for a token; raise Refusal if the token is not valid."""
        self._access.check([f"Bearer {token}"], "analyst")
        value = b"".join(SYSTEM.word().to_bytes(8, "little") for _ in range(4)).hex()
        with self._lock:
            while len(self._kept) >= MOST:
                del self._kept[next(iter(self._kept))]
            self._kept[_digest(value)] = digest_of(token), self._clock() + LIFETIME
        return self._cookie(value, LIFETIME)

    def holds(self, cookies: str) -> bool:
        """Return True if the Cookie header belongs to a session whose token is still valid."""
        value = self._value(cookies)
        with self._lock:
            token, end = self._kept.get(_digest(value), (b"", 0.0))
            if token and self._clock() >= end:
                del self._kept[_digest(value)]
                token = b""
        return bool(token) and bool(self._access.role_of(token))

    def end(self, cookies: str) -> str:
        """Forget a session; the Set-Cookie header that makes the browser forget it too."""
        with self._lock:
            self._kept.pop(_digest(self._value(cookies)), None)
        return self._cookie("", 0)

    def _value(self, cookies: str) -> str:
        """Return the session's cookie. Not by the standard library's parser, which takes quadratic time for some headers."""
        found = (part.strip().partition("=") for part in cookies.split(";"))
        return next((value for name, _, value in found if name == self.name), "")

    def _cookie(self, value: str, seconds: int) -> str:
        secure = "; Secure" if self._secure else ""
        return f"{self.name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"


def is_same_origin(headers: Mapping[str, str]) -> bool:
    """Return True if a page of this origin made the request: browsers say so in headers that pages cannot change."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return bool(headers.get("host")) and urlsplit(headers.get("origin", "")).netloc == headers["host"]


def sign_in_body(after: str, trouble: str = "") -> list[Node]:
    """Return the form; ``trouble`` says why the last try failed."""
    told = "Paste your access token. The operator of this collector creates one with "
    return [
        element("h1", "Sign in"),
        element("p", told, element("code", "deniable token add"), "."),
        element("p", trouble, class_="notice trouble", role="alert", id="trouble") if trouble else element("p", hidden=True),
        element(
            "form",
            element("input", type="hidden", name="next", value=after),
            element(
                "div",
                element("label", "Token", for_="token"),
                element(
                    "input",
                    type="password",
                    id="token",
                    name="token",
                    required=True,
                    maxlength=200,
                    autocomplete="current-password",
                    autofocus=True,
                    aria_describedby="trouble" if trouble else None,
                ),
                class_="field",
            ),
            element("div", element("button", "Sign in"), class_="actions"),
            method="post",
            action="/sign-in",
            class_="choice",
        ),
        element(
            "p", "Your token is not stored. Your browser gets a random cookie instead, which expires after twelve hours.", class_="note"
        ),
    ]


def where_to(wanted: str) -> str:
    """Return where to go after signing in: always a page of this dashboard.

    >>> where_to("//example.org"), where_to("/tasks/" + "0" * 64) == "/tasks/" + "0" * 64
    ('/', True)
    """
    return wanted if _NEXT.fullmatch(wanted) else "/"


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).digest()
