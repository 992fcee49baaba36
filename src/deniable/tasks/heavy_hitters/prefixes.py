"""Prefixes of values, which the searches for frequent values share: questions about a list of them, and the strongest ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.contract.codes import code_bits, value_of
from deniable.contract.domain import Bytes, Domain, IndexRange, Integers
from deniable.contract.encoder import Prefix
from deniable.contract.question import Question
from deniable.contract.spec import MECHANISMS
from deniable.contract.work import Work
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.oracles import AUTO, best_oracle

LARGEST_LIST = 1 << 16
"""The default maximum of candidates in one question."""
CANDIDATE_BYTES = 512
"""The memory of a candidate apart from its count: the code in the round, in its JSON, and in the state that follows."""
RESULT = "heavy_hitters"
"""The name of the result."""


def settle_domain(search: Any) -> None:
    """Fill in the domain from ``bits``, or the bits from a domain."""
    put = partial(object.__setattr__, search)
    if search.domain is None:
        check_whole("bits", search.bits, 1, 64, fix="pass bits= or domain=")
        put("domain", Integers(0, (1 << search.bits) - 1))
    if not isinstance(search.domain, Domain):
        raise ParameterError("domain", search.domain, allowed="a Domain", fix="pass domain=Text(20), or bits=32 for numbers")
    if search.bits not in (None, code_bits(search.domain)):
        raise ParameterError("bits", search.bits, allowed=f"{code_bits(search.domain)}, as in domain", fix="leave out bits")
    put("bits", code_bits(search.domain))


def checked_holdout(given: Any) -> Fraction:
    """Return the share of people in the final count, as a short fraction."""
    share = Fraction(given).limit_denominator(1000) if isinstance(given, int | float | Fraction) and 0 < given < 1 else Fraction(0)
    if not 0 < share < 1:
        raise ParameterError(
            "holdout", given, allowed="a share above 0, below 1", fix="try 0.25, which keeps a quarter of the people for the final count"
        )
    return share


@lru_cache(maxsize=1024)  # a search asks for the same ones in every state
def prefix_spec(length: int, size: int, *, oracle: str, epsilon: float, people: int) -> FrequencySpec:
    """The spec of a question about prefixes of one length, ``size`` of which are told apart, everybody else's counted as one of them."""
    made: Any = MECHANISMS[best_oracle(size, epsilon, people) if oracle == AUTO else oracle]
    listed = IndexRange(size) if made.needs_listed_domain else Integers(0, (1 << length) - 1) if length <= 64 else Bytes(-(-length // 8))
    spec: FrequencySpec = made(domain=listed, epsilon=epsilon)
    return spec


def prefix_work(length: int, candidates: int, *, oracle: str, epsilon: float, people: int) -> Work:
    """What it takes to count so many prefixes of one length, or all of them if they are fewer."""
    size = max(min(candidates + 1, 1 << length), 2)
    work = prefix_spec(length, size, oracle=oracle, epsilon=epsilon, people=people).finishing(size)
    return work._replace(bytes=work.bytes + CANDIDATE_BYTES * size)


def prefix_question(
    name: str, domain: Domain, length: int, candidates: tuple[int, ...], *, oracle: str, epsilon: float, people: int, share: Fraction
) -> Question:
    """A question about prefixes of one length, of which only the candidates are counted.

    Oracles that list their domain are asked about positions, with one more for everybody else, unless no prefix is left out. Hashed ones
    are asked about the prefix itself: their devices need no list.
    """
    others = len(candidates) < 1 << length
    spec = prefix_spec(length, max(len(candidates) + others, 2), oracle=oracle, epsilon=epsilon, people=people)
    if spec.needs_listed_domain:
        return Question(name=name, spec=spec, encoder=Prefix(domain, length, candidates), share=share)
    encoder = Prefix(domain, length)
    asked = tuple(encoder.shown(prefix) for prefix in candidates)
    return Question(name=name, spec=spec, encoder=encoder, share=share, candidates=asked)


def estimate_of(question: Question, tally: Any, candidates: tuple[int, ...]) -> FrequencyEstimate:
    """Return the estimate for the candidates of a prefix question, in their order, without people who hold other prefixes."""
    estimate: FrequencyEstimate = question.spec.estimate(tally, candidates=question.candidates)
    return estimate.select(np.arange(len(candidates))) if len(estimate.values) > len(candidates) else estimate


def strongest(counts: Array, keep: int, salt: bytes) -> Array:
    """Return the positions of the largest counts, the largest first. Equal ones come in an order that the salt decides, and no value does.

    >>> strongest(np.array([5.0, 7.0, 7.0, 1.0, 7.0]), 3, b"salt").tolist()
    [1, 2, 4]
    """
    seed = np.frombuffer(hashlib.sha256(salt).digest()[:16], dtype="<u8")
    mixed = np.arange(counts.size, dtype=np.uint64) + seed[0]
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finalizer of splitmix64
        mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
    order: Array = np.lexsort((mixed ^ seed[1], -counts))
    return order[:keep]


def extended(candidates: tuple[int, ...], bits: int) -> tuple[int, ...]:
    """Return each candidate followed by every string of so many bits, in increasing order."""
    return tuple(prefix << bits | rest for prefix in candidates for rest in range(1 << bits))


def promised(search: Any, estimate: FrequencyEstimate) -> FrequencyEstimate:
    """Return the estimate of a search's last count with the guarantee of the whole search."""
    return FrequencyEstimate.of(estimate.spec, estimate.values, estimate.law, guarantee=search.guarantee, family_size=estimate.family_size)


def named(search: Any, estimate: FrequencyEstimate, best: Array, *, share: Fraction, codes: Sequence[int]) -> FrequencyEstimate:
    """The best of an estimate about codes that are significant (``found``), as the values behind them; codes without one are left out."""
    domain = search.domain
    real = [i for i in best.tolist() if value_of(domain, codes[i]) is not None]
    found = replace(promised(search, estimate), values=codes).found(real, share=share)
    ranked, tested = found.ranked, found.screening
    shown = replace(ranked, values=[value_of(domain, code) for code in ranked.values])
    return replace(found, values=[value_of(domain, code) for code in found.values], screening=replace(tested, ranked=shown))  # type: ignore[type-var]  # it has one


def nothing_counted(search: Any, estimate: FrequencyEstimate, share: Fraction) -> FrequencyEstimate:
    """Return the empty result of a search without candidates; ``estimate`` is of people like those who would have counted."""
    found = promised(search, estimate).found(np.arange(0), share=share)
    return replace(found, screening=replace(found.screening, candidates=0, dropped=0))  # type: ignore[type-var]  # it has one
