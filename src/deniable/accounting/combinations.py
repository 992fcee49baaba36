"""Combinations of events: in sequence, in parallel, on a sample, seen by a group.

``worlds`` turns any combination into bags of leaves: each bag is everything that one person (or one pair of neighbors) may have met. An
accountant prices bags, and the most expensive one is the price.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations_with_replacement, product
from math import comb, prod

from deniable.accounting.event import ADD_REMOVE, REPLACE, Event, Leaf, event, positive_integer, unknown, walk
from deniable.errors import ParameterError

Bag = Counter[Leaf]
"""Leaves, and how often each was met."""
MOST_WORLDS = 1000


@event
class Sequential(Event):
    """Events on the same people, one after the other; each may be chosen by looking at the results before it."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        _check_events(self)

    @property
    def relation(self) -> str:
        return _common(self, self.events)

    def grouped(self, size: int) -> Event:
        return Sequential(events=tuple(item.grouped(size) for item in self.events))


@event
class Repeated(Event):
    """The same event, ``times`` times, on the same people."""

    event: Event
    times: int

    def __post_init__(self) -> None:
        positive_integer("times", self.times)
        list(walk((self.event,)))

    @property
    def relation(self) -> str:
        return self.event.relation

    def grouped(self, size: int) -> Event:
        return Repeated(event=self.event.grouped(size), times=self.times)


@event
class Parallel(Event):
    """Events on disjoint parts of the people or of the data: they cost as much as the most expensive one, with a caveat.

    ``by="person"``: who belongs to which part does not depend on protected data (each person reports in one group). One person's change
    stays in one part, under either relation.

    ``by="value"``: the protected data decide (one count for each city). Adding or removing a person changes one part, so all events must be
    stated for add-remove. *Replacing* a person may change two parts: wrap the whole in ``Replaced``, which charges for both. A bill of the
    dearest part alone would be too small by up to a factor of two, and is refused.
    """

    events: tuple[Event, ...]
    by: str

    def __post_init__(self) -> None:
        _check_events(self)
        if self.by not in ("person", "value"):
            raise ParameterError(
                "by",
                self.by,
                allowed="XpersonX or XvalueX",
                fix="write 'value' if protected data decides who is in which part, else 'person'",
            )
        for item in self.events:
            if self.by == "value" and item.relation != ADD_REMOVE:
                allowed = "events stated for add-remove, where the data decide who is in which part"
                raise ParameterError(
                    "events", item, allowed=allowed, fix="write Replaced(event=Parallel(...)): replacing a person changes two parts"
                )

    @property
    def relation(self) -> str:
        return _common(self, self.events)

    def grouped(self, size: int) -> Event:
        """Several people may be in several parts: all of them are charged."""
        spread = []
        for chosen in combinations_with_replacement(range(len(self.events)), size):
            met = Counter(chosen)  # how many of them are in which part
            spread.append(Sequential(events=tuple(self.events[i].grouped(n) if n > 1 else self.events[i] for i, n in met.items())))
        return Parallel(events=tuple(spread), by=self.by)


@event
class GroupEvent(Event):
    """An event as seen by ``size`` people at once: what is known about a family rather than a person."""

    event: Event
    size: int

    def __post_init__(self) -> None:
        positive_integer("size", self.size)
        list(walk((self.event,)))

    @property
    def relation(self) -> str:
        return self.event.relation

    def grouped(self, size: int) -> Event:
        return GroupEvent(event=self.event, size=self.size * size)


@event
class Replaced(Event):
    """An event stated for add-remove, under the replace relation: one person out and one in, a group of two."""

    event: Event

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event) or self.event.relation != ADD_REMOVE:
            raise ParameterError("event", self.event, allowed="an event stated for add-remove", fix="leave Replaced out")

    @property
    def relation(self) -> str:
        return REPLACE

    def grouped(self, size: int) -> Event:
        return Replaced(event=GroupEvent(event=self.event, size=size))


