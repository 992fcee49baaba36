"""Lower bounds: a data set on which no epsilon below this one is true.

All others hold one value z. Outputs are merged into three: those likelier under the victim's first value, those likelier under the second,
the rest. Merging is post-processing, so the divergence of what remains is not above the true one; and it is a sum of O(sqrt n) terms,
without a lattice. With r the merged law of z, V = (P - e^epsilon Q) / r, and the counts of n draws from r::

    delta >= E[(V_A N_A + V_B N_B + V_C N_C)_+] / n
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import numpy as np

from deniable.accounting.binomial import at_least, pmf
from deniable.accounting.calibration import smallest

GUARD = 1e-9
"""Relative, on delta: taken off."""


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
