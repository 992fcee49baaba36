"""The bits that honest reports set: how many of them, and which of them together.

How many bits are set has the same law whatever a sender holds. Nor do honest reports have two bits together beyond what each explains.
Given the true value, the bits of unary encoding are independent, and at most one of two bits has not the mean q. So (b_i - q) (b_j - q) has
mean zero for everybody, whatever they hold; for subset selection, where one member leaves less room for another, it is below zero. Reports
that were made up to lift several values at once show in the sum of this product over all reports, by Bernstein's inequality::

    P(sum >= t) <= exp(-t^2 / (2 (n v + t / 3)))          v: the largest second moment of one report's product

for each pair of bits, times the number of all pairs. Only the bits that most reports set are looked at: lifting those is what an attack
is for, and since all pairs are paid for, choosing by looking costs no validity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from deniable.client.pure import PureProtocol
from deniable.contract.law import Coins, PairLaw
from deniable.core.interval import check_level
from deniable.core.reports import Reports
from deniable.errors import ParameterError
from deniable.kernels.bits import column_sums
from deniable.kernels.compiled import Array

REACH = 12
"""Popcounts that are so many standard deviations from their mean are looked at one by one; those beyond, together."""
LOOKED_AT = 256
"""So many bits are paired with each other."""
_TOGETHER = 1 << 15


def sift(reports: Reports, lose: float = 1e-4) -> Reports:
    """The reports without those whose number of set bits is one that honest people send with probability ``lose`` at most.

    A mitigation for naive manipulation, not a test: an attacker who sets as many bits as honest people stays. Of honest reports a share of
    up to ``lose`` goes as well, and takes the rest out of balance by as little; at 1e-4 and a million people that is some hundredths of the
    standard error.

    >>> from deniable.client import OUE
    >>> spec = OUE(domain_size=1024, epsilon=1.0)
    >>> bits = np.zeros((3, 128), dtype=np.uint8)
    >>> bits[1:, :50] = 0b01101101  # about as many as are expected; the first has none
    >>> sift(Reports(spec, 3, {"bits": bits})).n
    2
    """
    check_level("lose", lose)
    laws = reports.spec.popcount_laws
    if not laws or reports.columns["bits"].ndim == 1:
        allowed = "reports of OUE, SUE, THE, CMS, DBitFlip or BloomRR, whose number of set bits has a known law"
        raise ParameterError("reports", reports.spec.mechanism, allowed=allowed, fix="test other reports with check_reports")
    seen = popcounts(reports)
    counts = np.arange(reports.spec.layout[-1].count + 1)
    few, many = (np.max([chance_of(law, counts, kind) for law in laws], axis=0) for kind in ("cdf", "sf"))
    kept = (few[seen] > lose / 2) & (many[seen] > lose / 2)
    return Reports(reports.spec, int(kept.sum()), {name: column[kept] for name, column in reports.columns.items()})


def popcounts(reports: Reports) -> Array:
    """How many bits of each report are set."""
    bits = reports.columns["bits"]
    if bits.ndim == 1:  # one bit a person, eight people to a byte
        return np.unpackbits(bits, count=reports.n, bitorder="little").astype(np.int64)
    return np.asarray(np.bitwise_count(bits).sum(axis=1, dtype=np.int64))


def popcount_range(laws: Sequence[Sequence[Coins]], bits: int) -> tuple[int, int]:
    """Which popcounts to look at one by one: it depends on the spec alone, not on what was seen."""
    coins = [part for law in laws for part in law]
    means = [part.own * part.p + part.others * part.q for part in coins]
    reach = REACH * max(part.own * part.p * (1 - part.p) + part.others * part.q * (1 - part.q) for part in coins) ** 0.5
    return max(0, int(min(means) - reach)), min(bits, int(max(means) + reach)) + 1


def chance_of(law: Sequence[Coins], counts: Array, kind: str) -> Array:
    """The probability of at most (``cdf``), at least (``sf``) or exactly (``pmf``) so many bits."""
    total = np.zeros(counts.size)
    for part in law:
        for own in range(part.own + 1):
            left = getattr(scipy.stats.binom, kind)(counts - own - (kind == "sf"), part.others, part.q)
            total += part.chance * scipy.stats.binom.pmf(own, part.own, part.p) * left
    return np.clip(total, 0.0, 1.0)


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
