"""Expectation maximization behind a window: which shares of the grid points explain the counts of the cells.

At the grid point i a report is one of the cells i..i + w - 1 with probability ``inside`` each, and any other with ``outside`` each. So what
is expected in a cell, and what a cell says about a point, are both sums over a window: differences of running sums, instead of a matrix.
"""

from __future__ import annotations

import numpy as np

from deniable.kernels.compiled import Array, kernel

_CLOSE = 0.01
"""Relative changes below which six terms of the logarithm's series are exact to 1e-14."""


@kernel
def expect(shares: Array, window: int, inside: float, outside: float, sums: Array, expected: Array) -> None:
    """The probability of each cell, if these are the shares of the points. ``sums`` is room for the running sums."""
    points, more = shares.size, inside - outside
    held = 0.0
    sums[0] = 0.0
    for i in range(points):
        held += shares[i]
        sums[i + 1] = held
    for cell in range(window):  # the window is not longer than the points are many
        expected[cell] = outside + more * sums[cell + 1]
    for cell in range(window, points):
        expected[cell] = outside + more * (sums[cell + 1] - sums[cell + 1 - window])
    for cell in range(points, expected.size):
        expected[cell] = outside + more * (held - sums[cell + 1 - window])


@kernel
def settle(tally: Array, window: int, inside: float, outside: float, smooth: bool, tolerance: float, most: int, shares: Array) -> int:
    """Improve the shares until a step gains less than ``tolerance`` in log-likelihood; return how many steps it took.

    Each step is that of expectation maximization; with ``smooth`` each share is then averaged with its neighbors, by 1/4, 1/2, 1/4. The
    shares add up to one at the start, and are not all at places that the tally rules out.
    """
    points, cells = shares.size, tally.size
    expected, inverse, sums, raw = np.empty(cells), np.empty(cells), np.empty(cells + 1), np.empty(points)
    more, people, last = inside - outside, tally.sum(), points - 1
    expect(shares, window, inside, outside, sums, expected)
    for step in range(most):
        seen = 0.0
        sums[0] = 0.0
        for cell in range(cells):
            inverse[cell] = 1.0 / expected[cell]
        for cell in range(cells):
            seen += tally[cell] * inverse[cell]
            sums[cell + 1] = seen
        for i in range(points):
            raw[i] = shares[i] * (outside * seen + more * (sums[i + window] - sums[i]))
        everything = people  # what the steps of expectation maximization add up to
        if smooth:  # the ends give to their neighbors a little more than they get
            everything += (raw[1] - raw[0] + raw[last - 1] - raw[last]) / 12.0
            shares[0] = (2.0 * raw[0] + raw[1]) / (3.0 * everything)
            shares[last] = (2.0 * raw[last] + raw[last - 1]) / (3.0 * everything)
            for i in range(1, last):
                shares[i] = (raw[i - 1] + 2.0 * raw[i] + raw[i + 1]) / (4.0 * everything)
        else:
            for i in range(points):
                shares[i] = raw[i] / everything
        expect(shares, window, inside, outside, sums, expected)
        if abs(gained(tally, inverse, expected)) < tolerance:
            return step + 1
    return most


@kernel
def gained(tally: Array, inverse: Array, expected: Array) -> float:
    """The sum of tally log(after / before). Steps are small, so that a few terms of a series replace nearly all logarithms."""
    gain, largest = 0.0, 0.0
    for cell in range(tally.size):
        x = expected[cell] * inverse[cell] - 1.0
        largest = max(largest, abs(x))
        gain += tally[cell] * (x - x * x * (1.0 / 2.0 - x * (1.0 / 3.0 - x * (1.0 / 4.0 - x * (1.0 / 5.0 - x / 6.0)))))
    if largest > _CLOSE:
        gain = 0.0
        for cell in range(tally.size):
            gain += tally[cell] * np.log(expected[cell] * inverse[cell])
    return gain
