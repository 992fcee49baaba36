"""The clone bound: amplification by shuffling for *any* epsilon0-local randomizers, exactly summed.

Each of the n - 1 other reports is, with probability p = e^-epsilon0, a clone: drawn as if its sender held one of the victim's two possible
values, either with probability 1/2. Given C clones, an observer who knows everything else sees A of them on one side, and the victim's own
on its true side with probability alpha = e^epsilon0 / (1 + e^epsilon0). The likelihood ratio rises with a, so for C = c::

    tau = (e^epsilon alpha - (1 - alpha)) / ((2 alpha - 1) (1 + e^epsilon)),   k = ceil(tau (c + 1))
    D_c(epsilon) = (alpha - e^epsilon (1 - alpha)) b(k - 1; c, 1/2) - (e^epsilon - 1) P[Bin(c, 1/2) >= k]
    delta(epsilon) = sum over c of P[C = c] D_c(epsilon),     C ~ Bin(n - 1, p)

**Guarantee.** Replacing one person's value; randomizers may differ and may be chosen adaptively. For binary randomized response p = 2 /
(e^epsilon0 + 1) is proved; for others it is not (the erratum of the 2023 paper), and it is not used for them.

**Rounding.** D_c falls with c (one coin more is post-processing). Only O(sqrt n) values of c are summed; those below count as c = 0, those
above as the last one, with their exact masses: the window decides about tightness, never about validity. A relative guard covers double
precision.

References: Feldman, McMillan, Talwar 2021.
"""

from __future__ import annotations

from math import erfc, exp, expm1, inf, log, log1p, sqrt, tanh
from typing import Any

import numpy as np

from deniable.accounting.binomial import at_least, at_most, pmf
from deniable.accounting.calibration import smallest

GUARD = 1e-9
"""Relative, on delta: what double precision may lose, with a wide margin."""
TAIL = 1e-10
"""The mass outside of the window, as a share of delta; it is added back at its worst."""


def clone_probability(epsilon0: float) -> float:
    """How often another report is a clone, for any epsilon0-local randomizer."""
    return exp(-epsilon0)


def binary_probability(epsilon0: float) -> float:
    """The same for binary randomized response."""
    return 2 / (exp(epsilon0) + 1)


class Clones:
    """The clone bound for n people: delta at an epsilon, and epsilon at a delta."""

    def __init__(self, *, epsilon0: float, n: int, delta: float, probability: float | None = None) -> None:
        """``probability`` is that of a clone; e^-epsilon0 if left out. ``delta`` decides how much of the tails is summed."""
        self.epsilon0, self.n, self.delta = epsilon0, n, delta
        self.probability = p = clone_probability(epsilon0) if probability is None else probability
        mean, reach = (n - 1) * p, log(4 / (TAIL * delta))
        width = sqrt(2 * reach * mean * max(1 - p, 0.0)) + reach
        low, high = max(0, int(mean - width)), min(n - 1, int(mean + width) + 1)
        self.clones = np.arange(low, high + 1, dtype=float)
        self.weights = pmf(self.clones, n - 1, p)
        self.below = float(at_most(low - 1, n - 1, p)) if low else 0.0
        self.above = float(at_least(high + 1, n - 1, p)) if high < n - 1 else 0.0

    def at(self, epsilon: float) -> float:
        """Delta at epsilon, rounded up."""
        if epsilon >= self.epsilon0:
            return 0.0
        divergences = divergence_given(self.clones, epsilon, self.epsilon0)
        none = -expm1(epsilon - self.epsilon0) / (1 + exp(-self.epsilon0))  # D_0, what one person alone has
        total = float((self.weights * divergences).sum()) + self.below * none + self.above * float(divergences[-1])
        return total * (1 + GUARD)

    def epsilon(self) -> float:
        """The smallest epsilon at delta, rounded up."""
        mu = 2 * tanh(self.epsilon0 / 2) / sqrt(max((self.n - 1) * self.probability, 1e-300))
        guess = min(gaussian_epsilon(mu, self.delta), self.epsilon0 * (1 - 1e-3))
        return min(smallest(self.at, self.delta, guess=guess, limit=self.epsilon0, tolerance=5e-10), self.epsilon0)


def divergence_given(clones: Any, epsilon: float, epsilon0: float) -> Any:
    """D_c, elementwise: the divergence given the number of clones. An infinite ``epsilon0`` is a victim who tells the truth."""
    alpha = 1 / (1 + exp(-epsilon0))
    other = 1 / (1 + exp(epsilon0)) if epsilon0 < inf else 0.0
    gain = alpha - exp(epsilon) * other if epsilon0 == inf else -expm1(epsilon - epsilon0) * alpha
    tau = (exp(epsilon) * alpha - other) / ((alpha - other) * (1 + exp(epsilon)))
    k = np.minimum(np.ceil(tau * (clones + 1) - 1e-12), clones + 1)  # at a tie both neighbors give the same value
    masses, tails = _fair_coins(k, clones)
    return np.maximum(gain * masses - expm1(epsilon) * tails, 0.0)


def _fair_coins(k: Any, clones: Any) -> tuple[Any, Any]:
    """B(k - 1; c, 1/2) and P[Bin(c, 1/2) >= k] for consecutive c, where k rises by 0 or 1 each time: step by step.

    One coin more: the tail from k loses half of b(k) if k rises with c, and gains half of b(k - 1) if it does not.
    """
    if len(k) < 8 or clones[0] < 8:
        return pmf(k - 1, clones, 0.5), at_least(k, clones, 0.5)
    now, c, rises = k[:-1], clones[:-1], np.diff(k) > 0
    ratios = (c + 1) / (2 * np.where(rises, now, c + 2 - now))
    masses = float(pmf(k[0] - 1, clones[0], 0.5)) * np.concatenate([[1.0], np.cumprod(ratios)])
    changes = np.where(rises, -0.5 * masses[:-1] * (c - now + 1) / now, 0.5 * masses[:-1])
    last = float(at_least(k[-1], clones[-1], 0.5))  # from the smallest tail on: nothing cancels
    tails = last - np.concatenate([np.cumsum(changes[::-1])[::-1], [0.0]])
    return masses, tails


def closed_form(epsilon0: float, n: int, delta: float) -> float | None:
    """The same theorem's closed form, for comparison; None where it does not hold.

    >>> round(closed_form(1.0, 10_000, 1e-6), 4), closed_form(8.0, 1000, 1e-6)
    (0.214, None)
    """
    if epsilon0 > log(n / (16 * log(4 / delta))):
        return None
    return log1p(tanh(epsilon0 / 2) * (8 * sqrt(exp(epsilon0) * log(4 / delta) / n) + 8 * exp(epsilon0) / n))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """About the epsilon of Gaussian noise: where searches start, and nothing more."""
    low, high = 0.0, mu * (mu + 2 * sqrt(2 * log(1 / delta)) + 10)
    for _ in range(30):
        middle = (low + high) / 2
        excess = erfc((middle / mu - mu / 2) / sqrt(2)) - exp(min(middle, 700.0)) * erfc((middle / mu + mu / 2) / sqrt(2))
        low, high = (middle, high) if excess > 2 * delta else (low, middle)
    return max(high, 1e-12)
