"""The group of a stream: points of prime order on the curve of Ed25519, by libsodium, and the small logarithms that a sum needs.

libsodium refuses the neutral point and the zero scalar, which are ordinary here: the point stands as None. Points that come from outside
must be of the large prime order; the curve's cofactor is 8.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from nacl import bindings
from nacl.exceptions import RuntimeError as SodiumError

from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.ed25519 import ORDER
from deniable.contract.source import Source
from deniable.errors import DomainError, WireError

Point = bytes | None
"""32 bytes, or None for the neutral point."""
POINT_BYTES = 32
NEUTRAL = (1).to_bytes(32, "little")
"""How the neutral point is written."""


def random_scalar(source: Source) -> int:
    """Uniform below the order, but for one part in 2^250: 64 random bytes, reduced."""
    return int.from_bytes(draw_bytes(source, 64), "little") % ORDER


def hash_to_point(data: bytes) -> bytes:
    """A point whose logarithm nobody knows (Elligator 2 on SHA-512's first half)."""
    return bindings.crypto_core_ed25519_from_uniform(hashlib.sha512(b"deniable stream 1\n" + data).digest()[:32])


def times(scalar: int, point: Point) -> Point:
    """A multiple of a point."""
    scalar %= ORDER
    if not scalar or point is None:
        return None
    return bindings.crypto_scalarmult_ed25519_noclamp(scalar.to_bytes(32, "little"), point)


def times_base(scalar: int) -> Point:
    """A multiple of the base point."""
    scalar %= ORDER
    return bindings.crypto_scalarmult_ed25519_base_noclamp(scalar.to_bytes(32, "little")) if scalar else None


def add(first: Point, second: Point) -> Point:
    """The sum of two points."""
    if first is None or second is None:
        return second if first is None else first
    total = bindings.crypto_core_ed25519_add(first, second)
    return None if total == NEUTRAL else total


def write(point: Point) -> bytes:
    """A point as 32 bytes."""
    return NEUTRAL if point is None else point


def read(data: bytes) -> Point:
    """A point of the right order; WireError for anything else."""
    if data == NEUTRAL:
        return None
    try:
        good = len(data) == POINT_BYTES and bindings.crypto_core_ed25519_is_valid_point(data)
    except (SodiumError, TypeError, ValueError):
        good = False
    if not good:
        raise WireError("point", data.hex()[:16], allowed="a point of prime order on the curve", fix="do not trust its sender")
    return data


def small_logarithm(point: Point, largest: int) -> int:
    """The x from -largest to largest with point = x times the base; DomainError if there is none (baby steps and giant steps)."""
    baby = _baby_steps(max(1, round((2 * largest + 1) ** 0.5)))
    size = len(baby)
    shifted, giant = add(point, times_base(largest)), times_base(-size)  # from 0 to 2 largest now
    for step in range(2 * largest // size + 1):
        if (found := baby.get(write(shifted))) is not None and step * size + found <= 2 * largest:
            return step * size + found - largest
        shifted = add(shifted, giant)
    raise DomainError(
        "sum", "beyond its bound", allowed=f"from {-largest} to {largest}", fix="begin the next period: a party exceeded its bound"
    )


@lru_cache(maxsize=4)
def _baby_steps(size: int) -> dict[bytes, int]:
    table, point, base = {}, None, times_base(1)
    for step in range(size):
        table[write(point)] = step
        point = add(point, base)
    return table
