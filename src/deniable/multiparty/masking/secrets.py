"""The secrets of masking: keys from seeds, what two parties agree on, and masks that cancel.

A key is derived from a seed of 31 bytes, which is what is shared among neighbors (``shamir``). Two parties agree by X25519; what they agree
on becomes a mask for both, or a sealing key for each direction, by HKDF-SHA-256 with the sum, the two parties and the purpose in its info.
In hybrid sums what they agree on is of X25519 and of ML-KEM (``side``).
A mask is the AES-128 keystream in counter mode under a key that is used once.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from deniable.errors import ProtocolError
from deniable.kernels.compiled import Array
from deniable.multiparty.shamir import SHARE_BYTES

KEY_BYTES = 32
SEALED_BYTES = 2 * SHARE_BYTES + 16
CHUNK = 1 << 17
_ZEROS = memoryview(bytes(CHUNK))
_ONCE = bytes(12)
"""The nonce of a key that seals one message."""


def private_key(seed: bytes, purpose: bytes) -> X25519PrivateKey:
    """The key behind a seed, for "seal" or "mask"."""
    return X25519PrivateKey.from_private_bytes(derive(seed, b"key " + purpose, 32))


def public_bytes(seed: bytes, purpose: bytes) -> bytes:
    """Its public half."""
    return private_key(seed, purpose).public_key().public_bytes_raw()


def commitment(seed: bytes, sum_: bytes) -> bytes:
    """What pins a party to the seed of its own mask without showing it: seeds are 248 random bits."""
    return hashlib.sha256(b"deniable mask seed 1\n" + sum_ + seed).digest()


def agree(own: X25519PrivateKey, other: bytes) -> bytes:
    """What two parties share; ProtocolError for a public key of small order, with which everybody would share it."""
    try:
        return own.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError as error:
        raise ProtocolError("public key", other.hex()[:16], allowed="a point of large order", fix="leave this party out") from error


def check_order(key: bytes, party: int) -> None:
    """Refuse a party's public key of small order, naming the party: all who went on would stop at it."""
    try:
        agree(private_key(bytes(31), b"test"), key)  # a key that is nobody's: with such a point every one agrees on zeros
    except ProtocolError as error:
        raise ProtocolError("public key", f"of party {party}", allowed="a point of large order", fix="leave this party out") from error


def seal_shares(shared: bytes, sum_: bytes, sender: int, receiver: int, plain: bytes, *, beside: bytes = b"") -> bytes:
    """Two shares, sealed for one neighbor; the associated data is authenticated. The key seals this direction, and nothing else."""
    return AESGCM(_sealing_key(shared, sum_, sender, receiver)).encrypt(_ONCE, plain, beside)


def open_shares(shared: bytes, sum_: bytes, sender: int, receiver: int, sealed: bytes, *, beside: bytes = b"") -> tuple[bytes, bytes]:
    """Both shares; ProtocolError if they, or the associated data, are not from this sender, for this receiver and sum."""
    try:
        plain = AESGCM(_sealing_key(shared, sum_, sender, receiver)).decrypt(_ONCE, sealed, beside)
    except InvalidTag as error:
        raise ProtocolError("shares", f"from {sender}", allowed="what that party sealed for this one", fix="abort this sum") from error
    return plain[:SHARE_BYTES], plain[SHARE_BYTES:]


def pair_seed(shared: bytes, sum_: bytes, first: int, second: int) -> bytes:
    """Return the key of the mask that two parties share; both get the same one."""
    low, high = sorted((first, second))
    return derive(shared, b"mask" + sum_ + struct.pack("<II", low, high), 16)


def self_seed(seed: bytes, sum_: bytes) -> bytes:
    """The key of a party's own mask."""
    return derive(seed, b"self" + sum_, 16)


def add_mask(vector: Array, key: bytes, *, sign: int) -> None:
    """Add a mask to a vector of unsigned words, in place and modulo their size, or subtract it."""
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    words = CHUNK // vector.itemsize
    buffer = np.empty(min(words, len(vector)), dtype=vector.dtype)
    for start in range(0, len(vector), words):
        part = vector[start : start + words]
        mask = buffer[: len(part)]
        encryptor.update_into(_ZEROS[: mask.nbytes], mask.view(np.uint8).data)
        if sign > 0:
            part += mask
        else:
            part -= mask


def _sealing_key(shared: bytes, sum_: bytes, sender: int, receiver: int) -> bytes:
    return derive(shared, b"seal" + sum_ + struct.pack("<II", sender, receiver), 16)


def derive(secret: bytes, info: bytes, size: int) -> bytes:
    """HKDF-SHA-256: other bytes for every info."""
    return HKDF(algorithm=SHA256(), length=size, salt=b"deniable masking 1", info=info).derive(secret)
