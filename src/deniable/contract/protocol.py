"""Asking: questions, rounds and protocols.

A question is an encoder, a spec and the share of people it asks; a round is a set of questions asked at once; a protocol is
a serializable state machine without input or output of its own. ``open()`` gives the round to ask, ``close(tallies)`` gives
the next state or the result. Memory, collector and engines drive every protocol alike, and a person answers one question
once.
"""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, ClassVar

from deniable.contract.canonical import canonical_json, from_plain, parse_canonical, read_object, to_plain
from deniable.contract.encoder import Attribute, Encoder, Identity, encoder_from_json
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import SYSTEM, Source
from deniable.contract.spec import Spec, spec_from_json
from deniable.errors import DomainError, MissingExtra, ParameterError, ProtocolError, WireError

LARGEST_SCALE = 1 << 32
"""The finest scale on which people are split among questions."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What one share of the people is asked.

    ``candidates`` are the values to count, for mechanisms that need to know them when reports are tallied; devices ignore them.
    """

    name: str
    spec: Spec
    encoder: Encoder = field(default_factory=Identity)
    share: Fraction = Fraction(1)
    candidates: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ParameterError("name", self.name, allowed="a string that is not empty", fix="name the question")
        if not isinstance(self.spec, Spec):
            raise ParameterError("spec", self.spec, allowed="a mechanism's spec", fix="write spec=GRR(...)")
        if self.candidates is not None:
            if isinstance(self.candidates, str | bytes):
                raise DomainError("candidates", self.candidates, allowed="a list of values", fix="put a single one in a list")
            object.__setattr__(self, "candidates", tuple(self.candidates))
            keys = [self.spec.domain.key(candidate) for candidate in self.candidates]  # DomainError now, not when reports have come in
            if len(set(keys)) < len(keys):
                raise DomainError("candidates", self.candidates, allowed="each candidate once", fix="drop the repetition")
        if not isinstance(self.share, Fraction) or not 0 < self.share <= 1:
            raise ParameterError("share", self.share, allowed="a Fraction above 0, at most 1", fix="write Fraction(1, 3)")

    def answer(self, value: Any, source: Source = SYSTEM) -> Any:
        """One person's report."""
        return self.spec.randomize(self.encoder.encode(value, source), source)

    def to_json(self) -> dict[str, Any]:
        """The question as plain data."""
        spec = parse_canonical(self.spec.canonical)
        content = {"name": self.name, "spec": spec, "encoder": self.encoder.to_json(), "share": str(self.share)}
        if self.candidates is not None:
            content["candidates"] = [to_plain(value) for value in self.candidates]
        return content


@dataclass(frozen=True)
class Round:
    """Questions asked at the same time, of disjoint groups of people."""

    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        names = [question.name for question in self.questions]
        if not names or len(set(names)) < len(names):
            raise ParameterError("questions", names, allowed="one or more, with different names", fix="rename one of them")
        total = sum(question.share for question in self.questions)
        if total > 1:
            raise ParameterError("shares", str(total), allowed="a sum of at most 1", fix="each person answers one question")

        if self.steps[-1] > LARGEST_SCALE:
            raise ParameterError(
                "shares", f"a common denominator of {self.steps[-1]}", allowed=f"at most {LARGEST_SCALE}", fix="use rounder shares"
            )

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """The shares on a common integer scale: the ends of the questions' intervals, and the scale at last."""
        scale = lcm(*(question.share.denominator for question in self.questions))
        ends, end = [], 0
        for question in self.questions:
            end += int(question.share * scale)
            ends.append(end)
        return (*ends, scale)

    def choose(self, source: Source = SYSTEM) -> Question | None:
        """The question for one person, drawn by the person's own device; None for those who are not asked.

        Consumes one ``below``, and nothing where a single question asks everyone.
        """
        *ends, scale = self.steps
        draw = source.below(scale) if scale > 1 else 0
        return next((q for q, end in zip(self.questions, ends, strict=True) if draw < end), None)


