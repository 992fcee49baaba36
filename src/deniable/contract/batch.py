r"""A batch: what a task's last shuffler sends to its collector, one message for each crowd that it let go. Integers are little-endian::

    offset     size            field
    0          4               L, length of the manifest
    4          L               manifest: canonical JSON, what the batch is and the digest of its seals
    4 + L      64              Ed25519 signature of "deniable batch 1\n" and the manifest, by the last shuffler's identity key
    68 + L     count * size    the seals, all of one size, in an order that says nothing

The manifest has ``version`` 1, ``batch`` (16 random bytes: a resend carries the same ones), ``task``, ``period``, ``count``, ``size``
(bytes of one seal), ``items`` (SHA-256 of all seals) and, where crowds were thresholded, ``threshold`` with the rule that was applied,
since it has its price. Dummies are among the ``count``: only the collector can tell them from reports. No time and no address.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from deniable.contract.ed25519 import verify
from deniable.contract.mixing import Threshold
from deniable.contract.record import Document
from deniable.errors import WireError

MEDIA_TYPE = "application/vnd.deniable.batch.v1"
"""The media type of a batch."""
BATCH_CONTEXT = b"deniable batch 1\n"
"""The prefix of a manifest's signed bytes."""
MOST_SEALS = 1 << 17
LARGEST_SEAL = 1 << 17
LARGEST_MANIFEST = 1 << 12
LARGEST_MESSAGE = 1 << 26
"""The most bytes that a collector takes at once."""
SIGNATURE_BYTES = 64
_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, kw_only=True)
class Manifest(Document):
    """The signed part of a batch: what it is, and the digest of its seals."""

    noun = "manifest"
    version = 1
    batch: bytes
    task: bytes
    period: int
    count: int
    size: int
    items: bytes
    threshold: Threshold | None = None

    def __post_init__(self) -> None:
        for parameter, length in (("batch", 16), ("task", 32), ("items", 32)):
            value = getattr(self, parameter)
            if not isinstance(value, bytes) or len(value) != length:
                raise WireError(parameter, value, allowed=f"{length} bytes", fix="send the batch unchanged; nothing of it was counted")
        for parameter, low, end in (("period", 0, 1 << 32), ("count", 1, MOST_SEALS + 1), ("size", 1, LARGEST_SEAL + 1)):
            value = getattr(self, parameter)
            if type(value) is not int or not low <= value < end:
                raise WireError(
                    parameter,
                    value,
                    allowed=f"an integer from {low} to {end - 1}",
                    fix="send the batch unchanged; nothing of it was counted",
                )

    @property
    def signed(self) -> bytes:
        """What the shuffler's identity key signs."""
        return BATCH_CONTEXT + self.canonical

    @classmethod
    def of(cls, seals: Sequence[bytes], *, batch: bytes, task: bytes, period: int, threshold: Threshold | None = None) -> Manifest:
        """Return the manifest of seals in their order; WireError unless they all have one size."""
        size = len(seals[0]) if seals else 0
        if any(len(seal) != size for seal in seals):
            raise WireError(
                "seals", sorted({len(seal) for seal in seals}), allowed="seals of one size", fix="pad all seals of a task to one size"
            )
        items = hashlib.sha256(b"".join(seals)).digest()
        return cls(batch=batch, task=task, period=period, count=len(seals), size=size, items=items, threshold=threshold)


@dataclass(frozen=True)
class Batch:
    """A batch that was read: its manifest, signed by the key that was asked for, and its seals."""

    manifest: Manifest
    seals: tuple[bytes, ...]


def pack_batch(manifest: Manifest, signature: bytes, seals: Sequence[bytes]) -> bytes:
    """Return the message of a batch; ``signature`` is of ``manifest.signed``."""
    if len(signature) != SIGNATURE_BYTES:
        raise WireError("signature", signature.hex(), allowed="64 bytes", fix="sign manifest.signed")
    text = manifest.canonical
    return b"".join([_LENGTH.pack(len(text)), text, signature, *seals])


def open_batch(data: bytes, key: bytes) -> Batch:
    """Return the batch behind a message; WireError unless the key signed it, and every byte is as it was signed.

    The signature is checked before the seals: without the key, nobody can cause more work than one verification.
    """
    manifest, start = open_manifest(data, key)
    size = manifest.size
    if len(data) - start != manifest.count * size:
        allowed = f"{manifest.count} seals of {size} bytes"
        raise WireError("seals", f"{len(data) - start} bytes", allowed=allowed, fix="send the batch whole; nothing of it was counted")
    if hashlib.sha256(memoryview(data)[start:]).digest() != manifest.items:
        raise WireError(
            "items", manifest.items.hex(), allowed="the SHA-256 of the seals", fix="send the batch unchanged; nothing of it was counted"
        )
    return Batch(manifest, tuple(data[at : at + size] for at in range(start, len(data), size)))


def open_manifest(data: bytes, key: bytes) -> tuple[Manifest, int]:
    """Return the manifest of a message that may be incomplete, and where its seals begin; WireError if it is not signed."""
    length = int.from_bytes(data[: _LENGTH.size], "little")
    start = _LENGTH.size + length + SIGNATURE_BYTES
    if not 0 < length <= LARGEST_MANIFEST or len(data) < start:
        allowed = f"a manifest of at most {LARGEST_MANIFEST} bytes and its signature"
        raise WireError("batch", f"{len(data)} bytes", allowed=allowed, fix="send the batch whole; nothing of it was counted")
    text, signature = bytes(data[_LENGTH.size : start - SIGNATURE_BYTES]), bytes(data[start - SIGNATURE_BYTES : start])
    if not verify(key, BATCH_CONTEXT + text, signature):
        raise WireError(
            "signature",
            signature.hex(),
            allowed="one by the task's last shuffler",
            fix="send the batch unchanged; nothing of it was counted",
        )
    return Manifest.from_json(text), start
