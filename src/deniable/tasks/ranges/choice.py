"""The best way to ask about ranges, by its predicted error, and one call that asks that way."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

from deniable.client.rr import RR
from deniable.contract.arguments import typed
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Progress
from deniable.contract.source import Source
from deniable.core.choice import Choice
from deniable.core.run import crowd_size
from deniable.kernels.compiled import Array
from deniable.local.oracle_choice import check_people
from deniable.tasks.ranges.ahead import AHEAD
from deniable.tasks.ranges.consistency import LevelTree
from deniable.tasks.ranges.estimate import RangeEstimate
from deniable.tasks.ranges.haar import LARGEST_DOMAIN as LARGEST_HAAR
from deniable.tasks.ranges.haar import HaarHRR, haar_levels
from deniable.tasks.ranges.hierarchy import Hierarchy
from deniable.tasks.ranges.levels import check_line, even_starts, level_spec, level_variance, tree_widths

BRANCHINGS = (2, 3, 4, 5, 8, 16)
"""The branching of the trees considered, in addition to the flat one."""
ALL_ENDS = 257
"""Up to so many ends of ranges, predictions look at all ranges ..."""
SOME_ENDS = 65
"""... and in larger domains at those between so many evenly spread ends."""
FLAT = "flat"
HAAR = "Haar"


def tree_variances(size: int, widths: tuple[int, ...], each: list[float]) -> Array:
    """Return n times the variance of the share between any two ends, for a consistent tree with these variances per level and person.

    >>> e = np.e
    >>> oue = 4 * e / (e - 1) ** 2
    >>> found = tree_variances(64, (16, 4, 1), [oue] * 3)
    >>> round(average(found), 2), round(float(found.max()), 2)
    (24.25, 38.72)
    """
    cells = [even_starts(size, width) for width in widths]
    spread = [np.zeros(1), *(np.full(len(level), len(widths) * one) for level, one in zip(cells, each, strict=True))]
    together, _ = LevelTree.of_cells([(0,), *cells]).covariance(_below(size), spread)
    return _between(together)


def haar_variances(size: int, each: float) -> Array:
    """Return n times the variance of the share between any two ends, for HaarHRR with this variance of a difference for one person."""
    levels = haar_levels(_below(size))
    return _between(sum((len(levels) * each / 4**h * level.T @ level for h, level in enumerate(levels, start=1)), np.zeros(1)))


def average(variances: Array) -> float:
    """The average over all ranges: pairs of different ends."""
    return float(variances[np.triu_indices(variances.shape[0], 1)].mean())


def _below(size: int) -> Array:
    """For each end, which values are below it; one column for each end."""
    below: Array = np.arange(size)[:, None] < _ends(size)[None, :]
    return below.astype(np.float64)


def _ends(size: int) -> Array:
    """Where ranges end; in large domains, evenly spread places."""
    return np.unique(np.linspace(0, size, size + 1 if size < ALL_ENDS else SOME_ENDS).round().astype(np.int64))


def _between(together: Array) -> Array:
    """From covariances of cumulative shares to variances of what lies between them."""
    own = np.diag(together)
    return np.asarray(np.maximum(own[:, None] + own[None, :] - 2 * together, 0.0))


def _of_the_crowd(size: int, variances: Array) -> tuple[float, float]:
    """On average over ranges, and the worst; without what only drawing the crowd would add, for people who are spread evenly."""
    ends = _ends(size) / size
    share = np.abs(ends[:, None] - ends[None, :])
    found = np.maximum(variances - share * (1 - share), 0.0)
    return average(found), float(found.max())


@lru_cache(maxsize=256)
def predicted_tree(size: int, branching: int, *, epsilon: float, oracle: str = "auto", people: int = 100_000) -> tuple[float, float]:
    """Return n times the variance of a range's share with this branching: on average over ranges, and of the worst one."""
    widths = tree_widths(size, branching)
    asking = {"domain": IndexRange(size), "oracle": oracle, "epsilon": epsilon, "people": people // len(widths)}
    each = [level_variance(level_spec(len(even_starts(size, width)), **asking)) for width in widths]  # type: ignore[arg-type]  # as declared
    return _of_the_crowd(size, tree_variances(size, widths, each))


def predicted_haar(size: int, *, epsilon: float) -> tuple[float, float]:
    """Return n times the variance of a range's share by HaarHRR: on average over ranges, and of the worst one."""
    coin = RR(epsilon=epsilon)
    return _of_the_crowd(size, haar_variances(size, float(1 / (coin.p - coin.q) ** 2)))


def best_branching(size: int, *, epsilon: float, oracle: str = "auto", people: int = 100_000) -> int:
    """Return the branching with the smallest predicted error, averaged over all ranges; the domain's size where flat is best.

    >>> best_branching(256, epsilon=1.0), best_branching(8, epsilon=1.0)
    (4, 8)
    """
    able = [*(b for b in BRANCHINGS if b < size), size]
    found = {b: predicted_tree(size, b, epsilon=epsilon, oracle=oracle, people=people)[0] for b in able}
    return min(found, key=lambda branching: found[branching])


def range_method(*, domain: Domain, epsilon: float, n: int = 100_000) -> Choice[Hierarchy | HaarHRR]:
    """Return the method for ranges with the smallest predicted error for n people in one round, and why.

    Predictions are exact for people who are spread evenly. Noise hardly depends on that; what depends on it, that each level is reported by
    some people only, counts at large epsilons.

    >>> choice = range_method(domain=IndexRange(256), epsilon=1.0, n=100_000)
    >>> choice.chosen.widths, choice.why.split(";")[0]
    ((64, 16, 4, 1), 'branching 4: the smallest predicted error of a range, 2,043 people of 100,000 on average')
    """
    check_people(n)
    check_epsilon(epsilon)
    check_line(domain)
    size = domain.size
    found = {FLAT: predicted_tree(size, size, epsilon=epsilon, oracle="auto", people=n)}
    found |= {f"branching {b}": predicted_tree(size, b, epsilon=epsilon, oracle="auto", people=n) for b in BRANCHINGS if b < size}
    if size <= LARGEST_HAAR:
        found[HAAR] = predicted_haar(size, epsilon=epsilon)
    errors, worst = ({name: sqrt(n * pair[i]) for name, pair in found.items()} for i in (0, 1))
    best = min(errors, key=errors.__getitem__)
    against = "" if best == FLAT else f"; counting every value: {errors[FLAT]:,.0f}"
    rounds = "; if people crowd in few places and you can ask in rounds, AHEAD may have a smaller error, which cannot be predicted"
    return Choice(
        chosen=_protocol(best, domain, epsilon, n),
        why=f"{best}: the smallest predicted error of a range, {errors[best]:,.0f} people of {n:,} on average{against}{rounds}",
        considered=tuple(found),
        columns=lambda: {"value": list(found), "error": np.array([*errors.values()]), "worst": np.array([*worst.values()])},
        legend="error: standard error of a range, in people, root mean square over all ranges; worst: of the worst range",
    )


def _protocol(way: str, domain: Domain, epsilon: float, n: int) -> Hierarchy | HaarHRR:
    if way == HAAR:
        return HaarHRR(domain=domain, epsilon=epsilon)
    return Hierarchy(domain=domain, epsilon=epsilon, branching=domain.size if way == FLAT else int(way.rsplit(maxsplit=1)[-1]), people=n)


@typed
def private_ranges(
    values: Any,
    *,
    domain: Domain,
    epsilon: float,
    adaptive: bool = False,
    source: Source | None = None,
    progress: Progress | None = None,
) -> RangeEstimate:
    """Return counts in any range, the distribution and the quantiles; each person reports once and privately.

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
