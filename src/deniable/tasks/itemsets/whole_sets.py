"""The strawman: every set is one value of a domain of 2^d, and items are sums over half of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import exp
from typing import Any, ClassVar

import numpy as np
import scipy

from deniable.client.frequency import FrequencySpec
from deniable.client.grr import GRR
from deniable.client.olh import OLH
from deniable.contract.domain import IndexRange
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, Round
from deniable.contract.sets import SetCode
from deniable.contract.subsets import Subsets
from deniable.core.estimate import PeopleEstimate
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.itemsets.estimate import set_estimate
from deniable.tasks.itemsets.lengths import COUNTED, ITEMS, ITEMSETS, SetProtocol
from deniable.tasks.itemsets.padding import check_subsets

MOST_ITEMS = 16
"""The most items whose sets are counted one by one."""


@dataclass(frozen=True, kw_only=True)
class WholeSets(SetProtocol, Protocol):
    """Find the k most frequent sets of a few items by counting every possible set: for comparison only.

    It does not scale, and an item that is part of many rare sets drowns: its count is a sum of 2^(d - 1) noisy ones, so its variance is
    that much larger than a set's.

    Guarantee: epsilon-local for any two sets of one person; everybody reports once.

    Estimator: a set is held by everybody whose own set contains it, so its count is the sum over these, unbiased. The error of a sum takes
    hashes of different sets as independent; randomized response's is exact.

    Cost: one report of GRR or OLH about 2^d values; 2^d counters, of at most 16 items.

    >>> from deniable.contract.domain import Categories
    >>> from deniable.testing import ReplaySource
    >>> shop = Subsets(Categories("tea", "milk", "bread"))
    >>> baskets = [["tea", "milk"], ["tea", "milk", "bread"], ["tea"], ["tea"], []] * 4000
    >>> found = WholeSets(domain=shop, k=3, epsilon=3.0).run(baskets, source=ReplaySource.from_key("docs"))
    >>> found.values, found.frequencies.round(2).tolist()
    ([('tea',), ('milk',), ('tea', 'milk')], [0.8, 0.4, 0.4])

    References: Hong 2021 (CS 528).
    """

    result: ClassVar[str] = ITEMSETS
    domain: Subsets
    k: int
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_subsets(self.domain)
        check_whole("k", self.k, 1, 1 << MOST_ITEMS)
        check_whole("items", self.domain.items.size, 2, MOST_ITEMS)
        check_feasible(self, "domain", fix="ask about fewer items")

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        encoder = SetCode(self.domain)
        made: Any = GRR if encoder.inputs < 3 * exp(self.epsilon) + 2 else OLH
        return Round((Question(name="sets", spec=made(domain=IndexRange(encoder.inputs), epsilon=self.epsilon), encoder=encoder),))

    def close(self, tallies: Mapping[str, Any]) -> PeopleEstimate:
        spec: Any = self.open().questions[0].spec
        estimate = spec.estimate(self.only(tallies))
        d, n = self.domain.items.size, max(estimate.n, 1)
        whole = supersets(estimate.counts, d)
        counted = set_estimate(
            [self.domain.named(tuple(key for key in range(d) if code >> key & 1)) for code in range(1, 1 << d)],
            whole[1:] / n,
            np.sqrt(_variance(spec, n, np.clip(whole[1:] / n, 0, 1), np.arange(1, 1 << d), d)) / n,
            np.full((1 << d) - 1, estimate.n),
            self.guarantee,
            chances=_chances(spec, estimate.n, supersets(estimate.law.supports.astype(float), d)[1:], np.arange(1, 1 << d), d),
        )
        single = counted.select((1 << np.arange(d)) - 1)
        whole_crowd = Fraction(1)
        found, items = (each.found(each.order()[: self.k], share=whole_crowd) for each in (counted, single))
        return replace(found, parts={COUNTED: counted, ITEMS: items})

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, neighbors="any two sets of one person")


def supersets(counts: Array, d: int) -> Array:
    """For each set, as a number, the sum of the counts of all sets that contain it.

    >>> supersets(np.array([5.0, 3.0, 2.0, 1.0]), 2).tolist()
    [11.0, 4.0, 3.0, 1.0]
    """
    sums: Array = counts.copy()
    for key in range(d):
        pairs = sums.reshape(-1, 2, 1 << key)
        pairs[:, 0] += pairs[:, 1]
    return sums


def _variance(spec: FrequencySpec, n: int, f: Array, codes: Array, d: int) -> Array:
    """The variance of the sum over all sets that contain each one, held by a share f of the people."""
    cells, (neither, one) = _cells(codes, d), spec.pair_covariances
    p, q = float(spec.p), float(spec.q)  # type: ignore[attr-defined]  # GRR and OLH are pure protocols
    single = (f * p * (1 - p) + (cells - f) * q * (1 - q)) / (p - q) ** 2
    pairs = f * (cells - 1) * (2 * one + (cells - 2) * neither) + (1 - f) * cells * (cells - 1) * neither
    return np.asarray(n * (single + pairs))


def _chances(spec: FrequencySpec, n: int, supports: Array, codes: Array, d: int) -> Array:
    """The probability of so many supports or more of all sets that contain each one, if nobody holds it."""
    cells, q = _cells(codes, d), float(spec.q)  # type: ignore[attr-defined]  # as above
    law = scipy.stats.binom(n, cells * q) if spec.most_supported == 1 else scipy.stats.binom(n * cells, q)
    return np.asarray(law.sf(supports - 1))


def _cells(codes: Array, d: int) -> Array:
    """How many sets contain each one."""
    return np.asarray(1 << (d - np.bitwise_count(codes).astype(np.int64)))
