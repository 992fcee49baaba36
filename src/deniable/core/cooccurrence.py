"""Bits that are set together: honest reports have no two that are, beyond what each of them explains.

Given the true value, the bits of unary encoding are independent, and at most one of two bits has not the mean q. So (b_i - q) (b_j - q) has
mean zero for everybody, whatever they hold; for subset selection, where one member leaves less room for another, it is below zero. Reports
that were made up to lift several values at once show in the sum of this product over all reports, by Bernstein's inequality::

    P(sum >= t) <= exp(-t^2 / (2 (n v + t / 3)))          v: the largest second moment of one report's product

for each pair of bits, times the number of all pairs. Only the bits that most reports set are looked at: lifting those is what an attack
is for, and since all pairs are paid for, choosing by looking costs no validity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deniable.client.pure import PureProtocol
from deniable.contract.law import PairLaw
from deniable.core.reports import Reports
from deniable.kernels.bits import column_sums
from deniable.kernels.compiled import Array

LOOKED_AT = 256
"""So many bits are paired with each other."""
_TOGETHER = 1 << 15


class Pair(NamedTuple):
    """Two bits, how many reports have both, how many would at most on average, and the chance of as many by honest people."""

    first: int
    second: int
    seen: float
    expected: float
    p_value: float


def strongest_pair(reports: Reports) -> Pair | None:
    """The two bits that come together most beyond their own frequencies; None where reports have no bits to compare."""
    spec, n = reports.spec, reports.n
    if not isinstance(spec, PureProtocol) or not spec.layout[0].packed or spec.domain_size < 3:
        return None
    pair = spec.pair_law
    if pair is None or pair.neither is None:
        return None
    rows, size, q = reports.columns[spec.layout[0].name], spec.domain_size, float(spec.q)
    sums = np.zeros(8 * rows.shape[1], dtype=np.int64)
    column_sums(rows, np.empty((8, rows.shape[1]), dtype=np.uint8), sums)
    chosen = np.sort(np.argsort(-sums[:size], kind="stable")[:LOOKED_AT])
    both = _together(rows, chosen)
    single = sums[chosen]
    expected = q * (single[:, None] + single[None, :]) - n * q**2
    excess = np.triu(both - expected, 1)
    i, j = np.unravel_index(int(excess.argmax()), excess.shape)
    t = max(float(excess[i, j]), 0.0)
    p_value = np.exp(-(t**2) / (2 * (n * _moment(spec, pair) + t / 3))) * size * (size - 1) / 2
    return Pair(int(chosen[i]), int(chosen[j]), float(both[i, j]), float(expected[i, j]), min(1.0, float(p_value)))


def _moment(spec: PureProtocol, pair: PairLaw) -> float:
    """The largest second moment of (b_i - q) (b_j - q), over people who hold neither value, and those who hold i."""
    p, q = float(spec.p), float(spec.q)
    on, off = (1 - q) ** 2, q**2
    laws = (q, float(pair.neither or 0)), (p, float(pair.one))
    return max(both * on**2 + (own + q - 2 * both) * on * off + (1 - own - q + both) * off**2 for own, both in laws)


def _together(rows: Array, chosen: Array) -> Array:
    """How many reports have both of two bits, for all pairs of those chosen."""
    total = np.zeros((chosen.size, chosen.size), dtype=np.int64)
    places, shifts = chosen // 8, (chosen % 8).astype(np.uint8)
    for start in range(0, len(rows), _TOGETHER):
        bits = (rows[start : start + _TOGETHER, places] >> shifts & np.uint8(1)).astype(np.float32)  # counts below 2^24 are exact
        total += (bits.T @ bits).astype(np.int64)
    return total
