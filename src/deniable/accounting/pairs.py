"""The worst pairs of laws of the leaves, as losses on a lattice: what ``pld`` composes."""

from __future__ import annotations

from math import cosh, exp, sqrt
from typing import Any

import numpy as np
import scipy

from deniable.accounting.combinations import Sampled
from deniable.accounting.event import ADD_REMOVE, unknown
from deniable.accounting.leaves import (
    Approximate,
    BoundedRange,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    GaussianEvent,
    LaplaceEvent,
    Pure,
)
from deniable.accounting.moments import pure_epsilon
from deniable.accounting.pld import KNOWN, Direction, Known, Losses, check_losses, known, split, split_cells

REACH = 12.0
"""Standard deviations of a single Gaussian loss that are kept: 2e-33 lies beyond."""
MOST_OUTCOMES = 1_000_000
"""Outcomes of discrete noise that are listed."""


def _pure_spread(leaf: Any) -> float:
    epsilon = leaf.epsilon if isinstance(leaf, Approximate) else pure_epsilon(leaf) or 0.0
    return max(epsilon / cosh(min(epsilon / 2, 300.0)), epsilon / 8, 1e-9)


def _pure(leaf: Any, step: float) -> Direction:
    """Randomized response: the loss is epsilon with probability e^epsilon / (1 + e^epsilon), and otherwise minus epsilon."""
    delta = leaf.delta if isinstance(leaf, Approximate) else 0.0
    truth = 1 / (1 + exp(-leaf.epsilon))
    losses = split(np.array([leaf.epsilon, -leaf.epsilon]), (1 - delta) * np.array([truth, 1 - truth]), step, delta)
    return losses, losses


def _laplace(leaf: LaplaceEvent, step: float) -> Direction:
    """The loss is epsilon below 0, minus epsilon above the sensitivity, and falls evenly in between."""
    e = leaf.sensitivity / leaf.scale
    check_losses(e)
    inner = np.arange(np.floor(-e / step) + 1, np.ceil(e / step)) * step
    edges = np.concatenate([[-e], inner, [e]])
    p, q = (0.5 * exp(sign) * np.diff(np.exp(side * edges / 2)) * side for sign, side in ((-e / 2, 1), (-e / 2, -1)))
    ends = split(np.array([e, -e]), np.array([0.5, 0.5 * exp(-e)]), step).finite
    middle = split_cells(edges, p, q, step).finite
    return _both(_added(ends, middle, step))


def _discrete_laplace(leaf: DiscreteLaplaceEvent, step: float) -> Direction:
    if leaf.sensitivity > MOST_OUTCOMES:
        raise unknown("PLD", leaf, f"discrete Laplace noise at sensitivities up to {MOST_OUTCOMES:,}")
    a, s = exp(-1 / leaf.scale), leaf.sensitivity
    between = np.arange(1, s)
    losses = np.concatenate([[s / leaf.scale, -s / leaf.scale], (s - 2 * between) / leaf.scale])
    masses = np.concatenate([[1 / (1 + a), a**s / (1 + a)], (1 - a) / (1 + a) * a**between])
    return _both(split(losses, masses, step))


def _gaussian(leaf: GaussianEvent, step: float) -> Direction:
    """The loss is normal with variance mu^2 and mean mu^2 / 2 under P, minus that under Q, where mu = sensitivity / sigma."""
    mu = leaf.sensitivity / leaf.sigma
    low, high = (np.floor((mu**2 / 2 + side * REACH * mu) / step) for side in (-1, 1))
    edges = np.arange(low, high + 1) * step
    p, q = (_between((edges - mean) / mu) for mean in (mu**2 / 2, -(mu**2) / 2))
    p[0] += scipy.special.ndtr((edges[0] - mu**2 / 2) / mu)  # moved up
    return _both(split_cells(edges, p, q, step, float(scipy.special.ndtr(-(edges[-1] - mu**2 / 2) / mu))))


