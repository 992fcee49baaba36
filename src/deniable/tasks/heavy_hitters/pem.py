"""The prefix extending method: groups of people report ever longer prefixes, and only the frequent ones are followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from math import lcm
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.contract.codes import real_codes
from deniable.contract.domain import Domain
from deniable.contract.form import HEXADECIMALS
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Progress, Protocol, State
from deniable.contract.question import Question, Round
from deniable.contract.record import INSTEAD, RESOLVED, STATE, UNWRITTEN, form_of, wire
from deniable.contract.source import Source
from deniable.contract.work import Work, heaviest
from deniable.core.frequency import FrequencyEstimate
from deniable.core.run import crowd_size
from deniable.errors import ParameterError
from deniable.tasks.checks import check_people, check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.heavy_hitters.allocation import group_weights, prefix_lengths, usual_keep
from deniable.tasks.heavy_hitters.prefixes import (
    LARGEST_LIST,
    RESULT,
    estimate_of,
    extended,
    named,
    prefix_question,
    prefix_work,
    settle_domain,
    strongest,
)


@typed
@dataclass(frozen=True, kw_only=True)
class PEMState(State):
    """The prefixes that a search follows."""

    stage: int = 0
    """The number of groups of this round that have reported."""
    candidates: tuple[int, ...] = field(default=(0,), metadata=wire(form=HEXADECIMALS))
    """The prefixes kept so far; at first the empty one."""
    repetition: int = 0
    """The number of finished rounds."""
    found: tuple[int, ...] = field(default=(), metadata=wire(form=HEXADECIMALS))
    """What earlier rounds found, if the last list has it, too."""


@typed
@dataclass(frozen=True, kw_only=True)
class PEM(Protocol):
    """Find the k most frequent values of a domain too large to list.

    People are split at random into groups. The first reports the first bits of its values; the most frequent prefixes are kept, and the
    next group reports longer ones that begin with them, until the values are whole.

    Guarantee: epsilon-local for any two inputs; everybody reports once, in one group. With ``rounds`` the whole search is repeated with
    the same people: everybody reports once in each, and the promise is ``rounds`` times epsilon. What earlier rounds found joins the
    last list.

    Estimator: the counts of the last group, or of a ``holdout`` that had no part in the search, for the values found. Without a holdout
    the values were selected by the same reports that count them, and the smaller ones among them come out too large.

    Cost: one report of one oracle, which the group's candidates decide; each group's candidates are at most ``keep`` times 2^step.

    ``people`` is how many are expected, for the defaults: twice k prefixes are kept where noise allows it, groups grow by 1.3, and steps
    are long, 14 bits, where epsilon is large. ``allocation`` may also be a list of weights, one for each group.

    >>> search = PEM(bits=16, k=9, epsilon=2.0, oracle="GRR", groups=8, people=1000)
    >>> search.lengths, search.keep, search.open().questions[0].spec
    ((2, 4, 6, 8, 10, 12, 14, 16), 9, GRR(domain_size=4, epsilon=2.0))

    References: Wang, Li, Jha 2021.
    """

    result: ClassVar[str] = RESULT
    domain: Domain = None  # type: ignore[assignment]  # resolved below
    bits: int = field(default=None, metadata=INSTEAD)  # type: ignore[assignment]  # resolved with the domain
    """The length of the values, if they are plain numbers: instead of ``domain``."""
    k: int
    epsilon: float
    oracle: str = "auto"
    """The frequency oracle of every report; "auto" takes the one with the smallest error."""
    groups: int | None = field(default=None, repr=False, metadata=UNWRITTEN)
    """How many groups search, instead of ``step_bits``."""
    step_bits: int | None = field(default=None, repr=False, metadata=UNWRITTEN)
    """By how many bits the prefixes grow from group to group."""
    keep: int = None  # type: ignore[assignment]  # resolved below
    allocation: str | Sequence[int] = field(default="growing", metadata=wire(form=form_of(tuple[int, ...])))
    holdout: float | Fraction = field(default=Fraction(0), metadata=wire(form=form_of(Fraction)))
    people: int = 100_000
    rounds: int = 1
    lengths: tuple[int, ...] = field(default=None, metadata=RESOLVED)  # type: ignore[arg-type]  # resolved below
    """The length of each group's prefixes; they follow from ``groups`` or ``step_bits``."""
    state: PEMState = field(default=PEMState(), repr=False, metadata=STATE)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        settle_domain(self)
        check_people(self.people)
        check_whole("k", self.k, 1, LARGEST_LIST)
        check_whole("rounds", self.rounds, 1, LARGEST_LIST)
        for name in ("stage", "repetition"):
            check_whole(name, getattr(self.state, name), 0, LARGEST_LIST)
        if not 0 <= self.holdout < 1:
            raise ParameterError(
                "holdout",
                self.holdout,
                allowed="a share from 0 to below 1",
                fix="try 0.1, which keeps a tenth of the people for the final count",
            )
        put("holdout", Fraction(self.holdout).limit_denominator(1000))
        if self.keep is None:
            put("keep", usual_keep(self.k, self.epsilon, self.bits, self.people))
        check_whole("keep", self.keep, 1, 4 * LARGEST_LIST, fix="leave out keep to get k or twice k")
        if self.lengths is None:
            put("lengths", prefix_lengths(self.bits, self.keep, self.epsilon, groups=self.groups, step_bits=self.step_bits))
        rising = all(before < after for before, after in pairwise((0, *self.lengths)))
        if not self.lengths or not rising or self.lengths[-1] > self.bits:
            raise ParameterError("lengths", self.lengths, allowed=f"increasing numbers from 1 to {self.bits}", fix="leave out lengths")
        put("allocation", group_weights(self.allocation, len(self.lengths)))
        put("groups", None)  # what was asked for is in lengths now; two searches that ask alike are equal
        put("step_bits", None)
        check_feasible(self, "step_bits, keep", fix="use shorter steps, for example step_bits=8, or search for fewer values")

    def work(self) -> Work:
        steps = [(after, after - before) for before, after in pairwise((0, *self.lengths))]
        sizes = [(length, min(self.keep << step, 1 << length) if length > step else 1 << step) for length, step in steps]
        sizes.append((self.bits, self.k * self.rounds + sizes[-1][1] if self.rounds > 1 else self.k))
        asking = {"oracle": self.oracle, "epsilon": self.epsilon, "people": self.people // (len(self.lengths) + 1)}
        longest = {size: length for length, size in sizes}  # of prefixes in equal numbers the longest, for which nothing is less
        return heaviest(prefix_work(length, size, **asking) for size, length in longest.items())  # type: ignore[arg-type]  # as named

    # --- asking ---

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of the people in each group, the holdout at last if there is one."""
        weights: tuple[int, ...] = self.allocation  # type: ignore[assignment]  # resolved to weights
        whole = (1 - Fraction(self.holdout)) / sum(weights)
        searching = tuple(weight * whole for weight in weights)
        return (*searching, Fraction(self.holdout)) if self.holdout else searching

    @property
    def scale(self) -> int:
        return lcm(*(share.denominator for share in self.shares))

    @property
    def counting(self) -> bool:
        """True if only the final count is left."""
        return self.state.stage == len(self.lengths)

    @cached_property
    def asked(self) -> tuple[int, ...]:
        """The prefixes that the current group is asked about."""
        if self.counting:
            return self.state.candidates
        before = self.lengths[self.state.stage - 1] if self.state.stage else 0
        length = self.lengths[self.state.stage]
        prefixes = extended(self.state.candidates, length - before)
        if length < self.bits:
            return prefixes
        codes = sorted({*real_codes(self.domain, prefixes), *self.state.found})
        return tuple(codes) or prefixes[:1]  # a round asks something

    def open(self) -> Round:
        return Round((self._question,), sum(self.shares[: self.state.stage], Fraction(0)))

    @cached_property
    def _question(self) -> Question:
        length = self.bits if self.counting else self.lengths[self.state.stage]
        share = self.shares[self.state.stage]
        name = "count" if self.counting else f"prefix-{length}"
        people = int(self.people * share)
        return prefix_question(name, self.domain, length, self.asked, oracle=self.oracle, epsilon=self.epsilon, people=people, share=share)

    def close(self, tallies: Mapping[str, Any]) -> PEM | FrequencyEstimate:
        self.open().check_tallies(tallies)
        tally = tallies[self._question.name]
        estimate = estimate_of(self._question, tally, self.asked)
        last = self.state.stage >= len(self.lengths) - 1
        best = strongest(estimate.counts, self.k if last else self.keep, tally.to_bytes())
        if last and self.state.repetition < self.rounds - 1:
            found = tuple(sorted({*self.state.found, *(self.asked[i] for i in best)}))
            return self.learned(stage=0, candidates=(0,), repetition=self.state.repetition + 1, found=found)
        if self.counting or (last and not self.holdout):
            return named(self, estimate, best, share=min(self.shares), codes=self.asked)
        return self.learned(stage=self.state.stage + 1, candidates=tuple(sorted(self.asked[i] for i in best)))

    @property
    def guarantee(self) -> Guarantee:
        if self.rounds == 1:
            return Guarantee(epsilon=self.epsilon, unit="one report, in one group of the search")
        return Guarantee(epsilon=self.rounds * self.epsilon, unit=f"{self.rounds} reports, one in each round of the search")


@typed
def heavy_hitters(
    values: Any,
    *,
    domain: Domain | None = None,
    k: int,
    epsilon: float,
    source: Source | None = None,
    progress: Progress | None = None,
) -> FrequencyEstimate:
    """Return the k most frequent of people's values, each reported once and privately: integers, text or bytes.

    The counts are those of the people in the last group; frequencies carry over to everyone. ``domain`` declares the possible values, and
    is never read off the values: the longest word, or the largest number, is somebody's, and would be revealed at any epsilon.

    >>> from deniable.contract.domain import Text
    >>> from deniable.testing import ReplaySource
    >>> words = ["tea"] * 9000 + ["coffee"] * 6000 + ["mate"] * 3000 + ["water"] * 2000
    >>> found = heavy_hitters(words, k=3, epsilon=4.0, domain=Text(8), source=ReplaySource.from_key("drinks"))
    >>> found.values
    ['tea', 'coffee', 'mate']
    """
    if domain is None:
        raise ParameterError(
            "domain",
            None,
            allowed="a domain that is declared and not read off the values",
            fix="write domain=Text(20) for words of up to 20 bytes, Bytes(8), or Integers(0, 65_535)",
        )
    search = PEM(domain=domain, k=k, epsilon=epsilon, people=crowd_size(values))
    found: FrequencyEstimate = search.run(values, source=source, progress=progress)
    how = [
        f"PEM: {len(search.lengths)} groups ask about prefixes of {', '.join(map(str, search.lengths))} bits",
        f"{search.keep} prefixes are kept per round"
        + (", twice k, since the noise is small" if search.keep > search.k else ", since the noise is large"),
        f"the last group, {found.n:,} people, is counted by {found.spec.mechanism}",
    ]
    return replace(found, screening=replace(found.screening, how="; ".join(how)))  # type: ignore[type-var]  # a search has one
