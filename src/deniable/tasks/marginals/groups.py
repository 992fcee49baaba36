"""Estimates from one group of people: shares of a view's cells, with the exact covariance of all sums of them.

One report supports some cells. With p and q as in ``client.pure``, the score (support - q) / (p - q) of a cell is 1 on average for a person
in it and 0 for others. Given where its sender is, two supports have the covariance c1 if one of the cells is the sender's, c0 if not:
zero for OUE, negative for GRR and subset selection, where one support leaves less room for another. Over people with shares f::

    covariance of scores = [diag(v) + c0 (1 1' - I) + (c1 - c0) (f 1' + 1 f' - 2 diag(f))] / (p - q)^2  +  diag(f) - f f'
    v = (1 - f) q (1 - q) + f p (1 - p)

The last two terms are there because people of a group are a sample. Everything is a diagonal and three outer products, so that linear
questions to a view of d cells cost O(d) each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.client.grr import GRR
from deniable.client.pure import PureProtocol
from deniable.core.choice import nearly_least
from deniable.core.postprocess import norm_sub
from deniable.core.tally import Tally
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.oracle_choice import oracles_for, predicted_error, preferred
from deniable.tasks.marginals.columns import Names


@dataclass(frozen=True)
class Moments:
    """The moments of one person's scores under an oracle."""

    p: float
    q: float
    apart: float
    """The covariance of two supports if the sender is in neither cell."""
    own: float
    """The covariance of two supports if the sender is in one of the cells."""
    most: int
    """How many cells a report supports at most."""

    @classmethod
    def of(cls, spec: FrequencySpec) -> Moments:
        """The moments, from the exact law's probabilities; for oracles whose covariance of two cells is known exactly."""
        if not isinstance(spec, PureProtocol) or (pair := spec.pair_law) is None or pair.neither is None:
            allowed = "an oracle with a known probability that a report supports two given values"
            raise ParameterError("oracle", spec.mechanism, allowed=allowed, fix="use GRR, SubsetSelection or OUE")
        p, q = float(spec.p), float(spec.q)
        return cls(p, q, float(pair.neither) - q * q, float(pair.one) - p * q, spec.most_supported)

    def diagonal(self, shares: Array) -> Array:
        """The part of the covariance that is a diagonal."""
        noise = (1 - shares) * self.q * (1 - self.q) + shares * self.p * (1 - self.p)
        return np.asarray((noise - self.apart - 2 * (self.own - self.apart) * shares) / (self.p - self.q) ** 2 + shares)

    def covariance(self, rows: Array, shares: Array) -> Array:
        """The covariance of linear forms of one person's scores, for somebody drawn from people with these shares."""
        sums, means = rows.sum(axis=1), rows @ shares
        crossed = np.outer(means, sums)
        pairs = self.apart * np.outer(sums, sums) + (self.own - self.apart) * (crossed + crossed.T)
        return np.asarray(rows * self.diagonal(shares) @ rows.T + pairs / (self.p - self.q) ** 2 - np.outer(means, means))

    def worst(self, rows: Array) -> Array:
        """The largest second moment of each linear form, wherever the sender is."""
        p, q, sums = self.p, self.q, rows.sum(axis=1, keepdims=True)
        others = (q * (1 - q) - self.apart) * (rows**2).sum(axis=1, keepdims=True) + self.apart * sums**2
        mine = rows**2 * (p * (1 - p) - q * (1 - q) - 2 * (self.own - self.apart)) + 2 * (self.own - self.apart) * sums * rows
        return np.asarray(((others + mine) / (p - q) ** 2 + rows**2).max(axis=1))

    def reach(self, rows: Array) -> float:
        """How far from zero a linear form of one report's scores can be."""
        ordered = np.sort(rows, axis=1)
        offset = self.q * rows.sum(axis=1)
        few = min(self.most, rows.shape[1])
        high = np.maximum(ordered[:, -few:], 0.0).sum(axis=1) - offset  # members that do not help can only be forced on the report
        low = np.minimum(ordered[:, :few], 0.0).sum(axis=1) - offset
        return float(np.maximum(np.abs(high), np.abs(low)).max(initial=0.0)) / (self.p - self.q)


@dataclass(frozen=True, eq=False)
class ViewShares:
    """One group's unbiased shares of what it was asked about: the cells of some columns, or the two values of a parity (``masks``)."""

    columns: Names
    masks: tuple[int, ...] | None
    moments: Moments
    n: int
    frequencies: Array

    @classmethod
    def of(cls, columns: Names, masks: tuple[int, ...] | None, spec: FrequencySpec, tally: Tally) -> ViewShares:
        """Return the shares from a question's tally."""
        estimate = spec.estimate(tally)
        return cls(columns, masks, Moments.of(spec), tally.n, np.asarray(estimate.frequencies, dtype=float))

    @cached_property
    def shares(self) -> Array:
        """The nearest shares that are possible, to put into formulas for errors."""
        return norm_sub(self.frequencies, 1.0)

    @property
    def strength(self) -> float:
        """How much the group can say about any of its components; see ``components``."""
        return strength(self.moments, self.frequencies.size, self.n)


def strength(moments: Moments, cells: int, people: float) -> float:
    """N / (a d): a is the variance of a score where all cells are alike."""
    return people / (float(moments.diagonal(np.full(1, 1 / cells))[0]) * cells)


def _known(spec: FrequencySpec) -> bool:
    """True if the covariance of two cells is known exactly."""
    return isinstance(spec, PureProtocol) and spec.pair_law is not None and spec.pair_law.neither is not None


@lru_cache(maxsize=256)
def oracle_for(cells: int, epsilon: float, people: int) -> FrequencySpec:
    """Return the oracle with the smallest predicted error for so many cells, among those with a known covariance.

    >>> [oracle_for(cells, 1.0, 10_000).mechanism for cells in (2, 4, 16, 1000)]
    ['GRR', 'GRR', 'SubsetSelection', 'SubsetSelection']
    """
    if cells == 2:
        return GRR(domain_size=2, epsilon=epsilon)
    able = [spec for spec in oracles_for(preferred(), epsilon=epsilon, domain_size=cells)[0] if _known(spec)]
    place, _ = nearly_least([predicted_error(spec, max(people, 1)) for spec in able])
    return able[place]