def _discrete_gaussian(leaf: DiscreteGaussianEvent, step: float) -> Direction:
    if leaf.sigma > MOST_OUTCOMES:
        raise unknown("PLD", leaf, f"discrete Gaussian noise of sigma up to {MOST_OUTCOMES:,}")
    reach = int(REACH * leaf.sigma + leaf.sensitivity) + 2
    z = np.arange(-reach, reach + 1)
    masses = np.exp(-(z**2) / (2 * leaf.sigma**2))
    s = leaf.sensitivity
    return _both(split((s * s - 2 * s * z) / (2 * leaf.sigma**2), masses / masses.sum(), step, 1e-30))


def _sampled(leaf: Sampled, step: float) -> Direction:
    """Removing: rate P + (1 - rate) Q against Q. Adding: P against rate Q + (1 - rate) P (Zhu, Dong, Wang 2022, theorem 11)."""
    removing, adding = _inner(leaf)
    rate, stay = leaf.rate, 1 - leaf.rate
    x, p = removing.finite.points, removing.finite.masses
    q = p * np.exp(-x)
    only_q = max(0.0, 1 - float(q.sum()))
    losses, masses = np.log1p(rate * np.expm1(x)), rate * p + stay * q
    if stay > 0 and only_q > 0:
        losses, masses = np.append(losses, np.log1p(-rate)), np.append(masses, stay * only_q)
    out = split(losses, masses, step, rate * removing.infinite)
    y, p = adding.finite.points, adding.finite.masses
    losses, infinite = -np.log1p(rate * np.expm1(-y)), adding.infinite
    if stay > 0:
        losses, p, infinite = np.append(losses, -np.log1p(-rate)), np.append(p, adding.infinite), 0.0
    return out, split(losses, p, step, infinite)


def _inner(leaf: Sampled) -> Direction:
    if leaf.relation != ADD_REMOVE:
        raise unknown("PLD", leaf, "samples under add-remove (Poisson); under replace, take basic composition")
    inner = known(leaf.event)
    return inner.losses(leaf.event, inner.spread(leaf.event) / 2000)


def _sampled_spread(leaf: Sampled) -> float:
    x, p = (found := _inner(leaf)[0].finite).points, found.masses
    masses = leaf.rate * p + (1 - leaf.rate) * p * np.exp(-x)
    losses = np.log1p(leaf.rate * np.expm1(x))
    mean = float(masses @ losses)
    return max(sqrt(float(masses @ (losses - mean) ** 2)), 1e-9)


def _between(z: Any) -> Any:
    """Normal probabilities between neighbors, from the nearer tail."""
    below, above = (scipy.special.ndtr(side) for side in (z, -z))
    return np.where(z[:-1] > 0, above[:-1] - above[1:], below[1:] - below[:-1])


def _added(one: Any, other: Any, step: float) -> Losses:
    places = np.concatenate([one.places, other.places])
    first = int(places.min())
    masses = np.bincount(places - first, weights=np.concatenate([one.masses, other.masses]))
    return Losses(type(one)(first + np.arange(len(masses)), masses, step), 0.0)


def _both(losses: Losses) -> Direction:
    return losses, losses


for _kind in (Pure, BoundedRange, Approximate):
    KNOWN[_kind] = Known(_pure_spread, _pure)
KNOWN[LaplaceEvent] = Known(lambda leaf: _pure_spread(Pure(epsilon=leaf.sensitivity / leaf.scale)), _laplace)
KNOWN[DiscreteLaplaceEvent] = Known(lambda leaf: _pure_spread(Pure(epsilon=leaf.sensitivity / leaf.scale)), _discrete_laplace)
KNOWN[GaussianEvent] = Known(lambda leaf: leaf.sensitivity / leaf.sigma, _gaussian)
KNOWN[DiscreteGaussianEvent] = Known(lambda leaf: leaf.sensitivity / leaf.sigma, _discrete_gaussian)
KNOWN[Sampled] = Known(_sampled_spread, _sampled)
