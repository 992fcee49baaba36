"""Keys that open sealed reports: created, announced, replaced and deleted on time.

A **KeyPair** is one X25519 key with its time. A **KeyRing** is the folder of one role: its lasting Ed25519 identity and its pairs. A new
pair is created before the old one ends. An ended one is kept for a ``grace`` period, for reports that were sealed in time and arrive late,
and then deleted permanently: nobody can ever open again what was sealed for it. While it is kept it is announced, because reports of a
period that began before its end are sealed for it. A pair that was withdrawn, after a suspicion, is not announced and only opens.

Times are arguments. Files are readable by their owner only, and are replaced whole, so that a crash leaves the old content or the new.
No secret is in any repr, message or error.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from deniable.contract.arguments import typed
from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.durable import write_durably
from deniable.contract.notice import KEY_CONTEXT, MOST_NOTICES, ROLES, KeyNotice, write_keys
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError, WireError
from deniable.sealing.identity import new_identity, public_key, sign

KEY_BYTES = 32
LIFETIME = 30 * 86_400
"""Seconds that a key is good for."""
GRACE = 7 * 86_400
"""Seconds after its end that a key still opens what is late."""
SKEW = 300
"""Seconds that a key starts early, for devices whose clock is slow."""
_FILE = "keys.json"


class KeyPair:
    """One X25519 key and the time in which reports are sealed for it. Can be pickled; its repr hides the private half.

    ``start`` and ``end`` are seconds since 1970, as all times here.
    """

    def __init__(self, private: bytes, start: int, end: int) -> None:
        if not isinstance(private, bytes) or len(private) != KEY_BYTES:
            raise ParameterError("private", "a key of another length", allowed=f"{KEY_BYTES} bytes", fix="create one with KeyPair.make")
        self.private, self.start, self.end = private, start, end
        self.notice("shuffler")  # checks the times

    @classmethod
    def make(cls, now: float, lifetime: int = LIFETIME, source: Source = SYSTEM) -> KeyPair:
        """Return a fresh key that is good from now on, for a lifetime in seconds."""
        return cls(draw_bytes(source, KEY_BYTES), max(0, int(now) - SKEW), int(now) + lifetime)

    @cached_property
    def handle(self) -> X25519PrivateKey:
        """The key as the library takes it."""
        return X25519PrivateKey.from_private_bytes(self.private)

    @cached_property
    def public(self) -> bytes:
        """The half that everybody may know."""
        return self.handle.public_key().public_bytes_raw()

    @cached_property
    def id(self) -> bytes:
        """What seals name the key by."""
        return self.notice("shuffler").id

    def notice(self, role: str) -> KeyNotice:
        """Return what is announced about the key of a role."""
        return KeyNotice(role=role, public=self.public, start=self.start, end=self.end)

    def __repr__(self) -> str:
        return f"KeyPair(public={self.public.hex()}, start={self.start}, end={self.end})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyPair) and (self.public, self.start, self.end) == (other.public, other.start, other.end)

    def __hash__(self) -> int:
        return hash(self.public)

    def __reduce__(self) -> tuple[type[KeyPair], tuple[bytes, int, int]]:
        return KeyPair, (self.private, self.start, self.end)  # the library's handle cannot leave the process


@typed
def announce(seed: bytes, notices: list[KeyNotice]) -> bytes:
    """Return what ``GET /v1/keys`` answers: notices, each signed by the identity behind a seed."""
    return write_keys([(notice, sign(seed, KEY_CONTEXT, notice.canonical)) for notice in notices])


@typed
def least_lifetime(grace: int) -> int:
    """Return the seconds that keys must be good for, so that all that are announced until ``grace`` after their end fit into one list."""
    return -(-grace // (MOST_NOTICES // 2 - 2))  # a key is made in each half of a lifetime


@typed
def check_listed(lifetime: int, grace: int) -> None:
    """Raise ParameterError if keys change so often that one list cannot hold all that a running period may be sealed for.

    ``lifetime`` is how long a key is good for, and ``grace`` how long it is kept after its end, both in seconds.
    """
    if lifetime < least_lifetime(grace):
        allowed = f"{least_lifetime(grace)} seconds or more, with keys kept for {grace} s after their end"
        raise ParameterError("lifetime", lifetime, allowed=allowed, fix="let keys live longer, or give them a shorter grace")


@typed
class KeyRing:
    """The keys of one role in a folder. Safe to share between threads; one process writes, others may ``reload``.

    ``grace`` is how many seconds an ended key is kept for. ``now`` is the time in seconds since 1970, and ``lifetime`` how long a new key
    is good for.
    """

    def __init__(self, folder: Path | str, role: str, *, grace: int = GRACE, source: Source = SYSTEM) -> None:
        if role not in ROLES:
            raise ParameterError("role", role, allowed=f"one of {list(ROLES)}", fix="name the role that opens what is sealed")
        self.folder, self.role, self.grace = Path(folder), role, grace
        self._source, self._lock = source, threading.RLock()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._seed, self._pairs, self._withdrawn = self._read() if self._path.exists() else self._create()

    @property
    def identity(self) -> bytes:
        """The public identity: what stands in tasks."""
        return public_key(self._seed)

    @property
    def pairs(self) -> Mapping[bytes, KeyPair]:
        """The pairs that are kept, by id: what the bulk functions of ``seal`` open with."""
        return dict(self._pairs)

    @property
    def withdrawn(self) -> frozenset[bytes]:
        """The ids of pairs that are kept and no longer announced."""
        return self._withdrawn

    def private(self, key: bytes) -> KeyPair:
        """Return the pair with an id; WireError if it was deleted or never was here."""
        try:
            return self._pairs[key]
        except KeyError:
            raise WireError("key", key.hex(), allowed="a key that is still kept", fix="fetch the keys again and seal anew") from None

    def sign(self, context: bytes, message: bytes) -> bytes:
        """Return the identity's signature of a message of another kind, which the context names, as of a batch."""
        return sign(self._seed, context, message)

    def rotate(self, now: float, lifetime: int = LIFETIME, *, withdraw: bool = False) -> KeyPair:
        """Create a new pair and store it before it is announced. Earlier ones stay good until their end, unless you ``withdraw`` them.

        A withdrawn pair is no longer announced. It still opens what was sealed for it, until ``grace`` seconds after its end.
        """
        with self._lock:
            pair = KeyPair.make(now, lifetime, self._source)
            self._write({**self._pairs, pair.id: pair}, frozenset(self._pairs) if withdraw else self._withdrawn)
            return pair

    def forget(self, now: float) -> int:
        """Delete the pairs that ended more than ``grace`` seconds ago, and return how many."""
        with self._lock:
            left = {key: pair for key, pair in self._pairs.items() if now < pair.end + self.grace}
            gone = len(self._pairs) - len(left)
            if gone:
                self._write(left, self._withdrawn & left.keys())
            return gone

    def tend(self, now: float, lifetime: int = LIFETIME, *, settled: float | None = None) -> bool:
        """Delete what is due, and rotate if the newest pair has less than half a lifetime left. Return whether anything changed.

        ``settled`` is the time to delete by, if it is not ``now``: a key that a wrong clock deletes is lost permanently.
        """
        check_listed(lifetime, self.grace)
        with self._lock:
            due = not any(now + lifetime / 2 < pair.end for pair in self._pairs.values() if pair.id not in self._withdrawn)
            if due:
                self.rotate(now, lifetime)
            return self.forget(now if settled is None else settled) > 0 or due

    def notices(self, now: float) -> list[KeyNotice]:
        """Return what is announced: the keys that are kept and were not withdrawn, the newest first."""
        kept = (pair for pair in self._pairs.values() if now < pair.end + self.grace and pair.id not in self._withdrawn)
        notices = (pair.notice(self.role) for pair in kept)
        return sorted(notices, key=lambda notice: (notice.start, notice.end), reverse=True)

    def announcement(self, now: float) -> bytes:
        """Return what ``GET /v1/keys`` answers."""
        return announce(self._seed, self.notices(now))

    def reload(self) -> None:
        """Read the folder again, after another process has written it."""
        with self._lock:
            self._seed, self._pairs, self._withdrawn = self._read()

    def __repr__(self) -> str:
        return f"KeyRing({self.role}, identity={self.identity.hex()}, {len(self._pairs)} keys)"

    @property
    def _path(self) -> Path:
        return self.folder / _FILE

    def _create(self) -> tuple[bytes, dict[bytes, KeyPair], frozenset[bytes]]:
        self._seed = new_identity(self._source)
        self._write({}, frozenset())
        return self._seed, {}, frozenset()

    def _read(self) -> tuple[bytes, dict[bytes, KeyPair], frozenset[bytes]]:
        if self._path.stat().st_mode & 0o077:
            raise ParameterError(str(self._path), "open to others", allowed="a file that its owner alone can read", fix="run: chmod 600")
        try:
            content = json.loads(self._path.read_bytes())
            seed, role = bytes.fromhex(content["identity"]), content["role"]
            pairs = [KeyPair(bytes.fromhex(item["private"]), item["start"], item["end"]) for item in content["keys"]]
            withdrawn = frozenset(pair.id for pair, item in zip(pairs, content["keys"], strict=True) if item.get("withdrawn", False))
            whole = content["version"] == 1 and role == self.role and len(seed) == KEY_BYTES
        except (ValueError, TypeError, KeyError, ParameterError):
            whole = False
        if not whole:  # nothing of the file goes into the message
            raise WireError(
                str(self._path),
                "something else",
                allowed="a whole key file of this role",
                fix="restore it from a backup: a new file is a new identity",
            ) from None
        return seed, {pair.id: pair for pair in pairs}, withdrawn

    def _write(self, pairs: dict[bytes, KeyPair], withdrawn: frozenset[bytes]) -> None:
        """Write the file, then announce: nobody hears of a key that is not on the disk."""
        listed = [
            {"private": pair.private.hex(), "start": pair.start, "end": pair.end, "withdrawn": key in withdrawn}
            for key, pair in pairs.items()
        ]
        data = json.dumps({"version": 1, "role": self.role, "identity": self._seed.hex(), "keys": listed}).encode()
        write_durably(self._path, data, mode=0o600, alone=True)
        self._pairs, self._withdrawn = pairs, withdrawn
