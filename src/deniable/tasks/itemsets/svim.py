"""SVIM: frequent items in sets, by finding candidates, how many of them people hold, and how many people hold each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol, State
from deniable.contract.question import Question, Round
from deniable.contract.record import STATE
from deniable.contract.sets import MOST_CANDIDATES, PadAndSample
from deniable.contract.subsets import Subsets
from deniable.contract.work import Work, heaviest
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.tasks.checks import check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.heavy_hitters.prefixes import strongest
from deniable.tasks.itemsets.count_round import counted, counting_round, counting_work, ticket_scale
from deniable.tasks.itemsets.lengths import (
    ITEMS,
    LENGTHS,
    Lengths,
    SetProtocol,
    check_projection,
    check_shares,
    length_question,
    read_tally,
)
from deniable.tasks.itemsets.padding import ORACLES, check_oracle, check_subsets, padded_estimate, padded_question

SHARES = (Fraction(2, 5), Fraction(1, 10), Fraction(1, 2))
"""How many people find candidates, tell lengths, and count; a tenth of the last say whether their list is cut."""


@typed
@dataclass(frozen=True, kw_only=True)
class SVIMState(State):
    """The items that may be frequent, and how many of them people hold."""

    candidates: tuple[int, ...] | None = None
    """Their keys, in rising order, once the first round is closed."""
    lengths: str = ""
    """The tally of the second round, as hex, once it is closed."""


@typed
@dataclass(frozen=True, kw_only=True)
class SVIM(SetProtocol, Protocol):
    """Find and count the k items that most people hold, where each person holds a set of items.

    Three rounds with different people. 40 % report one of their items (padded to 1: only the empty set draws a dummy), and the 2 k
    strongest become candidates. 10 % report how many of the candidates they hold; the list length is where 90 % of them fit. 45 %
    report one of their candidates from a list padded to that length, and 5 % a bit: whether their list is cut (``Overflow``).

    Guarantee: epsilon-local for any two sets of one person; everybody reports once, in one round, with the whole epsilon. In the last
    round randomized response may be run louder behind the sampling (``padding``).

    Estimator: the counts of the last round, times the length, times what makes up on average for people whose candidates did not fit
    (``Lengths.scale``). Intervals cover noise, sampling, and the most that cut lists can hide of an item (``PaddedSupports``). The k are
    the largest of 2 k counts: the smaller ones among them come out too large. The part ``lengths`` of the result is the raw histogram of
    how many candidates people hold. A person who holds none of them draws a dummy, and counts as a holder of nothing.

    Cost: one report of GRR or OLH. ``longest`` caps the padding, where it is known how much people hold: the length that a noisy
    histogram asks for is uncertain (``Lengths.limits``). ``projection="norm-sub"`` is as published; see ``Lengths`` for what it costs.

    >>> from deniable.contract.domain import IndexRange
    >>> from deniable.testing import ReplaySource
    >>> baskets = [[0, 1], [0], [0, 1, 2], []] * 5000
    >>> search = SVIM(domain=Subsets(IndexRange(100)), k=3, epsilon=2.0)
    >>> found = search.run(baskets, source=ReplaySource.from_key("docs"))
    >>> sorted(found.values), found.law.length, found.n
    ([0, 1, 2], 3, 9048)

    References: Wang, Li, Jha 2018.
    """

    domain: Subsets
    k: int
    epsilon: float
    oracle: str = "auto"
    """GRR or OLH; "auto" takes the one with the smaller error."""
    longest: int | None = None
    projection: str = "cut"
    shares: tuple[Fraction, ...] = SHARES
    """The shares of the people in the three rounds."""
    state: SVIMState = field(default=SVIMState(), repr=False, metadata=STATE)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        check_subsets(self.domain)
        check_whole("k", self.k, 1, MOST_CANDIDATES // 2)
        check_oracle(self.oracle)
        if self.longest is not None:
            check_whole("longest", self.longest, 1, MOST_CANDIDATES)
        check_projection(self.projection)
        put("shares", check_shares(self.shares, 3))
        candidates, lengths = self.state.candidates, self.state.lengths
        if candidates is not None:
            PadAndSample(self.domain, 1, self.listed)  # its checks are ours
        if lengths:
            if candidates is None:
                raise ParameterError("lengths", lengths, allowed="none before there are candidates", fix="close the first round")
            read_tally(lengths, self._length_question)
        check_feasible(self, "domain, k", fix="ask about fewer items, or use a smaller k", among=ORACLES[1:])

    def work(self) -> Work:
        most = min(2 * self.k, self.domain.items.size)
        return heaviest([super().work(), counting_work(most, min(self.longest or most, most))])

    # --- asking ---

    @property
    def scale(self) -> int:
        return ticket_scale(self.shares, self.shares[2])

    @property
    def listed(self) -> tuple[tuple[int, ...], ...]:
        """The candidates as sets of one."""
        return tuple((key,) for key in self.state.candidates or ())

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        share = self.shares
        asking = {"epsilon": self.epsilon, "oracle": self.oracle}
        if self.state.candidates is None:
            return Round((padded_question("sample", self.domain, 1, None, share=share[0], **asking),))  # type: ignore[arg-type]  # mixed
        if not self.state.lengths:
            return Round((self._length_question,), share[0])
        where = {"share": share[2], "first": share[0] + share[1]}
        return counting_round(ITEMS, self.domain, self.measured.length, self.listed, **asking, **where)  # type: ignore[arg-type]  # mixed

    @property
    def _length_question(self) -> Question:
        return length_question(LENGTHS, self.domain, self.listed, epsilon=self.epsilon, share=self.shares[1])

    @cached_property
    def measured(self) -> Lengths:
        """What the second round has learned."""
        question = self._length_question
        return Lengths(question.spec.estimate(read_tally(self.state.lengths, question)), self.longest, self.projection)

    def close(self, tallies: Mapping[str, Any]) -> SVIM | FrequencyEstimate:
        tally, asked = self.only(tallies), self.open()
        candidates = self.state.candidates
        if candidates is None:
            estimate = padded_estimate(asked.questions[0], tally, range(self.domain.items.size))
            best = strongest(estimate.counts, 2 * self.k, tally.to_bytes())
            return self.learned(candidates=tuple(sorted(best.tolist())))
        if not self.state.lengths:
            return self.learned(lengths=tally.to_bytes().hex())
        estimate = counted(asked, tallies, [self.domain.items.value(key) for key in candidates], self.measured, self.guarantee)
        best = strongest(estimate.counts, self.k, tally.to_bytes())
        found = estimate.found(best, share=min(self.shares[0], asked.questions[0].share))
        return replace(found, parts={LENGTHS: self.measured.estimate})

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, in one round of the search", neighbors="any two sets of one person")
