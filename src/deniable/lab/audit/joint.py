"""The exact audit of a whole answer: encoder and mechanism together, every branch of both."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from deniable.contract.arguments import typed
from deniable.contract.enumeration import law_of
from deniable.contract.law import OutputLaw
from deniable.contract.probability import TIGHTNESS, exp_below, log_above
from deniable.contract.question import Question
from deniable.errors import ParameterError
from deniable.lab.audit.exact import SEEDS, Audit, Check, worst_ratio

LARGEST_CROWD = 4096
"""The most people that are compared."""


def answer_laws(question: Question, values: Sequence[Any], seed: tuple[int, ...] = ()) -> list[OutputLaw[Any]]:
    """The exact law of each person's whole answer, given the public seed where the mechanism has one."""
    return [law_of(partial(question.answer, value), seed=seed) for value in values]


@typed
def joint_audit(question: Question, values: Sequence[Any]) -> Audit:
    """Enumerate all outcomes of ``question.answer`` for people with these values, and compare them with the stated epsilon.

    An encoder that samples may make a louder mechanism cost less; this is where that is shown rather than believed. ``values`` should be
    all that a person can hold: the promise is about any two of them.

    >>> from deniable.client import GRR
    >>> from deniable.contract.domain import IndexRange
    >>> from deniable.contract.sets import PadAndSample
    >>> from deniable.contract.subsets import Subsets
    >>> asked = Question(name="one", spec=GRR(domain_size=4, epsilon=1.5), encoder=PadAndSample(Subsets(IndexRange(2)), 2))
    >>> audit = joint_audit(asked, [[], [0], [1], [0, 1]])
    >>> audit.passed, round(audit.epsilon, 4), asked.spec.epsilon
    (True, 1.0083, 1.5)
    """
    if not 2 <= len(values) <= LARGEST_CROWD:
        raise ParameterError("values", f"{len(values)} of them", allowed=f"2 to {LARGEST_CROWD}", fix="audit all values of a small domain")
    words = question.spec.seed_words
    seeds = [tuple(SEEDS[(i + k) % len(SEEDS)] for k in range(words)) for i in range(len(SEEDS) if words else 1)]
    tables = [answer_laws(question, values, seed) for seed in seeds]
    claimed = question.epsilon
    worst = worst_ratio(tables)
    epsilon = None if worst is None else log_above(worst)
    totals = {law.total for laws in tables for law in laws}
    private = worst is not None and worst <= exp_below(claimed)
    checks = (
        Check("total", totals == {Fraction(1)}, "all probabilities sum to exactly 1"),
        Check("support", worst is not None, f"each report is possible for all of {len(values):,} people"),
        Check("privacy", private, f"worst ratio against e^{claimed:g} = {float(exp_below(claimed)):.12g}"),
        Check("tight", epsilon is None or epsilon >= claimed - TIGHTNESS, "the spec uses all the epsilon that it claims"),
    )
    return Audit(claimed, epsilon, checks)
