"""Shamir's secret sharing over the integers modulo 2^255 - 19: any t of k shares give the secret; t - 1 reveal nothing.

The secret is the value at 0 of a random polynomial of degree t - 1, share i its value at i. Written by hand because the packages for it are
old, or slower by two orders of magnitude. Not in constant time: no claim against an attacker who watches the machine.

Cost: t multiplications for each share (0.7 ms for 50 of 100); t^2 for the weights of a set of shares, once, then t for each secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError

PRIME = 2**255 - 19
SECRET_BYTES = 31
"""Secrets have so many bytes, so that each is below the prime; keys are derived from them."""
SHARE_BYTES = 32
MOST_SHARES = 1 << 16


def share_secret(secret: bytes, *, threshold: int, places: Sequence[int], source: Source = SYSTEM) -> dict[int, bytes]:
    """A share of the secret for each place, which is a number from 1 on.

    >>> shares = share_secret(b"s" * 31, threshold=2, places=[1, 2, 3])
    >>> recover_secret({place: shares[place] for place in (1, 3)})
    b'sssssssssssssssssssssssssssssss'
    """
    if not isinstance(secret, bytes) or len(secret) != SECRET_BYTES:
        received = f"{len(secret)} bytes" if isinstance(secret, bytes) else type(secret).__name__  # never the secret itself
        raise ParameterError("secret", received, allowed=f"{SECRET_BYTES} bytes", fix="share a seed and derive keys from it")
    _check_places(places)
    if type(threshold) is not int or not 1 <= threshold <= len(places):
        raise ParameterError(
            "threshold", threshold, allowed=f"an integer from 1 to {len(places)}", fix="choose a threshold of at most the number of shares"
        )
    coefficients = [_draw(source) for _ in range(threshold - 1)]
    constant = int.from_bytes(secret, "big")
    found = {}
    for place in places:
        value = 0
        for coefficient in coefficients:
            value = (value + coefficient) * place % PRIME
        found[place] = ((value + constant) % PRIME).to_bytes(SHARE_BYTES, "big")
    return found


def weights_at_zero(places: Sequence[int]) -> list[int]:
    """What each share counts for in the secret, for shares at just these places (Lagrange); one inversion for all of them."""
    _check_places(places)
    above, below = [], []
    for place in places:
        top = bottom = 1
        for other in places:
            if other != place:
                top, bottom = top * other % PRIME, bottom * (other - place) % PRIME
        above.append(top)
        below.append(bottom)
    return [top * inverse % PRIME for top, inverse in zip(above, _inverses(below), strict=True)]


def recover_secret(shares: Mapping[int, bytes], weights: Sequence[int] | None = None) -> bytes:
    """The secret behind the shares at their places; ``weights`` are those of the same places in the same order, where they are known.

    With fewer shares than the threshold, or with one that is wrong, what comes out is not the secret, and most likely none at all:
    ParameterError then. To be sure, check what was recovered against a public key.
    """
    weights = weights_at_zero(list(shares)) if weights is None else weights
    numbers = [int.from_bytes(share, "big") for share in shares.values()]
    if any(len(share) != SHARE_BYTES for share in shares.values()) or any(number >= PRIME for number in numbers):
        raise ParameterError("shares", "not a share", allowed=f"{SHARE_BYTES} bytes below the prime", fix="ask for the shares again")
    secret = sum(weight * number for weight, number in zip(weights, numbers, strict=True)) % PRIME
    if secret >> 8 * SECRET_BYTES:
        allowed = "shares of one secret, as many as its threshold"
        raise ParameterError(
            "shares", f"{len(shares)} of them", allowed=allowed, fix="collect the missing shares, and check that none was altered"
        )
    return secret.to_bytes(SECRET_BYTES, "big")


def _check_places(places: Sequence[int]) -> None:
    good = 1 <= len(places) == len(set(places)) <= MOST_SHARES and all(type(place) is int and 1 <= place <= MOST_SHARES for place in places)
    if not good:
        raise ParameterError(
            "places",
            list(places)[:5],
            allowed=f"different numbers from 1 to {MOST_SHARES}",
            fix="choose places from 1 on: 0 is the secret's own place",
        )


def _draw(source: Source) -> int:
    """Uniform below the prime: 255 bits, once more in the one case of 2^251 that they are not below it."""
    while True:
        number = int.from_bytes(draw_bytes(source, 32), "big") >> 1
        if number < PRIME:
            return number


def _inverses(numbers: Sequence[int]) -> list[int]:
    """All inverses by a single one: of the product, from which each is taken out (Montgomery)."""
    products = [1]
    for number in numbers:
        products.append(products[-1] * number % PRIME)
    inverse, found = pow(products[-1], -1, PRIME), []
    for before, number in zip(reversed(products[:-1]), reversed(numbers), strict=True):
        found.append(inverse * before % PRIME)
        inverse = inverse * number % PRIME
    return found[::-1]
