"""A party's Ed25519 identity: what it signs with, kept as a seed of 32 bytes."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError

SEED_BYTES = 32


def new_identity(source: Source = SYSTEM) -> bytes:
    """A new seed."""
    return draw_bytes(source, SEED_BYTES)


def public_key(seed: bytes) -> bytes:
    """The public key, 32 bytes, behind a seed."""
    return _private(seed).public_key().public_bytes_raw()


def sign(seed: bytes, message: bytes) -> bytes:
    """The signature of a message, 64 bytes."""
    return _private(seed).sign(message)


def verified(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether this is the key's signature of the message."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _private(seed: bytes) -> Ed25519PrivateKey:
    if not isinstance(seed, bytes) or len(seed) != SEED_BYTES:
        received = f"{len(seed)} bytes" if isinstance(seed, bytes) else type(seed).__name__  # never the secret itself
        raise ParameterError("identity", received, allowed=f"{SEED_BYTES} bytes", fix="make one with new_identity()")
    return Ed25519PrivateKey.from_private_bytes(seed)
