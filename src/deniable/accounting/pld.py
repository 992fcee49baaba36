"""Privacy loss distributions: the common currency of all mechanisms whose two worst laws are known.

With (P, Q) the worst pair of laws, the loss ln P/Q under P has a distribution; it adds up under (adaptive) composition, and gives the
whole curve::

    delta(epsilon) = P[loss = infinite] + E[(1 - e^(epsilon - loss))_+]

**Rounding.** Losses are put on a lattice so that the curve only rises. An atom (p, q) between two lattice points is *split* onto them,
keeping p and q: merging the two halves again is post-processing, so the split pair dominates, and the error is of second order in the
step. What is cut off above counts as an infinite loss, what is cut off below is moved up. Sums are taken by ``tilted``, with every lost
tail added.

**Two directions.** Removing a person and adding one can have different losses (a sample does); each direction is composed separately, and
the larger delta counts.

**Why not dp-accounting.** It is the reference implementation of much of this, and here an oracle for tests. At run time it would pin
``attrs<24``, cost seconds to import, and not know a shuffled event, for which this module is needed.

References: Sommer, Meiser, Mohammadi 2019; Koskela, Jalko, Honkela 2020; Zhu, Dong, Wang 2022 (dominating pairs, samples); Doroshenko,
Ghazi, Kamath, Kumar, Manurangsi 2022 (splitting).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from math import inf, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np

from deniable.accounting.calibration import smallest
from deniable.accounting.combinations import Bag
from deniable.accounting.event import Leaf, unknown
from deniable.accounting.tilted import Lattice, Sum
from deniable.errors import ParameterError

FINENESS = 500
"""Lattice points within one standard deviation of a single loss."""
POINTS = 1 << 20
"""Lattice points within ten standard deviations of the whole sum, at most."""
GUARD = 1e-9
"""Relative, on delta: what double precision may lose, with a wide margin."""
FAR = 1e100
"""Above every loss."""
CUT = 1e-25
"""Tails below this are moved up: the upper one to infinity, the lower one to the first point that is kept."""
SHIFT = 1e-7
"""Of a step, for each event: how far a loss may be off in double precision. The curve is read as far below epsilon."""


LARGEST_LOSS, LARGEST_MEAN = 700.0, 10_000.0
"""Beyond these a loss has no e^loss in double precision, and a sum of losses promises nothing that anyone could tell from no promise."""


class Losses(NamedTuple):
    """One direction's losses, on a lattice, and the probability of an infinite one."""

    finite: Lattice
    infinite: float


Direction = tuple[Losses, Losses]
"""The losses of removing a person, and of adding one; of replacing one where that is the relation."""


class Known(NamedTuple):
    """How to get at the losses of a kind of event."""

    spread: Callable[[Any], float]
    """About the standard deviation of one loss: decides the step, and nothing else."""
    losses: Callable[[Any, float], Direction]
    """The losses on a lattice of a step."""


KNOWN: dict[type[Leaf], Known] = {}
"""The events with known worst pairs; other rooms register theirs."""


def known(leaf: Leaf) -> Known:
    """How to get at the losses of a leaf; ParameterError, naming it, for one that has no known worst pair."""
    importlib.import_module("deniable.accounting.pairs")  # registers the pairs of this room, which build on this file
    if type(leaf) not in KNOWN:
        names = ", ".join(sorted(cls.kind for cls in KNOWN))
        raise unknown("PLD", leaf, f"events with a known worst pair of laws ({names})")
    return KNOWN[type(leaf)]


def split(losses: Any, masses: Any, step: float, infinite: float = 0.0) -> Losses:
    """Atoms of the loss, each split onto the two lattice points around it."""
    check_losses(float(np.max(losses)))
    below = np.floor(losses / step)
    up = masses * np.expm1(np.minimum(below * step - losses, 0.0)) / np.expm1(-step)
    return _joined(below, masses - up, up, step, infinite)


def split_cells(edges: Any, p: Any, q: Any, step: float, infinite: float = 0.0) -> Losses:
    """Cells of the loss between neighboring edges, none across a lattice point, with their masses under P and Q."""
    check_losses(float(edges[-1]))
    below = np.floor(edges[:-1] / step + 1e-9)
    up = np.clip((p - np.exp(below * step) * q) / -np.expm1(-step), 0.0, p)
    return _joined(below, p - up, up, step, infinite)


def check_losses(largest: float) -> None:
    """Refuse a loss that double precision has no place for."""
    if largest > LARGEST_LOSS:
        allowed = f"losses of one event up to {LARGEST_LOSS:g} for PLD"
        raise ParameterError("event", f"a loss of {largest:.4g}", allowed=allowed, fix="take more noise, or another rule")


