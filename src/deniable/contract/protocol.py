"""Protocols: ways of asking, as state machines without input or output of their own.

A question is an encoder, a spec and the share of people it asks; a round is a set of questions asked at once (``question``). A protocol
is a serializable state: ``open()`` gives the round to ask, ``close(tallies)`` gives the next state or an estimate. Memory, collector and
engines drive every protocol alike.

A person draws one **ticket** for the whole protocol, a number below its ``scale``, and answers the question whose interval holds it:
one question, once, in whichever round it comes.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.mixing import LOCAL
from deniable.contract.question import Question, Round
from deniable.contract.record import Document, Registry
from deniable.contract.source import SYSTEM, Source
from deniable.contract.work import Work, together
from deniable.errors import MissingExtra

PROTOCOLS = Registry(
    "protocol",
    "protocol",
    homes=(
        "deniable.contract.survey",
        "deniable.tasks.heavy_hitters",
        "deniable.tasks.itemsets",
        "deniable.tasks.learning",
        "deniable.tasks.marginals",
        "deniable.tasks.places",
        "deniable.tasks.ranges",
    ),
)
"""Every protocol by its name."""


class Protocol(Document, ABC):
    """A way of asking, as a state that can be stored between rounds."""

    noun = "protocol"
    registry = PROTOCOLS
    kind: ClassVar[str]
    trust: ClassVar[str] = LOCAL
    """The trust model of its guarantee: a collector asks with local protocols only."""
    result: ClassVar[str] = "result"
    """What its estimate is called where several are shown."""

    def __init_subclass__(cls) -> None:
        PROTOCOLS[cls.__name__] = cls
        cls.kind = cls.__name__

    @abstractmethod
    def open(self) -> Round:
        """The round to ask now."""

    @abstractmethod
    def close(self, tallies: Mapping[str, Any]) -> Any:
        """The next state or an estimate, given the tally of each question by name; a survey gives a mapping of estimates."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What taking part in the whole protocol costs a person."""

    def work(self) -> Work:
        """What it takes to close a round, this one or the heaviest of those to come, at most."""
        return together(question.spec.finishing(question.values) for question in self.open().questions)

    @property
    def scale(self) -> int:
        """Tickets are drawn below this; the same in every round."""
        return self.open().scale

    def ticket(self, source: Source = SYSTEM) -> int:
        """One person's ticket, drawn by the person's own device and kept for all rounds. Consumes nothing if the scale is 1."""
        return source.below(self.scale) if self.scale > 1 else 0

    def question(self, ticket: int) -> Question | None:
        """The question that the holder of a ticket is asked now; None if it is not the ticket's turn."""
        return self.open().question_of(ticket, self.scale)

    def run(self, values: Any, *, source: Source | None = None, progress: Callable[[int, int], None] | None = None) -> Any:
        """Ask a crowd held in memory, from the first round to the estimate; a survey gives a mapping of estimates.

        ``values`` is a column, or a mapping of columns for questions about attributes. ``progress`` is called with the number
        of people asked so far in this round and the number to ask.
        """
        try:
            runner = importlib.import_module("deniable.core.run")  # the analyst's half; contract knows only the name
        except ModuleNotFoundError as error:
            raise MissingExtra("Protocol.run", "analysis", error.name) from error
        return runner.run(self, values, source=source, progress=progress)


@typed
def protocol_from_json(data: bytes) -> Protocol:
    """The protocol's state behind ``data``, its canonical JSON; WireError if there is none."""
    return Protocol.from_json(data)
