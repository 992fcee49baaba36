"""A shuffled round as an event: n reports of epsilon0-local randomizers, order destroyed; composes with everything else.

The pair of laws of ``clone`` dominates the round, so its losses add up over rounds, also if a later round is chosen by looking at earlier
ones.
"""

from __future__ import annotations

from math import exp, sqrt, tanh
from typing import Any

import numpy as np

from deniable.accounting.binomial import at_least, at_most, pmf
from deniable.accounting.event import REPLACE, Leaf, event, positive, positive_integer
from deniable.accounting.pld import KNOWN, Direction, Known, Losses, split
from deniable.accounting.tilted import Lattice
from deniable.errors import ParameterError
from deniable.shuffle.clone import binary_probability, clone_probability

REACH = 10.0
"""Standard deviations of the clones, and of their fair coins, that are kept; what is cut counts as an infinite loss."""
MOST_ATOMS = 4_000_000
"""Beyond it, neighboring numbers of clones share the losses of the smallest: fewer clones are the worse case."""
CHUNK = 500_000


@event
class Shuffled(Leaf):
    """A round of n honest, distinct people who report once each, through an honest shuffler, with epsilon0-local randomizers of any kind.

    ``binary`` says that all of them use symmetric binary randomized response, which is worth more.
    """

    epsilon0: float
    n: int
    binary: bool = False
    neighbors: str = REPLACE

    def check(self) -> None:
        positive("epsilon0", self.epsilon0)
        positive_integer("n", self.n)
        if self.neighbors != REPLACE or type(self.binary) is not bool:
            raise ParameterError("neighbors", self.neighbors, allowed=repr(REPLACE), fix="a shuffle's n is public: people are replaced")

    @property
    def probability(self) -> float:
        """That of a clone."""
        return (binary_probability if self.binary else clone_probability)(self.epsilon0)


def _spread(leaf: Shuffled) -> float:
    return min(2 * tanh(leaf.epsilon0 / 2) / sqrt(max((leaf.n - 1) * leaf.probability, 1e-300)), leaf.epsilon0)


def _losses(leaf: Shuffled, step: float) -> Direction:
    """Every number of clones c and every a on the first side, with mass P[C = c] (alpha b(a - 1; c, 1/2) + (1 - alpha) b(a; c, 1/2))."""
    n, p = leaf.n - 1, leaf.probability
    alpha = 1 / (1 + exp(-leaf.epsilon0))
    width = REACH * sqrt(n * p * (1 - p)) + REACH**2
    low, high = max(0, int(n * p - width)), min(n, int(n * p + width) + 1)
    coins = int(REACH * sqrt(high) / 2) + 4  # to each side of the middle
    group = -(-(high - low + 1) * min(2 * coins + 2, high + 2) // MOST_ATOMS)
    clones = np.arange(low, high + 1, group, dtype=float)
    every = pmf(np.arange(low, low + group * len(clones), dtype=float), n, p)
    weights = every.reshape(len(clones), group).sum(axis=1)
    cut = (float(at_most(low - 1, n, p)) if low else 0.0) + (float(at_least(high + 1, n, p)) if high < n else 0.0)
    parts = []
    rows = max(1, CHUNK // (2 * coins + 2))
    for start in range(0, len(clones), rows):
        c = clones[start : start + rows, None]
        sides = np.floor(c / 2) + np.arange(-coins - 1, coins + 2)
        fair = _fair(c, coins)
        a, before, here = sides[:, 1:], fair[:, :-1], fair[:, 1:]
        law = weights[start : start + rows, None] * (alpha * before + (1 - alpha) * here)
        inside = law > 0
        first, second = alpha * a + (1 - alpha) * (c + 1 - a), (1 - alpha) * a + alpha * (c + 1 - a)
        parts.append(split(np.log(first[inside] / second[inside]), law[inside], step))
    cut += sum(part.infinite for part in parts)
    cut += 2 * exp(-2 * (coins - 1) ** 2 / max(high, 1))  # Hoeffding, for the coins beyond
    places = np.concatenate([part.finite.places for part in parts])
    lowest = int(places.min())
    found = np.bincount(places - lowest, weights=np.concatenate([part.finite.masses for part in parts]))
    losses = Losses(Lattice(lowest + np.arange(len(found)), found, step), cut)
    return losses, losses


def _fair(c: Any, coins: int) -> Any:
    """B(a; c, 1/2) for a from floor(c/2) - coins - 1 to floor(c/2) + coins + 1, one row for each c; steps outward from the middle."""
    middle, up = np.floor(c / 2), np.arange(coins + 2)
    ratios = np.maximum((c - middle - up) / (middle + up + 1), 0.0)
    upper = pmf(middle, c, 0.5) * np.concatenate([np.ones_like(c), np.cumprod(ratios, axis=1)], axis=1)
    lower = np.where(c % 2 == 0, upper[:, 1:], np.concatenate([upper[:, 2:], np.zeros_like(c)], axis=1))  # b(a) = b(c - a)
    return np.concatenate([lower[:, coins::-1], upper[:, : coins + 2]], axis=1)


KNOWN[Shuffled] = Known(_spread, _losses)
