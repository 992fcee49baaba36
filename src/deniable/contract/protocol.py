"""Protocols: ways of asking, as state machines without input or output.

A question is an encoder, a spec and the share of people it asks; a round is a set of questions asked at once (``question``). A protocol
is its settings, which a person writes, and its ``state``, which rounds have taught: ``open()`` gives the round to ask, ``close(tallies)``
gives the protocol in its next state, or an estimate. Memory, collector and engines drive every protocol alike.

A person draws one **ticket** for the whole protocol, a number below its ``scale``, and answers the question whose interval holds it:
one question, once, in whichever round it comes.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.mixing import LOCAL
from deniable.contract.question import Question, Round
from deniable.contract.record import Document, Plain
from deniable.contract.registry import Registry
from deniable.contract.source import SYSTEM, Source
from deniable.contract.work import Work, together
from deniable.errors import MissingExtra, ProtocolError

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do: people, or steps."""
PROTOCOLS = Registry(
    "protocol",
    "protocol",
    homes=(
        "deniable.contract.survey",
        *(f"deniable.shuffle.{name}" for name in ("binary_sum", "histogram", "poisson_histogram", "real_sum", "split_and_mix")),
        "deniable.tasks.graphs",
        "deniable.tasks.heavy_hitters",
        "deniable.tasks.itemsets",
        "deniable.tasks.learning",
        "deniable.tasks.marginals",
        "deniable.tasks.places",
        "deniable.tasks.ranges",
        "deniable.tasks.recommend",
        "deniable.tasks.text",
    ),
)
"""Every protocol by its name."""


class State(Plain):
    """What the rounds of a protocol have taught so far; made without arguments, it is the state before the first round."""

    noun = "state"


class Protocol(Document, ABC):
    """A way of asking, which can be stored between rounds.

    Its fields are the settings. A protocol of several rounds has one field more, ``state: SomeState = field(default=SomeState(),
    metadata=STATE)``, a record of its own; both are written as one flat object.
    """

    noun = "protocol"
    registry = PROTOCOLS
    kind: ClassVar[str]
    needs: ClassVar[str] = ""
    """What it needs that no round asks for, such as several messages from each person: ``MemoryProtocol``."""
    trust: ClassVar[str] = LOCAL
    """The trust model of its guarantee: a collector asks with local protocols only."""
    result: ClassVar[str] = "result"
    """What its estimate is called where several are shown."""

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        cls.kind = cls.__name__
        if not abstract:
            PROTOCOLS.add(cls)

    def learned(self, **changes: Any) -> Self:
        """Return the same settings in the next state: ``changes`` are the fields of the state that are new."""
        state: Any = self.state  # type: ignore[attr-defined]  # a protocol that learns has one
        return replace(self, state=replace(state, **changes))  # type: ignore[type-var]  # and is a dataclass

    if not TYPE_CHECKING:  # type checkers know without it what a protocol has

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # a property that failed: its own error again
                return object.__getattribute__(self, name)
            moved = f"; use state.{name}" if name in getattr(vars(self).get("state"), "__dict__", ()) else ""
            raise AttributeError(f"{self.kind!r} object has no attribute {name!r}{moved}", name=name, obj=self)

    @abstractmethod
    def open(self) -> Round:
        """Return the round to ask now."""

    @abstractmethod
    def close(self, tallies: Mapping[str, Any]) -> Any:
        """Return the next state or an estimate, given the tally of each question by name; a survey gives a mapping of estimates."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What taking part in the whole protocol costs a person."""

    def work(self) -> Work:
        """Return what it takes to close a round, this one or the heaviest of those to come, at most."""
        return together(question.spec.finishing(question.values) for question in self.open().questions)

    @property
    def scale(self) -> int:
        """Tickets are drawn below this; the same in every round."""
        return self.open().scale

    def ticket(self, source: Source = SYSTEM) -> int:
        """Return one person's ticket, drawn by the person's own device and kept for all rounds. Consumes nothing if the scale is 1."""
        return source.below(self.scale) if self.scale > 1 else 0

    def question(self, ticket: int) -> Question | None:
        """Return the question that the holder of a ticket is asked now; None if it is not the ticket's turn."""
        return self.open().question_of(ticket, self.scale)

    def read(self, values: Any) -> Any:
        """Return a crowd's values in the form that questions read fastest, checked; values in that form stay as they are.

        ``values`` is a column, or a mapping of columns for questions about attributes.
        """
        return values

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> Any:
        """Ask a crowd held in memory, from the first round to the estimate; a survey gives a mapping of estimates.

        ``values`` is what ``read`` takes. ``progress`` is called with the number
        of people asked so far in this round and the number to ask.
        """
        try:
            runner = importlib.import_module("deniable.core.run")  # the analyst's half; contract knows only the name
        except ModuleNotFoundError as error:
            raise MissingExtra("Protocol.run", "analysis", error.name) from error
        return runner.run(self, values, source=source, progress=progress)


class MemoryProtocol(Protocol, abstract=True):
    """A protocol that no rounds of questions can ask: it ``needs`` more of people, so it runs on a crowd held in memory alone."""

    def open(self) -> Round:
        raise self._refusal("open")

    def close(self, tallies: Mapping[str, Any]) -> Any:
        raise self._refusal("close")

    def work(self) -> Work:
        return together(())

    @property
    def scale(self) -> int:
        return 1

    @abstractmethod
    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> Any:
        """Ask a crowd held in memory; ``progress`` is called with the steps done and all steps."""

    def _refusal(self, asked: str) -> ProtocolError:
        return ProtocolError(asked, self.kind, allowed="a crowd held in memory", fix=f"call run(): it needs {self.needs}")


@typed
def protocol_from_json(data: bytes) -> Protocol:
    """Return the protocol's state behind ``data``, its canonical JSON; WireError if there is none."""
    return Protocol.from_json(data)
