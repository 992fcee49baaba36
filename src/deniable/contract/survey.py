"""A survey: one round of questions, the simplest protocol."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from deniable.contract.arguments import typed
from deniable.contract.encoder import Attribute
from deniable.contract.guarantee import ONE_REPORT, Guarantee
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, Round
from deniable.contract.spec import Spec
from deniable.contract.work import check_work


@typed
@dataclass(frozen=True)
class Survey(Protocol):
    """One round of questions; each person answers one of them, chosen at random by their device.

    Guarantee: the largest epsilon of its questions, since nobody answers two. Asking everyone one question at full
    epsilon beats asking everyone all of them at a split epsilon (five attributes: 5.4 times less variance).

    >>> from deniable.client import GRR, RR
    >>> survey = Survey.of(drink=GRR(domain_size=4, epsilon=1.0), smoker=RR(epsilon=0.5))
    >>> [str(question.share) for question in survey.open().questions], survey.guarantee.epsilon
    (['1/2', '1/2'], 1.0)
    """

    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        Round(self.questions)  # its checks are ours
        heavy = max(self.questions, key=lambda question: question.spec.finishing(question.values).bytes)
        check_work(self.work(), f"question {heavy.name!r}", fix="name candidates, take a smaller domain, or another mechanism")

    @classmethod
    def of(cls, **specs: Spec) -> Survey:
        """Return questions about one attribute each, by its name, in equal shares; ``specs`` says how each is randomized."""
        share = Fraction(1, max(len(specs), 1))
        return cls(tuple(Question(name=n, spec=s, encoder=Attribute(n), share=share) for n, s in specs.items()))

    def open(self) -> Round:
        return Round(self.questions)

    def close(self, tallies: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the estimate of each question by name, with the guarantee of the whole survey (``core.answers``)."""
        self.open().check_tallies(tallies)
        found = {each.name: each.spec.estimate(tallies[each.name], candidates=each.candidates) for each in self.questions}
        answers: Mapping[str, Any] = importlib.import_module("deniable.core.answers").Answers(found, self.guarantee)
        return answers

    @property
    def guarantee(self) -> Guarantee:
        worst = max((question.guarantee for question in self.questions), key=lambda guarantee: guarantee.epsilon)
        return replace(worst, unit="one answer to one question of the survey") if worst.unit == ONE_REPORT else worst
