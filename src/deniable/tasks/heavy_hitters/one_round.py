"""Code that one-round searches share: their settings, oracles for candidates that are named later, and significance above the noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil, log2, sqrt
from typing import Any

import numpy as np
import scipy

from deniable.client.cms import CMS
from deniable.client.flh import FLH
from deniable.client.frequency import FrequencySpec
from deniable.client.hcms import HCMS
from deniable.client.sketch import SketchProtocol
from deniable.contract.domain import Domain, IndexRange, Text
from deniable.contract.fragment import Fragment
from deniable.contract.probability import check_epsilon
from deniable.contract.question import Question
from deniable.contract.source import ONE
from deniable.contract.work import Work
from deniable.core.frequency import FrequencyEstimate
from deniable.core.supports import Supports
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.oracle_choice import frequency_oracle, planned_variance
from deniable.tasks.checks import check_people, check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.heavy_hitters.prefixes import CANDIDATE_BYTES, LARGEST_LIST, nothing_counted, promised, settle_domain, strongest

COUNT = "count"
"""The name of the question about whole values."""
SKETCHES: tuple[type[SketchProtocol], ...] = (FLH, CMS, HCMS)
"""The oracles that work on any domain, with candidates that are named after the reports are in."""
FALSE_CHILDREN, FALSE_VALUES = 1.0, 0.05
"""How many candidates may stand out by noise alone, on average: at a level of the tree, and in the result."""
MOST_QUESTIONS = 512
_COUNTERS, _WORK = 1 << 20, 1 << 28
"""Of one question: counters, 8 MiB, and hashes of candidates, about a second."""


def settle(search: Any) -> None:
    """Check the settings of a one-round search, and fill in its domain."""
    put = partial(object.__setattr__, search)
    put("epsilon", check_epsilon(search.epsilon))
    settle_domain(search)
    check_whole("k", search.k, 1, LARGEST_LIST)
    check_people(search.people)
    check_whole("salt", search.salt, 0, ONE - 1)
    if search.threshold is not None and not (type(search.threshold) in (int, float) and 0 <= search.threshold < 1000):
        raise ParameterError("threshold", search.threshold, allowed="standard errors, from 0 to 1000", fix="leave out threshold, or try 4")
    put("threshold", None if search.threshold is None else float(search.threshold))


def check_search(search: Any, setting: str, *, fix: str) -> None:
    """Raise unless devices answer the search and a collector can finish it, with an oracle for candidates that are named later."""
    check_feasible(search, setting, fix=fix, among=[sketch.__name__ for sketch in SKETCHES])


def candidates_work(count: int) -> Work:
    """Return the work of assembling so many candidates: tuples and codes, in Python."""
    return Work(CANDIDATE_BYTES * count, 1000 * count)


def oracle_for(name: str, domain: Domain, *, epsilon: float, people: int, candidates: int, salt: int) -> FrequencySpec:
    """Return an oracle that can be tallied before anyone names a candidate: a listed one for a small domain, otherwise a sketch.

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

    Where there are no values the estimate is of one that stands in, and there are no positions.

    Left out, the threshold is what ``false`` of the counts exceed on average if nobody holds any of them: by the exact law of supports,
    which is skewed where epsilon is large, and by the normal one for other estimates and for collisions.
    """
    domain = question.spec.domain
    some = values or [domain.value(0) if domain.listed else "" if isinstance(domain, Text) else b""]
    estimate = question.spec.estimate(tally, candidates=some)
    chance = min(false / len(some), 0.5)
    z = scipy.stats.norm.isf(chance) if threshold is None else threshold
    law = estimate.law
    height = z * np.sqrt(law.variance(np.zeros(len(some))))
    if threshold is None and isinstance(law, Supports):
        n, p, q = law.n, law.p, law.q
        height = np.sqrt(np.maximum((scipy.stats.binom.isf(chance, n, q) - n * q) / (p - q), 0) ** 2 + z**2 * law.shared)
    best = strongest(estimate.counts, most if values else 0, tally.to_bytes())
    return estimate, best[(estimate.counts > height)[best]]


def fragment_question(search: Any, name: str, start: int, length: int, *, row: int, rows: int, strings: int) -> Question:
    """The question about a fragment of the code together with a hash of all of it: of ``strings`` fragments, in one of so many rows.

    Each row has people and a hash of its own, and a question for each of the search's ``starts``.
    """
    share = (1 - Fraction(search.holdout)) / (rows * len(search.starts))
    spec = oracle_for(
        search.oracle,
        IndexRange(1 << search.hash_bits + length),
        epsilon=search.epsilon,
        people=int(search.people * share),
        candidates=strings << search.hash_bits,
        salt=search.salt + 2 + row * search.bits + start,
    )
    return Question(name=name, spec=spec, encoder=Fragment(search.domain, start, length, search.hash_bits, search.salt, row), share=share)


def counting_question(search: Any, candidates: int) -> Question:
    """Return the question about whole values."""
    people = int(search.people * search.holdout)
    spec = oracle_for(search.oracle, search.domain, epsilon=search.epsilon, people=people, candidates=candidates, salt=search.salt + 1)
    return Question(name=COUNT, spec=spec, share=search.holdout)


def counted(search: Any, question: Question, tally: Any, candidates: Iterable[Any]) -> FrequencyEstimate:
    """Return the k strongest candidates that stand out from the noise in the final count."""
    found = list(candidates)
    estimate, best = standing_out(question, tally, found, threshold=search.threshold, most=search.k, false=FALSE_VALUES)
    return significant(search, estimate, best, found)


def significant(search: Any, estimate: FrequencyEstimate, best: Array, counted: list[Any]) -> FrequencyEstimate:
    """Return the strongest candidates that are significant among all that the search has counted."""
    share = min(question.share for question in search.open().questions)
    return promised(search, estimate).found(best, share=share) if counted else nothing_counted(search, estimate, share)
