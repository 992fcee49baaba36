"""Groups of people who answer together, by their declarations only, so that few oracles run.

A person who declared a region and an epsilon may always be asked about a larger region, or with a smaller epsilon: both protect more. So
groups can be joined under the smallest region that holds both, with the smaller epsilon. It costs accuracy, and the cheapest pair goes
first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import exp

from deniable.errors import ParameterError
from deniable.tasks.places.taxonomy import Taxonomy

Declared = tuple[str, float]
"""A region and an epsilon."""
MOST_DECLARED = 512
"""The most different declarations, apart from single places: all pairs of them are compared."""


@dataclass(frozen=True)
class RegionGroup:
    """People who answer one oracle: about the places of a region, with one epsilon."""

    region: str
    epsilon: float
    people: int
    declared: tuple[Declared, ...]
    """What its members declared."""


def grouped(taxonomy: Taxonomy, declared: dict[Declared, int], most: int) -> tuple[RegionGroup, ...]:
    """Groups with at most so many oracles, joined where that adds the least variance over all places.

    People who declared a single place need no oracle: they are a group for each place, and never joined.

    >>> town = Taxonomy(["north/hill", "north/mill", "south/lake", "south/port"])
    >>> crowd = {("north", 1.0): 500, ("north", 1.2): 500, ("south", 2.0): 90, ("everywhere", 1.0): 400, ("south/lake", 1.0): 7}
    >>> [(group.region, group.epsilon, group.people) for group in grouped(town, crowd, most=2)]
    [('everywhere', 1.0, 490), ('north', 1.0, 1000), ('south/lake', 1.0, 7)]
    """

    @cache
    def price(region: str, epsilon: float) -> float:
        """The variance that one person adds to all places together, by the better of GRR and OUE."""
        start, end = taxonomy.span(region)
        size, odds = end - start, exp(epsilon)
        return size * min(size - 2 + odds, 4 * odds) / (odds - 1) ** 2

    common = cache(taxonomy.common)

    def cost(one: RegionGroup, other: RegionGroup) -> float:
        """How much more variance there is if two groups are one."""
        together = price(common(one.region, other.region), min(one.epsilon, other.epsilon))
        return sum(group.people * (together - price(group.region, group.epsilon)) for group in (one, other))

    single: dict[str, RegionGroup] = {}
    alive: dict[tuple[Declared, ...], RegionGroup] = {}
    for (region, epsilon), people in sorted(declared.items()):
        start, end = taxonomy.span(region)
        if end - start > 1:
            alive[((region, epsilon),)] = RegionGroup(region, epsilon, people, ((region, epsilon),))
        elif region in single:
            before = single[region]
            single[region] = RegionGroup(region, before.epsilon, before.people + people, (*before.declared, (region, epsilon)))
        else:
            single[region] = RegionGroup(region, epsilon, people, ((region, epsilon),))
    if len(alive) > MOST_DECLARED:
        allowed = f"at most {MOST_DECLARED} different pairs of a region and an epsilon"
        raise ParameterError(
            "declared", f"{len(alive)} pairs", allowed=allowed, fix="let people choose from a list of epsilons, or from larger regions"
        )
    pairs = (
        [(cost(one, other), one.declared, other.declared) for one, other in combinations(alive.values(), 2)] if len(alive) > most else []
    )
    heapify(pairs)
    while len(alive) > most:
        _, first, second = heappop(pairs)
        if first in alive and second in alive:  # else one of them has been joined before
            one, other = alive.pop(first), alive.pop(second)
            name = tuple(sorted((*first, *second)))
            made = RegionGroup(common(one.region, other.region), min(one.epsilon, other.epsilon), one.people + other.people, name)
            for group in alive.values():
                heappush(pairs, (cost(group, made), group.declared, name))
            alive[name] = made
    return tuple(sorted([*alive.values(), *single.values()], key=lambda group: (group.region, group.epsilon, group.declared)))
