"""TreeHist: a tree of prefixes in one round, with its own people for every level; the search walks it when all reports are in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from math import log2
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.contract.codes import value_of
from deniable.contract.domain import Bytes, Domain, Integers
from deniable.contract.encoder import Identity, Prefix
from deniable.contract.guarantee import Guarantee
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, Round
from deniable.contract.record import INSTEAD, RESOLVED, UNWRITTEN
from deniable.contract.work import Work, in_turn, together
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.tasks.checks import check_whole
from deniable.tasks.heavy_hitters.allocation import usual_keep
from deniable.tasks.heavy_hitters.one_round import (
    FALSE_CHILDREN,
    FALSE_VALUES,
    MOST_QUESTIONS,
    candidates_work,
    check_search,
    oracle_for,
    settle,
    significant,
    standing_out,
)
from deniable.tasks.heavy_hitters.prefixes import LARGEST_LIST, RESULT, extended


@typed
@dataclass(frozen=True, kw_only=True)
class TreeHist(Protocol):
    """Find the k most frequent values of a domain too large to list, in one round.

    People are split at random among the levels of the tree of prefixes, and report their value's prefix of that length to the level's own
    sketch. When all reports are in, the tree is walked from its root: children that stand out of the noise are kept, at most ``keep``.

    Guarantee: epsilon-local for any two inputs; everybody reports once, about one level.

    Estimator: the counts of the last level, for the values found: selected by the reports that count them, the smaller come out too large.

    Cost: one report of a sketch; with L levels a frequency is as exact as n / L people make it. The collector hashes ``keep`` times
    2^step_bits candidates at each level.

    ``threshold`` is how many standard errors of a prefix that nobody has a child must exceed. By default it is what one of a level's
    candidates reaches by noise alone, on average, since a false child costs little and a true one that is missed is lost; of whole values
    at most one result in twenty has a false one. ``step_bits=1`` is the paper's binary tree; longer steps mean fewer levels. ``people``
    is how many are expected, for the defaults; ``salt`` names the sketches' public functions.

    >>> from deniable.testing import ReplaySource
    >>> search = TreeHist(bits=32, k=3, epsilon=2.0, people=12_000)
    >>> search.lengths, [question.spec.mechanism for question in search.open().questions]
    ((11, 19, 27, 32), ['SubsetSelection', 'PGR', 'FLH', 'FLH'])
    >>> values = [2**31 + 7] * 4000 + [12345] * 3000 + list(range(10**6, 10**6 + 5000))
    >>> search.run(values, source=ReplaySource.from_key("docs")).values
    [2147483655, 12345]

    References: Bassily, Nissim, Stemmer, Thakurta 2017.
    """

    result: ClassVar[str] = RESULT
    domain: Domain = None  # type: ignore[assignment]  # resolved below
    bits: int = field(default=None, metadata=INSTEAD)  # type: ignore[assignment]  # resolved with the domain
    """The length of the values, if they are plain numbers: instead of ``domain``."""
    k: int
    epsilon: float
    oracle: str = "auto"
    """The frequency oracle of every report; "auto" takes the one with the smallest error."""
    step_bits: int | None = field(default=None, repr=False, metadata=UNWRITTEN)
    keep: int = None  # type: ignore[assignment]  # resolved below
    threshold: float | None = None
    people: int = 100_000
    salt: int = 0
    lengths: tuple[int, ...] = field(default=None, metadata=RESOLVED)  # type: ignore[arg-type]  # resolved below
    """The length of each level's prefixes; they follow from ``keep`` and ``step_bits``."""

    def __post_init__(self) -> None:
        settle(self)
        put = partial(object.__setattr__, self)
        if self.keep is None:
            put("keep", min(usual_keep(self.k, self.epsilon, self.bits, self.people), LARGEST_LIST // 2))
        check_whole("keep", self.keep, 1, LARGEST_LIST // 2)
        if self.lengths is None:
            step = self.step_bits if self.step_bits is not None else min(8, int(log2(LARGEST_LIST / self.keep)))
            check_whole("step_bits", step, 1, int(log2(LARGEST_LIST / self.keep)))
            first = step if self.step_bits is not None else (self.keep - 1).bit_length() + step
            put("lengths", (*range(min(first, self.bits), self.bits, step), self.bits))
        put("step_bits", None)  # what was asked for is in lengths now; two searches that ask alike are equal
        put("lengths", tuple(self.lengths))
        levels = pairwise((0, *self.lengths))
        rising = all(type(end) is int and start < end and self._width(start, end) <= LARGEST_LIST for start, end in levels)
        if not rising or not 1 <= len(self.lengths) <= MOST_QUESTIONS or self.lengths[-1] != self.bits:
            allowed = f"at most {MOST_QUESTIONS} increasing lengths up to {self.bits}, with {LARGEST_LIST} candidates each"
            raise ParameterError("lengths", self.lengths[:5], allowed=allowed, fix="set step_bits, or shorten the values")
        check_search(self, "keep, step_bits", fix="keep fewer prefixes, or use shorter steps")

    def work(self) -> Work:
        widths = [self._width(start, end) for start, end in pairwise((0, *self.lengths))]
        levels = zip(self._round.questions, widths, strict=True)
        asked = in_turn(question.spec.finishing(width) for question, width in levels)
        return together([asked, candidates_work(max(widths))])

    def _width(self, start: int, end: int) -> int:
        """How many candidates a level has at most."""
        return 1 << min(end, (self.keep - 1).bit_length() + end - start)

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        return Round(tuple(self._question(i, start, end) for i, (start, end) in enumerate(pairwise((0, *self.lengths)))))

    def _question(self, level: int, start: int, end: int) -> Question:
        share = Fraction(1, len(self.lengths))
        whole = end == self.bits
        asked = self.domain if whole else Integers(0, (1 << end) - 1) if end <= 64 else Bytes(-(-end // 8))
        sizes = {"people": int(self.people * share), "candidates": self._width(start, end)}
        spec = oracle_for(self.oracle, asked, epsilon=self.epsilon, salt=self.salt + level, **sizes)
        return Question(name=f"prefix-{end}", spec=spec, encoder=Identity() if whole else Prefix(self.domain, end), share=share)

    def close(self, tallies: Mapping[str, Any]) -> FrequencyEstimate:
        self._round.check_tallies(tallies)
        kept: tuple[int, ...] = (0,)
        for (start, end), question in zip(pairwise((0, *self.lengths)), self._round.questions, strict=True):
            last = end == self.bits
            shown = partial(value_of, self.domain) if last else Prefix(self.domain, end).shown
            children = [(code, value) for code in extended(kept, end - start) if (value := shown(code)) is not None]
            most, false = (self.k, FALSE_VALUES) if last else (self.keep, FALSE_CHILDREN)
            asked = [value for _, value in children]
            estimate, best = standing_out(question, tallies[question.name], asked, threshold=self.threshold, most=most, false=false)
            kept = tuple(sorted(children[i][0] for i in best))
        return significant(self, estimate, best, asked)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, about one level of the tree")
