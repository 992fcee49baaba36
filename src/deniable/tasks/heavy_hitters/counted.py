"""What searches share that put candidates together first, and have them counted by people who had no part in that."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from math import lcm
from typing import Any, ClassVar, Self

import numpy as np

from deniable.contract.canonical import canonical_json, number, read_number, read_object
from deniable.contract.codes import code_bits, value_of
from deniable.contract.domain import Domain, IndexRange, Integers
from deniable.contract.domain_json import domain_from_json
from deniable.contract.encoder import Encoder, Prefix
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.question import Question, Round, read_share
from deniable.contract.segments import Segments
from deniable.contract.spec import MECHANISMS
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError, ProtocolError
from deniable.local.choose import frequency_oracle
from deniable.tasks.heavy_hitters.searching import RESULT, check_oracle, estimate_of, named, prefix_question, strongest

MOST_GROUPS = 4096
"""The most groups that people are split into."""
LEAST_HOLDOUT = Fraction(1, 10)
"""What is kept for the final count at least, unless the caller wants otherwise."""


@dataclass(frozen=True, kw_only=True)
class CountedSearch:
    """The rounds of a search: a subclass asks until it has ``candidates``, and the holdout counts them. All searching groups are equal.

    Without ``bits`` give a ``domain``. ``people`` is how many are expected, for the defaults.
    """

    k: int
    epsilon: float
    bits: int = None  # type: ignore[assignment]  # resolved with the domain
    domain: Domain = None  # type: ignore[assignment]  # resolved below
    oracle: str = "auto"
    holdout: float | Fraction = None  # type: ignore[assignment]  # resolved below
    people: int = 100_000
    candidates: tuple[int, ...] | None = None
    """The codes to count, once there are some."""

    kind: ClassVar[str]
    numbers: ClassVar[tuple[str, ...]] = ("k", "people")
    """The parameters that are whole numbers."""

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        check_oracle(self.oracle)
        if self.domain is None:
            self.check("bits", 1, 64)
            put("domain", Integers(0, (1 << self.bits) - 1))
        if self.bits not in (None, code_bits(self.domain)):
            raise ParameterError("bits", self.bits, allowed=f"{code_bits(self.domain)}, as in domain", fix="leave it out")
        put("bits", code_bits(self.domain))
        self.check("k", 1)
        self.check("people", 0)
        self.resolve(put)
        if self.groups > MOST_GROUPS:
            allowed = f"at most {MOST_GROUPS} groups; {self.bits} bits make {self.groups}"
            raise ParameterError("domain", self.domain, allowed=allowed, fix="shorten the values, or use PEM")
        share = self.holdout if self.holdout is not None else max(Fraction(1, self.groups + 1), LEAST_HOLDOUT)
        finite = isinstance(share, int | float | Fraction) and 0 < share < 1
        put("holdout", Fraction(share).limit_denominator(1000) if finite else Fraction(0))
        if not 0 < self.holdout < 1:
            raise ParameterError("holdout", share, allowed="a share above 0, below 1", fix="0.1 keeps a tenth for the final count")
        Prefix(self.domain, self.bits, self.candidates)  # its checks are ours

    def check(self, name: str, least: int, most: float = float("inf")) -> None:
        """Refuse a parameter that is not a whole number in a range."""
        value = getattr(self, name)
        if type(value) is not int or not least <= value <= most:
            allowed = f"an integer from {least} on" if most == float("inf") else f"an integer from {least} to {most}"
            raise ParameterError(name, value, allowed=allowed, fix="leave it out where it has a default")

    # --- what each search provides ---

    @abstractmethod
    def resolve(self, put: Any) -> None:
        """Fill in the parameters that were left open, and check them."""

    @property
    @abstractmethod
    def groups(self) -> int:
        """How many groups search, in all rounds."""

    @abstractmethod
    def search(self) -> tuple[tuple[Question, ...], int]:
        """The questions to ask now, and how many groups have been asked before."""

    @abstractmethod
    def learn(self, estimates: list[FrequencyEstimate], salt: bytes) -> Self | tuple[int, ...]:
        """The next state of the search, or the codes that it has found."""

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
        if self.candidates is None:
            questions, before = self.search()
            return Round(questions, before * self.share)
        share = Fraction(self.holdout)
        people = int(self.people * share)
        asked = prefix_question(
            "count", self.domain, self.bits, self.candidates, oracle=self.oracle, epsilon=self.epsilon, people=people, share=share
        )
        return Round((asked,), 1 - share)

    def open(self) -> Round:
        return self._round

    def ask(self, name: str, encoder: Encoder, size: int, candidates: tuple[int, ...] | None = None) -> Question:
        """A question to one group about numbers below ``size``; with candidates (and ``Segments``) only these are counted."""
        counted = size if candidates is None else max(len(candidates) + (len(candidates) < size), 2)
        oracle, people = self.oracle, int(self.people * self.share)
        if oracle == "auto":
            oracle = chosen(counted, self.epsilon, max(people, 1))
        made: Any = MECHANISMS[oracle]
        if isinstance(encoder, Segments) and made.needs_listed_domain and candidates is not None:  # positions, and one more for the others
            encoder, candidates, size = replace(encoder, candidates=candidates), None, counted
        spec = made(domain=IndexRange(size), epsilon=self.epsilon)
        return Question(name=name, spec=spec, encoder=encoder, share=self.share, candidates=candidates)

    def close(self, tallies: Mapping[str, Any]) -> Self | dict[str, Any]:
        questions = self.open().questions
        names = [question.name for question in questions]
        if set(tallies) != set(names):
            raise ProtocolError("tallies", sorted(tallies), allowed=f"one for each of {names}", fix="tally every question once")
        salt = b"".join(tallies[name].to_bytes() for name in names)
        if self.candidates is not None:
            estimate = estimate_of(questions[0], tallies[names[0]], self.candidates)
            best = strongest(estimate.counts, self.k, salt)
            return {RESULT: named(estimate.select(best), self.domain, [self.candidates[i] for i in best])}
        estimates = [question.spec.estimate(tallies[question.name], candidates=question.candidates) for question in questions]
        learned = self.learn(estimates, salt)
        if not isinstance(learned, tuple):
            return learned
        found = tuple(sorted(code for code in learned if value_of(self.domain, code) is not None))
        if not found:  # nobody need report on an empty list
            return {RESULT: named(estimates[-1].select(np.arange(0)), self.domain, [])}
        return replace(self, candidates=found)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, in one group of the search")

    # --- identity ---

    def plain(self) -> dict[str, Any]:
        """The state as plain data."""
        plain: dict[str, Any] = {name: number(getattr(self, name)) for name in self.numbers}
        plain |= {"protocol": self.kind, "domain": self.domain.to_json(), "epsilon": repr(self.epsilon), "oracle": self.oracle}
        plain |= {"holdout": str(self.holdout)}
        return plain if self.candidates is None else plain | {"candidates": in_hex(self.candidates)}

    @cached_property
    def canonical(self) -> bytes:
        return canonical_json(self.plain())

    @classmethod
    def from_content(cls, content: dict[str, Any], more: frozenset[str] = frozenset()) -> Self:
        names = {"protocol", "domain", "epsilon", "oracle", "holdout", *cls.numbers}
        parts = read_object("protocol", content, names, more | {"candidates"})
        del parts["protocol"]
        parts |= {name: read_number(name, parts[name]) for name in cls.numbers}
        parts |= {"domain": domain_from_json(parts["domain"]), "epsilon": float(parts["epsilon"])}
        parts |= {"holdout": read_share(parts["holdout"])}
        parts |= {name: from_hex(parts[name]) for name in ("candidates",) if name in parts}
        return cls(**parts)


@cache
def chosen(size: int, epsilon: float, people: int) -> str:
    """The oracle with the smallest error: once, however many groups are asked alike."""
    return frequency_oracle(domain_size=size, epsilon=epsilon, n=people).spec.mechanism


def in_hex(codes: Iterable[int]) -> list[str]:
    """Codes as JSON carries them."""
    return [f"{code:x}" for code in codes]


def from_hex(texts: Iterable[str]) -> tuple[int, ...]:
    """The codes behind ``in_hex``."""
    return tuple(int(text, 16) for text in texts)
