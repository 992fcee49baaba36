"""Composition theorems: what promises of epsilon and delta add up to, whatever the mechanisms, each chosen by looking at earlier results.

**Basic.** Epsilons add up and deltas add up. The sum is exact: epsilons are the decimals that they are written as. A mechanism that has a
whole curve (Gaussian noise, a shuffle) gets an equal share of the delta that is left, and is charged what it costs there.

**Advanced.** The losses of pure mechanisms lie between -epsilon_i and epsilon_i and have mean at most epsilon_i tanh(epsilon_i / 2), so by
Azuma's inequality the sum of losses exceeds

    sum of epsilon_i tanh(epsilon_i / 2) + sqrt(2 ln(1 / delta') sum of epsilon_i^2)

with probability at most delta'. An (epsilon, delta) mechanism is a pure one but for probability delta, which is added.

**Optimal.** Every epsilon-DP mechanism is a function of randomized response, so k of them of one epsilon0 are at worst k coins. With p =
e^epsilon0 / (1 + e^epsilon0) and j coins that tell the truth, the loss is epsilon0 (2 j - k)::

    delta(epsilon) = sum over j of  C(k, j) p^j (1 - p)^(k - j) (1 - e^(epsilon - epsilon0 (2 j - k)))_+

Nothing smaller is true for all epsilon-DP mechanisms.

References: Dwork, Rothblum, Vadhan 2010; Kairouz, Oh, Viswanath 2015 (theorem 3.5, and the optimal composition).
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1, inf, log, log1p, sqrt, tanh

import numpy as np

from deniable.accounting.binomial import pmf
from deniable.accounting.calibration import smallest
from deniable.accounting.combinations import Bag, Sampled
from deniable.accounting.event import Leaf, float_above, unknown
from deniable.accounting.leaves import RDP, ZCDP, Approximate, DiscreteLaplaceEvent, LaplaceEvent, Pure
from deniable.accounting.moments import pure_epsilon, rdp, zcdp
from deniable.accounting.pld import pld
from deniable.client.budget import exact
from deniable.errors import ParameterError

UP = 1 + 1e-14
GUARD = 1e-10
"""Relative, on the delta of the optimal theorem: what double precision may lose, with a wide margin."""
MOST_ROUNDS = 10_000_000
LARGE = 700.0
"""An epsilon whose e^epsilon nearly has no double."""


def basic(bag: Bag, delta: float) -> float:
    """The sum of all epsilons, at the sum of all deltas.

    >>> from deniable.accounting.leaves import Pure
    >>> basic(Bag({Pure(epsilon=0.1): 3}), 0.0)
    0.3
    """
    epsilon, left = _fixed_sum(bag, delta)
    curved = [(leaf, count) for leaf, count in bag.items() if _point(leaf) is None]
    shares = sum(count for _, count in curved)
    for leaf, count in curved:
        if left <= 0:
            raise ParameterError(
                "delta", delta, allowed="above 0 for an event that has a curve", fix=f"choose a delta above 0: {leaf!r} has no epsilon at 0"
            )
        priced = _curve(leaf, float(left / shares) / UP)
        if priced == inf:
            return inf
        epsilon += count * Fraction(priced)
    return float_above(epsilon)


def advanced(bag: Bag, delta: float) -> float:
    """Epsilon by Azuma's inequality, for pure and (epsilon, delta) events."""
    _, left = _fixed_sum(bag, delta)
    points = [(float(point[0]), count) for leaf, count in bag.items() if (point := _point(leaf))]
    for leaf in bag:
        if _point(leaf) is None:
            raise unknown("advanced composition", leaf, "Pure, Approximate, Laplace, DiscreteLaplace and BoundedRange events")
    if left <= 0:
        raise ParameterError(
            "delta", delta, allowed="above the sum of all deltas", fix="choose a larger delta: advanced composition needs some of its own"
        )
    drift = sum(count * epsilon * tanh(epsilon / 2) for epsilon, count in points)
    return (drift + sqrt(2 * log(1 / float(left)) * sum(count * epsilon**2 for epsilon, count in points))) * (1 + 1e-12)


def dwork_rothblum_vadhan(epsilon: float, times: int, delta: float) -> float:
    """The bound of 2010, for comparison: what ``advanced`` improves on.

    >>> round(dwork_rothblum_vadhan(0.1, 1000, 1e-6), 2)
    27.14
    """
    return epsilon * sqrt(2 * times * log(1 / delta)) + times * epsilon * expm1(epsilon)


