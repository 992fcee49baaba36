"""The prefix extending method: groups of people report ever longer prefixes, and only the frequent ones are followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, exp, lcm, log, log2, sqrt
from typing import Any

from deniable.contract.canonical import canonical_json, number, read_number, read_object
from deniable.contract.codes import code_bits, value_of
from deniable.contract.domain import Domain, Integers
from deniable.contract.domain_json import domain_from_json
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, Round, read_share
from deniable.errors import ParameterError, ProtocolError
from deniable.tasks.heavy_hitters.searching import (
    LARGEST_LIST,
    RESULT,
    check_oracle,
    estimate_of,
    extended,
    named,
    prefix_question,
    strongest,
)

GROWTH = 1.3
"""How much larger each group is than the one before, where groups grow."""
LARGEST_GROWTH = 8.0
"""How much larger the last group is than the first, at most: with many groups the first ones would be too small to choose from."""


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

    k: int
    epsilon: float
    bits: int = None  # type: ignore[assignment]  # resolved with the domain
    domain: Domain = None  # type: ignore[assignment]  # resolved below
    oracle: str = "auto"
    groups: int | None = None
    step_bits: int | None = None
    keep: int = None  # type: ignore[assignment]  # resolved below
    allocation: str | Sequence[int] = "growing"
    holdout: float | Fraction = Fraction(0)
    people: int = 100_000
    rounds: int = 1
    lengths: tuple[int, ...] = None  # type: ignore[assignment]  # resolved below
    stage: int = 0
    candidates: tuple[int, ...] = (0,)
    """The prefixes that were kept so far; at first the empty one."""
    repetition: int = 0
    found: tuple[int, ...] = ()
    """What earlier rounds found."""

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        check_oracle(self.oracle)
        if self.domain is None:
            if type(self.bits) is not int or not 1 <= self.bits <= 64:
                raise ParameterError("bits", self.bits, allowed="an integer from 1 to 64", fix="give the length of the values, or domain=")
            put("domain", Integers(0, (1 << self.bits) - 1))
        if self.bits not in (None, code_bits(self.domain)):
            raise ParameterError("bits", self.bits, allowed=f"{code_bits(self.domain)}, as in domain", fix="leave it out")
        put("bits", code_bits(self.domain))
        for name, least in (("k", 1), ("people", 0), ("stage", 0), ("rounds", 1), ("repetition", 0)):
            if type(getattr(self, name)) is not int or getattr(self, name) < least:
                raise ParameterError(name, getattr(self, name), allowed=f"an integer from {least} on", fix="count in whole numbers")
        put("holdout", Fraction(self.holdout).limit_denominator(1000))
        if not 0 <= self.holdout < 1:
            raise ParameterError("holdout", self.holdout, allowed="a share from 0 to below 1", fix="0.1 keeps a tenth for the final count")
        if self.keep is None:
            put("keep", usual_keep(self.k, self.epsilon, self.bits, self.people))
        if type(self.keep) is not int or self.keep < 1:
            raise ParameterError("keep", self.keep, allowed="an integer from 1 on", fix="leave it out for k or twice that")
        if self.lengths is None:
            put("lengths", self._schedule())
        put("allocation", _weights(self.allocation, len(self.lengths)))
        put("groups", None)  # what was asked for is in lengths now; two searches that ask alike are equal
        put("step_bits", None)

    def _schedule(self) -> tuple[int, ...]:
        if self.groups is not None:
            if type(self.groups) is not int or not 1 <= self.groups <= self.bits or self.step_bits is not None:
                allowed = f"an integer from 1 to {self.bits}, without step_bits"
                raise ParameterError("groups", self.groups, allowed=allowed, fix="say how many groups, or how many bits in a step")
            step = ceil(self.bits / self.groups)
            return tuple(min(step * i, self.bits) for i in range(1, ceil(self.bits / step) + 1))
        longest = max(1, int(log2(LARGEST_LIST / self.keep)))
        step = self.step_bits if self.step_bits is not None else min(14 if self.epsilon >= 2.5 else 8, longest)
        if type(step) is not int or not 1 <= step <= 24:
            raise ParameterError("step_bits", step, allowed="an integer from 1 to 24", fix="8 is usual; each bit doubles the candidates")
        first = min(self.bits, ceil(log2(self.keep)) + step) if self.keep > 1 else min(self.bits, step)
        return (*range(first, self.bits, step), self.bits)

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
        """Whether only the final count is left."""
        return self.stage == len(self.lengths)

    @cached_property
    def asked(self) -> tuple[int, ...]:
        """The prefixes that the group at hand is asked about."""
        if self.counting:
            return self.candidates
        before = self.lengths[self.stage - 1] if self.stage else 0
        length = self.lengths[self.stage]
        prefixes = extended(self.candidates, length - before)
        if length < self.bits:
            return prefixes
        codes = sorted({code for code in prefixes if value_of(self.domain, code) is not None} | set(self.found))
        return tuple(codes) or prefixes[:1]  # a round asks something

    def open(self) -> Round:
        return Round((self._question,), sum(self.shares[: self.stage], Fraction(0)))

    @cached_property
    def _question(self) -> Question:
        length = self.bits if self.counting else self.lengths[self.stage]
        share = self.shares[self.stage]
        name = "count" if self.counting else f"prefix-{length}"
        people = int(self.people * share)
        return prefix_question(name, self.domain, length, self.asked, oracle=self.oracle, epsilon=self.epsilon, people=people, share=share)

    def close(self, tallies: Mapping[str, Any]) -> PEM | dict[str, Any]:
        if set(tallies) != {self._question.name}:
            raise ProtocolError("tallies", sorted(tallies), allowed=f"one of {self._question.name!r}", fix="tally the question once")
        tally = tallies[self._question.name]
        estimate = estimate_of(self._question, tally, self.asked)
        last = self.stage >= len(self.lengths) - 1
        best = strongest(estimate.counts, self.k if last else self.keep, tally.to_bytes())
        if last and self.repetition < self.rounds - 1:
            found = tuple(sorted({*self.found, *(self.asked[i] for i in best)}))
            return replace(self, stage=0, candidates=(0,), repetition=self.repetition + 1, found=found)
        if self.counting or (last and not self.holdout):
            return {RESULT: named(estimate.select(best), self.domain, [self.asked[i] for i in best])}
        return replace(self, stage=self.stage + 1, candidates=tuple(sorted(self.asked[i] for i in best)))

    @property
    def guarantee(self) -> Guarantee:
        if self.rounds == 1:
            return Guarantee(epsilon=self.epsilon, unit="one report, in one group of the search")
        return Guarantee(epsilon=self.rounds * self.epsilon, unit=f"{self.rounds} reports, one in each round of the search")

    # --- identity ---

    @cached_property
    def canonical(self) -> bytes:
        return canonical_json(
            {
                "protocol": self.kind,
                "domain": self.domain.to_json(),
                "k": self.k,
                "epsilon": repr(self.epsilon),
                "oracle": self.oracle,
                "keep": self.keep,
                "lengths": list(self.lengths),
                "allocation": list(self.allocation),
                "holdout": str(self.holdout),
                "people": number(self.people),
                "rounds": self.rounds,
                "repetition": self.repetition,
                "found": [f"{code:x}" for code in self.found],
                "stage": self.stage,
                "candidates": [f"{prefix:x}" for prefix in self.candidates],
            }
        )

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> PEM:
        names = {"domain", "k", "epsilon", "oracle", "keep", "lengths", "allocation", "holdout", "people"}
        names |= {"rounds", "repetition", "found", "stage", "candidates"}
        parts = read_object("protocol", content, names | {"protocol"})
        del parts["protocol"]
        return cls(
            **parts
            | {
                "domain": domain_from_json(parts["domain"]),
                "epsilon": float(parts["epsilon"]),
                "lengths": tuple(parts["lengths"]),
                "allocation": tuple(parts["allocation"]),
                "holdout": read_share(parts["holdout"]),
                "people": read_number("people", parts["people"]),
                "candidates": tuple(int(prefix, 16) for prefix in parts["candidates"]),
                "found": tuple(int(code, 16) for code in parts["found"]),
            }
        )


def usual_keep(k: int, epsilon: float, bits: int, people: int) -> int:
    """How many prefixes to keep: twice k, unless the strongest noise among the candidates reaches half of an average share, 1 / 2k.

    Where noise is small, true prefixes are displaced by each other, and more should be kept; where it is large, more candidates mean more
    noise that looks like one.

    >>> usual_keep(16, 4.0, 48, 657_427), usual_keep(9, 2.0, 16, 1000)
    (32, 9)
    """
    group = max(people / max(bits / 8, 1), 1)
    noise = sqrt(4 * exp(epsilon) / group) / (exp(epsilon) - 1) * sqrt(2 * log(max(2 * k * 256, 2)))
    return 2 * k if noise < 1 / (2 * k) else k


def _weights(allocation: Any, groups: int) -> tuple[int, ...]:
    """How large the groups are, in proportion."""
    if isinstance(allocation, str):
        growth = min(GROWTH, LARGEST_GROWTH ** (1 / max(groups - 1, 1)))
        growing = [round(100 * growth**i) for i in range(groups)]
        rules = {"equal": [1] * groups, "growing": growing, "diminishing": [round(5040 / i) for i in range(1, groups + 1)]}
        if allocation not in rules:
            raise ParameterError("allocation", allocation, allowed=f"one of {sorted(rules)}, or weights", fix="growing is usual")
        return tuple(rules[allocation])
    weights = tuple(allocation)
    if len(weights) != groups or not all(type(weight) is int and 0 < weight < 1 << 20 for weight in weights):
        raise ParameterError("allocation", weights, allowed=f"{groups} positive integers, one for each group", fix="or say growing")
    return weights