class Protocol(ABC):
    """A way of asking, as a state that can be stored between rounds."""

    kind: ClassVar[str]

    @abstractmethod
    def open(self) -> Round:
        """The round to ask now."""

    @abstractmethod
    def close(self, tallies: Mapping[str, Any]) -> Protocol | dict[str, Any]:
        """The next state, or the result, given the tally of each question by name."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What taking part in the whole protocol costs a person."""

    @property
    @abstractmethod
    def canonical(self) -> bytes:
        """The canonical JSON of this state."""

    def run(self, values: Any, *, source: Source | None = None, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
        """Ask a crowd held in memory, from the first round to the result.

        ``values`` is a column, or a mapping of columns for questions about attributes. ``progress`` is called with the number
        of people asked so far in this round and the number to ask.
        """
        try:
            runner = importlib.import_module("deniable.core.run")  # the analyst's half; contract knows only the name
        except ModuleNotFoundError as error:
            raise MissingExtra("Protocol.run", "analysis", error.name) from error
        result: dict[str, Any] = runner.run(self, values, source=source, progress=progress)
        return result


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
    kind: ClassVar[str] = "Survey"

    def __post_init__(self) -> None:
        Round(self.questions)  # its checks are ours

    @classmethod
    def of(cls, **specs: Spec) -> Survey:
        """Questions about one attribute each, in equal shares."""
        share = Fraction(1, max(len(specs), 1))
        return cls(tuple(Question(name=n, spec=s, encoder=Attribute(n), share=share) for n, s in specs.items()))

    def open(self) -> Round:
        return Round(self.questions)

    def close(self, tallies: Mapping[str, Any]) -> dict[str, Any]:
        names = [question.name for question in self.questions]
        if set(tallies) != set(names):
            raise ProtocolError("tallies", sorted(tallies), allowed=f"one for each of {names}", fix="tally every question once")
        return {
            question.name: question.spec.estimate(tallies[question.name], candidates=question.candidates) for question in self.questions
        }

    @property
    def guarantee(self) -> Guarantee:
        worst = max((question.spec.guarantee for question in self.questions), key=lambda guarantee: guarantee.epsilon)
        return replace(worst, unit="one answer to one question of the survey")

    @cached_property
    def canonical(self) -> bytes:
        return canonical_json({"protocol": self.kind, "questions": [question.to_json() for question in self.questions]})


def survey_from_json(data: bytes) -> Survey:
    """The survey behind its canonical JSON; WireError if there is none."""
    content = read_object("protocol", parse_canonical(data), {"protocol", "questions"})
    if content["protocol"] != Survey.kind or not isinstance(content["questions"], list):
        raise WireError("protocol", content["protocol"], allowed=Survey.kind, fix="upgrade deniable or check the name")
    questions = []
    for item in content["questions"]:
        parts = read_object("question", item, {"name", "spec", "encoder", "share"}, frozenset({"candidates"}))
        try:
            if not isinstance(parts["share"], str) or not re.fullmatch(r"[1-9][0-9]{0,9}(/[1-9][0-9]{0,9})?", parts["share"]):
                raise ValueError(f"share {parts['share']!r:.20} is no short fraction")
            share = Fraction(parts["share"])
            question = Question(
                name=parts["name"],
                spec=spec_from_json(canonical_json(parts["spec"])),
                encoder=encoder_from_json(parts["encoder"]),
                share=share,
                candidates=tuple(from_plain(value) for value in parts["candidates"]) if "candidates" in parts else None,
            )
        except (ValueError, TypeError, ZeroDivisionError, ParameterError) as error:
            raise WireError("question", item, allowed="a valid question", fix=str(error)) from error
        questions.append(question)
    try:
        survey = Survey(tuple(questions))
    except ParameterError as error:
        raise WireError("questions", len(questions), allowed="a valid survey", fix=str(error)) from error
    if survey.canonical != data:
        raise WireError("protocol", data, allowed="the canonical form", fix="publish it again")
    return survey
