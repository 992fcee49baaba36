"""Events: what was done to people's data, as frozen data. Only accountants turn them into epsilon.

An event is registered data like a spec, and people write it in files, too: ``event_from_json`` reads both. A *leaf* is one mechanism;
*combinations* say how events belong together.

**Neighbors.** A promise holds for a pair of neighboring data sets: ``"replace"`` (one person's data is another's; n is public) or
``"add-remove"`` (one person more or less). Neither implies the other at the same price, so a combination of both is refused. ``Replaced``
turns an event stated for add-remove into one for replace: one person out, one in, a group of two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import ClassVar, TypeVar, dataclass_transform

from deniable.contract.arguments import typed
from deniable.contract.record import Document
from deniable.contract.registry import Registry
from deniable.errors import ParameterError

EventType = TypeVar("EventType", bound="Event")
REPLACE, ADD_REMOVE = "replace", "add-remove"
NEIGHBORS = {REPLACE: "any two inputs of one person", ADD_REMOVE: "with one person, or without"}
"""The two relations in the words of a ``Guarantee``."""
EVENTS = Registry("event", "kind", homes=("deniable.accounting.leaves", "deniable.accounting.combinations", "deniable.shuffle.event"))
"""Every event by its name."""


class Event(Document, ABC):
    """An event: something that was done to people's data."""

    noun = "event"
    registry = EVENTS
    by_hand = True
    kind: ClassVar[str]

    @property
    @abstractmethod
    def relation(self) -> str:
        """The neighboring relation that this event is stated for."""

    def grouped(self, size: int) -> Event:
        """The event as seen by ``size`` people at once."""
        raise unknown("group privacy", self, "a pure, Laplace, Gaussian or zCDP event")


class Leaf(Event):
    """One mechanism. ``neighbors`` is the relation that its parameters are stated for."""

    neighbors: str

    def __post_init__(self) -> None:
        check_neighbors(self.neighbors)
        self.check()

    def check(self) -> None:
        """Raise unless the parameters are those of a mechanism."""

    @property
    def relation(self) -> str:
        return self.neighbors


@dataclass_transform(kw_only_default=True, frozen_default=True)
def event(cls: type[EventType]) -> type[EventType]:
    """Class decorator: a frozen keyword-only dataclass whose arguments are checked for their types, registered as an event.

    Its kind is the class's name without ``Event``, which tells the class from the mechanism of that name: noise from ``central.Laplace`` is
    charged as a ``LaplaceEvent``, of the kind "Laplace".
    """
    made = typed(dataclass(frozen=True, kw_only=True)(cls))
    made.kind = made.__name__.removesuffix("Event")
    return EVENTS.add(made)


def event_from_json(data: object) -> Event:
    """The event behind ``data``, from ``to_json`` or as TOML says it; WireError if there is none.

    >>> event_from_json({"kind": "Pure", "epsilon": "0.5", "neighbors": "replace"})
    Pure(epsilon=0.5, neighbors='replace')
    """
    found: Event = EVENTS.read("event", data)
    return found


def unknown(rule: str, event: Event, allowed: str) -> ParameterError:
    """The refusal of an event that a rule does not know; names the event."""
    return ParameterError(
        "event", event, allowed=f"for {rule}: {allowed}", fix="take another rule, or state what is known about this event"
    )


def check_neighbors(neighbors: str) -> str:
    """The relation, if it is one."""
    if not isinstance(neighbors, str) or neighbors not in (REPLACE, ADD_REMOVE):
        allowed = f"{REPLACE!r} or {ADD_REMOVE!r}"
        raise ParameterError("neighbors", neighbors, allowed=allowed, fix="name the neighboring data sets that the promise is for")
    return neighbors


def positive(name: str, value: object, *, zero: bool = False, below: float = inf) -> None:
    """Raise unless this is a finite number above 0 (or 0 where that is allowed)."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and (0 < value < inf or (zero and value == 0))
    if not good or not value < below:  # type: ignore[operator]  # a number, as just checked
        limit = "" if below == inf else f", below {below:g}"
        raise ParameterError(name, value, allowed=f"a finite number {'from 0 on' if zero else 'above 0'}{limit}", fix="check the units")


def positive_integer(name: str, value: object) -> None:
    """Raise unless this is an integer from 1 on."""
    if type(value) is not int or value < 1:
        raise ParameterError(name, value, allowed="an integer from 1 on", fix="pass a whole number")


def float_above(value: Fraction) -> float:
    """The smallest float that is not below a fraction, read as the binary number that it is and as the decimal that it prints as."""
    nearest = float(value)
    while min(Fraction(nearest), Fraction(repr(nearest))) < value and Fraction(repr(nearest)) != value:
        nearest = nextafter(nearest, inf)
    return nearest


def walk(events: tuple[Event, ...]) -> Iterator[Event]:
    """Events in order, each checked to be one."""
    for item in events:
        if not isinstance(item, Event):
            raise ParameterError("events", item, allowed="events", fix="pass events such as Pure(epsilon=1.0)")
        yield item
