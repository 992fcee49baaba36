"""One call for a whole question about ranges: sensible settings, and what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.source import Source
from deniable.core.run import crowd_size
from deniable.tasks.ranges.ahead import AHEAD
from deniable.tasks.ranges.choose import range_method
from deniable.tasks.ranges.estimate import RangeEstimate


@typed
def private_ranges(
    values: Any,
    *,
    domain: Domain,
    epsilon: float,
    adaptive: bool = False,
    source: Source | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RangeEstimate:
    """How many people lie in any range, how they are spread, and where the quantiles are; each person reports once and privately.

    The way of asking is the one with the smallest predicted error in one round (``range_method``). With ``adaptive`` it is AHEAD, which
    needs several and asks in detail only where there are many. The domain says what is allowed: ordered labels, integers, or numbers and
    points in time on a grid; what is out of its range is refused, unless it says ``clip=True``.

    >>> from deniable.contract.numbers import Numbers
    >>> from deniable.testing import ReplaySource
    >>> waits = [(i * i) % 97 / 10 for i in range(50_000)]
    >>> minutes = Numbers(0, 10, steps=100)
    >>> found = private_ranges(waits, domain=minutes, epsilon=2.0, source=ReplaySource.from_key("waits"))
    >>> found.quantile(0.5), found.quantile_interval(0.5), round(found.mean, 2)
    (4.9, (4.7, 4.9), 4.81)
    """
    people = crowd_size(values)
    if adaptive:
        protocol: Any = AHEAD(domain=domain, epsilon=epsilon, people=people)
    else:
        protocol = range_method(domain=domain, epsilon=epsilon, n=max(people, 1)).chosen
    found: RangeEstimate = protocol.run(values, source=source, progress=progress)
    return found
