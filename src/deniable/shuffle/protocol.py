"""What all protocols of a shuffled crowd share: a promise, who is counted in it, and what accountants take a batch for.

A protocol is calibrated from (epsilon, delta, n) to the least noise that a proved bound allows, never by a paper's constants. ``n`` counts
*honest, distinct* people: subtract those who may collude, and count neither dummies nor a person's second message. More people may take
part; fewer are refused, since the promise would not hold.

Where each person sends one message, a protocol has one round, whose question is a local mechanism. Where each person sends several, it runs
in memory: people, shuffler and analyst.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np

from deniable.accounting.event import REPLACE, Event
from deniable.accounting.leaves import Approximate
from deniable.contract.domain import Domain
from deniable.contract.guarantee import Guarantee
from deniable.contract.mixing import SHUFFLE
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import MemoryProtocol, Progress, Protocol
from deniable.contract.question import Question, Round
from deniable.contract.source import SYSTEM, Source
from deniable.core.estimate import Estimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.run import Steps
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.shuffle.certificate import Certificate
from deniable.shuffle.mixer import permutation

LEAST_DELTA = 1e-200
"""Bounds divide by delta: floats have no numbers for far smaller ones."""
MOST_LOCAL = 20.0
"""The largest local epsilon that is tried: beyond it, reports are the truth, but for once in a billion."""


class ShuffleProtocol(Protocol, abstract=True):
    """A protocol of n people, a shuffler and an analyst. Each one is a frozen dataclass with these parameters and its own."""

    trust: ClassVar[str] = SHUFFLE
    epsilon: float
    delta: float
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if isinstance(self.delta, bool) or not isinstance(self.delta, int | float) or not LEAST_DELTA <= self.delta < 1:
            raise ParameterError(
                "delta", self.delta, allowed=f"from {LEAST_DELTA:g} to below 1", fix="use a delta far below 1 / n, such as 1e-6"
            )
        object.__setattr__(self, "delta", float(self.delta))
        if type(self.n) is not int or self.n < 1:
            raise ParameterError("n", self.n, allowed="an integer from 1 on", fix="count honest, distinct people, not messages")

    @property
    def mechanism(self) -> str:
        """The protocol's name, where an estimate names a mechanism."""
        return self.kind

    def __getstate__(self) -> dict[str, Any]:
        """The parameters alone travel to other processes: tables are made there again."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]  # a dataclass

    @abstractmethod
    def variance(self) -> float:
        """The variance of the estimated count or sum if n people take part, at worst."""

    @property
    def event(self) -> Event:
        """What one batch is to an accountant: the pair of laws behind the promise where it is known, otherwise the promise itself."""
        return Approximate(epsilon=self.epsilon, delta=self.delta, neighbors=REPLACE)

    def require_people(self, people: int) -> None:
        """Raise if the crowd is too small for the promise."""
        if people < self.n:
            fix = f"wait for more, or calibrate for n={people}"
            raise ParameterError("people", people, allowed=f"at least n = {self.n}: with fewer the promise does not hold", fix=fix)


class SeveralMessages(ShuffleProtocol, MemoryProtocol, abstract=True):
    """Each person sends several messages, in envelopes of their own, which only a shuffler may see together."""

    needs: ClassVar[str] = "several messages from each person, of which a round takes one"

    @abstractmethod
    def messages(self, value: Any, source: Source = SYSTEM) -> tuple[int, ...]:
        """What one person who holds ``value`` sends: integers, each in an envelope of its own."""

    @abstractmethod
    def send(self, values: Any, source: Source | None) -> Array:
        """Return the messages of all people, not yet shuffled."""

    @abstractmethod
    def estimate(self, messages: Any, *, people: int) -> Estimate:
        """Return the estimate from the shuffled messages, with its error."""

    def privatize(self, values: Any, *, source: Source | None = None) -> Array:
        """Return all messages of a crowd in random order: people and shuffler in memory."""
        sent = self.send(values, source)
        return np.asarray(sent[permutation(sent.size, source)])

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> Any:
        """Send a crowd's messages, shuffle them, and return the estimate."""
        steps = Steps(2, progress)
        messages = self.privatize(values, source=source)
        steps.next()
        found = self.estimate(messages, people=len(values))
        steps.next()
        return found


class SingleMessage(ShuffleProtocol, abstract=True):
    """A local mechanism, one report each, with the largest local epsilon that the shuffled batch allows."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon >= MOST_LOCAL:
            raise ParameterError(
                "epsilon",
                self.epsilon,
                allowed=f"below {MOST_LOCAL:g}",
                fix="choose a smaller epsilon: above 10 there is hardly any privacy left",
            )

    @cached_property
    @abstractmethod
    def spec(self) -> Any:
        """The local mechanism."""

    @property
    @abstractmethod
    def proof(self) -> Certificate:
        """The certificate of n shuffled reports."""

    @property
    def domain(self) -> Domain:
        """What people may hold."""
        domain: Domain = self.spec.domain
        return domain

    @cached_property
    def guarantee(self) -> Guarantee:
        proof = self.proof
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            model=SHUFFLE,
            unit="one report in a shuffled batch",
            honest="the shuffler",
            certificate=proof.name,
            local_epsilon=proof.local,
            epsilon_at_least=proof.at_least(self.epsilon),
            people=self.n,
        )

    def open(self) -> Round:
        return Round((Question(name=self.result, spec=self.spec),))

    def close(self, tallies: Mapping[str, Any]) -> Estimate:
        """The estimate from the tally of all reports; ParameterError if fewer people reported than the promise needs."""
        self.open().check_tallies(tallies)
        tally = tallies[self.result]
        self.require_people(tally.n)
        return self.estimated(self.spec.estimate(tally))

    def estimated(self, found: Any) -> Estimate:
        """What the local mechanism found, as an estimate of this protocol: with its name, and the epsilon of the batch."""
        return FrequencyEstimate.of(self, found.values, found.law)


def checked(messages: Any, limit: int) -> Array:
    """Messages as one column of integers below a limit, or a DomainError."""
    column = np.asarray(messages)
    if column.ndim != 1 or (column.size and column.dtype.kind not in "iu"):
        told = f"an array of shape {column.shape} and type {column.dtype}"
        raise DomainError("messages", told, allowed="one column of integers", fix="concatenate the messages of all people")
    if column.size and not (int(column.min()) >= 0 and int(column.max()) < limit):
        position = int(np.argmax((column < 0) | (column >= limit)))
        raise DomainError(
            f"messages[{position}]",
            column[position].item(),
            allowed=f"from 0 to {limit - 1}",
            fix="drop the message: no honest device sends it",
        )
    return column


def shuffled_promise(protocol: SeveralMessages, *, certificate: str, unit: str) -> Guarantee:
    """Return the guarantee of a protocol whose messages reveal everything to anyone who sees where they come from."""
    return Guarantee(
        epsilon=protocol.epsilon,
        delta=protocol.delta,
        model=SHUFFLE,
        unit=unit,
        honest="the shuffler",
        certificate=certificate,
        local_epsilon=inf,
        people=protocol.n,
    )
