"""How many bits an honest report sets: the same law whatever its sender holds, and which reports can hardly have come from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from deniable.contract.law import Coins
from deniable.core.interval import check_level
from deniable.core.reports import Reports
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

REACH = 12
"""Popcounts that are so many standard deviations from their mean are looked at one by one; those beyond, together."""


def sift(reports: Reports, lose: float = 1e-4) -> Reports:
    """The reports without those whose number of set bits is one that honest people send with probability ``lose`` at most.

    A mitigation for naive manipulation, not a test: whoever sets as many bits as honest people stays. Of honest reports a share of up to
    ``lose`` goes as well, and takes the rest out of balance by as little; at 1e-4 and a million people that is some hundredths of the
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
        allowed = "reports whose number of set bits has a law: OUE, SUE, THE, CMS, DBitFlip, BloomRR"
        raise ParameterError("reports", reports.spec.mechanism, allowed=allowed, fix="see what check says about others")
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
            left = counts - own - (kind == "sf")
            total += part.chance * stats.binom.pmf(own, part.own, part.p) * getattr(stats.binom, kind)(left, part.others, part.q)
    return np.clip(total, 0.0, 1.0)
