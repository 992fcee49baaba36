"""One call for a whole search: frequent items, or frequent sets of items, with good defaults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import scipy

from deniable.contract.arguments import typed
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.protocol import Progress
from deniable.contract.source import Source
from deniable.contract.subsets import Subsets
from deniable.core.estimate import Estimate, PeopleEstimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.sets import ItemSets
from deniable.errors import ParameterError
from deniable.tasks.itemsets.lengths import ITEMS, LENGTHS, Lengths
from deniable.tasks.itemsets.svim import SVIM
from deniable.tasks.itemsets.svsm import SVSM

Kind = TypeVar("Kind", bound=Estimate)


@typed
def frequent_items(
    sets: Any,
    *,
    items: Domain | None = None,
    k: int,
    epsilon: float,
    source: Source | None = None,
    progress: Progress | None = None,
) -> FrequencyEstimate:
    """Return the k items that most people hold, where each person holds a set of items and reports once, privately.

    ``sets`` are lists of labels or indices, a sparse matrix (people x items), or an Arrow list column. ``items`` declares what may be in
    them, and is never read off the sets: a list that is read off names what a single person holds, at any epsilon. Only a matrix, whose
    columns are the items, needs none.

    >>> from deniable.contract.domain import Categories
    >>> from deniable.testing import ReplaySource
    >>> shop = Categories("bread", "jam", "milk", "tea")
    >>> baskets = [["tea", "milk"], ["tea"], ["bread", "tea", "jam"], []] * 10_000
    >>> found = frequent_items(baskets, k=2, epsilon=3.0, items=shop, source=ReplaySource.from_key("docs"))
    >>> found.values[0], found.frequencies.round(2).tolist()
    ('tea', [0.76, 0.26])
    """
    search = SVIM(domain=_domain(sets, items), k=k, epsilon=epsilon)
    found: FrequencyEstimate = search.run(sets, source=source, progress=progress)
    return _explained(found, search)


@typed
def frequent_itemsets(
    sets: Any,
    *,
    items: Domain | None = None,
    k: int,
    epsilon: float,
    source: Source | None = None,
    progress: Progress | None = None,
) -> PeopleEstimate:
    """Return the k sets of items (single items included) that most people hold as part of their sets.

    ``association_rules`` turns them into rules. ``sets`` and ``items`` are as in ``frequent_items``.
    """
    search = SVSM(domain=_domain(sets, items), k=k, epsilon=epsilon)
    found: PeopleEstimate = search.run(sets, source=source, progress=progress)
    return _explained(found, search)


def _explained(found: Kind, search: SVIM | SVSM) -> Kind:
    """Return the result with a note on how it was found."""
    lengths: Any = found.parts[LENGTHS]
    items: Any = found.parts.get(ITEMS, found)
    low, high = Lengths(lengths, search.longest, search.projection).limits
    length = items.law.length
    padded = f"people report one of {length} candidate items ({low} to {high} would fit the noise)"
    return replace(found, screening=replace(found.screening, how=f"{search.kind}: {padded}; every person reports once"))  # type: ignore[type-var]  # it has one


def _domain(sets: Any, items: Domain | None) -> Subsets:
    """Sets of what was declared: by ``items``, by a column that was read for a domain, or by the width of a matrix."""
    if items is not None:
        return Subsets(items)
    if isinstance(sets, ItemSets):
        return sets.domain
    if (scipy.sparse.issparse(sets) or isinstance(sets, np.ndarray)) and len(sets.shape) == 2:
        return Subsets(IndexRange(max(int(sets.shape[1]), 2)))
    raise ParameterError(
        "items",
        None,
        allowed="a listed domain of all possible items, declared and not read off the sets; or the columns of a matrix",
        fix='write items=Categories("tea", "milk") or items=IndexRange(1000); for labels that you cannot list, search over Text: '
        "dn.heavy_hitters(one_item_of_each, domain=dn.Text(16), k=100, epsilon=1.0), which runs PEM",
    )
