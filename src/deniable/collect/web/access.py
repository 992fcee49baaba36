"""Access control: tokens with a role, shown once when created and stored as digests.

A token is 32 random bytes, so its SHA-256 is as hard to invert as the token is to guess; no slower hash is needed. Admins may do everything
that analysts may. Reports need no token, and nothing here concerns devices.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from typing import NamedTuple

from deniable.collect.kit.answers import Refusal
from deniable.collect.storage.catalog import Catalog
from deniable.collect.storage.tokens import Tokens
from deniable.contract.source import SYSTEM
from deniable.errors import ParameterError

OPEN = "open"
ROLES = ("analyst", "admin")
"""Each may do what those before it may."""
PREFIX = "dn_"
FAILURES_PER_SECOND = 20


class Token(NamedTuple):
    """What is stored about a token, besides its digest."""

    label: str
    role: str


def add_token(catalog: Catalog, role: str, label: str) -> str:
    """Create a token and return it, to be shown only once; the label identifies it."""
    if role not in ROLES:
        raise ParameterError(
            "role", role, allowed=f"one of {list(ROLES)}", fix="choose analyst to read estimates, or admin to publish and delete as well"
        )
    if not 1 <= len(label) <= 64 or not label.isprintable():
        raise ParameterError("label", label, allowed="1 to 64 printable characters", fix="name the person or program that will use it")
    token = PREFIX + b"".join(SYSTEM.word().to_bytes(8, "little") for _ in range(4)).hex()
    if not Tokens(catalog).add(digest_of(token), role, label):
        raise ParameterError(
            "label", label, allowed="a label that no other token has", fix="choose another label, or remove the other token first"
        )
    return token


def remove_token(catalog: Catalog, label: str) -> None:
    """Revoke the token with this label."""
    if not Tokens(catalog).remove(label):
        raise ParameterError("label", label, allowed="the label of a token", fix="list the labels with: deniable token list")


def list_tokens(catalog: Catalog) -> list[Token]:
    """Return the label and role of all tokens, without secrets."""
    return [Token(*each) for each in Tokens(catalog).listed()]


class Access:
    """Checks the token of a request.

    Every token is looked up, so a flood of wrong ones never locks out a right one. After ``FAILURES_PER_SECOND`` wrong tokens in a second,
    further wrong tokens get status 429. The limit does not depend on IP addresses.
    """

    def __init__(self, catalog: Catalog, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens = Tokens(catalog)
        self._clock = clock
        self._second = 0
        self._failures = 0

    def check(self, authorization: list[str], role: str) -> str:
        """Return the role of the sender of this Authorization header; raise Refusal unless it includes ``role``."""
        if role == OPEN:
            return OPEN
        if not authorization:
            raise Refusal(401, "no_token", "send an access token in the header Authorization: Bearer dn_...")
        scheme, _, token = authorization[0].partition(" ")
        found = self.role_of(digest_of(token.strip(" "))) if len(authorization) == 1 and scheme.lower() == "bearer" else ""
        if not found:
            raise self._failure()
        if ROLES.index(found) < ROLES.index(role):
            raise Refusal(403, "wrong_role", f"this needs the role {role}, but the token has the role {found}")
        return found

    def role_of(self, digest: bytes) -> str:
        """Return the role behind a digest, or "". All are compared in constant time, so timing reveals nothing."""
        found = ""
        for kept, role in self._tokens.roles():
            if hmac.compare_digest(digest, kept):
                found = role
        return found

    def _failure(self) -> Refusal:
        """Return the answer to a wrong token."""
        now = int(self._clock())
        if now != self._second:
            self._second, self._failures = now, 0
        self._failures += 1
        if self._failures > FAILURES_PER_SECOND:
            return Refusal(429, "too_many_failures", "too many wrong tokens; wait a second", retry=1)
        return Refusal(401, "bad_token", "unknown or expired token")


def digest_of(token: str) -> bytes:
    """Return the digest that is stored for a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
