"""One level of a tree: the cells of a line, the question that counts them, and how its answers err together."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Any

from deniable.client.frequency import FrequencySpec
from deniable.client.longitudinal import Longitudinal
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.encoder import Identity
from deniable.contract.lines import Interval
from deniable.contract.question import Question
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from deniable.tasks.checks import check_people
from deniable.tasks.oracles import AUTO, SMALLEST, oracle_of

LARGEST_DOMAIN = 1 << 11
"""The most values of a line: private answers cannot resolve more."""


def check_line(domain: object) -> None:
    """Raise unless a domain is ordered and has few enough values."""
    if not isinstance(domain, Domain) or not domain.listed or domain.size > LARGEST_DOMAIN:
        raise ParameterError(
            "domain",
            domain,
            allowed=f"an ordered domain of at most {LARGEST_DOMAIN:,} values",
            fix="declare a grid such as Numbers(0, 120, steps=120), or list the labels in their order",
        )


def level_oracles() -> list[str]:
    """The oracles that can count the cells of a level."""
    oracles = [(name, cls) for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec) and not issubclass(cls, Longitudinal)]
    return [name for name, cls in oracles if not cls.shares_hashes and cls.largest_domain > 2]  # a whole level would share collisions


def check_level_oracle(name: object) -> None:
    """Raise unless an oracle can count the cells of a level."""
    fit = level_oracles()
    if name not in (AUTO, *fit):
        raise ParameterError("oracle", name, allowed=f"{AUTO} or one of {fit}", fix=SMALLEST)


def tree_widths(size: int, branching: int) -> tuple[int, ...]:
    """How many values a node holds on each level, where every node has ``branching`` children; the last level is of single values.

    >>> tree_widths(256, 4), tree_widths(256, 8), tree_widths(100, 10), tree_widths(7, 99)
    ((64, 16, 4, 1), (64, 8, 1), (10, 1), (1,))
    """
    widths = [1]
    while widths[-1] * branching < size:
        widths.append(widths[-1] * branching)
    return tuple(reversed(widths))


def checked_widths(widths: Any, size: int) -> tuple[int, ...]:
    """The widths of a tree's levels; refused unless every node is made of whole nodes of the next level."""
    found = tuple(widths)
    whole = all(type(width) is int and width > 0 for width in found)
    if not whole or found[-1:] != (1,) or found[0] >= size or any(a <= b or a % b for a, b in pairwise(found)):
        allowed = f"decreasing numbers below {size}, each a multiple of the next, the last 1"
        raise ParameterError("widths", found[:5], allowed=allowed, fix="leave out widths, and set branching")
    return found


def even_starts(size: int, width: int) -> tuple[int, ...]:
    """Where cells of one width begin; the last one may be narrower."""
    return tuple(range(0, size, width))


def check_tree(domain: object, oracle: object, people: object) -> None:
    """Raise unless a tree over a line can use these settings."""
    check_line(domain)
    check_level_oracle(oracle)
    check_people(people)


def level_spec(cells: int, *, domain: Domain, oracle: str, epsilon: float, people: int) -> FrequencySpec:
    """The oracle that counts the cells of a level; of single values, the values themselves."""
    asked = domain if cells == domain.size else IndexRange(cells)
    return oracle_of(oracle, asked, epsilon=epsilon, people=people)


def level_question(
    name: str, domain: Domain, starts: tuple[int, ...], *, oracle: str, epsilon: float, people: int, share: Fraction
) -> Question:
    """The question that counts the cells of a level."""
    expected = ceil(people * share)
    spec = level_spec(len(starts), domain=domain, oracle=oracle, epsilon=epsilon, people=expected)
    encoder = Identity() if len(starts) == domain.size else Interval(domain, starts)
    return Question(name=name, spec=spec, encoder=encoder, share=share)


@lru_cache(maxsize=256)
def level_variance(spec: FrequencySpec) -> float:
    """What one person adds to the error of an average cell, times the people squared: noise, and that only some people are asked.

    It is the same for all cells of a level, and what the cells have in common does not count, since the total is known.
    """
    d, (neither, one) = spec.domain_size, spec.pair_covariances
    return spec.variance(1, 1 / d) - neither - (one - neither) * 2 / d + 1 / d
