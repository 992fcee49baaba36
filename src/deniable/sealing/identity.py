"""Identities: long-lived Ed25519 keys, kept as seeds of 32 bytes. Collectors, shufflers and parties of sums sign with them.

Devices verify with ``contract.ed25519``, which needs the standard library alone; ``verified`` here is twenty times as fast.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from deniable.contract.arguments import typed
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError

SEED_BYTES = 32


@typed
def new_identity(source: Source = SYSTEM) -> bytes:
    """Return a new secret seed."""
    return b"".join(word.to_bytes(8, "little") for word in source.words(SEED_BYTES // 8))


def public_key(seed: bytes) -> bytes:
    """Return the public key, 32 bytes, behind a seed.

    >>> public_key(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")).hex()
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
    """
    return _private(seed).public_key().public_bytes_raw()


@typed
def sign(seed: bytes, context: bytes, message: bytes) -> bytes:
    """Return the seed's signature, 64 bytes, of a message of one kind: the context keeps it from being taken for one of another kind."""
    return _private(seed).sign(context + message)


@typed
def verified(key: bytes, context: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether this is the key's signature of the message in a context, as ``sign`` made it."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, context + message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _private(seed: bytes) -> Ed25519PrivateKey:
    if not isinstance(seed, bytes) or len(seed) != SEED_BYTES:
        received = f"{len(seed)} bytes" if isinstance(seed, bytes) else type(seed).__name__  # never the secret itself
        raise ParameterError("seed", received, allowed=f"{SEED_BYTES} bytes", fix="restore it from a backup, or create a new identity")
    return Ed25519PrivateKey.from_private_bytes(seed)
