r"""Seals: a report in one locked box for the collector, in one more for each shuffler on its way. The layouts; ``sealing/`` has the keys.

Every box begins with the same header; integers are little-endian::

    offset   size   field
    0        1      version, 1
    1        8      key id: the first 8 bytes of the SHA-256 of the public key that it is sealed for
    9        32     task id
    41       4      period
    45       32     HPKE: encapsulated key
    77       ...    HPKE: ciphertext
    -16      16     HPKE: tag

The box is bound to ``info`` = "deniable sealed 1\n", the role of its opener (0 analyst, 1 shuffler) and the 45 bytes of the header: with
another key, task, period or role nothing opens. The suite is X25519, HKDF-SHA256, AES-128-GCM (RFC 9180, base mode).

Inside the box for the analyst: the packed envelope, then zeros up to ``mixing.size``. Zeros alone are a dummy, which counts for nothing.

Inside the box for a shuffler::

    0        32     route: the SHA-256 of the public keys of all boxes further in, in the order in which they are opened
    32       2      T, length of the token
    34       T      token; only for the last shuffler, and only where the task takes one-time tokens: the one that the envelope carries
    34 + T   1      C, length of the crowd
    35 + T   C      crowd; only for the last shuffler, and only where the task has a threshold
    35+T+C   ...    the next box

**Route.** A collector could announce a key of its own to each device, and know every device by the key id that comes out of the mixing.
All of a batch have one route, so a key that few people were given comes with a crowd of few, which an honest shuffler keeps. A route is
made from whole keys: two keys with one id of 8 bytes are found in about 2^32 tries, two with one route are not.
**Last.** The collector sees token and payload. If a shuffler before an honest one saw them too, both could join what they saw.

All seals of a task have one length at each station (``seal_sizes``): a length tells nothing about an answer.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import NamedTuple

from deniable.contract.admission import SIZES, TOKEN
from deniable.contract.envelope import HEADER as ENVELOPE_HEADER
from deniable.contract.envelope import Envelope, open_batch
from deniable.contract.mixing import Mixing
from deniable.contract.notice import ID_BYTES, PUBLIC_BYTES, ROLES
from deniable.contract.task import Task
from deniable.errors import ParameterError, WireError

MEDIA_TYPE = "application/vnd.deniable.seals.v1"
"""What one or more seals are called in HTTP: for each, 4 bytes with its length, then the seal."""
VERSION = 1
HEADER = struct.Struct("<B8s32sI")
HPKE_BYTES = 48
"""What sealing adds: the encapsulated key and the tag."""
CROWD_BYTES = 32
ROUTE_BYTES = 32
LARGEST_SEAL = 1 << 17
_INFO = b"deniable sealed 1\n"
_CROWD = b"deniable crowd 1\n"
_LENGTH = struct.Struct("<I")
_SHORT = struct.Struct("<H")
_OUTER_BYTES = ROUTE_BYTES + _SHORT.size + 1


class Header(NamedTuple):
    """What stands before the locked part: for whom, for which task, in which period."""

    key: bytes
    task: bytes
    period: int

    def pack(self) -> bytes:
        """Return the header as bytes."""
        try:
            if len(self.key) != ID_BYTES or len(self.task) != 32:
                raise struct.error("ids of another length")
            return HEADER.pack(VERSION, self.key, self.task, self.period)
        except struct.error as error:
            allowed = "a key id of 8 bytes, a task id of 32, a period of 4"
            raise WireError("seal", self, allowed=allowed, fix=str(error)) from error


class Outer(NamedTuple):
    """What a shuffler finds in its box."""

    route: bytes
    token: bytes
    crowd: bytes
    next: bytes

    def __repr__(self) -> str:  # a token is money until it is spent
        return f"Outer(route={self.route.hex()}, {len(self.token)} bytes of token, {len(self.next)} of the next seal)"

    def pack(self) -> bytes:
        """Return what is locked into the box."""
        if len(self.route) != ROUTE_BYTES or len(self.token) >= 1 << 16 or len(self.crowd) > CROWD_BYTES:
            raise WireError(
                "outer", self, allowed=f"{ROUTE_BYTES} bytes of route, fewer than 65536 of token, at most 32 of crowd", fix="shorten it"
            )
        return b"".join((self.route, _SHORT.pack(len(self.token)), self.token, bytes((len(self.crowd),)), self.crowd, self.next))


def read_header(seal: bytes) -> Header:
    """Return the header of a seal; WireError if it is too short or of another version."""
    if len(seal) < HEADER.size + HPKE_BYTES:
        raise _damaged(f"{len(seal)} bytes", f"{HEADER.size + HPKE_BYTES} or more")
    version, key, task, period = HEADER.unpack_from(seal)
    if version != VERSION:
        raise _damaged(f"version {version}", f"version {VERSION}")
    return Header(key, task, period)


def info_of(role: str, seal: bytes) -> bytes:
    """Return what a seal with this header is bound to."""
    return _INFO + bytes((ROLES.index(role),)) + seal[: HEADER.size]


def route_of(publics: Sequence[bytes]) -> bytes:
    """Return the route through boxes that are sealed for these public keys, in the order in which they are opened."""
    if any(len(public) != PUBLIC_BYTES for public in publics):
        raise ParameterError(
            "publics",
            [len(public) for public in publics],
            allowed=f"keys of {PUBLIC_BYTES} bytes",
            fix="pass the public keys, not their ids",
        )
    return hashlib.sha256(b"".join(publics)).digest()


def crowd_of(envelope: Envelope) -> bytes:
    """Return the crowd of a report: those who send the same randomized answer. Made from nothing that the collector will not see."""
    return hashlib.sha256(_CROWD + envelope.task + _SHORT.pack(envelope.question) + envelope.payload).digest()


def seal_id(seal: bytes) -> bytes:
    """Return what a seal is called in answers: the first 16 bytes of its SHA-256."""
    return hashlib.sha256(seal).digest()[:16]


def mixing_of(task: Task) -> Mixing:
    """Return the mixing of a task of shuffle trust."""
    if task.mixing is None:
        raise ParameterError("task", task.name, allowed="a task of shuffle trust", fix="send reports to it unsealed")
    return task.mixing


def seal_sizes(task: Task) -> tuple[int, ...]:
    """Return the exact bytes of a seal as the first shuffler gets it, the second, and so on; the last number is the collector's."""
    mixing = mixing_of(task)
    around = HEADER.size + HPKE_BYTES
    token, crowd = extras(task)
    sizes = [mixing.size + around]
    for place in range(len(mixing.shufflers)):
        sizes.append(sizes[-1] + around + _OUTER_BYTES + (0 if place else token + crowd))  # from the last shuffler to the first
    return tuple(reversed(sizes))


