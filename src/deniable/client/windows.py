"""Windows on a lattice: a cell of the window at the input is e^epsilon times as likely as any other cell.

At the grid point i of 0..G the window is the cells i..i + w - 1 among all G + w cells. Sums over a window are polynomials in i, so the
expected cell is exactly affine, whatever G and w are.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

Line = tuple[Fraction, Fraction]
Parabola = tuple[Fraction, Fraction, Fraction]


def window_moments(steps: int, window: int, keep: Fraction) -> tuple[Line, Parabola]:
    """The expected cell and its expected square, as polynomials in i, if the window is hit with probability ``keep``.

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
    """How often the window may be hit: e w / (e w + G), where e is e^epsilon."""
    return e * window / (e * window + steps)


def best_window(steps: int, cost: Callable[[int], Fraction]) -> int:
    """The window of the smallest cost, compared exactly. The cost falls, then rises: half of the windows are ruled out at each step."""
    low, high = 1, steps
    while low < high:
        middle = (low + high) // 2
        if cost(middle) <= cost(middle + 1):
            high = middle
        else:
            low = middle + 1
    return low
