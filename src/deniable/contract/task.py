"""The task: what a collector asks, of whom, how often and under which promise, as bytes that never change.

A task's id is the SHA-256 of its canonical JSON. A device pins the id, so it need not trust the sender of the bytes. The collector's public
key is part of the task, so the rounds that this key signs later are pinned as well. Any change makes another task.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod
from typing import Any

from deniable.contract.admission import OPEN, OWN, check_admission
from deniable.contract.arguments import typed
from deniable.contract.canonical import EXACT_IN_JAVASCRIPT, parse_canonical
from deniable.contract.form import OPAQUE, TAGGED
from deniable.contract.mixing import LOCAL, Mixing, check_mixing
from deniable.contract.probability import check_epsilon
from deniable.contract.question import Round
from deniable.contract.record import Document, wire
from deniable.contract.survey import Survey
from deniable.errors import DomainError, ParameterError, WireError

VERSION = 1
MOST_STRATA = 1 << 16
LONGEST_TEXT = 4096
LAST_SECOND = 1 << 40
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


@typed
@dataclass(frozen=True, kw_only=True)
class Task(Document):
    """A question put to people's devices, and the rules of its collection.

    ``name`` is for programs; ``question``, ``owner`` and ``statement`` are texts that people read. ``key`` is the collector's public key.
    ``protocol`` is the canonical JSON of the protocol's first state. A task with one round of questions (a survey) may ask again in every
    ``period`` of so many seconds; a task of several ``rounds`` counts its rounds as its periods, and each stays open for ``period``
    seconds, or until the collector closes it if that is 0. Times, ``start`` and ``end`` too, are seconds since 1970, UTC. Reports are taken
    for ``late`` seconds after their period; sealed ones are kept for ``retention`` days. Crowds below ``minimum_batch`` are not shown.

    ``epsilon`` is what one answer costs a person at most; ``answers`` is how often a person answers at most, ever, and
    ``answers_per_period`` in one period. A device without an answer sends ``default``; where that is None it sends nothing, and the
    collector can see that. A person's **strata** are sent in the clear.

    ``admission`` says who is counted: everybody, those who share a secret, or one report for each token of the ``issuer``, an RSA modulus.
    ``seeds`` says who chooses the hash function of a report that brings its own: the device, or its token (``contract.assigned``).
    ``model`` is "local", or "shuffle": then ``mixing`` says who shuffles, and ``epsilon`` holds even if every server is dishonest.
    """

    noun = "task"
    version = VERSION
    name: str
    question: str
    owner: str
    statement: str
    protocol: bytes = field(metadata=wire(form=OPAQUE))
    epsilon: float
    key: bytes
    start: int
    end: int
    period: int
    rounds: bool = False
    answers_per_period: int = 1
    answers: int = 1
    strata: tuple[tuple[str, tuple[str, ...]], ...] = ()
    default: Any = field(default=None, metadata=wire(form=TAGGED, omit=None))
    minimum_batch: int = 100
    late: int = 3600
    retention: int = 90
    model: str = LOCAL
    admission: str = field(default=OPEN, metadata=wire(omit=OPEN))
    issuer: bytes = field(default=b"", metadata=wire(omit=b""))
    seeds: str = field(default=OWN, metadata=wire(omit=OWN))
    mixing: Mixing | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ParameterError(
                "name", self.name, allowed="1 to 64 letters a-z, digits and inner hyphens", fix='write it as in "morning-drink"'
            )
        for parameter in ("question", "owner", "statement"):
            text = getattr(self, parameter)
            if not isinstance(text, str) or not 1 <= len(text) <= LONGEST_TEXT:
                raise ParameterError(
                    parameter, text, allowed=f"text of 1 to {LONGEST_TEXT} characters", fix="write it for the people who will read it"
                )
        if not isinstance(self.protocol, bytes) or not isinstance(self.rounds, bool):
            raise ParameterError("protocol", self.protocol, allowed="the bytes of protocol.canonical", fix="pass protocol.canonical")
        if not isinstance(self.key, bytes) or len(self.key) != 32:
            raise ParameterError("key", self.key, allowed="an Ed25519 public key of 32 bytes", fix="let the collector publish the task")
        if self.epsilon != inf:  # the identity of the system tests hides nothing; no ledger pays for it
            check_epsilon(self.epsilon)
        least = {"start": 0, "end": 1, "period": 0, "answers_per_period": 1, "answers": 1, "minimum_batch": 1, "late": 0, "retention": 0}
        for parameter, low in least.items():
            value = getattr(self, parameter)
            if type(value) is not int or not low <= value <= LAST_SECOND:
                raise ParameterError(
                    parameter, value, allowed=f"an integer from {low} to 2^40", fix="give times in whole seconds since 1970"
                )
        if self.end <= self.start or (self.period == 0 and not self.rounds) or self.period > self.end - self.start:
            allowed = "start < end, and a period of at most the time in between"
            raise ParameterError("start, end, period", (self.start, self.end, self.period), allowed=allowed, fix="end it later")
        names = [name for name, _ in self.strata]
        texts = [text for name, labels in self.strata for text in (name, *labels)]
        distinct = all(len(set(labels)) == len(labels) >= 2 for labels in (*(labels for _, labels in self.strata), (*names, "", " ")))
        if not distinct or not all(isinstance(text, str) and text for text in texts) or self.stratum_count > MOST_STRATA:
            allowed = f"names with two or more different labels each, {MOST_STRATA} combinations in all"
            raise ParameterError("strata", self.strata, allowed=allowed, fix='write it as in platform = ["phone", "web"]')
        check_admission(self)
        check_mixing(self)

    # --- identity ---

    @cached_property
    def id(self) -> bytes:
        """SHA-256 of the canonical JSON: what devices pin and reports name."""
        return hashlib.sha256(self.canonical).digest()

    # --- when ---

    def period_at(self, time: float) -> int | None:
        """Return the period at a time by the clock; None outside the task's time. Not for tasks of several rounds, whose collector says."""
        if self.rounds:
            raise ParameterError("task", self.name, allowed="a task of one round", fix="ask the collector for the current round")
        return int(time - self.start) // self.period if self.start <= time < self.end else None

    @property
    def period_count(self) -> int:
        """The number of periods of a task of one round; the last may be short."""
        return -(-(self.end - self.start) // self.period)

    def period_span(self, period: int) -> tuple[int, int]:
        """Return when a period of a task of one round begins and ends."""
        start = self.start + period * self.period
        return start, min(start + self.period, self.end)

    # --- who ---

    @property
    def stratum_count(self) -> int:
        """The number of combinations of labels."""
        return prod(len(labels) for _, labels in self.strata)

    def stratum(self, labels: Mapping[str, str]) -> int:
        """Return the number of a combination of labels: one label for each of the task's strata.

        The first of the strata is the most significant, as in a number written in mixed radix.
        """
        expected = [name for name, _ in self.strata]
        if sorted(labels) != sorted(expected):
            raise DomainError("strata", sorted(labels), allowed=f"one label for each of {expected}", fix="name them all, and no others")
        number = 0
        for name, allowed in self.strata:
            if labels[name] not in allowed:
                raise DomainError(
                    f"strata[{name!r}]", labels[name], allowed=f"one of {list(allowed)}", fix="choose one of them; nothing was sent"
                )
            number = number * len(allowed) + allowed.index(labels[name])
        return number

    def stratum_labels(self, number: int) -> dict[str, str]:
        """Return the combination of labels behind its number."""
        labels = {}
        for name, allowed in reversed(self.strata):
            number, digit = divmod(number, len(allowed))
            labels[name] = allowed[digit]
        return dict(reversed(labels.items()))

    # --- what ---

    @cached_property
    def survey(self) -> Survey:
        """The protocol of a task of one round, which devices know without asking."""
        content = parse_canonical(self.protocol)
        kind = content.get("protocol") if isinstance(content, dict) else content
        if self.rounds or kind != Survey.kind:
            raise WireError("protocol", kind, allowed="a Survey", fix="ask the collector for the current round")
        return Survey.from_json(self.protocol)


@dataclass(frozen=True, kw_only=True)
class OpenedRound(Document):
    """A round of a task as its collector opened it: signed, logged, and as immutable as the task itself.

    Devices get the questions without their candidates, which only the tally needs. ``state`` is the SHA-256 of the protocol's state.
    """

    noun = "round"
    version = VERSION
    task: bytes
    number: int
    scale: int
    round: Round = field(metadata=wire(flat=True))
    state: bytes

    def __post_init__(self) -> None:
        asked = tuple(replace(question, candidates=None) for question in self.round.questions)
        object.__setattr__(self, "round", replace(self.round, questions=asked))
        if not 0 < self.scale < EXACT_IN_JAVASCRIPT or self.scale % self.round.scale or not 0 <= self.number < EXACT_IN_JAVASCRIPT:
            received = f"number {self.number}, scale {self.scale}"
            allowed = f"a number from 0 on, and a multiple of {self.round.scale}, both below 2^53"
            raise ParameterError("round", received, allowed=allowed, fix="take both from the protocol")
