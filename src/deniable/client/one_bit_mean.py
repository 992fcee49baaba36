"""Microsoft's one-bit mean."""

from __future__ import annotations

from typing import ClassVar

from deniable.client.one_bit import OneBitProtocol
from deniable.contract.spec import mechanism


@mechanism
class OneBitMean(OneBitProtocol):
    """Send one bit: 1 with probability 1 / (e^epsilon + 1) at low, e^epsilon / (e^epsilon + 1) at high, and in proportion between.

    Guarantee: epsilon-local for any two inputs; thresholds are integers in equal steps, rounded so that the worst ratio is at most
    e^epsilon.

    Estimator: the mean of low + width (bit (e^epsilon + 1) - 1) / (e^epsilon - 1), with the law's exact probabilities. Variance of one
    score width^2 (e^epsilon / (e^epsilon - 1)^2 + x (1 - x)), where x is the value as a share of the range. Rounding to the grid costs
    nothing. One bit cannot show how values are spread, so the error is stated as if all were the same: it is never too small.

    Cost: 1 bit; two random words on the device; the collector counts ones.

    >>> oracle = OneBitMean(low=0, high=1, epsilon=1.0)
    >>> oracle.report_bits, round(oracle.variance(n=1, value=0.5), 5), round(oracle.variance(n=1, value=0), 5)
    (1, 1.17067, 0.92067)

    References: Ding, Kulkarni, Yekhanin 2017.
    """

    preference: ClassVar[int | None] = 1
