"""The privacy blanket: amplification by shuffling for one known mechanism, up to the last digits.

All n people use the same finite mechanism with rows R_x. Its *blanket* w(y) = min over x of R_x(y), of mass gamma, is the part of a report
that does not depend on its sender's value. If the victim holds x or x', reveal everyone's report that is not from the blanket; with V(y) =
(R_x(y) - e^epsilon R_x'(y)) / w(y)::

    delta(epsilon) <= E[(V(Y_1) + .. + V(Y_n))_+] / n,     Y_i from w with probability gamma, and V = 0 otherwise

**Guarantee.** Replacing one person's value, in both orders, the worst pair of values; everyone else's values are arbitrary.

**Lower bound.** With R_z in place of w it is the *exact* value if all others hold z: no epsilon below is true for every data set, whatever
certificate claims it. There, outputs are merged into three: those likelier under the victim's first value, those likelier under the second,
the rest. Merging is post-processing, so the divergence of what remains is not above the true one; and it is a sum of O(sqrt n) terms,
without a lattice: with r the merged R_z, and the counts of n draws from r::

    delta >= E[(V_A N_A + V_B N_B + V_C N_C)_+] / n

**Rounding.** Few atoms, or few people: the sum over all counts, with the cut tails added. Otherwise one tilted Fourier transform: atoms
are split onto the lattice keeping their mean, which only raises the expectation of a convex function; values far below zero are raised;
sums above the window are paid for by Chernoff's bound. The result is an upper bound in every case, and never above the n = 1 value.

References: Balle, Bell, Gascon, Nissim 2019; Su, Cheng, Wang 2025 (no other decomposition does better).
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from deniable.accounting.binomial import at_least, at_most, pmf
from deniable.accounting.calibration import smallest
from deniable.accounting.tilted import Atoms, Lattice, Sum
from deniable.shuffle.channel import InputPair
from deniable.shuffle.clone import gaussian_epsilon

GUARD = 1e-9
"""Relative, on delta: what double precision may lose, with a wide margin; added to upper bounds, taken off lower ones."""
POINTS = 1 << 18
"""Of the lattice, across the window."""
SPARE = 30.0
"""How many times e-fold below delta the counts that are left out lie; what they could add is added."""
MOST_CELLS = 50_000
"""Count vectors that are summed one by one."""


class Blanket:
    """The blanket bound of a pair for n people: delta at an epsilon, and epsilon at a delta."""

    def __init__(self, pair: InputPair, *, n: int, delta: float, points: int = POINTS) -> None:
        self.pair, self.n, self.delta, self.points = pair, n, delta, points
        self.largest = float(np.log(np.max(pair.one / pair.other)))
        self._counted = _count_vectors(pair, n, delta)

    def at(self, epsilon: float) -> float:
        """Delta at epsilon, rounded up."""
        one, other, blanket, _ = self.pair
        gains = one - exp(epsilon) * other
        alone = float(np.maximum(gains, 0.0).sum())  # one person, no shuffling: always valid
        if alone <= 0:
            return 0.0
        values = gains / blanket
        total = self._direct(self._counted, values) if self._counted else self._transformed(values)
        return min(alone, total / self.n) * (1 + GUARD)

    def epsilon(self) -> float:
        """The smallest epsilon at delta, rounded up."""
        one, other, blanket, _ = self.pair
        mu = sqrt(float(((one - other) ** 2 / blanket).sum()) / self.n)
        guess = min(gaussian_epsilon(mu, self.delta), self.largest * (1 - 1e-3))
        tolerance = 1e-9 if self._counted else 1e-7
        return min(smallest(self.at, self.delta, guess=guess, limit=self.largest, tolerance=tolerance), self.largest)

    def _direct(self, counted: CountVectors, values: Any) -> float:
        """E[(sum of V)_+]: all counts of all classes but one, whose count given the others is binomial and summed in closed form."""
        value, p = float(values[counted.inner]), counted.chance
        owed = -sum(values[i] * count for i, count in counted.counts.items()) + np.zeros_like(counted.left)
        needed = np.floor(owed / value) + 1
        gained = value * counted.left * p * at_least(needed - 1, np.maximum(counted.left - 1, 0), p)
        kept = float((counted.weights * np.maximum(gained - owed * at_least(needed, counted.left, p), 0.0)).sum())
        lost = 0.0
        for i, gain in enumerate(values * self.pair.blanket):
            if gain > 0:  # E[V_i N_i; some count outside]: one of the n is of class i, the others decide
                lost += gain * self.n * min(1.0, sum(counted.outside[j][i == j] for j in counted.counts))
        return kept + lost

    def _transformed(self, values: Any) -> float:
        """E[(sum of V)_+] by a tilted Fourier transform."""
        none = max(0.0, 1.0 - float(self.pair.blanket.sum()))
        law = np.append(values, 0.0), np.append(self.pair.blanket, none)
        free = Sum(((Atoms(*law), self.n),))
        tilt = free.tilt_to(0.0)
        if tilt is None:
            return inf
        sigma, highest = sqrt(free.log_moment(tilt)[2]), float(values.max())
        found = inf
        for deviations in (5.5, 11.0):  # a narrow window has a finer lattice; a wide one loses less
            reach = deviations * sigma + 4 * highest
            total = Sum(((_on_lattice(*law, reach, 2 * reach / (self.points - 16), tilt), self.n),))
            kept, lost = _positive_part(total, reach)
            found = min(found, kept + lost)
            if lost <= GUARD * kept:
                break
        return found


class Homogeneous:
    """The exact divergence of three outputs if all others hold one value; the first output is likelier under ``one``, the second less."""

    def __init__(self, one: Any, other: Any, held: Any, *, n: int, delta: float) -> None:
        self.one, self.other, self.held = one, other, held
        self.n, self.delta = n, delta
        b = float(self.held[1] / self.held.sum())
        width = sqrt(2 * n * b * (30 - log(delta))) + 30 - log(delta)
        self.count = np.arange(max(0, int(n * b - width)), min(n, int(n * b + width) + 1) + 1, dtype=float)
        self.weights = pmf(self.count, n, b)

    def at(self, epsilon: float) -> float:
        """A lower bound on delta at epsilon."""
        gains = self.one - exp(epsilon) * self.other
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second, rest = np.where(self.held > 0, gains / self.held, 0.0)
        left, value = self.n - self.count, first - rest
        p = float(self.held[0] / (self.held[0] + self.held[2]))
        owed = -(second - rest) * self.count - rest * self.n  # first and rest share what is left
        if value <= 0 or self.held[0] <= 0:
            return 0.0
        needed = np.floor(owed / value) + 1
        gained = value * left * p * at_least(needed - 1, np.maximum(left - 1, 0), p) - owed * at_least(needed, left, p)
        return float((self.weights * np.maximum(gained, 0.0)).sum()) / self.n * (1 - GUARD)

    def epsilon(self, guess: float) -> float:
        """An epsilon that delta does not allow, rounded down; 0 where there is none."""
        limit = log(float(self.one[0] / self.other[0]))
        found = min(smallest(self.at, self.delta, guess=min(guess, limit), limit=limit, tolerance=1e-9), limit)
        for share in (1e-9, 1e-8, 1e-6, 1e-3):
            if self.at(found * (1 - share)) > self.delta:
                return found * (1 - share)
        return 0.0


def _on_lattice(points: Any, masses: Any, reach: float, step: float, tilt: float) -> Lattice:
    """A law split onto a lattice, each atom keeping its mean; among steps of about one size, one that the atoms fit well."""
    points = np.maximum(points, -4 * reach)  # raised: a sum that holds one of these is not positive anyway
    if len(points) <= 64:
        steps = step * np.linspace(1.0, 1.1, 4096)[:, None]
        parts = points / steps % 1.0
        weights = masses * np.exp(np.minimum(tilt * (points - points.max()), 0.0))
        step = float(steps[np.argmin((weights * parts * (1 - parts) * steps**2).sum(axis=1)), 0])
    below = np.floor(points / step)
    up = masses * (points / step - below)
    places = below.astype(np.int64)
    return Lattice(np.concatenate([places, places + 1]), np.concatenate([masses - up, up]), step)


def _positive_part(total: Sum, reach: float) -> tuple[float, float]:
    """E[S_+], within the window and a bound beyond it."""
    tilt = total.tilt_to(0.0)
    if tilt is None:
        return inf, inf
    deviations = reach / sqrt(max(total.log_moment(tilt)[2], 1e-300))
    at, density, log_total = total.around(0.0, tilt, deviations)
    s = at[at > 0]
    kept = float((density[at > 0] * s * np.exp(np.minimum(log_total - tilt * s, 700.0))).sum())
    return kept, total.above(float(at[-1]), growth=True)


class CountVectors(NamedTuple):
    """Count vectors of all classes but one: probabilities, what is left for the last class, and the chances of a count outside."""

    inner: int
    counts: dict[int, Any]
    weights: Any
    left: Any
    chance: float
    outside: dict[int, tuple[float, float]]
    """For each class, the chance among n - 1 others; and the same if one more of that class is there."""


def _count_vectors(pair: InputPair, n: int, delta: float) -> CountVectors | None:
    """The likely counts of all classes but the one with the largest ratio; None if they are too many."""
    inner = int(np.argmax(pair.one / pair.other))
    spare = SPARE - np.log(delta)
    windows = {}
    for i, p in enumerate(map(float, pair.blanket)):
        if i != inner:
            width = sqrt(2 * n * p * spare) + spare
            windows[i] = max(0, int(n * p - width)), min(n, int(n * p + width) + 1)
    if np.prod([high - low + 1.0 for low, high in windows.values()]) > MOST_CELLS:
        return None
    axes = len(windows)
    weights, taken, left = np.ones((1,) * axes), np.zeros((1,) * axes), 1.0
    counts, outside = {}, {}
    for axis, (i, (low, high)) in enumerate(windows.items()):
        p = float(pair.blanket[i])
        count = np.arange(low, high + 1.0).reshape([-1 if other == axis else 1 for other in range(axes)])
        weights = weights * pmf(count, n - taken, min(1.0, p / left))
        counts[i], taken, left = count, taken + count, max(left - p, 1e-300)
        below = float(at_most(low - 1, n - 1, p)) if low else 0.0
        outside[i] = tuple(below + (float(at_least(bound, n - 1, p)) if high < n else 0.0) for bound in (high + 1, high))
    return CountVectors(inner, counts, weights, np.maximum(n - taken, 0.0), min(1.0, float(pair.blanket[inner]) / left), outside)  # type: ignore[arg-type]  # pairs
