"""Events: what was done to people's data, as frozen data. Only accountants turn them into epsilon.

An event is registered data like a spec: ``to_json`` writes integers and decimal strings, ``event_from_json`` reads them back through a
table and never imports a name that it finds in data. A *leaf* is one mechanism; *combinations* say how events belong together.

**Neighbors.** A promise holds for a pair of neighboring data sets: ``"replace"`` (one person's data is another's; n is public) or
``"add-remove"`` (one person more or less). Neither implies the other at the same price, so a combination of both is refused. ``Replaced``
turns an event stated for add-remove into one for replace: one person out, one in, a group of two.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from math import inf, nextafter
from typing import Any, ClassVar, TypeVar, dataclass_transform

from deniable.contract.arguments import typed
from deniable.contract.canonical import canonical_json, number
from deniable.errors import ParameterError, WireError

EventType = TypeVar("EventType", bound="Event")
REPLACE, ADD_REMOVE = "replace", "add-remove"
NEIGHBORS = {REPLACE: "any two inputs of one person", ADD_REMOVE: "with one person, or without"}
"""The two relations in the words of a ``Guarantee``."""
EVENTS: dict[str, type[Event]] = {}
"""Every event by its name."""
_HOMES = ("deniable.accounting.leaves", "deniable.accounting.combinations", "deniable.shuffle.event")


class Event(ABC):
    """Something that was done to people's data."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def relation(self) -> str:
        """The neighboring relation that this event is stated for."""

    def to_json(self) -> dict[str, Any]:
        """The event as canonical JSON carries it."""
        return {"kind": self.kind, **{f.name: _write(getattr(self, f.name)) for f in fields(self)}}  # type: ignore[arg-type]  # a dataclass

    @property
    def canonical(self) -> bytes:
        """The canonical JSON of this event."""
        return canonical_json(self.to_json())

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
        """Refuse parameters that no mechanism has."""

    @property
    def relation(self) -> str:
        return self.neighbors


@dataclass_transform(kw_only_default=True, frozen_default=True)
def event(cls: type[EventType]) -> type[EventType]:
    """Class decorator: a frozen keyword-only dataclass whose arguments are checked for their types, registered under the class's name."""
    made = typed(dataclass(frozen=True, kw_only=True)(cls))
    made.kind = made.__name__
    EVENTS[made.__name__] = made
    return made


def event_from_json(data: object) -> Event:
    """The event behind ``data`` from ``to_json``; WireError if there is none.

    >>> event_from_json({"kind": "Pure", "epsilon": "0.5", "neighbors": "replace"})
    Pure(epsilon=0.5, neighbors='replace')
    """
    for home in _HOMES:
        importlib.import_module(home)  # registers the events there
    name = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(name, str) or name not in EVENTS:
        raise WireError("event", data, allowed=f"an object with 'kind', one of {sorted(EVENTS)}", fix="check the name, or upgrade deniable")
    known = {f.name for f in fields(EVENTS[name])}  # type: ignore[arg-type]  # a dataclass
    if not set(data) <= known | {"kind"}:
        raise WireError("event", sorted(set(data) - {"kind"}), allowed=f"{name} with {sorted(known)}", fix="check the names of the fields")
    try:
        return EVENTS[name](**{key: _read(value) for key, value in data.items() if key != "kind"})
    except (ParameterError, TypeError, ValueError) as error:
        raise WireError("event", data, allowed=f"valid parameters of {name}", fix=str(error)) from error


def unknown(rule: str, event: Event, allowed: str) -> ParameterError:
    """The refusal of an event that a rule does not know; names the event."""
    return ParameterError(
        "event", event, allowed=f"for {rule}: {allowed}", fix="take another rule, or state what is known about this event"
    )


def check_neighbors(neighbors: str) -> str:
    """The relation, if it is one."""
    if not isinstance(neighbors, str) or neighbors not in (REPLACE, ADD_REMOVE):
        allowed = f"{REPLACE!r} or {ADD_REMOVE!r}"
        raise ParameterError("neighbors", neighbors, allowed=allowed, fix="say for which pairs of data sets the promise holds")
    return neighbors


def positive(name: str, value: object, *, zero: bool = False, below: float = inf) -> None:
    """Refuse what is not a finite number above 0 (or 0 where that is allowed)."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and (0 < value < inf or (zero and value == 0))
    if not good or not value < below:  # type: ignore[operator]  # a number, as just checked
        limit = "" if below == inf else f", below {below:g}"
        raise ParameterError(name, value, allowed=f"a finite number {'from 0 on' if zero else 'above 0'}{limit}", fix="check the units")


def positive_integer(name: str, value: object) -> None:
    """Refuse what is not an integer from 1 on."""
    if type(value) is not int or value < 1:
        raise ParameterError(name, value, allowed="an integer from 1 on", fix="count whole things")


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
            raise ParameterError("events", item, allowed="events", fix="as in Pure(epsilon=1.0)")
        yield item


def _write(value: object) -> object:
    if isinstance(value, Event):
        return value.to_json()
    if isinstance(value, tuple):
        return [_write(item) for item in value]
    if isinstance(value, float):
        return repr(value)
    return number(value) if isinstance(value, int) else value


def _read(value: object) -> object:
    if isinstance(value, dict):
        return event_from_json(value)
    if isinstance(value, list):
        return tuple(_read(item) for item in value)
    if isinstance(value, str):
        try:
            return int(value) if value.lstrip("-").isdigit() else float(value)
        except ValueError:
            return value
    return value
