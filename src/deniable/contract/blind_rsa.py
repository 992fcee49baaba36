r"""Blind RSA signatures (RFC 9474), the client's half: get a signature on a message that the signer never sees.

The message is encoded as for RSA-PSS and multiplied by r^e for a random r. The signer raises the product to its secret d; dividing by r
leaves the signature of the message. To the signer every r is as likely as any other, so what it signed fits every message that ever
shows up: no computing power connects the two. What comes out is an ordinary RSA-PSS signature, which any library verifies.

That holds for every modulus, however a malicious signer chose it (``docs/theory/tokens.md``), for two reasons. The encoded message and r
are coprime to the modulus: otherwise a prime that divides both marks what was signed and the signature alike. And ``finalize`` accepts an
answer only if its e-th power is what the signer was shown. It also refuses a blinded message that is not coprime to the modulus, which a
release before this rule may have left in a ledger. Devices also refuse moduli with small factors (``small_factor``): nobody needs
one, and anyone could factor it and forge tokens.

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
SMALLEST_FACTOR = 1 << 16
"""Devices refuse a modulus with a prime factor below this. Looking for one takes about 15 milliseconds."""
_TRAILER = b"\xbc"


class Blinded(NamedTuple):
    """What the signer gets, and what turns its answer into a signature."""

    message: bytes
    inverse: bytes


def blind(modulus: bytes, message: bytes, source: Source) -> Blinded:
    """Hide a message from the signer with this key.

    Draws 6 words for the salt until the encoded message is coprime to the modulus, then as many for r as the key is long, until one fits.
    """
    n = int.from_bytes(modulus, "big")
    salt = draw_bytes(source, SALT_BYTES)
    while gcd(int.from_bytes(encode(message, salt, n.bit_length()), "big"), n) != 1:
        salt = draw_bytes(source, SALT_BYTES)
    while True:
        r = int.from_bytes(draw_bytes(source, len(modulus)), "big")
        if 0 < r < n and gcd(r, n) == 1:
            return blind_with(modulus, message, salt, r)


def blind_with(modulus: bytes, message: bytes, salt: bytes, r: int) -> Blinded:
    """Hide a message with a salt and a factor that were drawn before; ``blind`` draws those that hide it."""
    n = int.from_bytes(modulus, "big")
    encoded = int.from_bytes(encode(message, salt, n.bit_length()), "big")
    product = encoded * pow(r, EXPONENT, n) % n
    return Blinded(product.to_bytes(len(modulus), "big"), pow(r, -1, n).to_bytes(len(modulus), "big"))


def finalize(modulus: bytes, message: bytes, answer: bytes, blinded: Blinded) -> bytes:
    """Return the signature of the message, given the signer's answer.

    WireError unless the answer signs exactly what was blinded, and that is coprime to the modulus.
    """
    n, number, shown = (int.from_bytes(part, "big") for part in (modulus, answer, blinded.message))
    if gcd(shown, n) != 1:
        allowed, fix = "a message coprime to it", "do not trust this collector: its key can reveal which report is yours"
        raise WireError("blinded message", "a factor in common with the issuer's modulus", allowed=allowed, fix=fix)
    signature = (number * int.from_bytes(blinded.inverse, "big") % n).to_bytes(len(modulus), "big")
    signed = len(answer) == len(modulus) and pow(number, EXPONENT, n) == shown
    if not signed or not verify(modulus, message, signature):
        raise WireError("signature", answer.hex(), allowed="a signature by the task's issuer", fix="do not trust this collector")
    return signature


def verify(modulus: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether this is an RSA-PSS signature of the message: SHA-384, MGF1, a salt of 48 bytes."""
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


def small_factor(modulus: bytes) -> int | None:
    """Return the smallest factor of the modulus below ``SMALLEST_FACTOR``; None if it has none.

    >>> small_factor(bytes([3 * 5])), small_factor((65_537 * 65_539).to_bytes(5, "big"))
    (3, None)
    """
    n = int.from_bytes(modulus, "big")
    return next((factor for factor in (2, *range(3, SMALLEST_FACTOR, 2)) if n % factor == 0), None)


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
    """Return so many bytes, a multiple of 8, from words that are written most significant byte first."""
    return b"".join(word.to_bytes(8, "big") for word in source.words(count // 8))


def _mask(seed: bytes, size: int) -> bytes:
    """MGF1 with SHA-384."""
    blocks = range(-(-size // HASH_BYTES))
    return b"".join(hashlib.sha384(seed + i.to_bytes(4, "big")).digest() for i in blocks)[:size]


def _xor(first: bytes, second: bytes) -> bytes:
    return (int.from_bytes(first, "big") ^ int.from_bytes(second, "big")).to_bytes(len(first), "big")
