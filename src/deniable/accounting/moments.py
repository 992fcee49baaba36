"""Renyi divergences: they add up under adaptive composition, and turn into (epsilon, delta) at the best order.

A mechanism is rho-zCDP if its divergence of every order a > 1 is at most rho a; RDP keeps the orders apart. Both turn into epsilon by::

    epsilon(delta) = min over a of  D_a + ln(1 - 1/a) - (ln delta + ln a) / (a - 1)

Any order gives a valid epsilon, so the search for the best one needs no proof.

**What pure epsilon costs.** Randomized response has D_a = ln(cosh((a - 1/2) epsilon) / cosh(epsilon / 2)) / (a - 1), and is the worst
case. With t = (a - 1/2)^2 the numerator is f(t) = ln cosh(epsilon sqrt t), which is concave, since tanh(x) / x falls; so it lies below its
tangent at t = 1/4, that is, D_a <= a epsilon tanh(epsilon / 2): rho = epsilon tanh(epsilon / 2), below the usual epsilon^2 / 2.

References: Bun, Steinke 2016 (zCDP); Mironov 2017 (RDP); Canonne, Kamath, Steinke 2020 (the conversion); Mironov, Talwar, Zhang 2019
(sampled Gaussian); Rogers, Steinke 2021 (bounded range).
"""

from __future__ import annotations

from math import inf, log, log1p, tanh
from typing import Any

import numpy as np
import scipy

from deniable.accounting.combinations import Bag, Sampled
from deniable.accounting.event import ADD_REMOVE, Leaf, unknown
from deniable.accounting.leaves import (
    RDP,
    ZCDP,
    BoundedRange,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    GaussianEvent,
    LaplaceEvent,
    Pure,
)

ORDERS = np.unique(np.concatenate([1 + np.geomspace(1e-3, 1e4, 281), np.arange(2.0, 129.0)]))
ROUNDING = 1e-12
"""What double precision may lose, of the sum of all magnitudes; added to every result."""


def rho_of(leaf: Leaf) -> float:
    """The zCDP parameter of a leaf."""
    if isinstance(leaf, ZCDP):
        return leaf.rho
    if isinstance(leaf, GaussianEvent | DiscreteGaussianEvent):
        return (leaf.sensitivity / leaf.sigma) ** 2 / 2
    if isinstance(leaf, BoundedRange):
        return min(leaf.epsilon**2 / 8, leaf.epsilon * tanh(leaf.epsilon / 2))
    if (epsilon := pure_epsilon(leaf)) is not None:
        return epsilon * tanh(epsilon / 2)
    raise unknown("zCDP", leaf, "Pure, Laplace, DiscreteLaplace, Gaussian, DiscreteGaussian, BoundedRange and ZCDP events")


def pure_epsilon(leaf: Leaf) -> float | None:
    """The epsilon of a pure mechanism; None for any other."""
    if isinstance(leaf, Pure | BoundedRange):
        return leaf.epsilon
    if isinstance(leaf, LaplaceEvent | DiscreteLaplaceEvent):
        return leaf.sensitivity / leaf.scale
    return None


def zcdp(bag: Bag, delta: float) -> float:
    """Epsilon from the sum of all rho.

    >>> from deniable.accounting.leaves import Pure
    >>> round(zcdp(Bag({Pure(epsilon=0.1): 1000}), 1e-6), 2)
    20.54
    """
    return zcdp_epsilon(sum(count * rho_of(leaf) for leaf, count in bag.items()), delta)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Epsilon of a rho-zCDP mechanism at delta, rounded up."""
    if rho == 0:
        return 0.0
    best, orders = inf, 1 + np.geomspace(1e-6, 1e8, 400)
    for _ in range(3):  # finer and finer around the best order; any order is valid
        found = _converted(rho * orders, orders, delta)
        i = int(np.argmin(found))
        best = min(best, float(found[i]))
        orders = 1 + np.geomspace(orders[max(i - 1, 0)] - 1, orders[min(i + 1, len(orders) - 1)] - 1, 400)
    return max(0.0, best)


def rdp(bag: Bag, delta: float) -> float:
    """Epsilon from the sums of the divergences at each order."""
    orders = ORDERS
    for leaf in bag:
        if isinstance(leaf, RDP):
            orders = np.array([order for order in leaf.orders if orders is ORDERS or order in orders])
    if not len(orders):
        raise unknown("RDP", next(leaf for leaf in bag if isinstance(leaf, RDP)), "events with a common order")
    total = sum(count * divergence(leaf, orders) for leaf, count in bag.items())
    return max(0.0, float(_converted(total, orders, delta).min()))


def divergence(leaf: Leaf, orders: Any) -> Any:
    """The Renyi divergence of a leaf at each order; infinite where no bound is known."""
    if isinstance(leaf, RDP):
        table = dict(zip(leaf.orders, leaf.epsilons, strict=True))
        return np.array([table.get(float(order), inf) for order in orders])
    if isinstance(leaf, ZCDP | GaussianEvent | DiscreteGaussianEvent):
        return rho_of(leaf) * orders
    if isinstance(leaf, Sampled) and isinstance(leaf.event, GaussianEvent) and leaf.relation == ADD_REMOVE:
        return _sampled_gaussian(leaf.event.sigma / leaf.event.sensitivity, leaf.rate, orders)
    if isinstance(leaf, LaplaceEvent):
        e = leaf.sensitivity / leaf.scale
        heads = np.log(orders / (2 * orders - 1)) + (orders - 1) * e
        tails = np.log((orders - 1) / (2 * orders - 1)) - orders * e
        return np.logaddexp(heads, tails) / (orders - 1)
    if (epsilon := pure_epsilon(leaf)) is not None:
        response = (_log_cosh((orders - 0.5) * epsilon) - _log_cosh(epsilon / 2)) / (orders - 1)
        return np.minimum(response, rho_of(leaf) * orders)
    raise unknown("RDP", leaf, "pure, Laplace, Gaussian, BoundedRange, ZCDP and RDP events, and Gaussian ones on a Poisson sample")


def _sampled_gaussian(sigma: float, rate: float, orders: Any) -> Any:
    """Exact at integer orders: the moments of 1 - rate + rate times the Gaussian likelihood ratio."""
    found = np.full(len(orders), inf)
    for i, order in enumerate(orders):
        if order == int(order) and order <= 512:
            k = np.arange(int(order) + 1)
            choose = scipy.special.gammaln(order + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(order - k + 1)
            away = (order - k) * log1p(-rate) if rate < 1 else np.where(k == order, 0.0, -inf)
            found[i] = max(0.0, float(scipy.special.logsumexp(choose + away + k * log(rate) + (k * k - k) / (2 * sigma**2)))) / (order - 1)
    return found


def _converted(divergences: Any, orders: Any, delta: float) -> Any:
    terms = np.log1p(-1 / orders), -(log(delta) + np.log(orders)) / (orders - 1)
    size = np.abs(divergences) + np.abs(terms[0]) + (abs(log(delta)) + np.log(orders)) / (orders - 1)
    return divergences + terms[0] + terms[1] + ROUNDING * np.where(np.isfinite(size), size, 0)


def _log_cosh(x: Any) -> Any:
    x = np.abs(x)
    return x + np.log1p(np.exp(-2 * x)) - log(2)