def composed_delta(epsilon0: float, times: int, epsilon: float) -> float:
    """Delta of ``times`` epsilon0-DP mechanisms at epsilon, rounded up.

    >>> round(composed_delta(1.0, 1, 0.0), 9), round(float(np.tanh(0.5)), 9)
    (0.462117157, 0.462117157)
    """
    truths = np.arange(times + 1.0)
    losses = epsilon0 * (2 * truths - times)
    read_at = epsilon - 1e-14 * (times * epsilon0 + epsilon)  # below epsilon, by more than the losses may be off
    paid = losses > read_at
    if not paid.any():
        return 0.0
    weights = pmf(truths[paid], times, 1 / (1 + exp(-epsilon0)))
    return min(1.0, float(weights @ -np.expm1(read_at - losses[paid])) * (1 + GUARD))


def optimal(bag: Bag, delta: float) -> float:
    """Epsilon of k pure events of one epsilon, exactly composed.

    >>> round(optimal(Bag({Pure(epsilon=0.1): 1000}), 1e-6), 4)
    19.3447
    """
    other = next((leaf for leaf in bag if not isinstance(leaf, Pure)), None)
    if other is not None or len(bag) > 1 or bag.total() > MOST_ROUNDS:
        raise unknown("exact composition", other or next(iter(bag)), f"up to {MOST_ROUNDS:,} Pure events of one epsilon")
    ((leaf, times),) = bag.items()
    epsilon0 = float(leaf.epsilon)  # type: ignore[attr-defined]  # Pure, as just checked
    limit = times * epsilon0 * (1 + 1e-12)
    return smallest(lambda e: composed_delta(epsilon0, times, e), delta, guess=limit / 2, limit=limit) if epsilon0 else 0.0


def _point(leaf: Leaf) -> tuple[Fraction, Fraction] | None:
    """The (epsilon, delta) of a leaf that has one point; None for a leaf with a curve."""
    if isinstance(leaf, Approximate):
        return exact(leaf.epsilon), exact(leaf.delta)
    if isinstance(leaf, LaplaceEvent | DiscreteLaplaceEvent):
        return exact(leaf.sensitivity) / exact(leaf.scale), Fraction(0)
    if (epsilon := pure_epsilon(leaf)) is not None:
        return exact(epsilon), Fraction(0)
    if isinstance(leaf, Sampled) and (inner := _point(leaf.event)):
        return Fraction(amplified(float_above(inner[0]), leaf.rate)), inner[1] * exact(leaf.rate)
    return None


def _curve(leaf: Leaf, delta: float) -> float:
    """Epsilon of one leaf at a share of delta, by the rule that knows it best."""
    if isinstance(leaf, ZCDP):
        return zcdp(Bag({leaf: 1}), delta)
    if isinstance(leaf, RDP):
        return rdp(Bag({leaf: 1}), delta)
    if isinstance(leaf, Sampled):  # delta(ln(1 + rate (e^epsilon - 1))) = rate delta(epsilon), for both kinds of sample
        return amplified(_curve(leaf.event, min(delta / leaf.rate / UP, 1 - 1e-9)), leaf.rate)
    return pld(Bag({leaf: 1}), delta)


def amplified(epsilon: float, rate: float) -> float:
    """Epsilon on a sample: ln(1 + rate (e^epsilon - 1)), rounded up, also where e^epsilon has no double."""
    if epsilon > LARGE and rate < 1:
        smaller, larger = sorted((log1p(-rate), log(rate) + epsilon))
        return (larger + log1p(exp(smaller - larger)) + 1e-14 * epsilon) * UP if epsilon < inf else inf
    return log1p(rate * expm1(epsilon)) * UP if rate < 1 else epsilon


def _fixed_sum(bag: Bag, delta: float) -> tuple[Fraction, Fraction]:
    """The sum of the epsilons that are known, and the delta that is left for the others."""
    epsilon, left = Fraction(0), exact(delta)
    for leaf, count in bag.items():
        if point := _point(leaf):
            epsilon, left = epsilon + count * point[0], left - count * point[1]
    if left < 0:
        fix = "promise a larger delta, or release less"
        raise ParameterError("delta", delta, allowed=f"at least {float(exact(delta) - left):g}, the sum of all deltas", fix=fix)
    return epsilon, left