def extras(task: Task) -> tuple[int, int]:
    """Return how many bytes of token and of crowd the last shuffler gets."""
    return SIZES[TOKEN] if task.admission == TOKEN else 0, CROWD_BYTES if mixing_of(task).threshold else 0


def pad_envelope(envelope: Envelope, task: Task) -> bytes:
    """Return what is locked into the analyst's box: one length for all answers to a task."""
    data, size = envelope.pack(), mixing_of(task).size
    if envelope.task != task.id or len(data) > size:
        received = f"{len(data)} bytes for task {envelope.task.hex()}"
        raise ParameterError(
            "envelope",
            received,
            allowed=f"at most {size} bytes for task {task.id.hex()}",
            fix="pass an envelope of this task; nothing was sealed",
        )
    return data.ljust(size, b"\0")


def read_padded(data: bytes, header: Header, size: int) -> Envelope | None:
    """Return the envelope of an opened analyst's box; None for a dummy, WireError if it is not what the header says."""
    if len(data) != size:
        raise _damaged(f"{len(data)} bytes inside", f"{size}")
    stop = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    if stop == _LENGTH.size:
        stop = 0  # a dummy, if the rest is zeros too
    if stop > size or (stop and stop < ENVELOPE_HEADER.size) or data.count(0, stop) != size - stop:
        raise _damaged("other bytes inside", "one envelope, then zeros")
    if not stop:
        return None
    (envelope,) = open_batch(data[:stop])
    if envelope.task != header.task or envelope.period != header.period:
        raise _damaged("an envelope for another task or period", "the task and period of the header")
    return envelope


def read_outer(data: bytes, header: Header) -> Outer:
    """Return what a shuffler finds in its opened box; WireError if lengths do not add up, or the next box is for another task or period."""
    if len(data) < _OUTER_BYTES:
        raise _damaged(f"{len(data)} bytes inside", f"{_OUTER_BYTES} or more")
    token = ROUTE_BYTES + _SHORT.size + _SHORT.unpack_from(data, ROUTE_BYTES)[0]
    if len(data) <= token:
        raise _damaged("a token that is longer than the box", "a length that fits")
    crowd = token + 1 + data[token]
    if data[token] > CROWD_BYTES or len(data) < crowd:
        raise _damaged("a crowd that does not fit", f"at most {CROWD_BYTES} bytes inside the box")
    outer = Outer(data[:ROUTE_BYTES], data[ROUTE_BYTES + _SHORT.size : token], data[token + 1 : crowd], data[crowd:])
    following = read_header(outer.next)
    if following.task != header.task or following.period != header.period:
        raise _damaged("a next seal for another task or period", "the task and period of the header")
    return outer


def pack_seals(seals: Sequence[bytes]) -> bytes:
    """Return seals as one body of a request."""
    return b"".join(_LENGTH.pack(len(seal)) + seal for seal in seals)


def open_seals(data: bytes, *, most: int = 1 << 17) -> list[bytes]:
    """Return the seals of a body; WireError if their lengths do not add up, one cannot be a seal, or there are more than so many."""
    seals: list[bytes] = []
    start, end = 0, len(data)
    while start < end:
        if end - start < _LENGTH.size:
            raise _damaged(f"{end - start} bytes after the last seal", "a length of 4 bytes")
        (length,) = _LENGTH.unpack_from(data, start)
        start += _LENGTH.size
        if not HEADER.size + HPKE_BYTES <= length <= min(LARGEST_SEAL, end - start):
            raise _damaged(f"a length of {length}", f"{HEADER.size + HPKE_BYTES} to {LARGEST_SEAL} bytes that are there")
        if len(seals) == most:
            raise _damaged("one seal more", f"at most {most}")
        seals.append(data[start : start + length])
        start += length
    return seals


def _damaged(received: str, allowed: str) -> WireError:
    return WireError("seal", received, allowed=allowed, fix="send it again: it is damaged or no seal, and nothing was counted")
