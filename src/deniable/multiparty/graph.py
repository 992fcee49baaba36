"""The neighbors of each party in a masked sum: a random regular graph of parties, with as few neighbors as security and dropouts allow.

Parties stand on a circle in random order, and each is joined to the k/2 before and the k/2 behind it (a Harary graph). A secret is shared
among a party's k neighbors, t of whom can recover it. With n parties, C of them corrupt and D lost, three things must not happen:

    somewhere t corrupt neighbors      n P[Hypergeometric(n - 1, C, k) >= t]              <= 2^-40    they could unmask a party
    somewhere too few survivors        n P[Hypergeometric(n - 1, n - 1 - D, k) < t]       <= 2^-20    the sum could not be recovered
    a cut circle                       n (corrupt + lost)^(k / 2)                         <= 2^-40    sums of a part would be seen

Where all are neighbors, 2 t is more than k and the corrupt ones together: corrupt ones show both secrets of a party, honest ones either, so
that no two groups of neighbors who receive different messages recover both.

The chances are those of a graph among all n parties. It is drawn among those who begin: if all D are lost before, t corrupt neighbors are
somewhat likelier (2^-37 instead of 2^-41 for 1,000 parties and tenths, 2^-27 instead of 2^-42 for fifths). Choose a larger ``lost`` if many
never begin.

Union bounds, not the sharper ones of the paper. Where not even all n - 1 others suffice, there is no such graph, and that is said.

References: Bell, Bonawitz, Gascon, Lepoint, Raykova 2020 (SecAgg+); Harary 1962.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, log2
from typing import NamedTuple

import scipy

from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError

SECURITY, CORRECTNESS = 40, 20
"""Bits: the chances of the three are at most two to the power of minus these."""


class Degree(NamedTuple):
    """So many neighbors, of whom so many recover a secret."""

    neighbors: int
    threshold: int


def degree(parties: int, *, corrupt: float | Fraction, lost: float | Fraction, complete: bool = False) -> Degree:
    """The smallest even number of neighbors that keeps all three chances, and the smallest threshold with it.

    ``corrupt`` and ``lost`` are the largest shares of parties who may collude and who may drop out. ``complete`` joins everybody with
    everybody.

    >>> degree(1000, corrupt=0.1, lost=0.1)
    Degree(neighbors=46, threshold=26)
    """
    for parameter, share in (("corrupt", corrupt), ("lost", lost)):
        if isinstance(share, bool) or not isinstance(share, int | float | Fraction) or not 0 <= share < 1:
            raise ParameterError(parameter, share, allowed="a share from 0 on, below 1", fix="write 0.1, say")
    if type(parties) is not int or not 2 <= parties <= 1 << 20:
        raise ParameterError("parties", parties, allowed="an integer from 2 to 2^20", fix="add parties: a sum needs at least two")
    bad, gone = floor(corrupt * parties), floor(lost * parties)
    log_n = log2(parties)
    for neighbors in range(2, parties - 1 if not complete else 2, 2):
        cut = log_n + neighbors / 2 * log2(corrupt + lost) if corrupt + lost else -float("inf")
        if cut > -SECURITY:
            continue
        threshold = max(_smallest_threshold(parties, bad, neighbors, log_n), neighbors // 2 + 1)
        if _too_few(parties, gone, neighbors, threshold) * parties <= 2.0**-CORRECTNESS:
            return Degree(neighbors, threshold)
    return _everybody(parties, bad, gone)


def neighbors_of(parties: int, neighbors: int, source: Source = SYSTEM) -> list[list[int]]:
    """The neighbors of each party, in a random order of all; everybody with everybody if ``neighbors`` is one less than the parties."""
    if neighbors == parties - 1:
        return [[other for other in range(parties) if other != party] for party in range(parties)]
    if neighbors % 2 or not 2 <= neighbors < parties:
        allowed = f"an even number from 2 to {parties - 1}, or {parties - 1}"
        raise ParameterError("neighbors", neighbors, allowed=allowed, fix="choose an even number: half of the neighbors are on either side")
    order = list(range(parties))
    for last in range(parties - 1, 0, -1):
        other = source.below(last + 1)
        order[last], order[other] = order[other], order[last]
    found: list[list[int]] = [[] for _ in range(parties)]
    for place, party in enumerate(order):
        found[party] = sorted(order[(place + step) % parties] for step in range(-neighbors // 2, neighbors // 2 + 1) if step)
    return found


def _everybody(parties: int, bad: int, gone: int) -> Degree:
    """All others are neighbors: nothing is left to chance, and the threshold lies between those who collude and those who stay."""
    threshold, staying = (parties - 1 + bad) // 2 + 1, parties - 1 - gone
    if threshold > staying:
        allowed = "fewer corrupt and lost parties than there are in all"
        raise ParameterError(
            "corrupt, lost", (bad, gone), allowed=allowed, fix=f"lower corrupt or lost: {bad} and {gone} of {parties} leave too few"
        )
    return Degree(parties - 1, (threshold + staying + 1) // 2)


def _smallest_threshold(parties: int, bad: int, neighbors: int, log_n: float) -> int:
    """The smallest t such that t corrupt neighbors are nowhere, but for 2^-40."""
    low, high = 1, neighbors + 1
    while low < high:
        middle = (low + high) // 2
        if scipy.stats.hypergeom.sf(middle - 1, parties - 1, bad, neighbors) * 2.0**log_n <= 2.0**-SECURITY:
            high = middle
        else:
            low = middle + 1
    return low


def _too_few(parties: int, gone: int, neighbors: int, threshold: int) -> float:
    return float(scipy.stats.hypergeom.cdf(threshold - 1, parties - 1, parties - 1 - gone, neighbors))