@event
class Sampled(Leaf):
    """An event, which must be a leaf, on a secret random sample of the people, each taking part with probability ``rate``.

    Under add-remove the sample is Poisson (everyone flips a coin of their own); under replace it is a fixed number of people, drawn
    without replacement, and ``rate`` is their share. The other two combinations have other prices, and are not offered.
    """

    event: Leaf
    rate: float

    def __post_init__(self) -> None:
        if not isinstance(self.event, Leaf) or isinstance(self.event, Sampled):
            raise ParameterError("event", self.event, allowed="a leaf: one mechanism", fix="sample each mechanism alone")
        if isinstance(self.rate, bool) or not isinstance(self.rate, int | float) or not 0 < self.rate <= 1:
            raise ParameterError("rate", self.rate, allowed="a share above 0, at most 1", fix="write 0.01 for one person in a hundred")

    @property
    def relation(self) -> str:
        return self.event.relation


def worlds(root: Event) -> list[Bag]:
    """Every bag of leaves that one pair of neighbors may have met.

    >>> from deniable.accounting.leaves import Pure
    >>> a, b = Pure(epsilon=1.0), Pure(epsilon=2.0)
    >>> twice = Repeated(event=Parallel(events=(a, b), by="person"), times=2)
    >>> [(bag[a], bag[b]) for bag in worlds(twice)]
    [(2, 0), (1, 1), (0, 2)]
    """
    root.relation  # noqa: B018  # refuses a mixture of relations, naming the event
    found = _worlds(root)
    if len(found) > MOST_WORLDS:
        raise _too_many(root)
    return found


def _worlds(item: Event) -> list[Bag]:  # noqa: PLR0911  # one for each combination
    if isinstance(item, Sequential):
        return _distinct(sum(chosen, Bag()) for chosen in product(*_few(item, [_worlds(part) for part in item.events])))
    if isinstance(item, Repeated):
        inner = _worlds(item.event)
        if len(inner) == 1:
            return [Bag({leaf: count * item.times for leaf, count in inner[0].items()})]
        if comb(len(inner) + item.times - 1, item.times) > MOST_WORLDS:
            raise _too_many(item)
        return _distinct(sum(chosen, Bag()) for chosen in combinations_with_replacement(inner, item.times))
    if isinstance(item, Parallel):
        return _distinct(bag for part in item.events for bag in _worlds(part))
    if isinstance(item, GroupEvent):
        return _worlds(item.event.grouped(item.size) if item.size > 1 else item.event)
    if isinstance(item, Replaced):
        return [Bag({_as_replace(leaf): count for leaf, count in bag.items()}) for bag in _worlds(GroupEvent(event=item.event, size=2))]
    if isinstance(item, Leaf):
        return [Bag({item: 1})]
    raise unknown("any rule", item, "leaves, Sequential, Repeated, Parallel, Sampled, Group and Replaced")


def _as_replace(leaf: Leaf) -> Leaf:
    return replace(leaf, neighbors=REPLACE)  # type: ignore[type-var]  # every leaf is a dataclass


def _few(item: Event, parts: list[list[Bag]]) -> list[list[Bag]]:
    """The parts, unless there are too many ways through them to list."""
    if prod(map(len, parts)) > MOST_WORLDS:
        raise _too_many(item)
    return parts


def _too_many(item: Event) -> ParameterError:
    return ParameterError(
        "event", item, allowed=f"at most {MOST_WORLDS} ways through parallel parts", fix="account for the most expensive part alone"
    )


def _distinct(bags: Iterable[Bag]) -> list[Bag]:
    return list({frozenset(bag.items()): bag for bag in bags}.values())


def _check_events(item: Sequential | Parallel) -> None:
    if not isinstance(item.events, tuple) or not item.events:
        raise ParameterError("events", item.events, allowed="a tuple of one or more events", fix="write events=(Pure(epsilon=1.0),)")
    list(walk(item.events))


def _common(item: Event, events: tuple[Event, ...]) -> str:
    first = events[0].relation
    for other in events:
        if other.relation != first:
            fix = "wrap add-remove events in Replaced: promises for different neighbors do not add up"
            raise ParameterError("event", other, allowed=f"the relation {first!r}, as in the events before it", fix=fix)
    return first
