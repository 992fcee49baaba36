"""The hybrid mechanism: a cell of the piecewise mechanism, or a single bit, at random."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.lattice import score_moments
from deniable.client.mean import Linear
from deniable.client.one_bit import OneBitProtocol
from deniable.client.piecewise import Line, Parabola, best_window, check_window, draw_cell, window_moments, window_share
from deniable.contract.law import OutputLaw
from deniable.contract.probability import exp_below, favored_threshold, floor_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout


@mechanism
class Hybrid(OneBitProtocol):
    """Do as ``Piecewise`` with probability alpha, and as ``Duchi`` otherwise. The coin does not depend on the value.

    The one errs most at the ends of the range, the other in the middle. Alpha is such that their mixture errs equally everywhere; it is 0
    below epsilon 0.61, where the single bit is the best there is. ``window`` is that of ``Piecewise``; if left out, the one with which the
    mixture is best, found in exact arithmetic. With the paper's window, G e^(-epsilon / 2), alpha is the paper's, 1 - e^(-epsilon / 2).

    Guarantee: epsilon-local for any two inputs, since either part is.

    Estimator: the mean of the parts' scores. Variance in half ranges squared, for every value: 4.267 at epsilon 1, 0.982 at 2, 0.156 at 4
    (with the paper's window 4.289, 1.042, 0.219). Rounding to the grid adds at most ``rounding_variance``.

    Cost: log2 (G + w + 2) bits, 16 by default, and 1 where alpha is 0; three or four random words on the device; the collector adds up n
    numbers and their squares.

    >>> oracle = Hybrid(low=-1, high=1, epsilon=2.0)
    >>> oracle.window, oracle.report_bits, round(oracle.variance(n=1, value=0), 4), round(oracle.variance(n=1, value=1), 4)
    (18291, 16, 0.9817, 0.9817)
    >>> Hybrid(low=-1, high=1, epsilon=0.5).mix                  # a single bit is better there
    0

    References: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019.
    """

    preference: ClassVar[int | None] = 3

    window: int = None  # type: ignore[assignment]  # resolved below

    def resolve(self) -> None:
        if self.window is None:
            window = best_window(self.steps, self._error)
            object.__setattr__(self, "window", window if self._share(window) else 1)
        check_window(self.window, self.steps)

    @cached_property
    def keep(self) -> int:
        """The threshold of a cell of the window, as in ``Piecewise``."""
        return favored_threshold(self.epsilon, self.window, self.steps)

    @cached_property
    def mix(self) -> int:
        """The threshold of doing as ``Piecewise`` does."""
        return floor_threshold(self._share(self.window))

    @property
    def thresholds(self) -> dict[str, int]:
        return {"mix": self.mix, "keep": self.keep, **super().thresholds}

    @property
    def cells(self) -> int:
        """The number of cells, none where they are never drawn; the two reports behind them are the bit."""
        return self.steps + self.window if self.mix else 0

    @property
    def layout(self) -> Layout:
        return (Column("point", limit=self.outputs),)

    @property
    def outputs(self) -> int:
        return self.cells + 2

    @property
    def largest_count(self) -> int:
        return max(self.cells - 1, 1) ** 2

    @property
    def ratio(self) -> Fraction:
        bit, cell = super().ratio, Fraction(self.keep * self.steps, (ONE - self.keep) * self.window)
        return max(bit, cell) if self.mix else bit

    def perturb(self, key: int, source: Source) -> int:
        if source.bernoulli(self.mix):
            return draw_cell(key, self.steps, self.window, self.keep, source)
        return self.cells + super().perturb(key, source)

    def output_law(self, key: int) -> OutputLaw[int]:
        share = Fraction(self.mix, ONE)
        inside, outside = share * self.keep / (ONE * self.window), share * (ONE - self.keep) / (ONE * self.steps)
        weights = {cell: inside if key <= cell < key + self.window else outside for cell in range(self.cells)}
        bits = super().output_law(key)
        return OutputLaw(weights | {self.cells + bit: (1 - share) * weight for bit, weight in bits.items()})

    def features(self, report: int) -> tuple[int, ...]:
        """Return the cell and its square, and which of the two bits it is."""
        if report < self.cells:
            return report, report**2, 0, 0
        return 0, 0, int(report == self.cells), int(report == self.cells + 1)

    @cached_property
    def scores(self) -> Linear:
        (a, b), bits = self._line, self.bit_range
        return Linear(-a / b, (1 / b, Fraction(0), *(bit + a / b for bit in bits)))

    @cached_property
    def squares(self) -> Linear:
        (a, b), bits = self._line, self.bit_range
        return Linear((a / b) ** 2, (-2 * a / b**2, 1 / b**2, *(bit**2 - (a / b) ** 2 for bit in bits)))

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        share, (low, high) = Fraction(self.mix, ONE), self.bit_range
        cell, bit = score_moments(*self._moments), (-low * high, low + high, Fraction(0))
        a, b, c = (share * x + (1 - share) * y for x, y in zip(cell, bit, strict=True))
        return a, b, c

    @property
    def bit_range(self) -> tuple[Fraction, Fraction]:
        """The scores of the two bits."""
        return Fraction(-self.first, self.step), Fraction(ONE - self.first, self.step)

    @cached_property
    def score_range(self) -> tuple[Fraction, Fraction]:
        (a, b), (low, high) = self._line, self.bit_range
        return (min(low, -a / b), max(high, (self.cells - 1 - a) / b)) if self.mix else (low, high)

    @cached_property
    def _moments(self) -> tuple[Line, Parabola]:
        return window_moments(self.steps, self.window, Fraction(self.keep, ONE))

    @property
    def _line(self) -> Line:
        return self._moments[0]

    def _parts(self, window: int) -> tuple[Fraction, Fraction, Fraction]:
        """Return of the exact laws the variance of a cell's score and of a bit's in the middle, and the share that levels them."""
        e, middle = exp_below(self.epsilon), Fraction(self.steps, 2)
        line, parabola = window_moments(self.steps, window, window_share(self.steps, window, e))
        a, b, c = score_moments(line, parabola)
        return a + b * middle + (c - 1) * middle**2, (middle * (e + 1) / (e - 1)) ** 2, 1 / c

    def _share(self, window: int) -> Fraction:
        cell, bit, level = self._parts(window)
        return level if cell < bit else Fraction(0)

    def _error(self, window: int) -> Fraction:
        """Return the variance everywhere, at the share that makes it the same everywhere."""
        cell, bit, level = self._parts(window)
        return level * cell + (1 - level) * bit
