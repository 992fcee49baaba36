"""Seal reports for those who shuffle and count them, and open what they get: HPKE (RFC 9180), by ``cryptography``.

The suite is X25519, HKDF-SHA256, AES-128-GCM in base mode: anyone with the public key can seal, the sender stays unknown, and every seal
has a fresh ephemeral key from the library's own generator. ``contract/sealed`` has the layouts.

Bad bytes from outside raise a WireError, which repeats nothing of what was inside. Opening costs about 50 microseconds,
nearly all of it two multiplications on the curve, and the library holds Python's lock: functions for many seals take a process pool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import lru_cache, partial
from typing import Any, TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from deniable.contract.arguments import typed
from deniable.contract.envelope import Envelope
from deniable.contract.notice import ANALYST, SHUFFLER, KeyNotice
from deniable.contract.sealed import (
    HEADER,
    Header,
    Outer,
    crowd_of,
    extras,
    info_of,
    mixing_of,
    pad_envelope,
    read_header,
    read_outer,
    read_padded,
    route_of,
    seal_sizes,
)
from deniable.contract.task import Task
from deniable.errors import ParameterError, WireError
from deniable.sealing.keys import KeyPair

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
CHUNK = 512
"""How many seals a process of the pool gets at once."""

_Opened = TypeVar("_Opened")


@typed
def seal_report(task: Task, envelope: Envelope, analyst: KeyNotice, shufflers: Sequence[KeyNotice]) -> bytes:
    """Return an envelope for a task, sealed for the analyst, and that for each of the shufflers, the last one first.

    It is what the first shuffler gets.
    """
    token_bytes, crowd_bytes = extras(task)
    relays = len(mixing_of(task).shufflers)
    if analyst.role != ANALYST or [notice.role for notice in shufflers] != [SHUFFLER] * relays:
        allowed = f"a key of the analyst and one of each of {relays} shufflers, in their order"
        raise ParameterError("keys", [analyst.role, *(notice.role for notice in shufflers)], allowed=allowed, fix="fetch the keys")
    if token_bytes and len(envelope.token) != token_bytes:
        raise ParameterError("token", f"{len(envelope.token)} bytes", allowed=f"{token_bytes} bytes", fix="enrol first")
    sealed = _seal(analyst, task.id, envelope.period, pad_envelope(envelope, task))
    publics = [analyst.public]
    for place in reversed(range(relays)):
        last = place == relays - 1
        token = envelope.token if last and token_bytes else b""
        crowd = crowd_of(envelope) if last and crowd_bytes else b""
        outer = Outer(route_of(publics), token, crowd, sealed)
        sealed = _seal(shufflers[place], task.id, envelope.period, outer.pack())
        publics.insert(0, shufflers[place].public)
    return sealed


@typed
def dummy(task: Task, period: int, analyst: KeyNotice) -> bytes:
    """Return a seal for the analyst that nobody else can tell from a report to the task in a period, and that counts for nothing."""
    if analyst.role != ANALYST:
        raise ParameterError("keys", analyst.role, allowed="a key of the analyst", fix="fetch the collector's keys")
    return _seal(analyst, task.id, period, bytes(mixing_of(task).size))


@typed
def open_outer(pair: KeyPair, seal: bytes) -> Outer:
    """Return what a shuffler finds in its seal, by its pair of keys; WireError if it is damaged, or sealed for another key."""
    return _open_outer(pair, seal)


@typed
def open_inner(pair: KeyPair, seal: bytes, task: Task) -> Envelope | None:
    """Return the envelope in the analyst's seal, None for a dummy; WireError if it is damaged, or for another key pair or task."""
    return _open_inner(task.id, mixing_of(task).size, seal_sizes(task)[-1], pair, seal)


@typed
def open_outers(pairs: Mapping[bytes, KeyPair], seals: Sequence[bytes], pool: Executor | None = None) -> list[Outer | WireError]:
    """Run ``open_outer`` on many seals, with the pairs of keys by id, in the processes of a pool if there is one.

    One result for each; errors are returned.
    """
    return _open_many(_open_outer, pairs, seals, pool)


