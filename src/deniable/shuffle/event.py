"""A shuffled round as an event: n reports of epsilon0-local randomizers, order destroyed; composes with everything else.

The pair of laws of ``clone`` dominates the round, so its losses add up over rounds, also if a later round is chosen by looking at earlier
ones.

**One mechanism.** In a round of ``GRR`` on k values, for a victim who holds x or x': another report is, with probability 2 q, one of these
two at random whatever its sender holds (q = 1 / (e^epsilon0 + k - 1), from the privacy blanket). The victim's own is one of the two with
probability (e^epsilon0 + 1) q, and then as in randomized response; otherwise it is another value, each as likely under x as under x'.
Tell the observer which of these happened, and everything about everyone else: what is left is the clone pair with probability 2 q, or,
with the remaining probability, no loss at all. Telling more is never a smaller loss, so this pair dominates the round for every x, x' and
all values of the others, and it composes. It is the blanket itself for k = 2, and nearly so while k is small against e^epsilon0, as in
calibrated protocols. For larger k it is loose, and in a single round the clone pair may be smaller.
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
NEGLIGIBLE = 1e-22
"""Chunks of less mass count as an infinite loss."""


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
            raise ParameterError(
                "neighbors",
                self.neighbors,
                allowed=repr(REPLACE),
                fix="write neighbors='replace': the number of people in a shuffle is public",
            )

    @property
    def probability(self) -> float:
        """That of a clone."""
        return (binary_probability if self.binary else clone_probability)(self.epsilon0)

    @property
    def share(self) -> float:
        """How often there is anything to see."""
        return 1.0


@event
class ShuffledGRR(Leaf):
    """A round of n honest, distinct people who report once each, through an honest shuffler, all with ``GRR`` on so many values.

    ``epsilon0`` is the local epsilon of their reports.

    >>> from deniable.accounting import Repeated, account
    >>> one, any_ = ShuffledGRR(domain_size=10, epsilon0=7.0, n=100_000), Shuffled(epsilon0=7.0, n=100_000)
    >>> [round(account(Repeated(event=leaf, times=10), delta=1e-6, rules=("PLD",)).epsilon, 2) for leaf in (one, any_)]
    [2.11, 3.12]
    """

    domain_size: int
    epsilon0: float
    n: int
    neighbors: str = REPLACE

    def check(self) -> None:
        positive("epsilon0", self.epsilon0)
        positive_integer("n", self.n)
        positive_integer("domain_size", self.domain_size)
        if self.domain_size < 2:
            raise ParameterError("domain_size", self.domain_size, allowed="an integer from 2 on", fix="list at least two values")
        if self.neighbors != REPLACE:
            raise ParameterError(
                "neighbors",
                self.neighbors,
                allowed=repr(REPLACE),
                fix="write neighbors='replace': the number of people in a shuffle is public",
            )

    @property
    def probability(self) -> float:
        """That of a clone: of a report that is one of two given values, whatever its sender holds."""
        return 2 / (exp(self.epsilon0) + self.domain_size - 1)

    @property
    def share(self) -> float:
        """How often a person who holds one of two values reports either."""
        return (exp(self.epsilon0) + 1) / (exp(self.epsilon0) + self.domain_size - 1)


def _spread(leaf: Shuffled | ShuffledGRR) -> float:
    return sqrt(leaf.share) * min(2 * tanh(leaf.epsilon0 / 2) / sqrt(max((leaf.n - 1) * leaf.probability, 1e-300)), leaf.epsilon0)


def _losses(leaf: Shuffled | ShuffledGRR, step: float) -> Direction:
    """Every number of clones c and every a on the first side, with mass P[C = c] (alpha b(a - 1; c, 1/2) + (1 - alpha) b(a; c, 1/2))."""
    n, p = leaf.n - 1, leaf.probability
    alpha = 1 / (1 + exp(-leaf.epsilon0))
    width = REACH * sqrt(n * p * (1 - p)) + REACH**2
    low, high = max(0, int(n * p - width)), min(n, int(n * p + width) + 1)
    coins = int(REACH * sqrt(high) / 2) + 4  # to each side of the middle
    group = -(-(high - low + 1) * min(2 * coins + 2, high + 2) // MOST_ATOMS)
    clones = np.arange(low, high + 1, group, dtype=float)
    every = pmf(np.arange(low, low + group * len(clones), dtype=float), n, p)
    weights = leaf.share * every.reshape(len(clones), group).sum(axis=1)
    cut = (float(at_most(low - 1, n, p)) if low else 0.0) + (float(at_least(high + 1, n, p)) if high < n else 0.0)
    parts = []
    rows = max(1, CHUNK // (2 * coins + 2))
    for start in range(0, len(clones), rows):
        c = clones[start : start + rows, None]
        sides = np.floor(c / 2) + np.arange(-coins - 1, coins + 2)
        fair = _fair(c, coins)
        a, before, here = sides[:, 1:], fair[:, :-1], fair[:, 1:]
        law = weights[start : start + rows, None] * (alpha * before + (1 - alpha) * here)
        if (seldom := float(law.sum())) < NEGLIGIBLE:
            cut += seldom
            continue
        inside = law > 0
        first, second = alpha * a + (1 - alpha) * (c + 1 - a), (1 - alpha) * a + alpha * (c + 1 - a)
        parts.append(split(np.log(first[inside] / second[inside]), law[inside], step))
    cut += sum(part.infinite for part in parts)
    cut += 2 * exp(-2 * (coins - 1) ** 2 / max(high, 1))  # Hoeffding, for the coins beyond
    places = np.concatenate([*(part.finite.places for part in parts), [0]])  # and no loss, where there is nothing to see
    lowest = int(places.min())
    found = np.bincount(places - lowest, weights=np.concatenate([*(part.finite.masses for part in parts), [1 - leaf.share]]))
    losses = Losses(Lattice(lowest + np.arange(len(found)), found, step), cut)
    return losses, losses


def _fair(c: Any, coins: int) -> Any:
    """B(a; c, 1/2) for a from floor(c/2) - coins - 1 to floor(c/2) + coins + 1, one row for each c; steps outward from the middle."""
    middle, up = np.floor(c / 2), np.arange(coins + 2)
    ratios = np.maximum((c - middle - up) / (middle + up + 1), 0.0)
    upper = pmf(middle, c, 0.5) * np.concatenate([np.ones_like(c), np.cumprod(ratios, axis=1)], axis=1)
    lower = np.where(c % 2 == 0, upper[:, 1:], np.concatenate([upper[:, 2:], np.zeros_like(c)], axis=1))  # b(a) = b(c - a)
    return np.concatenate([lower[:, coins::-1], upper[:, : coins + 2]], axis=1)


for _kind in (Shuffled, ShuffledGRR):
    KNOWN[_kind] = Known(_spread, _losses)
