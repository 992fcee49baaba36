"""Arithmetic modulo a prime below 2^32."""

from __future__ import annotations

from typing import Any

from deniable.kernels.compiled import inlined


@inlined
def inverse(number: Any, modulus: Any) -> Any:
    """What the number must be multiplied by to give 1, by Euclid's algorithm. Signed 64-bit integers."""
    last, rest, before, now = modulus, number, 0, 1
    while rest != 0:
        quotient = last // rest
        last, rest = rest, last - quotient * rest
        before, now = now, before - quotient * now
    return before + modulus if before < 0 else before
