"""Signing with the collector's Ed25519 key, which is kept as its seed of 32 bytes."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError

SEED_BYTES = 32


def new_seed(source: Source = SYSTEM) -> bytes:
    """A new secret key."""
    return b"".join(word.to_bytes(8, "little") for word in source.words(SEED_BYTES // 8))


def public_key(seed: bytes) -> bytes:
    """The public key, 32 bytes, behind a seed.

    >>> public_key(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")).hex()
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
    """
    return _private(seed).public_key().public_bytes_raw()


def sign(seed: bytes, context: bytes, message: bytes) -> bytes:
    """The signature, 64 bytes, of a message of one kind: the context keeps it from being taken for one of another kind."""
    return _private(seed).sign(context + message)


def _private(seed: bytes) -> Ed25519PrivateKey:
    if not isinstance(seed, bytes) or len(seed) != SEED_BYTES:
        received = f"{len(seed)} bytes" if isinstance(seed, bytes) else type(seed).__name__  # never the secret itself
        raise ParameterError("seed", received, allowed=f"{SEED_BYTES} bytes", fix="the store keeps it; restore the store from a backup")
    return Ed25519PrivateKey.from_private_bytes(seed)
