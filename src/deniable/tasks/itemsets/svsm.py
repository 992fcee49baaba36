"""SVSM: frequent sets of items, guessed from the frequent items and counted like items."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from math import log
from typing import Any, ClassVar

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol, State
from deniable.contract.question import Question, Round
from deniable.contract.record import STATE, UNWRITTEN
from deniable.contract.sets import Candidates, PadAndSample
from deniable.contract.subsets import Subsets
from deniable.contract.work import Work, heaviest
from deniable.core.estimate import PeopleEstimate
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.feasible import check_feasible
from deniable.tasks.heavy_hitters.prefixes import strongest
from deniable.tasks.itemsets.count_round import counted, counting_round, counting_work, images, ticket_scale
from deniable.tasks.itemsets.estimate import joined_sets
from deniable.tasks.itemsets.lengths import (
    COUNTED,
    ITEMS,
    ITEMSETS,
    LENGTHS,
    Lengths,
    SetProtocol,
    check_shares,
    length_question,
    read_tally,
)
from deniable.tasks.itemsets.padding import ORACLES
from deniable.tasks.itemsets.svim import SVIM

SHARES = (Fraction(4, 25), Fraction(1, 25), Fraction(1, 5), Fraction(1, 10), Fraction(1, 2))
"""How many people find items, tell lengths and count items (40 % in all, as in ``SVIM``), tell lengths for sets, and count sets."""
SETTINGS = ("domain", "k", "epsilon", "oracle", "longest", "projection")
"""The settings that the search for items shares."""
DISCOUNT = 0.9
"""What the most frequent item counts for in a guess: a set of more items is held by fewer people."""


@typed
@dataclass(frozen=True, kw_only=True)
class SVSMState(State):
    """How far the search for items has come, and what was asked about sets of them."""

    svim: SVIM = None  # type: ignore[assignment]  # made from the settings
    """The search for items: a protocol of its own, with what it has learned."""
    items: tuple[str, ...] = ()
    """The tallies of the third round, as hex, once items are counted."""
    lengths: str = ""
    """The tally of the fourth round, as hex, once it is closed."""


@typed
@dataclass(frozen=True, kw_only=True)
class SVSM(SetProtocol, Protocol):
    """Find the k sets of items that most people hold, single items among them, and estimate their shares.

    Five rounds with different people. The first three are those of ``SVIM`` and find the k most frequent items. A set of several of
    these is guessed to be as frequent as the product of its items' frequencies, each as 0.9 f / f_max; the 2 k sets with the largest
    guesses become candidates. One more round asks how many of them people hold, and the last one counts them from a list padded to the
    length where 90 % fit. In both counting rounds a tenth say whether their list is cut.

    Guarantee: epsilon-local for any two sets of one person; everybody reports once, in one round, with the whole epsilon.

    Estimator: shares of people, items from the third round and sets from the fifth, with intervals of noise, sampling and cut lists
    (``SetShares``, ``PaddedSupports``). The result is the k largest. Its part ``counted`` is all that was counted, from which rules follow,
    ``items`` the items alone, and ``lengths`` how many of them people hold. The guess decides only what is counted: a set that is frequent
    although its items are not is not found.

    Cost: one report of GRR or OLH.

    >>> from deniable.contract.domain import Categories
    >>> from deniable.testing import ReplaySource
    >>> shop = Subsets(Categories("tea", "milk", "bread", "jam", "salt", "rice"))
    >>> baskets = [["tea", "milk"], ["tea", "milk", "jam"], ["tea"], ["tea"], []] * 20_000
    >>> found = SVSM(domain=shop, k=3, epsilon=3.0).run(baskets, source=ReplaySource.from_key("docs"))
    >>> found.values, found.frequencies.round(2).tolist()
    ([('tea',), ('tea', 'milk'), ('milk',)], [0.82, 0.4, 0.39])

    References: Wang, Li, Jha 2018.
    """

    result: ClassVar[str] = ITEMSETS
    domain: Subsets
    k: int = field(metadata=UNWRITTEN)
    epsilon: float = field(metadata=UNWRITTEN)
    oracle: str = field(default="auto", metadata=UNWRITTEN)
    """GRR or OLH; "auto" takes the one with the smaller error."""
    longest: int | None = field(default=None, metadata=UNWRITTEN)
    """The longest padded list, where it is known how much people hold; see ``SVIM``."""
    projection: str = field(default="cut", metadata=UNWRITTEN)
    """How histograms of lengths are made out of noisy counts: "cut", or "norm-sub" as published; see ``Lengths``."""
    shares: tuple[Fraction, ...] = SHARES
    """The shares of the people in the five rounds."""
    state: SVSMState = field(default=SVSMState(), repr=False, metadata=STATE)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("shares", check_shares(self.shares, 5))
        put("epsilon", check_epsilon(self.epsilon))
        settings = {name: getattr(self, name) for name in SETTINGS} | {"shares": self.shares[:3]}
        if self.state.svim is None:
            put("state", replace(self.state, svim=SVIM(**settings)))
        other = [name for name, value in settings.items() if getattr(self.svim, name) != value]
        if other:
            raise ParameterError("svim", self.svim, allowed=f"the {', '.join(other)} of the whole search", fix="leave out the state")
        items, lengths = self.state.items, self.state.lengths
        if (items and not self.svim.state.lengths) or (lengths and not items):
            raise ParameterError(
                "items, lengths", "a later round", allowed="none before it is asked", fix="close the rounds in their order"
            )
        if items:
            PadAndSample(self.domain, 1, self.sets)  # reads the tally
        else:  # what it takes to close later rounds is part of ``work`` from the first one on
            check_feasible(self, "domain, k", fix="ask about fewer items, or use a smaller k", among=ORACLES[1:])

    def work(self) -> Work:
        most = 2 * self.k
        return heaviest([super().work(), self.svim.work(), counting_work(most, min(self.longest or most, most))])

    @classmethod
    def from_fields(cls, **values: Any) -> SVSM:
        """Most settings are written only once, in the search for items."""
        return cls(**{name: getattr(values["state"].svim, name) for name in SETTINGS} | values)

    # --- what has been learned ---

    @property
    def svim(self) -> SVIM:
        """The search for items, as far as it has come."""
        return self.state.svim

    @cached_property
    def singles(self) -> FrequencyEstimate:
        """The counts of the items that may be frequent."""
        values = [(self.domain.items.value(key),) for key in self.svim.state.candidates or ()]
        return counted(self.svim.open(), self.state.items, values, self.svim.measured, self.guarantee)

    @cached_property
    def sets(self) -> Candidates:
        """The sets to be counted."""
        best = strongest(self.singles.counts, self.k, bytes.fromhex(self.state.items[0]))
        keys = np.array(self.svim.state.candidates)[best]
        guesses = likely_sets(self.singles.frequencies[best], 2 * self.k)
        return tuple(sorted(tuple(sorted(keys[list(places)].tolist())) for places in guesses))

    @cached_property
    def measured(self) -> Lengths:
        """What the fourth round has learned."""
        question = self._length_question
        return Lengths(question.spec.estimate(read_tally(self.state.lengths, question)), self.longest, self.projection)

    # --- asking ---

    @property
    def scale(self) -> int:
        return ticket_scale(self.shares, self.shares[2], self.shares[4])

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        if not self.state.items:
            return self.svim.open()
        if not self.state.lengths:
            return Round((self._length_question,), sum(self.shares[:3], Fraction(0)))
        settings = {"epsilon": self.epsilon, "oracle": self.oracle, "share": self.shares[4], "first": sum(self.shares[:4], Fraction(0))}
        return counting_round(ITEMSETS, self.domain, self.measured.length, self.sets, **settings)  # type: ignore[arg-type]  # mixed

    @property
    def _length_question(self) -> Question:
        return length_question("set-lengths", self.domain, self.sets, epsilon=self.epsilon, share=self.shares[3])

    def close(self, tallies: Mapping[str, Any]) -> SVSM | PeopleEstimate:
        if not self.state.items:
            if not self.svim.state.lengths:
                return self.learned(svim=self.svim.close(tallies))  # which is no estimate yet: items are not counted
            after = self.learned(items=images(self.open(), tallies))
            return after if after.sets else after._put_together(after.singles)
        if not self.state.lengths:
            return self.learned(lengths=self.only(tallies).to_bytes().hex())
        values = [self.domain.named(keys) for keys in self.sets]
        return self._put_together(self.singles, counted(self.open(), tallies, values, self.measured, self.guarantee))

    def _put_together(self, *parts: FrequencyEstimate) -> PeopleEstimate:
        """The k largest of all that was counted in the ``parts``."""
        table, least = joined_sets(parts, self.guarantee), min(self.shares[0], self.shares[2], self.shares[4])
        best = strongest(self.singles.counts, self.k, bytes.fromhex(self.state.items[0]))
        items = self.singles.found(best, share=min(self.shares[0], self.svim.open().questions[0].share))
        found = table.found(np.arange(min(self.k, len(table.values))), share=least)
        return replace(found, parts={COUNTED: table, LENGTHS: self.svim.measured.estimate, ITEMS: items})

    @property
    def guarantee(self) -> Guarantee:
        return self.svim.guarantee


def likely_sets(frequencies: Array, most: int) -> list[tuple[int, ...]]:
    """The sets of two items or more with the largest products of 0.9 f / f_max, as positions, the largest first; none of f <= 0.

    >>> likely_sets(np.array([0.8, 0.4, 0.6, -0.1]), 3)
    [(0, 2), (0, 1), (2, 1)]
    """
    order = [int(i) for i in np.argsort(-frequencies, kind="stable") if frequencies[i] > 0]
    costs = [-log(DISCOUNT * frequencies[i] / frequencies[order[0]]) for i in order]  # rising, all above 0
    # Every set of places is reached once, from one that costs no more: by adding the next place, or moving the last one on.
    heap: list[tuple[float, tuple[int, ...]]] = [(costs[0], (0,))] if order else []
    found: list[tuple[int, ...]] = []
    while heap and len(found) < most:
        cost, places = heapq.heappop(heap)
        if len(places) > 1:
            found.append(tuple(order[place] for place in places))
        after = places[-1] + 1
        if after < len(order):
            heapq.heappush(heap, (cost + costs[after], (*places, after)))
            heapq.heappush(heap, (cost + costs[after] - costs[after - 1], (*places[:-1], after)))
    return found
