"""The round that counts candidates: everybody reports one that they hold, or how much of their list that leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from deniable.client.rr import RR
from deniable.contract.guarantee import Guarantee
from deniable.contract.question import Question, Round
from deniable.contract.sets import Candidates, Overflow
from deniable.contract.subsets import Subsets
from deniable.contract.work import TALLY_BYTES, VALUE_BYTES, Work
from deniable.core.frequency import FrequencyEstimate
from deniable.core.tally import Tally
from deniable.tasks.itemsets.estimate import PaddedSupports, item_estimate, most_missing
from deniable.tasks.itemsets.lengths import Lengths, read_tally
from deniable.tasks.itemsets.padding import padded_estimate, padded_question

OVERFLOW = "overflow"
"""The name of the question that says how much is left out."""
OVERFLOW_SHARE = Fraction(1, 10)
"""Of those who count. A bit's error is small: at epsilon = 1 it is 0.96 / sqrt(n) of a share, and an item has 7.7 in a list of four."""

SET_BYTES, SET_STEPS = 1024, 50_000
"""What guessing, naming and testing a candidate takes."""


def counting_round(
    name: str, domain: Subsets, length: int, candidates: Candidates, *, epsilon: float, oracle: str, share: Fraction, first: Fraction
) -> Round:
    """One of ten says whether their list is cut, unless none can be; all others report one of their candidates."""
    cut = length < len(candidates)
    counting = share * (1 - OVERFLOW_SHARE) if cut else share
    asked = padded_question(name, domain, length, candidates, epsilon=epsilon, oracle=oracle, share=counting)
    if not cut:
        return Round((asked,), first)
    encoder = Overflow(domain, length, candidates)
    return Round((asked, Question(name=OVERFLOW, spec=RR(epsilon=epsilon), encoder=encoder, share=share * OVERFLOW_SHARE)), first)


def counting_work(candidates: int, length: int) -> Work:
    """What it takes to ask how many of so many candidates people hold, and to count them in lists of a length, for the heavier round."""
    kept = TALLY_BYTES * (candidates + length + 2)  # dummies fill the lists, and two counters say whether they are cut
    return Work(kept + (VALUE_BYTES + SET_BYTES) * (candidates + length), SET_STEPS * candidates, kept)


def ticket_scale(shares: Sequence[Fraction], *counting: Fraction) -> int:
    """The scale on which all shares are whole, and the parts of those that count."""
    return lcm(*(share.denominator for share in (*shares, *(share * OVERFLOW_SHARE for share in counting))))


def images(asked: Round, tallies: Mapping[str, Any]) -> tuple[str, ...]:
    """The tallies of a round as a state remembers them, in the order of its questions."""
    asked.check_tallies(tallies)
    return tuple(tallies[question.name].to_bytes().hex() for question in asked.questions)


def counted(
    asked: Round, tallies: Mapping[str, Tally] | Sequence[str], values: Any, measured: Lengths, guarantee: Guarantee
) -> FrequencyEstimate:
    """Return what a counting round says about its candidates, from tallies or their images.

    Counts are scaled by what people hold beyond the list, on average over the candidates. No share f misses more than the overflow, so the
    largest one bounds the scale, and its error: by 1 + the overflow's upper limit / f.
    """
    if not isinstance(tallies, Mapping):
        told = {question.name: read_tally(text, question) for question, text in zip(asked.questions, tallies, strict=True)}
    else:
        asked.check_tallies(tallies)
        told = dict(tallies)
    question, *rest = asked.questions
    plain = padded_estimate(question, told[question.name], values, guarantee)
    if not rest:
        return plain
    law: PaddedSupports = plain.law  # type: ignore[assignment]  # of padded samples
    overflow = rest[0].spec.estimate(told[OVERFLOW]).law
    largest = max(float(plain.frequencies.max()), 1 / max(plain.n, 1))
    most = most_missing(overflow, 0.05).item() / largest
    scaled = law.scaled(min(measured.scale, 1 + most), min(measured.scale_stderr, most), overflow)
    return item_estimate(plain.spec, values, scaled, guarantee)
