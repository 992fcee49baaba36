"""The tree of prefixes, asked about in one round: every level by its own people, and walked when all answers are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, log2
from typing import Any

import numpy as np
from scipy.stats import norm

from deniable.client.cms import CMS
from deniable.client.flh import FLH
from deniable.client.frequency import FrequencySpec
from deniable.client.hcms import HCMS
from deniable.client.sketch import SketchProtocol
from deniable.contract.canonical import canonical_json, number, read_number, read_object
from deniable.contract.codes import code_bits, value_of
from deniable.contract.domain import Bytes, Domain, Integers
from deniable.contract.domain_json import domain_from_json
from deniable.contract.encoder import Identity, Prefix
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, Round
from deniable.contract.source import ONE
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError, ProtocolError
from deniable.kernels.compiled import Array
from deniable.local.choose import frequency_oracle, planned_variance
from deniable.tasks.heavy_hitters.pem import usual_keep
from deniable.tasks.heavy_hitters.searching import LARGEST_LIST, RESULT, extended, strongest

SKETCHES: tuple[type[SketchProtocol], ...] = (FLH, CMS, HCMS)
"""The oracles that count whatever their domain is, and are told only afterwards what to look for."""
FALSE_CHILDREN, FALSE_VALUES = 1.0, 0.05
"""How many candidates may stand out by noise alone, on average: at a level of the tree, and in the result."""
MOST_QUESTIONS = 512
_LISTED = 1 << 20
_MOST_FUNCTIONS, _FEWEST_FUNCTIONS = 1 << 16, 1 << 6
_TABLE = 1 << 20
"""Counters of a sketch: 8 MiB for each question."""
_WORK = 1 << 28
"""Hashes of candidates for one question: about a second."""


@dataclass(frozen=True, kw_only=True)
class TreeHist(Protocol):
    """Find the k most frequent values of a domain too large to list, in one round.

    People are split at random among the levels of the tree of prefixes, and report their value's prefix of that length through a sketch.
    When all reports are in, the tree is walked from its root: of the prefixes kept so far, the children that stand out of the noise are
    kept, ``keep`` of them at most, until the values are whole. Every level has its own sketch.

    Guarantee: epsilon-local for any two inputs; everybody reports once, about one level.

    Estimator: the counts of the people who were asked for whole values, for the values found. These were selected by the same reports that
    count them: the smaller ones among them come out too large.

    Cost: one report of a sketch; with L levels and n people the error of a frequency is that of n / L people. The collector hashes
    ``keep`` times 2^step_bits candidates at each level.

    ``threshold`` is how many standard errors of a prefix that nobody has a child must reach. By default it is the height that one of a
    level's candidates reaches by noise alone, on average: a false child costs little, a true one that is missed is lost. ``people`` is
    how many are expected, for the defaults. ``step_bits=1`` is the binary tree of the paper; longer steps mean fewer levels.

    >>> from deniable.testing import ReplaySource
    >>> search = TreeHist(bits=32, k=3, epsilon=2.0, people=12_000)
    >>> search.lengths, [question.spec.mechanism for question in search.open().questions]
    ((11, 19, 27, 32), ['SubsetSelection', 'FLH', 'FLH', 'FLH'])
    >>> values = [2**31 + 7] * 4000 + [12345] * 3000 + list(range(10**6, 10**6 + 5000))
    >>> search.run(values, source=ReplaySource.from_key("docs"))["heavy_hitters"].values
    [2147483655, 12345]

    References: Bassily, Nissim, Stemmer, Thakurta 2017.
    """

    k: int
    epsilon: float
    bits: int = None  # type: ignore[assignment]  # resolved with the domain
    domain: Domain = None  # type: ignore[assignment]  # resolved below
    oracle: str = "auto"
    step_bits: int | None = None
    keep: int = None  # type: ignore[assignment]  # resolved below
    threshold: float | None = None
    people: int = 100_000
    salt: int = 0
    lengths: tuple[int, ...] = None  # type: ignore[assignment]  # resolved below

    def __post_init__(self) -> None:
        settle(self)
        put = partial(object.__setattr__, self)
        if self.keep is None:
            put("keep", usual_keep(self.k, self.epsilon, self.bits, self.people))
        check_whole("keep", self.keep, 1, LARGEST_LIST // 2)
        if self.lengths is None:
            step = self.step_bits if self.step_bits is not None else min(8, int(log2(LARGEST_LIST / self.keep)))
            check_whole("step_bits", step, 1, int(log2(LARGEST_LIST / self.keep)))
            first = min(self.bits, (self.keep - 1).bit_length() + step if self.step_bits is None else step)
            put("lengths", (*range(first, self.bits, step), self.bits))
        put("step_bits", None)  # what was asked for is in lengths now
        rising = (0, *self.lengths)
        steps = [late - early for early, late in zip(rising, self.lengths, strict=False)]
        if not steps or min(steps) < 1 or max(steps) > 16 or rising[-1] != self.bits or len(steps) > MOST_QUESTIONS:
            allowed = f"at most {MOST_QUESTIONS} rising lengths up to {self.bits}, in steps of 16 at most"
            raise ParameterError("lengths", self.lengths[:5], allowed=allowed, fix="take longer steps, or shorter values")

    def open(self) -> Round:
        return Round(self._questions)

    @cached_property
    def _questions(self) -> tuple[Question, ...]:
        return tuple(self._question(level) for level in range(len(self.lengths)))

    def _question(self, level: int) -> Question:
        share = Fraction(1, len(self.lengths))
        length, before = self.lengths[level], (0, *self.lengths)[level]
        whole = length == self.bits
        prefixes: Domain = Integers(0, (1 << length) - 1) if length <= 64 else Bytes(-(-length // 8))
        spec = oracle_for(
            self.oracle,
            self.domain if whole else prefixes,
            epsilon=self.epsilon,
            people=int(self.people * share),
            candidates=min(1 << length, self.keep << length - before),
            salt=self.salt + level,
        )
        encoder = Identity() if whole else Prefix(self.domain, length)
        return Question(name=f"prefix-{length}", spec=spec, encoder=encoder, share=share)

    def close(self, tallies: Mapping[str, Any]) -> dict[str, Any]:
        check_tallies(self._questions, tallies)
        kept: tuple[int, ...] = (0,)
        before = 0
        for length, question in zip(self.lengths, self._questions, strict=True):
            tally, last = tallies[question.name], length == self.bits
            children = extended(kept, length - before)
            if last:
                pairs = [(code, value_of(self.domain, code)) for code in children]
                children = tuple(code for code, value in pairs if value is not None)
                asked = [value for _, value in pairs if value is not None]
            else:
                asked = [Prefix(self.domain, length).shown(code) for code in children]
            estimate = question.spec.estimate(tally, candidates=asked)
            best = above_noise(
                estimate, self.threshold, self.k if last else self.keep, tally.to_bytes(), false=FALSE_VALUES if last else FALSE_CHILDREN
            )
            kept, before = tuple(sorted(children[i] for i in best)), length
        return {RESULT: estimate.select(best)}

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, about one level of the tree")

    @cached_property
    def canonical(self) -> bytes:
        return canonical_json(plain_search(self) | {"keep": self.keep, "lengths": list(self.lengths)})

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> TreeHist:
        parts = read_search(content, {"keep", "lengths"})
        return cls(**parts | {"lengths": tuple(parts["lengths"])})


# --- what searches in one round share ---


def settle(search: Any) -> None:
    """Check what every search in one round has, and fill in its domain."""
    put = partial(object.__setattr__, search)
    put("epsilon", check_epsilon(search.epsilon))
    allowed = sorted(["auto", *(sketch.__name__ for sketch in SKETCHES)])
    if search.oracle not in allowed:
        raise ParameterError(
            "oracle", search.oracle, allowed=f"one of {allowed}", fix="in one round, candidates are not known at tally time"
        )
    if search.domain is None:
        check_whole("bits", search.bits, 1, 64)
        put("domain", Integers(0, (1 << search.bits) - 1))
    if search.bits not in (None, code_bits(search.domain)):
        raise ParameterError("bits", search.bits, allowed=f"{code_bits(search.domain)}, as in domain", fix="leave it out")
    put("bits", code_bits(search.domain))
    check_whole("k", search.k, 1, LARGEST_LIST)
    check_whole("people", search.people, 0, ONE)
    check_whole("salt", search.salt, 0, ONE - 1)
    if search.threshold is not None:
        number_of = float(search.threshold) if isinstance(search.threshold, int | float) else np.nan
        if not 0 <= number_of < np.inf:
            raise ParameterError("threshold", search.threshold, allowed="standard errors, from 0 on", fix="leave it out, or try 4")
        put("threshold", number_of)


def check_whole(name: str, value: object, least: int, most: int) -> None:
    """Refuse what is not a whole number between two others."""
    if type(value) is not int or not least <= value <= most:
        raise ParameterError(name, value, allowed=f"an integer from {least} to {most}", fix="leave it out where it has a default")


def oracle_for(name: str, domain: Domain, *, epsilon: float, people: int, candidates: int, salt: int) -> FrequencySpec:
    """An oracle that can be tallied before anyone names a candidate: a listed one where the domain is small, a sketch elsewhere.

    Of the sketches, the one with the least error whose candidates are hashed in about a second.
    """
    if name == "auto" and domain.listed and domain.size <= _LISTED:
        return frequency_oracle(domain=domain, epsilon=epsilon, n=max(people, 1)).spec
    made: list[SketchProtocol] = []
    for sketch in SKETCHES:
        try:
            made += [_sized(sketch, domain, epsilon, people, salt % ONE)] if name in ("auto", sketch.__name__) else []
        except ParameterError:  # an epsilon for which it has too many cells
            if name != "auto":
                raise
    quick = [spec for spec in made if spec.hashes * candidates <= _WORK] or made[-1:]
    return min(quick, key=lambda spec: planned_variance(spec, max(people, 1), 0.0))


def _sized(sketch: type[SketchProtocol], domain: Domain, epsilon: float, people: int, salt: int) -> SketchProtocol:
    """A sketch with so many functions that collisions add an eighth of the noise at most, whatever people hold, and a table of 8 MiB."""
    single = sketch(domain=domain, epsilon=epsilon, hashes=1, salt=salt)
    wanted = 8 * people / ((single.cells - 1) * single.variance(1))
    hashes = 1 << ceil(log2(min(max(wanted, _FEWEST_FUNCTIONS), _MOST_FUNCTIONS)))
    return replace(single, hashes=max(1, min(hashes, _TABLE // single.cells)))


def above_noise(estimate: FrequencyEstimate, threshold: float | None, most: int, salt: bytes, *, false: float) -> Array:
    """The positions of the strongest counts, as far as they exceed so many standard errors of a value that nobody holds.

    Left out, the threshold is what so many of the counts would reach on average if nobody held any of them.
    """
    counts = estimate.counts
    height = norm.isf(min(false / max(counts.size, 1), 0.5)) if threshold is None else threshold
    noise = np.broadcast_to(np.sqrt(estimate.variance(np.zeros(counts.size))), counts.shape)
    best = strongest(counts, most, salt)
    return best[counts[best] > height * noise[best]]


def check_tallies(questions: Iterable[Question], tallies: Mapping[str, Any]) -> None:
    """Refuse tallies that do not answer the questions, each once."""
    names = [question.name for question in questions]
    if set(tallies) != set(names):
        raise ProtocolError("tallies", sorted(tallies), allowed=f"one for each of {names[:5]} ...", fix="tally every question once")


def plain_search(search: Any) -> dict[str, Any]:
    """What every search in one round has, as canonical JSON carries it."""
    plain = {name: getattr(search, name) for name in ("k", "oracle")} | {"protocol": search.kind, "epsilon": repr(search.epsilon)}
    plain |= {"domain": search.domain.to_json(), "people": number(search.people), "salt": number(search.salt)}
    return plain if search.threshold is None else plain | {"threshold": repr(search.threshold)}


def read_search(content: dict[str, Any], more: set[str], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The parameters behind ``plain_search``, and those with other names as they are."""
    names = {"protocol", "domain", "k", "epsilon", "oracle", "people", "salt"}
    parts = read_object("protocol", content, names | more, optional | {"threshold"})
    del parts["protocol"]
    return (
        parts
        | {name: float(parts[name]) for name in ("epsilon", "threshold") if name in parts}
        | {name: read_number(name, parts[name]) for name in ("people", "salt")}
        | {"domain": domain_from_json(parts["domain"])}
    )
