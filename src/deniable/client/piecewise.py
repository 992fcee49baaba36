"""The piecewise mechanism, on a lattice, and its window: cells that are e^epsilon times as likely as the others.

At the grid point i of 0..G the window is the cells i..i + w - 1 among all G + w cells. Sums over a window are polynomials in i, so the
expected cell is exactly affine, whatever G and w are.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.lattice import LatticeProtocol, score_moments
from deniable.contract.law import OutputLaw
from deniable.contract.probability import exp_below, favored_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.errors import ParameterError

Line = tuple[Fraction, Fraction]
Parabola = tuple[Fraction, Fraction, Fraction]


@mechanism
class Piecewise(LatticeProtocol):
    """Send a cell of the window that starts at the value, or, less often, any cell outside; all cells of either kind equally likely.

    The grid has G = ``steps`` steps, and the lattice G + w cells. ``window`` is w; if left out, the one with the smallest worst case, found
    in exact arithmetic: between G e^(-epsilon / 4) and G e^(-epsilon / 3). The paper's, G e^(-epsilon / 2), is a little better in the
    middle of the range at small epsilon; its worst variance is 3 % larger at epsilon 1, and three times as large at epsilon 8.

    Guarantee: epsilon-local for any two inputs; a cell of the window is e^epsilon times as likely as one outside, rounded down.

    Estimator: the mean of (y - A) / B, where A + B i is the expected cell at the grid point i, exactly. Variance with the paper's window,
    in half ranges squared, s = e^(epsilon / 2): t^2 / (s - 1) + (s + 3) / (3 (s - 1)^2). Rounding to the grid adds at most
    ``rounding_variance``.

    Cost: log2 (G + w) bits, 16 by default; three random words on the device; the collector adds up n numbers and their squares.

    >>> oracle = Piecewise(low=-1, high=1, epsilon=2.0)
    >>> oracle.window, oracle.report_bits, round(oracle.variance(n=1, value=0), 4), round(oracle.variance(n=1), 4)
    (19382, 16, 0.671, 1.0922)
    >>> paper = Piecewise(low=-1, high=1, epsilon=2.0, window=12055)
    >>> round(paper.variance(n=1, value=0), 3), round(paper.variance(n=1, value=1), 3)
    (0.646, 1.228)

    References: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019; Zhao et al. 2020 (better windows).
    """

    preference: ClassVar[int | None] = 2

    window: int = None  # type: ignore[assignment]  # resolved below

    def resolve(self) -> None:
        if self.window is None:
            e = exp_below(self.epsilon)
            object.__setattr__(self, "window", best_window(self.steps, lambda window: worst_at(self.steps, window, e)))
        check_window(self.window, self.steps)

    @cached_property
    def keep(self) -> int:
        """The threshold of a cell of the window. Rounded down: missing the window more often only adds privacy."""
        return favored_threshold(self.epsilon, self.window, self.steps)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    @property
    def points(self) -> int:
        return self.steps + self.window

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.keep * self.steps, (ONE - self.keep) * self.window)

    def perturb(self, key: int, source: Source) -> int:
        return draw_cell(key, self.steps, self.window, self.keep, source)

    def output_law(self, key: int) -> OutputLaw[int]:
        inside, outside = Fraction(self.keep, ONE * self.window), Fraction(ONE - self.keep, ONE * self.steps)
        return OutputLaw({cell: inside if key <= cell < key + self.window else outside for cell in range(self.points)})

    @cached_property
    def _moments(self) -> tuple[Line, Parabola]:
        return window_moments(self.steps, self.window, Fraction(self.keep, ONE))

    @property
    def line(self) -> Line:
        return self._moments[0]

    @property
    def parabola(self) -> Parabola:
        return self._moments[1]


def draw_cell(key: int, steps: int, window: int, keep: int, source: Source) -> int:
    """Return a cell of the window that starts at the key, with the threshold ``keep``, or one of the ``steps`` cells outside."""
    if source.bernoulli(keep):
        return key + source.below(window)
    other = source.below(steps)
    return other + window * (other >= key)


def worst_at(steps: int, window: int, e: Fraction) -> Fraction:
    """Return the variance of a score at either end of the range, where it is largest, if e^epsilon is e."""
    return score_moments(*window_moments(steps, window, window_share(steps, window, e)))[0]


def check_window(window: object, steps: int) -> None:
    """Raise unless ``window`` is a number of cells that fits the grid."""
    if type(window) is not int or not 1 <= window <= steps:
        raise ParameterError("window", window, allowed=f"an integer from 1 to {steps}, the steps", fix="leave it out for the best one")


def window_moments(steps: int, window: int, keep: Fraction) -> tuple[Line, Parabola]:
    """Return the expected cell and its expected square, as polynomials in i, if the window is hit with probability ``keep``.

    >>> line, parabola = window_moments(1, 1, Fraction(3, 4))    # two cells: randomized response
    >>> [str(number) for number in line], [str(number) for number in parabola]
    (['1/4', '1/2'], ['1/4', '0', '1/2'])
    """
    cells, outside = steps + window, (1 - keep) / steps
    more = keep / window - outside  # how much likelier a cell of the window is
    first, second = Fraction(window * (window - 1), 2), Fraction((window - 1) * window * (2 * window - 1), 6)
    line = (outside * Fraction(cells * (cells - 1), 2) + more * first, more * window)
    parabola = (outside * Fraction((cells - 1) * cells * (2 * cells - 1), 6) + more * second, 2 * more * first, more * window)
    return line, parabola


def window_share(steps: int, window: int, e: Fraction) -> Fraction:
    """Return how often the window may be hit: e w / (e w + G), where e is e^epsilon."""
    return e * window / (e * window + steps)


def best_window(steps: int, cost: Callable[[int], Fraction]) -> int:
    """Return the window of the smallest cost, compared exactly. The cost falls, then rises, so bisection finds its minimum."""
    low, high = 1, steps
    while low < high:
        middle = (low + high) // 2
        if cost(middle) <= cost(middle + 1):
            high = middle
        else:
            low = middle + 1
    return low
