"""How people are split into the groups of a search: the length of each group's prefixes, the number kept, and the group sizes."""

from __future__ import annotations

from math import ceil, exp, log, log2, sqrt
from typing import Any

from deniable.errors import ParameterError
from deniable.tasks.checks import check_whole
from deniable.tasks.heavy_hitters.prefixes import LARGEST_LIST

GROWTH = 1.3
"""How much larger each group is than the one before, where groups grow."""
LARGEST_GROWTH = 8.0
"""How much larger the last group is than the first, at most: with many groups the first ones would be too small to choose from."""


def prefix_lengths(bits: int, keep: int, epsilon: float, *, groups: int | None, step_bits: int | None) -> tuple[int, ...]:
    """Return the length of each group's prefixes, the last one whole, from ``groups`` or ``step_bits``; by default long at a large epsilon.

    >>> prefix_lengths(48, 32, 4.0, groups=None, step_bits=None), prefix_lengths(16, 9, 2.0, groups=4, step_bits=None)
    ((16, 27, 38, 48), (4, 8, 12, 16))
    """
    if groups is not None:
        if type(groups) is not int or not 1 <= groups <= bits or step_bits is not None:
            allowed = f"an integer from 1 to {bits}, without step_bits"
            raise ParameterError("groups", groups, allowed=allowed, fix="pass groups or step_bits, not both")
        step = ceil(bits / groups)
        return tuple(min(step * i, bits) for i in range(1, ceil(bits / step) + 1))
    longest = max(1, int(log2(LARGEST_LIST / keep)))
    step = step_bits if step_bits is not None else min(14 if epsilon >= 2.5 else 8, longest)
    check_whole("step_bits", step, 1, 24, fix="try 8; each bit doubles the candidates")
    first = min(bits, ceil(log2(keep)) + step) if keep > 1 else min(bits, step)
    return (*range(first, bits, step), bits)


def usual_keep(k: int, epsilon: float, bits: int, people: int) -> int:
    """Return how many prefixes to keep: twice k, unless the strongest noise among the candidates reaches half of an average share, 1 / 2k.

    Where noise is small, true prefixes are displaced by each other, and more should be kept; where it is large, more candidates mean more
    noise that looks like one.

    >>> usual_keep(16, 4.0, 48, 657_427), usual_keep(9, 2.0, 16, 1000)
    (32, 9)
    """
    group = max(people / max(bits / 8, 1), 1)
    noise = sqrt(4 * exp(epsilon) / group) / (exp(epsilon) - 1) * sqrt(2 * log(max(2 * k * 256, 2)))
    return 2 * k if noise < 1 / (2 * k) else k


def group_weights(allocation: Any, groups: int) -> tuple[int, ...]:
    """Return the relative sizes of the groups."""
    if isinstance(allocation, str):
        growth = min(GROWTH, LARGEST_GROWTH ** (1 / max(groups - 1, 1)))
        growing = [round(100 * growth**i) for i in range(groups)]
        rules = {"equal": [1] * groups, "growing": growing, "diminishing": [round(5040 / i) for i in range(1, groups + 1)]}
        if allocation not in rules:
            raise ParameterError("allocation", allocation, allowed=f"one of {sorted(rules)}, or weights", fix="try growing")
        return tuple(rules[allocation])
    weights = tuple(allocation)
    if len(weights) != groups or not all(type(weight) is int and 0 < weight < 1 << 20 for weight in weights):
        raise ParameterError(
            "allocation",
            weights,
            allowed=f"{groups} positive integers, one for each group",
            fix="pass one weight for each group, or allocation='growing'",
        )
    return weights