def _joined(below: Any, low: Any, high: Any, step: float, infinite: float) -> Losses:
    places = below.astype(np.int64)
    first = int(places.min())
    width = int(places.max()) - first + 2
    if width > 64 * len(places):  # a few atoms far apart
        return Losses(Lattice(np.concatenate([places, places + 1]), np.concatenate([low, high]), step), infinite)
    masses = np.bincount(places - first, weights=low, minlength=width) + np.bincount(places - first + 1, weights=high, minlength=width)
    kept = slice(int(np.searchsorted(np.cumsum(masses), CUT)), width - int(np.searchsorted(np.cumsum(masses[::-1]), CUT)))
    infinite += float(masses[kept.stop :].sum())
    masses[kept.start] += masses[: kept.start].sum()
    return Losses(Lattice(first + np.arange(width)[kept], masses[kept], step), infinite)


def curve(bag: Bag) -> Callable[[float], float]:
    """Delta as a function of epsilon, rounded up, for everything in a bag together.

    >>> from deniable.accounting.leaves import GaussianEvent
    >>> delta = curve(Bag({GaussianEvent(sigma=1.0): 1}))
    >>> round(delta(1.0), 6)
    0.126937
    """
    spreads = {leaf: known(leaf).spread(leaf) for leaf in bag}
    whole = sqrt(sum(count * spreads[leaf] ** 2 for leaf, count in bag.items()))
    step = max(min(spreads.values()) / FINENESS, 20 * whole / POINTS)
    built = [(known(leaf).losses(leaf, step), count) for leaf, count in bag.items()]
    mean = sum(count * losses[0].finite.log_moment(0.0)[1] for losses, count in built)
    if mean > LARGEST_MEAN:
        allowed = f"losses of {LARGEST_MEAN:,.0f} in all for PLD"
        raise ParameterError("event", f"losses of {mean:,.0f} in the mean", allowed=allowed, fix="take more noise, or another rule")
    one_way = all(removing is adding for (removing, adding), _ in built)

    ways = [Composed([(directions[way], count) for directions, count in built]) for way in ((0,) if one_way else (0, 1))]
    return lambda epsilon: max(way.delta(epsilon) for way in ways)


class _Window(NamedTuple):
    """The sum of all losses near one epsilon."""

    center: float
    spread: float
    """The standard deviation of the tilted sum: how far from the center the window is as sharp as one of its own."""
    points: Any
    masses: Any
    lost: float
    """The probability of what lies above the window."""


class Composed:
    """All losses of one direction together.

    A search for epsilon reads the curve at many points close to each other. One transform serves all of them: any tilt gives a valid delta,
    and a near one a sharp one.
    """

    def __init__(self, parts: list[tuple[Losses, int]]) -> None:
        self.total = Sum(tuple((losses.finite, count) for losses, count in parts))
        self._shift = SHIFT * self.total.step * sum(count for _, count in parts)
        finite = sum(count * (log1p(-losses.infinite) if losses.infinite < 1 else -inf) for losses, count in parts)
        self._infinite = float(-np.expm1(finite))
        self._window: _Window | None = None

    def delta(self, epsilon: float) -> float:
        """Delta at an epsilon, rounded up."""
        read_at = epsilon - self._shift
        if self._window is not None and abs(read_at - self._window.center) <= self._window.spread:
            finite, sharp = self._read(self._window, read_at)
            if sharp:
                return self._rounded(finite, self._window)
        tilt = self.total.tilt_to(read_at)
        if tilt is None:
            return self._infinite  # no finite loss reaches epsilon
        for reach in (10.0, 20.0, 40.0):  # skewed losses need a wider window
            points, masses, log_total = self.total.around(read_at, tilt, reach)
            untilted = masses * np.exp(np.minimum(log_total - tilt * points, 700.0))
            spread = sqrt(self.total.log_moment(tilt)[2])
            window = self._window = _Window(read_at, spread, points, untilted, self.total.above(float(points[-1])))
            finite, sharp = self._read(window, read_at)
            if sharp:
                break
        return self._rounded(finite, window)

    def _read(self, window: _Window, read_at: float) -> tuple[float, bool]:
        """What the window says of finite losses, and whether what is lost above it hardly matters."""
        paid = int(np.searchsorted(window.points, read_at, side="right"))
        finite = float((window.masses[paid:] * -np.expm1(read_at - window.points[paid:])).sum())
        return finite, window.lost <= GUARD * (finite + self._infinite)

    def _rounded(self, finite: float, window: _Window) -> float:
        return min(1.0, (finite + self._infinite + window.lost) * (1 + GUARD))


def pld(bag: Bag, delta: float) -> float:
    """Epsilon of everything in a bag together, at delta.

    >>> from deniable.accounting.leaves import Pure
    >>> round(pld(Bag({Pure(epsilon=0.1): 1000}), 1e-6), 3)
    19.345
    """
    found = curve(bag)
    if found(FAR) > delta:
        return inf  # what was cut off the tails is more than delta
    spread = sqrt(sum(count * known(leaf).spread(leaf) ** 2 for leaf, count in bag.items()))
    guess = spread * sqrt(2 * max(-np.log(delta), 1.0)) + spread**2 / 2
    limit = max(guess, 1.0)
    for _ in range(12):
        epsilon = smallest(found, delta, guess=min(guess, limit), limit=limit, tolerance=1e-8)
        if epsilon < inf:
            return epsilon
        limit *= 4
    return inf
