"""Padding and sampling as a survey of one question: how many people hold each item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol
from deniable.contract.question import Round
from deniable.contract.sets import LONGEST_PADDING
from deniable.contract.subsets import Subsets
from deniable.core.frequency import FrequencyEstimate
from deniable.tasks.checks import check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.itemsets.lengths import ITEMS, SetProtocol
from deniable.tasks.itemsets.padding import ORACLES, check_oracle, check_subsets, padded_estimate, padded_question


@typed
@dataclass(frozen=True, kw_only=True)
class PSFO(SetProtocol, Protocol):
    """Count how many people hold each item of a short list; each person reports one item of a list padded to ``length``.

    Guarantee: epsilon-local for any two sets of one person, of whatever size. Behind the sampling, randomized response is run louder, at
    ln(length (e^epsilon - 1) + 1), which costs epsilon because the dummies are all different (``padding``); the exact audit of small
    domains enumerates all sets.

    Estimator: length times the oracle's count; unbiased for people with at most ``length`` items. A person who holds m > ``length`` counts
    as length / m of a person for each item.

    Cost: one report of GRR or OLH, whichever has the smaller error: GRR exactly if d < l (4 l - 1) e^epsilon + 1.

    >>> from deniable.contract.domain import Categories
    >>> from deniable.testing import ReplaySource
    >>> drinks = Subsets(Categories("tea", "coffee", "water", "milk"))
    >>> survey = PSFO(domain=drinks, length=2, epsilon=2.0)
    >>> asked = survey.open().questions[0]
    >>> asked.spec.mechanism, round(asked.spec.epsilon, 4), round(asked.epsilon, 4)
    ('GRR', 2.6231, 2.0)
    >>> survey.run([["tea", "milk"]] * 3000 + [["tea"]] * 4000 + [[]] * 3000, source=ReplaySource.from_key("docs"))
    10,000 reports, GRR, epsilon = 2, one of 2 each; low and high: 95 %, noise only
    value   count  stderr    low   high  frequency
    tea     6,982     125  6,739  7,231     69.8 %
    milk    3,014    96.2  2,828  3,206     30.1 %
    water     101    67.2    -28    236     1.01 %
    coffee   -116      66   -246   13.5    -1.16 %

    References: Qin, Yang, Yu, Khalil, Xiao, Ren 2016; Wang, Li, Jha 2018.
    """

    domain: Subsets
    length: int
    epsilon: float
    oracle: str = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_subsets(self.domain)
        check_whole("length", self.length, 1, LONGEST_PADDING)
        check_oracle(self.oracle)
        check_feasible(self, "domain, length", fix="ask about fewer items, or use a smaller length", among=ORACLES[1:])

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        return Round((padded_question(ITEMS, self.domain, self.length, None, epsilon=self.epsilon, oracle=self.oracle),))

    def close(self, tallies: Mapping[str, Any]) -> FrequencyEstimate:
        items = self.domain.items
        values = [items.value(key) for key in range(items.size)]
        return padded_estimate(self.open().questions[0], self.only(tallies), values, self.guarantee)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, neighbors="any two sets of one person")
