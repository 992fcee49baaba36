"""Duchi, Jordan and Wainwright's mechanism for one number."""

from __future__ import annotations

from deniable.client.one_bit import OneBitProtocol
from deniable.contract.spec import mechanism


@mechanism
class Duchi(OneBitProtocol):
    """Send a sign, plus with probability 1/2 + t (e^epsilon - 1) / (2 (e^epsilon + 1)), where t in -1..1 is the place in the range.

    Guarantee: epsilon-local for any two inputs; thresholds are integers in equal steps, rounded so that the worst ratio is at most
    e^epsilon.

    Estimator: the mean of plus or minus (e^epsilon + 1) / (e^epsilon - 1), carried over to the range, with the law's exact probabilities.
    Variance of one score ((e^epsilon + 1) / (e^epsilon - 1))^2 - t^2, in half ranges squared. It is the same law as ``OneBitMean``, which
    came later, for numbers from 0 on; both names are kept because both are asked for. Up to epsilon 0.61 its worst case is the smallest;
    from 1.29 on that of ``Piecewise`` is smaller even with the paper's window.

    Cost: 1 bit; two random words on the device; the collector counts plus signs.

    >>> oracle = Duchi(low=-1, high=1, epsilon=1.0)
    >>> round(oracle.variance(n=1, value=0), 5), round(oracle.variance(n=1, value=1), 5), round(oracle.influence, 4)
    (4.68269, 3.68269, 2.164)

    References: Duchi, Jordan, Wainwright 2013, 2018.
    """
