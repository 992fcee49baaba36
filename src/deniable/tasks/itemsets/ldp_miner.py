"""LDPMiner, the first method for frequent items in sets: two rounds of padding and sampling, with long lists in both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol, State
from deniable.contract.question import Round
from deniable.contract.record import STATE
from deniable.contract.sets import LONGEST_PADDING, MOST_CANDIDATES, PadAndSample
from deniable.contract.subsets import Subsets
from deniable.contract.work import Work, heaviest
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.tasks.checks import check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.heavy_hitters.prefixes import strongest
from deniable.tasks.itemsets.count_round import counting_work
from deniable.tasks.itemsets.lengths import ITEMS, SetProtocol
from deniable.tasks.itemsets.padding import check_subsets, padded_estimate, padded_question

SPLITS = ("people", "epsilon")


@typed
@dataclass(frozen=True, kw_only=True)
class LDPMinerState(State):
    """The items that may be frequent."""

    candidates: tuple[int, ...] | None = None
    """Their keys, in rising order, once the first round is closed."""


@typed
@dataclass(frozen=True, kw_only=True)
class LDPMiner(SetProtocol, Protocol):
    """Find the k items that most people hold, and count these: a baseline; ``SVIM`` is the better one.

    In the first round people report one of their items from a list padded to ``length``, which should hold the items of 90 % of them and
    must be known beforehand; the 2 k strongest become candidates. In the second round they report one of their candidates from a list
    padded to 2 k: all fit, and nearly everybody reports on a dummy.

    Guarantee: epsilon-local for any two sets of one person. With ``split="people"`` half of the people answer each round, with the whole
    epsilon. With ``split="epsilon"``, as published, everybody answers both, with half of it each; that is worse, since the variance grows
    faster than the number of reports.

    Estimator: 2 k times the oracle's count, in the second round; unbiased. The k are the largest of 2 k counts.

    Cost: one report of GRR or OLH (two with ``split="epsilon"``); what sampling is worth for privacy is not used.

    >>> from deniable.contract.domain import IndexRange
    >>> from deniable.testing import ReplaySource
    >>> baskets = [[0, 1], [0], [0, 1, 2], []] * 5000
    >>> search = LDPMiner(domain=Subsets(IndexRange(100)), k=3, epsilon=2.0, length=3)
    >>> sorted(search.run(baskets, source=ReplaySource.from_key("docs")).values)
    [0, 1, 2]

    References: Qin, Yang, Yu, Khalil, Xiao, Ren 2016.
    """

    domain: Subsets
    k: int
    epsilon: float
    length: int
    split: str = "people"
    state: LDPMinerState = field(default=LDPMinerState(), repr=False, metadata=STATE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_subsets(self.domain)
        check_whole("k", self.k, 1, MOST_CANDIDATES // 2)
        check_whole("length", self.length, 1, LONGEST_PADDING)
        if self.split not in SPLITS:
            raise ParameterError("split", self.split, allowed=f"one of {SPLITS}", fix="use people, which has the smaller error")
        if self.state.candidates is not None:
            PadAndSample(self.domain, 1, self._listed)  # its checks are ours
        check_feasible(self, "domain, length", fix="ask about fewer items, or use a smaller length")

    def work(self) -> Work:
        return heaviest([super().work(), counting_work(min(2 * self.k, self.domain.items.size), 2 * self.k)])

    @property
    def _listed(self) -> tuple[tuple[int, ...], ...] | None:
        candidates = self.state.candidates
        return None if candidates is None else tuple((key,) for key in candidates)

    @property
    def scale(self) -> int:
        return 2 if self.split == "people" else 1

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        half = self.split == "people"
        share, epsilon = (Fraction(1, 2), self.epsilon) if half else (Fraction(1), self.epsilon / 2)
        name, length = ("sample", self.length) if self.state.candidates is None else (ITEMS, 2 * self.k)
        asked = padded_question(name, self.domain, length, self._listed, epsilon=epsilon, share=share, amplify=False)
        return Round((asked,), share if half and self.state.candidates is not None else Fraction(0))

    def close(self, tallies: Mapping[str, Any]) -> LDPMiner | FrequencyEstimate:
        tally, items, candidates = self.only(tallies), self.domain.items, self.state.candidates
        values = [items.value(key) for key in (range(items.size) if candidates is None else candidates)]
        estimate = padded_estimate(self.open().questions[0], tally, values, self.guarantee)
        if candidates is None:
            best = strongest(estimate.counts, 2 * self.k, tally.to_bytes())
            return self.learned(candidates=tuple(sorted(best.tolist())))
        best = strongest(estimate.counts, self.k, tally.to_bytes())
        return estimate.found(best, share=self.open().questions[0].share)

    @property
    def guarantee(self) -> Guarantee:
        unit = "one report, in one round of the search" if self.split == "people" else "two reports, one in each round of the search"
        return Guarantee(epsilon=self.epsilon, unit=unit, neighbors="any two sets of one person")
