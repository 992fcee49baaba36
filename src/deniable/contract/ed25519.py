r"""Ed25519 signatures, verified: that a task or a round is what the holder of a key signed (RFC 8032).

The curve is -x^2 + y^2 = 1 + d x^2 y^2 over the integers modulo p = 2^255 - 19. A signature is a point R and a number s; it is right if
s B = R + k A for the base point B, the key A and k = SHA-512(R, A, message). Strict, so that a message has one signature and not several:
s must be below the order of B, points must be spelled canonically, and neither A nor R may be of small order, for which a signature
says nothing. The equation is the one without the cofactor, as most libraries check it.

Only verification, and only of public data: nothing here takes constant time, and there is nothing here to sign with. About 2 ms; the
verdict is kept, so that many reporters in one process verify once.

>>> key = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
>>> signature = bytes.fromhex(
...     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
...     "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
... )
>>> verify(key, b"", signature), verify(key, b"another message", signature)
(True, False)
"""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache

TASK_CONTEXT = b"deniable task 1\n"
"""What stands before a task's canonical JSON when it is signed, so that no signature can be taken for one of another kind."""
ROUND_CONTEXT = b"deniable round 1\n"
"""What stands before an opened round's canonical JSON when it is signed."""

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
"""The order of the base point."""
_D = -121665 * pow(121666, -1, P) % P
_ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)

Point = tuple[int, int, int, int]
"""Extended coordinates: X, Y, Z, T for x = X / Z, y = Y / Z and x y = T / Z (Hisil, Wong, Carter, Dawson 2008)."""
_NEUTRAL: Point = (0, 1, 1, 0)


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether this is a signature of the message under the key."""
    if len(key) != 32 or len(signature) != 64:
        return False
    return _verify(bytes(key), hashlib.sha512(signature[:32] + key + message).digest(), bytes(signature))


@lru_cache(maxsize=1024)
def _verify(key: bytes, challenge: bytes, signature: bytes) -> bool:
    """Return the verdict; the message enters through its digest alone."""
    point = _decode(key)
    s = int.from_bytes(signature[32:], "little")
    if point is None or _is_small(point) or s >= ORDER:
        return False
    x, y, z, t = point
    k = int.from_bytes(challenge, "little") % ORDER
    expected = _combine(s, k, (P - x, y, z, P - t))  # s B - k A
    return _encode(expected) == signature[:32] and not _is_small(expected)  # a spelling that is not canonical equals no encoding


def _combine(first: int, second: int, point: Point) -> Point:
    """First times the base point plus second times another, two bits of both at a time (Straus 1964)."""
    rows = [_multiples_of_base()]
    for _ in range(3):
        rows.append([_add(entry, point) for entry in rows[-1]])
    result = _NEUTRAL
    for shift in range(252, -1, -2):
        result = _double(_double(result))
        i, j = first >> shift & 3, second >> shift & 3
        if i or j:
            result = _add(result, rows[j][i])
    return result


@cache
def _multiples_of_base() -> list[Point]:
    base = _decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))  # y = 4/5 and the even x, as RFC 8032 has it
    assert base is not None  # noqa: S101  # a constant of the curve
    twice = _double(base)
    return [_NEUTRAL, base, twice, _add(twice, base)]


def _add(first: Point, second: Point) -> Point:
    """Return the sum of any two points: the law is complete, since d is no square."""
    x1, y1, z1, t1 = first
    x2, y2, z2, t2 = second
    a = (y1 - x1) * (y2 - x2) % P
    b = (y1 + x1) * (y2 + x2) % P
    c = 2 * t1 * t2 * _D % P
    d = 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _double(point: Point) -> Point:
    x, y, z, _ = point
    a = x * x % P
    b = y * y % P
    h = a + b
    e = h - (x + y) * (x + y) % P
    g = a - b
    f = 2 * z * z % P + g
    return e * f % P, g * h % P, f * g % P, e * h % P


def _is_small(point: Point) -> bool:
    """Return whether the point's order divides the cofactor 8: then a key proves nothing."""
    x, y, z, _ = _double(_double(_double(point)))
    return x == 0 and y == z


def _encode(point: Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    return (y * inverse % P | (x * inverse % P & 1) << 255).to_bytes(32, "little")


def _decode(data: bytes) -> Point | None:
    """Return the point behind 32 bytes; None if there is none, or if they are not its one canonical spelling."""
    number = int.from_bytes(data, "little")
    y, odd = number & (1 << 255) - 1, number >> 255
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (_D * y * y + 1) % P  # x^2 = u / v, and v is never 0
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if (v * x * x - u) % P:
        x = x * _ROOT_OF_MINUS_ONE % P
    if (v * x * x - u) % P or (x == 0 and odd):
        return None
    if x & 1 != odd:
        x = P - x
    return x, y, 1, x * y % P
