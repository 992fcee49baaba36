r"""Small crowds are dropped by noisy counts, and that has its price.

From each crowd of c reports, max(0, D + z) are dropped at random, with z from the discrete Gaussian of the task's ``sigma`` and
D = ceil(8 sigma); if fewer than ``minimum`` are left, all of them are. What shows of a crowd is then c - D - z or nothing: a noisy count,
and never the true one (Bittau et al. 2017, with exact noise).

**Price.** Replacing a person's report takes one from a crowd and adds one to another: two counts change by one each, so two discrete
Gaussians of sensitivity 1 are charged. c - D - z would have to exceed c if z < -D, and then the true count shows: at most the tail below
-8 sigma, for either crowd, which is charged as delta. Comparing the true count with the minimum would cost nothing less than everything.

The charge comes on top of the shuffle's own, though a crowd is made from nothing but the randomized report, and so all of this only works
on what the shuffle has paid for. It makes the threshold's promise independent of the shuffle's, whatever crowds are made from.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, exp, inf, nextafter

from deniable.accounting.bill import account
from deniable.accounting.combinations import Repeated, Sequential
from deniable.accounting.event import REPLACE, Event
from deniable.accounting.leaves import Approximate, DiscreteGaussianEvent
from deniable.contract.guarantee import Guarantee
from deniable.contract.mixing import Threshold
from deniable.contract.source import SYSTEM, Source
from deniable.contract.spec import Spec
from deniable.shuffle.amplification import amplify

REACH = 8
"""Standard deviations from zero to the mean of what is dropped."""


def shift_of(threshold: Threshold) -> int:
    """D: how many of every crowd are dropped on average."""
    return ceil(REACH * Fraction(threshold.sigma))


def draw_drops(threshold: Threshold, count: int, source: Source = SYSTEM) -> int:
    """How many of a crowd of so many are dropped: some, or all of them.

    >>> draw_drops(Threshold(minimum=20, sigma="2"), 10)
    10
    """
    from deniable.central.gaussian import discrete_gaussian  # heavy, and most tasks have no threshold

    dropped = max(0, shift_of(threshold) + discrete_gaussian(Fraction(threshold.sigma), source))
    return dropped if count - dropped >= threshold.minimum else count


def threshold_event(threshold: Threshold) -> Event:
    """What one batch's threshold does to a person whose report is replaced, as an event to be charged.

    >>> event = threshold_event(Threshold(minimum=20, sigma="2"))
    >>> round(account(event, delta=1e-6, rules=("PLD",)).epsilon, 2)
    3.29
    """
    from deniable.central.grid import float_below

    sigma = Fraction(threshold.sigma)
    count = DiscreteGaussianEvent(sigma=float_below(sigma), neighbors=REPLACE)
    return Sequential(events=(Repeated(event=count, times=2), Approximate(epsilon=0.0, delta=_tail(sigma))))


def price(spec: Spec, *, delta: float, n: int, threshold: Threshold | None = None) -> Guarantee:
    """The promise to each of n honest, distinct people whose reports are in one batch, the threshold's charge included.

    By basic composition, with half of delta for each of the two.

    >>> import deniable as dn
    >>> spec, rule = dn.GRR(domain_size=10, epsilon=2.0), Threshold(minimum=20, sigma="4")
    >>> [round(price(spec, delta=1e-6, n=10_000, threshold=asked).epsilon, 2) for asked in (None, rule)]
    [0.08, 1.68]
    """
    if threshold is None:
        return amplify(spec, delta=delta, n=n)
    shuffled = amplify(spec, delta=delta / 2, n=n)
    charged = account(threshold_event(threshold), delta=delta / 2)
    both = nextafter(shuffled.epsilon + charged.epsilon, inf)
    certificate = f"{shuffled.certificate}, and the threshold's noise by {charged.certificate} composition"
    return replace(shuffled, epsilon=both, delta=delta, certificate=certificate)


def _tail(sigma: Fraction) -> float:
    """Twice an upper bound of P[z < -D], for two crowds; the noise is sub-Gaussian: P[z <= -t] <= e^(-t^2 / (2 sigma^2))."""
    beyond = ceil(REACH * sigma) + 1
    return 2 * exp(-float(Fraction(beyond) ** 2 / (2 * sigma**2))) * (1 + 1e-12)
