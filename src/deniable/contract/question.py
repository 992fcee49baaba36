"""Questions, each asked of a share of the people, and rounds of questions asked at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

from deniable.contract.arguments import typed
from deniable.contract.assigned import Assigned
from deniable.contract.encoder import Encoder, Identity
from deniable.contract.form import TAGGED, read_fraction, tuple_of
from deniable.contract.guarantee import Guarantee
from deniable.contract.record import Plain, wire
from deniable.contract.source import SYSTEM, Source
from deniable.contract.spec import Spec
from deniable.errors import DomainError, ParameterError, ProtocolError

LARGEST_SCALE = 1 << 32
"""The finest scale on which people are split among questions."""


@typed
@dataclass(frozen=True, kw_only=True)
class Question(Plain):
    """What one share of the people is asked.

    ``name`` is unlike that of any other question of the round. The ``encoder`` turns what a person holds into an input of the ``spec``,
    which randomizes it. ``share`` is the part of the people that is asked. ``candidates`` are the values to count, for mechanisms that
    need to know them when reports are tallied; devices ignore them.
    """

    noun = "question"
    name: str
    spec: Spec
    encoder: Encoder = field(default_factory=Identity)
    share: Fraction = Fraction(1)
    candidates: tuple[Any, ...] | None = field(default=None, metadata=wire(form=tuple_of(TAGGED)))

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

    def answer(self, value: Any, source: Source = SYSTEM, seed: tuple[int, ...] = ()) -> Any:
        """Return one person's report, under the ``seed`` that was assigned to it, if any."""
        return self.spec.randomize(self.encoder.encode(value, source), Assigned(seed, source) if seed else source)

    @property
    def values(self) -> int:
        """How many values are counted: the candidates, or all of a listed domain; 0 where somebody names them later."""
        if self.candidates is not None:
            return len(self.candidates)
        return self.spec.domain.size if self.spec.domain.listed else 0

    @property
    def epsilon(self) -> float:
        """What an answer costs, encoder and mechanism together: the mechanism's epsilon, or less behind an encoder that samples."""
        return self.spec.epsilon_after(self.encoder.sampling) if self.encoder.sampling > 1 else self.spec.epsilon

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to a person who answers once."""
        promise = self.spec.guarantee
        return replace(promise, epsilon=self.epsilon) if self.epsilon < self.spec.epsilon else promise


@typed
@dataclass(frozen=True)
class Round(Plain):
    """Questions asked at the same time, of disjoint groups of people: those whose tickets come after the share ``first``."""

    noun = "round"
    questions: tuple[Question, ...]
    first: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        names = [question.name for question in self.questions]
        if not names or len(set(names)) < len(names):
            raise ParameterError("questions", names, allowed="one or more, with different names", fix="rename one of them")
        total = self.first + sum(question.share for question in self.questions)
        if total > 1:
            raise ParameterError(
                "shares", str(total), allowed="a sum of at most 1", fix="lower the shares: each person answers one question"
            )
        if self.scale > LARGEST_SCALE:
            allowed = f"at most {LARGEST_SCALE}"
            raise ParameterError("shares", f"a common denominator of {self.scale}", allowed=allowed, fix="use rounder shares")

    @cached_property
    def scale(self) -> int:
        """The smallest scale on which all shares are whole."""
        return lcm(self.first.denominator, *(question.share.denominator for question in self.questions))

    def edges(self, scale: int) -> tuple[int, ...]:
        """Return where the questions' intervals begin on a scale, and at last where they end."""
        edges = [self.first]
        for question in self.questions:
            edges.append(edges[-1] + question.share)
        return tuple(int(edge * scale) for edge in edges)

    def question_of(self, ticket: int, scale: int) -> Question | None:
        """Return the question for the holder of a ticket on a scale; None for those who are not asked now."""
        edges = self.edges(scale)
        pairs = zip(self.questions, edges[:-1], edges[1:], strict=True)
        return next((question for question, start, end in pairs if start <= ticket < end), None)

    def check_tallies(self, tallies: Mapping[str, Any]) -> None:
        """Raise unless ``tallies`` answer each question once."""
        names = [question.name for question in self.questions]
        if set(tallies) != set(names):
            shown = names if len(names) <= 8 else [*names[:8], "..."]
            raise ProtocolError("tallies", sorted(tallies)[:8], allowed=f"one for each of {shown}", fix="tally every question once")


def read_share(text: object) -> Fraction:
    """Return a share behind its text in a file or in canonical JSON."""
    return read_fraction("share", text)
