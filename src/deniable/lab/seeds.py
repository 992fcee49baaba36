r"""The gain of attackers who choose their own hash function, and of those who cannot.

A report of local hashing supports all values on its symbol. Who lifts r values and may choose the seed puts all of them on one symbol. Who
is assigned a seed can only choose the fullest of the g symbols, and who draws t seeds and keeps the best, the fullest of t g. With K the
number of targets there, a share b of such reports lifts the targets' frequencies by b ((K - r q) / (p - q) - f), as in ``attacks``::

    P(K <= m) = (r! [x^r] (1 + x + ... + x^m / m!)^g / g^r)^t            targets that are hashed independently, all of them
    E[K] <= sqrt(r + r (r - 1) c)                    t = 1; any targets: c, the chance that two meet, is all that the family decides

The second is Jensen's inequality on the sum of the squares of all symbols' loads, and holds for every set of targets; the first is near for
targets without a pattern. Neighbors do better for attackers who search (one seed in 36 puts ten of them on one of four symbols) and worse
on average.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import factorial, sqrt

import numpy as np

from deniable.client.hashed import HashedResponse
from deniable.client.olh import OLH
from deniable.contract.source import Source
from deniable.core.reports import Reports
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array


@lru_cache(maxsize=64)
def fullest_law(targets: int, symbols: int) -> tuple[Fraction, ...]:
    """P(K <= m) for m from 0 to the number of targets: the load of the fullest symbol under one seed.

    >>> [str(chance) for chance in fullest_law(2, 4)]
    ['0', '3/4', '1']
    """
    law = []
    for most in range(targets + 1):
        powers = [Fraction(1)] + [Fraction(0)] * targets
        for _ in range(symbols):
            powers = [sum((powers[i - j] / factorial(j) for j in range(min(most, i) + 1)), Fraction(0)) for i in range(targets + 1)]
        law.append(powers[targets] * factorial(targets) / Fraction(symbols) ** targets)
    return tuple(law)


def expected_fullest(targets: int, symbols: int, tries: int = 1) -> float:
    """E[K], the best of so many seeds.

    >>> [round(expected_fullest(10, 4, tries), 2) for tries in (1, 1024, 65536, 1 << 24)]
    [4.2, 7.94, 9.22, 10.0]
    """
    return float(targets - sum(float(chance) ** tries for chance in fullest_law(targets, symbols)[:-1]))


def fullest_bound(spec: HashedResponse, targets: int) -> float:
    """What E[K] is at most under one seed, whichever values are the targets."""
    return sqrt(targets + targets * (targets - 1) * float(spec.family.collision))


def seed_gain(spec: HashedResponse, *, targets: int, liars: float, supported: float, held: float = 0.0) -> float:
    """Return what false reports that support so many of the targets on average add to the targets' frequencies."""
    return liars * ((supported - targets * float(spec.q)) / float(spec.p - spec.q) - held)


def craft_searched(spec: OLH, targets: Array, count: int, source: Source, tries: int = 1) -> Reports:
    """Return false reports, each under the best of ``tries`` random seeds; with one try it is as if the seed was assigned."""
    if spec.seed_words != 2 or type(tries) is not int or tries < 1:
        raise ParameterError(
            "spec, tries", (repr(spec), tries), allowed="keys of up to 32 bits, one try or more", fix="attack a smaller domain"
        )
    made_up, keys = Reports.empty(spec, count), targets.astype(np.uint64)
    best = np.zeros(count, dtype=np.int64)
    for _ in range(tries):
        seeds = draw_words(2 * count, source).reshape(count, 2)
        spread = (seeds[:, :1] * keys + seeds[:, 1:]) >> np.uint64(32)
        symbols = spread * np.uint64(spec.hash_range) >> np.uint64(32)
        loads = (symbols[:, :, None] == symbols[:, None, :]).sum(axis=2)  # of each target's own symbol
        fullest = loads.argmax(axis=1)
        found = np.take_along_axis(loads, fullest[:, None], axis=1).ravel()
        better = found > best
        best[better] = found[better]
        made_up.columns["seed"][better] = seeds[better]
        made_up.columns["symbol"][better] = np.take_along_axis(symbols, fullest[:, None], axis=1).ravel()[better]
    return made_up


def draw_words(count: int, source: Source) -> Array:
    """So many words of a source."""
    words = np.empty(count, dtype=np.uint64)
    if source.fill(words.data) < count:
        raise ParameterError("source", "too few words", allowed=f"{count} words", fix="use a stream from a key")
    return words