@typed
def open_inners(
    pairs: Mapping[bytes, KeyPair], seals: Sequence[bytes], task: Task, pool: Executor | None = None
) -> list[Envelope | WireError | None]:
    """Run ``open_inner`` on many seals of a task, with the pairs of keys by id, in the processes of a pool if there is one.

    One result for each; errors are returned.
    """
    opener = partial(_open_inner, task.id, mixing_of(task).size, seal_sizes(task)[-1])
    return _open_many(opener, pairs, seals, pool)


def _open_outer(pair: KeyPair, seal: bytes) -> Outer:
    header = read_header(seal)
    return read_outer(_open(pair, seal, header, SHUFFLER), header)


def _open_inner(task: bytes, size: int, length: int, pair: KeyPair, seal: bytes) -> Envelope | None:
    header = read_header(seal)
    if header.task != task or len(seal) != length:
        raise WireError(
            "seal", f"{len(seal)} bytes", allowed=f"{length} bytes for task {task.hex()}", fix="send it whole; nothing was counted"
        )
    return read_padded(_open(pair, seal, header, ANALYST), header, size)


def _seal(notice: KeyNotice, task: bytes, period: int, content: bytes) -> bytes:
    head = Header(notice.id, task, period).pack()
    try:
        return head + SUITE.encrypt(content, _public(notice.public), info=info_of(notice.role, head))
    except ValueError:  # a point of small order: the secret would be zeros, which everybody knows
        raise WireError("key", notice.public.hex(), allowed="an X25519 key that is not of small order", fix="do not seal for it") from None


@lru_cache(maxsize=64)
def _public(key: bytes) -> X25519PublicKey:
    return X25519PublicKey.from_public_bytes(key)


def _open(pair: KeyPair, seal: bytes, header: Header, role: str) -> bytes:
    if header.key != pair.id:
        raise WireError("key", header.key.hex(), allowed=f"{pair.id.hex()}", fix="fetch the keys again and seal anew")
    return _open_box(pair, seal, role)


@typed
def open_box(pair: KeyPair, seal: bytes, role: str) -> bytes:
    """Return what is locked into a seal, as it is, by a pair of keys; WireError if it is damaged, or sealed for another key or role."""
    return _open_box(pair, seal, role)


def _open_box(pair: KeyPair, seal: bytes, role: str) -> bytes:
    try:
        return SUITE.decrypt(memoryview(seal)[HEADER.size :], pair.handle, info=info_of(role, seal))
    except (InvalidTag, ValueError):
        allowed = "a seal for this key, role, task and period"
        raise WireError(
            "seal", f"{len(seal)} bytes", allowed=allowed, fix="send it again: it was damaged on its way, and nothing was counted"
        ) from None


def _open_many(
    opener: Callable[[KeyPair, bytes], _Opened], pairs: Mapping[bytes, KeyPair], seals: Sequence[bytes], pool: Executor | None
) -> list[_Opened | WireError]:
    work: Any = partial(_open_chunk, opener, dict(pairs))
    chunks = [seals[start : start + CHUNK] for start in range(0, len(seals), CHUNK)]
    return [result for results in (pool.map if pool else map)(work, chunks) for result in results]


def _open_chunk(
    opener: Callable[[KeyPair, bytes], _Opened], pairs: Mapping[bytes, KeyPair], seals: Sequence[bytes]
) -> list[_Opened | WireError]:
    results: list[_Opened | WireError] = []
    for seal in seals:
        try:
            header = read_header(seal)
            if header.key not in pairs:
                raise WireError("key", header.key.hex(), allowed="a key that is still kept", fix="fetch the keys again and seal anew")
            results.append(opener(pairs[header.key], seal))
        except WireError as error:
            results.append(error)
    return results
