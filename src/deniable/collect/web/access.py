"""Who may ask: tokens with a role, shown once when they are made and kept as digests.

A token is 32 random bytes, so its SHA-256 is as hard to turn back as it is to guess; nothing slower is needed. An admin may do whatever an
analyst may. Reports need no token, and nothing here is ever about a device.
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
    """What is known about a token once it was shown."""

    label: str
    role: str


def add_token(catalog: Catalog, role: str, label: str) -> str:
    """A new token, to be shown now and never again; the label tells it from others."""
    if role not in ROLES:
        raise ParameterError("role", role, allowed=f"one of {list(ROLES)}", fix="an analyst reads, an admin also publishes and deletes")
    if not 1 <= len(label) <= 64 or not label.isprintable():
        raise ParameterError("label", label, allowed="1 to 64 printable characters", fix="name who or what will use it")
    token = PREFIX + b"".join(SYSTEM.word().to_bytes(8, "little") for _ in range(4)).hex()
    if not Tokens(catalog).add(digest_of(token), role, label):
        raise ParameterError("label", label, allowed="a label that no other token has", fix="remove that one first")
    return token


def remove_token(catalog: Catalog, label: str) -> None:
    """From now on the token with this label opens nothing."""
    if not Tokens(catalog).remove(label):
        raise ParameterError("label", label, allowed="the label of a token", fix="see: deniable token list")


def list_tokens(catalog: Catalog) -> list[Token]:
    """All tokens by label, without what would open anything."""
    return [Token(*each) for each in Tokens(catalog).listed()]


class Access:
    """Checks the token of a request.

    Every token is looked up, so a flood of wrong ones never locks out a right one. Beyond ``FAILURES_PER_SECOND`` wrong tokens in a second
    the answer to a wrong token is 429, which asks the sender to wait. Addresses play no part.
    """

    def __init__(self, catalog: Catalog, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens = Tokens(catalog)
        self._clock = clock
        self._second = 0
        self._failures = 0

    def check(self, authorization: list[str], role: str) -> str:
        """The role of whoever sent these values of an Authorization header, if it opens what needs this one; else Refusal."""
        if role == OPEN:
            return OPEN
        if not authorization:
            raise Refusal(401, "no_token", "this needs a token: Authorization: Bearer dn_...")
        scheme, _, token = authorization[0].partition(" ")
        found = self.role_of(digest_of(token.strip(" "))) if len(authorization) == 1 and scheme.lower() == "bearer" else ""
        if not found:
            raise self._failure()
        if ROLES.index(found) < ROLES.index(role):
            raise Refusal(403, "wrong_role", f"this needs the role {role}; the token's is {found}")
        return found

    def role_of(self, digest: bytes) -> str:
        """The role behind a digest, or nothing. All are compared, each in constant time, so that time tells nothing about any."""
        found = ""
        for kept, role in self._tokens.roles():
            if hmac.compare_digest(digest, kept):
                found = role
        return found

    def _failure(self) -> Refusal:
        """The answer to a wrong token."""
        now = int(self._clock())
        if now != self._second:
            self._second, self._failures = now, 0
        self._failures += 1
        if self._failures > FAILURES_PER_SECOND:
            return Refusal(429, "too_many_failures", "too many wrong tokens in this second", retry=1)
        return Refusal(401, "bad_token", "this token opens nothing")


def digest_of(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
