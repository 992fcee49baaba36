"""The square wave mechanism, on a lattice."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import TYPE_CHECKING, Any

from deniable.client.numeric import NumericSpec
from deniable.client.piecewise import Piecewise, check_window, draw_cell
from deniable.contract.law import OutputLaw
from deniable.contract.numbers import Numbers
from deniable.contract.probability import exact_epsilon, favored_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.contract.work import Work

if TYPE_CHECKING:
    from deniable.core.distribution import DistributionEstimate
    from deniable.core.tally import Tally

_RESAMPLING = 5 * 10**6
"""Steps for each cell of the lattice; at epsilon = 1, where it takes longest, 67 s were measured for 8,192 steps."""
USUAL_STEPS = 1 << 10
"""Finer than any distribution that noisy reports can show, and quick to estimate."""


@mechanism
class SquareWave(NumericSpec):
    """Send a cell of the window that starts at the value, or, less often, any cell outside; then learn how the values are distributed.

    The grid has G = ``steps`` steps, and the lattice G + w cells. ``window`` is w; if left out, the one from which a report would tell most
    about the value if all cells were equally common: the next integer, up or down, to G (epsilon e^epsilon - e^epsilon + 1) /
    (e^epsilon (e^epsilon - 1 - epsilon)). ``steps``, if left out, is 1024, or the largest multiple of high - low up to there.

    Guarantee: epsilon-local for any two inputs; a cell of the window is e^epsilon times as likely as one outside, rounded down.

    Estimator: the shares of all grid points by expectation maximization with smoothing, which is biased, with intervals by resampling the
    tally; see ``DistributionEstimate``. The mean is estimated without bias, since a report is one of ``Piecewise`` with this window.

    Cost: log2 (G + w) bits, 11 by default; three random words on the device; the collector counts cells, and estimates in a fraction of a
    second.

    >>> oracle = SquareWave(low=0, high=1, epsilon=1.0)
    >>> oracle.steps, oracle.window, oracle.report_bits
    (1024, 524, 11)
    >>> oracle.window / oracle.steps / 2                    # the paper's b, 0.256083, to the next half cell
    0.255859375

    References: Li, Wang, Lopuhaä-Zwakenberg, Li, Škorić 2020.
    """

    window: int = None  # type: ignore[assignment]  # resolved below

    if TYPE_CHECKING:

        def estimate(self, tally: Tally, *, candidates: Any = None) -> DistributionEstimate: ...

    def usual_steps(self) -> int:
        domain = Numbers(self.low, self.high)
        whole = not domain.times and domain.start.denominator == domain.width.denominator == 1 and domain.width <= USUAL_STEPS
        return USUAL_STEPS // int(domain.width) * int(domain.width) if whole else USUAL_STEPS

    def resolve(self) -> None:
        if self.window is None:
            object.__setattr__(self, "window", informative_window(self.steps, self.epsilon))
        check_window(self.window, self.steps)

    @cached_property
    def keep(self) -> int:
        """The threshold of a cell of the window. Rounded down: missing the window more often only adds privacy."""
        return favored_threshold(self.epsilon, self.window, self.steps)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    @property
    def layout(self) -> Layout:
        return (Column("point", limit=self.outputs),)

    def counters(self, values: int) -> int:
        return self.outputs

    def finishing(self, values: int) -> Work:
        """Return what expectation maximization takes, for the tally and for the 200 that are drawn anew to see how it errs."""
        work = super().finishing(values)
        return work._replace(bytes=work.bytes + 4096 * self.outputs, steps=_RESAMPLING * self.outputs)

    @property
    def outputs(self) -> int:
        return self.steps + self.window

    @property
    def inside(self) -> Fraction:
        """The probability of each cell of the window."""
        return Fraction(self.keep, ONE * self.window)

    @property
    def outside(self) -> Fraction:
        """The probability of each other cell."""
        return Fraction(ONE - self.keep, ONE * self.steps)

    @property
    def ratio(self) -> Fraction:
        return self.inside / self.outside

    def perturb(self, key: int, source: Source) -> int:
        return draw_cell(key, self.steps, self.window, self.keep, source)

    def output_law(self, key: int) -> OutputLaw[int]:
        window = range(key, key + self.window)
        return OutputLaw({cell: self.inside if cell in window else self.outside for cell in range(self.outputs)})

    @property
    def mean_spec(self) -> Piecewise:
        return self.piecewise

    @cached_property
    def piecewise(self) -> Piecewise:
        """The same law by the name under which the mean is estimated."""
        return Piecewise(domain=self.domain, epsilon=self.epsilon, window=self.window)

    def variance(self, n: int, value: Any = None) -> float:
        """Return the variance of the mean of n people who all hold this value; by default one for which it is largest."""
        return self.piecewise.variance(n, value)


def informative_window(steps: int, epsilon: float) -> int:
    """Return the window that maximizes the mutual information of value and report, were all cells equally common.

    With q the probability of a cell outside, it is ln((G + w) q) + epsilon (w e^epsilon q): one maximum, at a real number known in closed
    form, so that two windows are to be compared. Sixty digits decide between them.

    >>> informative_window(1000, 1.0), informative_window(1000, 4.0), informative_window(1000, 1e-8)
    (512, 61, 1000)
    """
    with localcontext(Context(prec=60)):
        small = exact_epsilon(epsilon)
        e = small.exp()

        def information(window: int) -> Decimal:
            inside = e * window
            return ((steps + window) / (inside + steps)).ln() + small * inside / (inside + steps)

        below = floor(steps * (small * e - e + 1) / (e * (e - 1 - small)))
        return max((w for w in (below, below + 1) if 1 <= w <= steps), key=information, default=1)
