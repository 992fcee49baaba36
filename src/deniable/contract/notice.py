r"""Key notices: the short-lived keys that reports are sealed for, each signed by the party that will open the seals.

A collector (the **analyst**) and each **shuffler** have a lasting Ed25519 identity, which stands in the task, and X25519 keys that come
and go. A notice says which key, for which role, from when to when; the identity signs its canonical JSON. ``GET /v1/keys`` serves them::

    {"keys": [{"notice": "{\"end\":...,\"public\":\"...\",\"role\":\"analyst\",\"start\":...,\"version\":1}", "signature": "..."}]}

A device takes the key that is good when the period of its report begins: the one that ends first if there are several, or the first later
one if there was none yet. So all reports of a period are sealed for one key, no matter when a device fetched it, and no crowd is split.
Therefore a key is listed, and used, for the length of a period after its end. A key that must not be used any more is dropped from the
list: devices look again after a day. Once a private key is deleted, nobody can open what was sealed for it, even with the machine in hand.

>>> notice = KeyNotice(role="shuffler", public=bytes(range(32)), start=100, end=200)
>>> notice.id.hex(), KeyNotice.from_json(notice.canonical) == notice
('630dcd2966c43366', True)
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deniable.contract.ed25519 import verify
from deniable.contract.record import Document
from deniable.errors import ParameterError, ProtocolError, WireError

KEY_CONTEXT = b"deniable key 1\n"
"""The prefix of a notice's signed bytes."""
ANALYST, SHUFFLER = "analyst", "shuffler"
ROLES = (ANALYST, SHUFFLER)
"""The roles that open seals. A role's index here is its byte in what a seal is bound to."""
ID_BYTES = 8
PUBLIC_BYTES = 32
MOST_NOTICES = 32
"""The most notices in one list: every device verifies all of them."""
_LAST_SECOND = 1 << 40


@dataclass(frozen=True, kw_only=True)
class KeyNotice(Document):
    """A public key to seal for, in a role, good from ``start`` until just before ``end``, in seconds since 1970."""

    noun = "notice"
    version = 1
    role: str
    public: bytes
    start: int
    end: int

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ParameterError("role", self.role, allowed=f"one of {list(ROLES)}", fix="name the role that opens what is sealed")
        if not isinstance(self.public, bytes) or len(self.public) != PUBLIC_BYTES:
            raise ParameterError("public", self.public, allowed=f"an X25519 public key of {PUBLIC_BYTES} bytes", fix="pass pair.public")
        times = self.start, self.end
        if not all(type(time) is int for time in times) or not 0 <= self.start < self.end <= _LAST_SECOND:
            raise ParameterError("start, end", times, allowed="whole seconds since 1970, start < end", fix="let the key live longer")

    @cached_property
    def id(self) -> bytes:
        """What a seal names the key by: the first 8 bytes of the SHA-256 of the public key."""
        return hashlib.sha256(self.public).digest()[:ID_BYTES]

    def valid_at(self, now: float) -> bool:
        """Return whether a device may seal for this key at a time."""
        return self.start <= now < self.end


def read_notice(data: bytes, signature: bytes, key: bytes, now: float, role: str) -> KeyNotice:
    """Return the notice, if the identity ``key`` signed it for this role and it is good now.

    WireError if it is forged, damaged or for another role; ProtocolError if it ended, or has not started by this device's clock.
    """
    notice = _signed(data, signature, key, role)
    if not notice.valid_at(now):
        state = "one that ended" if now >= notice.end else "one that has not started"
        raise ProtocolError("key", state, allowed=f"a key of the {role} that is good now", fix="fetch the keys again; check the clock")
    return notice


def read_keys(body: bytes, key: bytes, now: float, role: str, since: float | None = None) -> KeyNotice:
    """Return the key to seal for, from what ``GET /v1/keys`` answered, in a period that began at ``since``; left out: now.

    It is the one that ends first of those that were good then; if there was none, the one that started first of those that have since.
    WireError if anything in it is not signed by the identity ``key`` for this role; ProtocolError if there is no such key.
    """
    began = now if since is None else since
    try:
        listed: Any = json.loads(body)["keys"]
        pairs = [(item["notice"].encode(), bytes.fromhex(item["signature"])) for item in listed]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise WireError("keys", body, allowed="a list of notices and signatures in JSON", fix="check the address") from error
    if len(pairs) > MOST_NOTICES:
        raise WireError("keys", len(pairs), allowed=f"at most {MOST_NOTICES} notices", fix="do not trust this address")
    notices = [_signed(data, signature, key, role) for data, signature in pairs]
    good = [notice for notice in notices if notice.start <= now and began < notice.end]
    if not good:
        allowed = f"a key of the {role} that is good now"
        raise ProtocolError("keys", f"{len(pairs)} that are not", allowed=allowed, fix="try again later; check the clock")
    return min(good, key=lambda notice: (max(notice.start, began), notice.end, notice.start, notice.public))


def write_keys(signed: list[tuple[KeyNotice, bytes]]) -> bytes:
    """Return what ``GET /v1/keys`` answers: notices with their signatures, the newest first."""
    newest = sorted(signed, key=lambda pair: (pair[0].start, pair[0].end), reverse=True)[:MOST_NOTICES]
    return json.dumps({"keys": [{"notice": notice.canonical.decode(), "signature": made.hex()} for notice, made in newest]}).encode()


def _signed(data: bytes, signature: bytes, key: bytes, role: str) -> KeyNotice:
    if not verify(key, KEY_CONTEXT + data, signature):
        raise WireError("signature", signature.hex(), allowed=f"a signature by the {role} that the task names", fix="do not seal for it")
    notice = KeyNotice.from_json(data)
    if notice.role != role:
        raise WireError("role", notice.role, allowed=f"a key of the {role}", fix="do not seal for it")
    return notice
