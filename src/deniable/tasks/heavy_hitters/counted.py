"""Code that searches share which first assemble candidates, and then have other people count them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from math import lcm
from typing import Any, ClassVar, Self

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import typed
from deniable.contract.codes import value_of
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.encoder import Encoder, Prefix
from deniable.contract.form import HEXADECIMALS
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol, State
from deniable.contract.question import Question, Round
from deniable.contract.record import INSTEAD, STATE, form_of, wire
from deniable.contract.segments import Segments
from deniable.contract.spec import MECHANISMS
from deniable.contract.work import Work, heaviest
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.tasks.checks import check_people, check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.heavy_hitters.prefixes import (
    RESULT,
    checked_holdout,
    estimate_of,
    named,
    nothing_counted,
    prefix_question,
    prefix_work,
    settle_domain,
    strongest,
)
from deniable.tasks.oracles import AUTO, best_oracle

MOST_GROUPS = 4096
"""The most groups that people are split into."""
LEAST_HOLDOUT = Fraction(1, 10)
"""What is kept for the final count at least, unless the caller wants otherwise."""


@typed
@dataclass(frozen=True, kw_only=True)
class CountedSearchState(State):
    """The state of a search."""

    candidates: tuple[int, ...] | None = field(default=None, metadata=wire(form=HEXADECIMALS))
    """The codes to count, once there are some."""


@dataclass(frozen=True, kw_only=True)
class CountedSearch(Protocol, abstract=True):
    """The rounds of a search: a subclass asks until it has ``candidates``, and the holdout counts them. All searching groups are equal.

    Without ``bits`` give a ``domain``. ``people`` is how many are expected, for the defaults.
    """

    result: ClassVar[str] = RESULT
    domain: Domain = None  # type: ignore[assignment]  # resolved below
    bits: int = field(default=None, metadata=INSTEAD)  # type: ignore[assignment]  # resolved with the domain
    """The length of the values, if they are plain numbers: instead of ``domain``."""
    k: int
    epsilon: float
    oracle: str = "auto"
    """The frequency oracle of every report; "auto" takes the one with the smallest error."""
    holdout: float | Fraction = field(default=None, metadata=wire(form=form_of(Fraction)))  # type: ignore[assignment]  # resolved below
    people: int = 100_000
    state: CountedSearchState = field(default=CountedSearchState(), repr=False, metadata=STATE)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        settle_domain(self)
        check_whole("k", self.k, 1)
        check_people(self.people)
        self._resolve(put)
        if self.groups > MOST_GROUPS:
            allowed = f"at most {MOST_GROUPS} groups; {self.bits} bits make {self.groups}"
            raise ParameterError("domain", self.domain, allowed=allowed, fix="shorten the values, or use PEM")
        put("holdout", checked_holdout(max(Fraction(1, self.groups + 1), LEAST_HOLDOUT) if self.holdout is None else self.holdout))
        Prefix(self.domain, self.bits, self.state.candidates)  # its checks are ours
        check_feasible(self, self.sized_by, fix="use smaller settings, or search for fewer values")

    # --- what each search provides ---

    sized_by: ClassVar[str]
    """The settings that make its rounds large."""

    @property
    @abstractmethod
    def most_candidates(self) -> int:
        """How many codes are counted in the end, at most."""

    @abstractmethod
    def _search_work(self) -> Iterable[Work]:
        """What it takes to close each round of the search."""

    @abstractmethod
    def _resolve(self, put: Any) -> None:
        """Fill in the parameters that were left out, and check them."""

    @property
    @abstractmethod
    def groups(self) -> int:
        """How many groups search, in all rounds."""

    @abstractmethod
    def _search(self) -> tuple[tuple[Question, ...], int]:
        """The questions to ask now, and how many groups have been asked before."""

    @abstractmethod
    def _learn(self, estimates: list[FrequencyEstimate], salt: bytes) -> Self | tuple[int, ...]:
        """The search in its next state, or the codes that it has found."""

    # --- asking ---

    @property
    def share(self) -> Fraction:
        """The share of the people in each searching group."""
        return (1 - Fraction(self.holdout)) / self.groups

    @property
    def scale(self) -> int:
        return lcm(self.share.denominator, Fraction(self.holdout).denominator)

    @cached_property
    def _round(self) -> Round:
        candidates = self.state.candidates
        if candidates is None:
            questions, before = self._search()
            return Round(questions, before * self.share)
        share = Fraction(self.holdout)
        people = int(self.people * share)
        asked = prefix_question(
            "count", self.domain, self.bits, candidates, oracle=self.oracle, epsilon=self.epsilon, people=people, share=share
        )
        return Round((asked,), 1 - share)

    def open(self) -> Round:
        return self._round

    def work(self) -> Work:
        """What it takes to close a round, this one or the heaviest of those to come, at most."""
        asking = {"oracle": self.oracle, "epsilon": self.epsilon, "people": int(self.people * self.holdout)}
        if self.state.candidates is not None:
            return prefix_work(self.bits, len(self.state.candidates), **asking)  # type: ignore[arg-type]  # as named
        return heaviest([*self._search_work(), prefix_work(self.bits, self.most_candidates, **asking)])  # type: ignore[arg-type]  # as named

    def _spec(self, size: int, counted: int) -> FrequencySpec:
        """The oracle for numbers below ``size``, so many of which are counted, one for everybody else included."""
        oracle = best_oracle(counted, self.epsilon, int(self.people * self.share)) if self.oracle == AUTO else self.oracle
        made: Any = MECHANISMS[oracle]
        spec: FrequencySpec = made(domain=IndexRange(counted if made.needs_listed_domain else size), epsilon=self.epsilon)
        return spec

    def _ask(self, name: str, encoder: Encoder, size: int, candidates: tuple[int, ...] | None = None) -> Question:
        """A question to one group about numbers below ``size``; with candidates (and ``Segments``) only these are counted."""
        counted = size if candidates is None else max(len(candidates) + (len(candidates) < size), 2)
        spec = self._spec(size, counted)
        if isinstance(encoder, Segments) and spec.needs_listed_domain and candidates is not None:  # positions, and one more for the others
            encoder, candidates = replace(encoder, candidates=candidates), None
        return Question(name=name, spec=spec, encoder=encoder, share=self.share, candidates=candidates)

    def close(self, tallies: Mapping[str, Any]) -> Self | FrequencyEstimate:
        questions = self._round.questions
        self._round.check_tallies(tallies)
        salt = b"".join(tallies[question.name].to_bytes() for question in questions)
        candidates = self.state.candidates
        if candidates is not None:
            estimate = estimate_of(questions[0], tallies[questions[0].name], candidates)
            best = strongest(estimate.counts, self.k, salt)
            return named(self, estimate, best, share=min(self.share, Fraction(self.holdout)), codes=candidates)
        estimates = [question.spec.estimate(tallies[question.name], candidates=question.candidates) for question in questions]
        learned = self._learn(estimates, salt)
        if not isinstance(learned, tuple):
            return learned
        found = tuple(sorted(code for code in learned if value_of(self.domain, code) is not None))
        if not found:  # nobody need report on an empty list
            return nothing_counted(self, estimates[-1], min(self.share, Fraction(self.holdout)))
        return self.learned(candidates=found)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, in one group of the search")
