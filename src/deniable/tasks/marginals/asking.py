"""One call for the whole table: sensible settings, and what they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deniable.contract.arguments import typed
from deniable.contract.source import Source
from deniable.core.run import crowd_size
from deniable.tasks.marginals.estimate import TableEstimate
from deniable.tasks.marginals.protocol import Marginals


@typed
def marginals(
    table: Any,
    *,
    columns: Any,
    epsilon: float,
    k: int = 2,
    sets: Sequence[Sequence[str]] | None = None,
    method: str = "auto",
    views: Sequence[Sequence[str]] | None = None,
    source: Source | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TableEstimate:
    """How the columns of a table go together, each person reporting once and privately.

    ``table`` is a mapping of columns, or an Arrow, Polars or pandas table; ``columns`` declares the possible values, and is never read off
    the data, which would give away that somebody holds a rare one. All combinations of ``k`` columns are told, or only the ``sets`` of
    columns that are named. ``method`` and ``views`` say how people are asked, as in ``Marginals``; left out, so that the error is smallest.

    >>> from deniable.testing import ReplaySource
    >>> reviews = {"place": ["bar"] * 6000 + ["spa"] * 6000, "mood": (["good"] * 4 + ["bad"] * 2) * 1000 + (["good"] + ["bad"] * 5) * 1000}
    >>> columns = {"place": ["bar", "inn", "spa"], "mood": ["good", "bad"]}
    >>> found = marginals(reviews, columns=columns, epsilon=2.0, source=ReplaySource.from_key("reviews"))
    >>> found["place", "mood"]
    place x mood: 12,000 people, split, epsilon = 2; low and high: 95 %, noise and who was asked what
    place  mood  count  stderr    low   high  frequency
    spa     bad  5,031    80.6  4,873  5,189      0.419
    bar    good  3,900    76.1  3,751  4,049      0.325
    bar     bad  1,986    67.8  1,854  2,119      0.166
    spa    good  1,005    63.1    882  1,129     0.0838
    inn     bad   55.1    58.2  -58.9    169    0.00459
    inn    good   22.1      58  -91.5    136    0.00184
    >>> found["place", "mood"].association()
    place x mood: 12,000 people, split, epsilon = 2; low and high: 95 %, noise and who was asked what
    value         association  stderr    low  high          p
    place x mood        0.502  0.0159  0.471     1  1.29e-181
    association: Cramér's V, from 0 to 1; p: how likely as much is without any
    not seen: place = inn
    >>> gap = found["place", "mood"].given("place").contrast(("spa", "good"), ("bar", "good"))
    >>> round(gap.value, 3), round(gap.stderr, 3)  # half of the guests more like the bar
    (0.496, 0.013)
    """
    survey = Marginals(columns=columns, epsilon=epsilon, k=k, sets=sets, method=method, views=views, people=max(crowd_size(table), 1))
    found: TableEstimate = survey.run(table, source=source, progress=progress)
    return found
