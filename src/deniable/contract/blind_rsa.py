r"""Blind RSA signatures (RFC 9474), the half of whoever wants one: a signature on a message that its signer never sees.

The message is encoded as for RSA-PSS and multiplied by r^e for a random r. The signer raises the product to its secret d; dividing by r
leaves the signature of the message. To the signer every r is as likely as any other, so what it signed fits every message that ever
shows up: no computing power connects the two. What comes out is an ordinary RSA-PSS signature, which any library verifies.

The variant is RSABSSA-SHA384-PSS-Deterministic: SHA-384, MGF1, a salt of 48 random bytes, and messages that are signed as they are. The
randomized variant puts 32 random bytes before a message, for messages that somebody could guess; a token's message has 32 of its own.

Keys are moduli as bytes, most significant first; the exponent is 65537. Python's integers do not take constant time: r is used once, on
the device that drew it, and forgotten with the task. Nothing here signs.
"""

from __future__ import annotations

import hashlib
from math import gcd
from typing import NamedTuple

from deniable.contract.source import Source
from deniable.errors import WireError

EXPONENT = 65537
HASH_BYTES = SALT_BYTES = 48
_TRAILER = b"\xbc"


class Blinded(NamedTuple):
    """What the signer gets, and what turns its answer into a signature."""

    message: bytes
    inverse: bytes


def blind(modulus: bytes, message: bytes, source: Source) -> Blinded:
    """Hide a message from the signer with this key. Draws 6 words for the salt, then as many for r as the key is long, until one fits."""
    salt = draw_bytes(source, SALT_BYTES)
    n = int.from_bytes(modulus, "big")
    while True:
        r = int.from_bytes(draw_bytes(source, len(modulus)), "big")
        if 0 < r < n and gcd(r, n) == 1:
            return blind_with(modulus, message, salt, r)


def blind_with(modulus: bytes, message: bytes, salt: bytes, r: int) -> Blinded:
    """Hide a message with a salt and a factor that were drawn before."""
    n = int.from_bytes(modulus, "big")
    encoded = int.from_bytes(encode(message, salt, n.bit_length()), "big")
    product = encoded * pow(r, EXPONENT, n) % n
    return Blinded(product.to_bytes(len(modulus), "big"), pow(r, -1, n).to_bytes(len(modulus), "big"))


def finalize(modulus: bytes, message: bytes, answer: bytes, inverse: bytes) -> bytes:
    """The signature of the message, from what the signer answered; WireError if it did not sign."""
    n = int.from_bytes(modulus, "big")
    signature = (int.from_bytes(answer, "big") * int.from_bytes(inverse, "big") % n).to_bytes(len(modulus), "big")
    if len(answer) != len(modulus) or not verify(modulus, message, signature):
        raise WireError("signature", answer.hex(), allowed="a signature by the task's issuer", fix="do not trust this collector")
    return signature


def verify(modulus: bytes, message: bytes, signature: bytes) -> bool:
    """Whether this is an RSA-PSS signature of the message: SHA-384, MGF1, a salt of 48 bytes."""
    n, number = int.from_bytes(modulus, "big"), int.from_bytes(signature, "big")
    if len(signature) != len(modulus) or number >= n:
        return False
    size = (n.bit_length() + 6) // 8
    opened = pow(number, EXPONENT, n)
    if opened.bit_length() > 8 * size:
        return False
    encoded = opened.to_bytes(size, "big")
    masked, digest = encoded[: -HASH_BYTES - 1], encoded[-HASH_BYTES - 1 : -1]
    salt = _xor(masked, _mask(digest, len(masked)))[-SALT_BYTES:]
    return encode(message, salt, n.bit_length()) == encoded  # there is one encoding for each salt, so this checks all of it


def encode(message: bytes, salt: bytes, bits: int) -> bytes:
    """EMSA-PSS (RFC 8017, section 9.1.1) for a key of so many bits."""
    size = (bits + 6) // 8  # one bit less than the key has
    digest = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = b"\x01" + salt
    block = bytes(size - HASH_BYTES - 1 - len(block)) + block
    masked = bytearray(_xor(block, _mask(digest, len(block))))
    masked[0] &= 0xFF >> (8 * size - (bits - 1))
    return bytes(masked) + digest + _TRAILER


def draw_bytes(source: Source, count: int) -> bytes:
    """So many bytes, a multiple of 8, from words that are written most significant byte first."""
    return b"".join(word.to_bytes(8, "big") for word in source.words(count // 8))


def _mask(seed: bytes, size: int) -> bytes:
    """MGF1 with SHA-384."""
    blocks = range(-(-size // HASH_BYTES))
    return b"".join(hashlib.sha384(seed + i.to_bytes(4, "big")).digest() for i in blocks)[:size]


def _xor(first: bytes, second: bytes) -> bytes:
    return (int.from_bytes(first, "big") ^ int.from_bytes(second, "big")).to_bytes(len(first), "big")
