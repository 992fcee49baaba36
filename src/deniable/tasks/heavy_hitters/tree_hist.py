"""The tree of prefixes, asked about in one round: every level by its own people, and walked when all answers are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from math import ceil, log2, sqrt
from typing import Any

import numpy as np
from scipy.stats import binom, norm

from deniable.client.cms import CMS
from deniable.client.flh import FLH
from deniable.client.frequency import FrequencySpec
from deniable.client.hcms import HCMS
from deniable.client.sketch import SketchProtocol
from deniable.contract.canonical import canonical_json, number, read_number, read_object
from deniable.contract.codes import code_bits, value_of
from deniable.contract.domain import Bytes, Domain, Integers, Text
from deniable.contract.domain_json import domain_from_json
from deniable.contract.encoder import Identity, Prefix
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, Round
from deniable.contract.source import ONE
from deniable.core.frequency import FrequencyEstimate
from deniable.core.supports import SupportEstimate
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
_COUNTERS, _WORK = 1 << 20, 1 << 28
"""Of one question: counters, 8 MiB, and hashes of candidates, about a second."""


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
            allowed = f"at most {MOST_QUESTIONS} rising lengths up to {self.bits}, with {LARGEST_LIST} candidates each"
            raise ParameterError("lengths", self.lengths[:5], allowed=allowed, fix="set step_bits, or shorten the values")

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

    def close(self, tallies: Mapping[str, Any]) -> dict[str, Any]:
        check_tallies(self._round.questions, tallies)
        kept: tuple[int, ...] = (0,)
        for (start, end), question in zip(pairwise((0, *self.lengths)), self._round.questions, strict=True):
            last = end == self.bits
            shown = partial(value_of, self.domain) if last else Prefix(self.domain, end).shown
            children = [(code, value) for code in extended(kept, end - start) if (value := shown(code)) is not None]
            most, false = (self.k, FALSE_VALUES) if last else (self.keep, FALSE_CHILDREN)
            asked = [value for _, value in children]
            estimate, best = standing_out(question, tallies[question.name], asked, threshold=self.threshold, most=most, false=false)
            kept = tuple(sorted(children[i][0] for i in best))
        return {RESULT: estimate.select(best)}

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, about one level of the tree")

    @property
    def canonical(self) -> bytes:
        return canonical_json(plain_search(self) | {"keep": self.keep, "lengths": list(self.lengths)})

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> TreeHist:
        return cls(**(parts := read_search(content, {"keep", "lengths"})) | {"lengths": tuple(parts["lengths"])})


# --- what searches in one round share ---


def settle(search: Any) -> None:
    """Check what every search in one round has, and fill in its domain."""
    put = partial(object.__setattr__, search)
    put("epsilon", check_epsilon(search.epsilon))
    allowed = sorted(["auto", *(sketch.__name__ for sketch in SKETCHES)])
    if search.oracle not in allowed:
        raise ParameterError("oracle", search.oracle, allowed=f"one of {allowed}", fix="others need candidates at tally time")
    if search.domain is None:
        check_whole("bits", search.bits, 1, 64)
        put("domain", Integers(0, (1 << search.bits) - 1))
    if not isinstance(search.domain, Domain) or search.bits not in (None, code_bits(search.domain)):
        raise ParameterError("domain, bits", (search.domain, search.bits), allowed="a Domain, or bits", fix="leave out bits")
    put("bits", code_bits(search.domain))
    check_whole("k", search.k, 1, LARGEST_LIST)
    check_whole("people", search.people, 0, 10**15)
    check_whole("salt", search.salt, 0, ONE - 1)
    if search.threshold is not None and not (type(search.threshold) in (int, float) and 0 <= search.threshold < 1000):
        raise ParameterError("threshold", search.threshold, allowed="standard errors, from 0 to 1000", fix="leave it out, or try 4")
    put("threshold", None if search.threshold is None else float(search.threshold))


def check_whole(name: str, value: object, least: int, most: int) -> None:
    """Refuse what is not a whole number between two others."""
    if type(value) is not int or not least <= value <= most:
        raise ParameterError(name, value, allowed=f"an integer from {least} to {most}", fix="leave it out where it has a default")


def oracle_for(name: str, domain: Domain, *, epsilon: float, people: int, candidates: int, salt: int) -> FrequencySpec:
    """An oracle that can be tallied before anyone names a candidate: a listed one where the domain is small, a sketch elsewhere.

    A sketch has so many functions, if its table allows it, that whatever people hold collisions add an eighth of the noise at most, and a
    single one half of its standard error. Of the sketches, the one with the least error is taken whose candidates are hashed in a second.
    """
    if name == "auto" and domain.listed and domain.size <= _COUNTERS:
        return frequency_oracle(domain=domain, epsilon=epsilon, n=max(people, 1)).spec
    made: list[SketchProtocol] = []
    for sketch in [sketch for sketch in SKETCHES if name in ("auto", sketch.__name__)]:
        try:
            single = sketch(domain=domain, epsilon=epsilon, hashes=1, salt=salt % ONE)
        except ParameterError:  # an epsilon for which it has too many cells
            if name == "auto":
                continue
            raise
        crowd = people / single.variance(1)
        wanted = min(max(8 * crowd / (single.cells - 1), 2 * sqrt(crowd), 64), 1 << 16)
        made.append(replace(single, hashes=max(1, min(1 << ceil(log2(wanted)), _COUNTERS // single.cells))))
    quick = [spec for spec in made if spec.hashes * candidates <= _WORK] or made[-1:]
    return min(quick, key=lambda spec: planned_variance(spec, max(people, 1), 0.0))


def standing_out(
    question: Question, tally: Any, values: list[Any], *, threshold: float | None, most: int, false: float
) -> tuple[FrequencyEstimate, Array]:
    """The estimate for some values, and the positions of the strongest that exceed so many standard errors of a value nobody holds.

    Left out, the threshold is what ``false`` of the counts exceed on average if nobody holds any of them: by the exact law of supports,
    which is skewed where epsilon is large, and by the normal one for other estimates and for collisions.
    """
    domain = question.spec.domain
    some = values or [domain.value(0) if domain.listed else "" if isinstance(domain, Text) else b""]
    estimate = question.spec.estimate(tally, candidates=some).select(np.arange(len(values)))
    chance = min(false / len(some), 0.5)
    z = norm.isf(chance) if threshold is None else threshold
    height = z * np.sqrt(estimate.variance(np.zeros(len(values))))
    if threshold is None and isinstance(estimate, SupportEstimate):
        n, p, q = estimate.n, estimate.p, estimate.q
        height = np.sqrt(np.maximum((binom.isf(chance, n, q) - n * q) / (p - q), 0) ** 2 + z**2 * estimate.shared)
    best = strongest(estimate.counts, most, tally.to_bytes())
    return estimate, best[(estimate.counts > height)[best]]


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
    parts |= {name: float(parts[name]) for name in ("epsilon", "threshold") if name in parts}
    parts |= {name: read_number(name, parts[name]) for name in ("people", "salt")}
    return parts | {"domain": domain_from_json(parts["domain"])}
