"""Designs: ways to split people into groups so that all wanted marginals can be computed.

========  ================================================================================================================
split     one group for each wanted marginal
fourier   one group for each Hadamard coefficient that a wanted marginal needs; a report is one bit
views     fewer groups, each with more columns than one marginal has, so that every wanted marginal lies in one (CALM)
direct    everyone is asked about all columns at once, and marginals are sums over the rest
========  ================================================================================================================
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, prod

from deniable.errors import ParameterError
from deniable.tasks.marginals.columns import MOST_CELLS, Columns, Names

METHODS = ("split", "fourier", "views", "direct")
MOST_GROUPS = 1 << 12
"""The most groups that people are split into."""
MOST_SETS = 20 * MOST_GROUPS
"""The most marginals of which all can be answered: so many lie in views of six columns."""


@dataclass(frozen=True)
class View:
    """The question of one group: the cell in some columns, or a parity of it."""

    columns: Names
    masks: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """The question's name."""
        return " x ".join(self.columns) + ("" if self.masks is None else f" & {', '.join(map(str, self.masks))}")


def wanted(columns: Columns, k: int, sets: Sequence[Sequence[str]] | None) -> tuple[Names, ...]:
    """Return the wanted marginals in the order of the table's columns: all of k columns, or those you name; none is part of another.

    >>> columns = Columns.of({name: ["yes", "no"] for name in "abc"} | {"d": ["always"]})
    >>> wanted(columns, 2, None), wanted(columns, 2, [("b", "a"), ("a", "d")])
    ((('a', 'b'), ('a', 'c'), ('b', 'c')), (('a', 'b'),))
    """
    if sets is None:
        if type(k) is not int or not 1 <= k <= len(columns.declared):
            allowed = f"an integer from 1 to {len(columns.declared)}, the columns of the table"
            raise ParameterError("k", k, allowed=allowed, fix="pass k=2 to see how any two columns go together")
        size = min(k, len(columns.asked))
        if (count := comb(len(columns.asked), size)) > MOST_SETS:
            allowed, fix = f"at most {MOST_SETS:,} marginals", "name those that you want with sets="
            raise ParameterError("k", f"{k}: {count:,} marginals", allowed=allowed, fix=fix)
        sets = list(combinations(columns.asked, size))
    found = {frozenset(columns.check(names)) for names in sets} - {frozenset()}
    if not found:
        raise ParameterError("sets", sets, allowed="at least one set of columns", fix="leave out sets to get all sets of k columns")
    longer = {size: [other for other in found if len(other) > size] for size in set(map(len, found))}
    largest = [some for some in found if not any(some < other for other in longer[len(some)])]
    place = {name: i for i, name in enumerate(columns.asked)}
    return tuple(sorted((tuple(sorted(some, key=place.__getitem__)) for some in largest), key=lambda some: [place[name] for name in some]))


def groups_of(method: str, columns: Columns, sets: tuple[Names, ...], views: tuple[Names, ...] | None = None) -> tuple[View, ...]:
    """Return the groups of a method; ParameterError if there are too many, or one is asked about too many cells."""
    if method == "fourier":
        found = tuple(View(names, masks) for names, masks in coefficients(columns, sets))
    elif method == "views":
        found = tuple(View(view) for view in views or ())
    else:
        found = tuple(View(view) for view in (sets if method == "split" else (tuple(columns.asked),)))
    largest = max((columns.cells(asked.columns) for asked in found if asked.masks is None), default=0)
    if largest > MOST_CELLS:
        allowed = f"at most {MOST_CELLS:,} cells for one person"
        raise ParameterError(
            "method", f"{method}: {largest:,} cells", allowed=allowed, fix="ask about fewer columns at once, or use fourier"
        )
    if not 1 <= len(found) <= MOST_GROUPS:
        allowed = f"from 1 to {MOST_GROUPS:,} groups"
        raise ParameterError(
            "method", f"{method}: {len(found):,} groups", allowed=allowed, fix="name the marginals that you want with sets="
        )
    return found


def coefficients(columns: Columns, sets: Iterable[Names]) -> list[tuple[Names, tuple[int, ...]]]:
    """The Hadamard coefficients of some marginals, each once: columns, and a mask of key bits for each of them."""
    found: dict[tuple[Names, tuple[int, ...]], None] = {}
    for names in sets:
        for size in range(1, len(names) + 1):
            for some in combinations(names, size):
                masks_of = [range(1, 1 << columns.bits[n]) for n in some]
                if (some, (1,) * size) in found:
                    continue
                if len(found) + prod(map(len, masks_of)) > MOST_GROUPS:
                    allowed = f"at most {MOST_GROUPS:,} coefficients"
                    raise ParameterError("method", "fourier", allowed=allowed, fix="use method='split', which needs one group per marginal")
                found.update(dict.fromkeys((some, masks) for masks in product(*masks_of)))
    return list(found)


def cover(columns: Columns, sets: tuple[Names, ...], size: int) -> tuple[Names, ...] | None:
    """Views of at most ``size`` columns that hold every wanted marginal, each chosen to hold as many more of them as it can.

    None if some marginal does not fit, or if there would be more than ``MOST_GROUPS`` views.

    >>> columns = Columns.of({name: ["yes", "no"] for name in "abcd"})
    >>> cover(columns, wanted(columns, 2, None), 3)
    (('a', 'b', 'c'), ('a', 'b', 'd'), ('c', 'd'))
    """
    if any(len(names) > size or columns.cells(names) > MOST_CELLS for names in sets):
        return None
    if sum(1 / comb(size, len(names)) for names in sets) > MOST_GROUPS:  # none is part of another: no view holds more than 1 (LYM)
        return None
    left = dict.fromkeys(map(frozenset, sets))
    holding: dict[str, set[frozenset[str]]] = {name: set() for name in columns.asked}
    for some in left:
        for name in some:
            holding[name].add(some)
    views: list[Names] = []
    while left:
        if len(views) == MOST_GROUPS:
            return None
        view = _widest(columns, left, holding, size)
        views.append(tuple(name for name in columns.asked if name in view))
        for some in {some for name in view for some in holding[name] if some <= view}:
            del left[some]
            for name in some:
                holding[name].remove(some)
    return tuple(views)


def _widest(columns: Columns, left: Collection[frozenset[str]], holding: Mapping[str, set[frozenset[str]]], size: int) -> set[str]:
    """The first marginal that is left, with more columns: each the one that completes the most marginals, or else that the most have.

    Only marginals that have a column of the view are looked at: ``holding`` gives those of each column.
    """
    view: set[str] = set()
    completes = {name: int(frozenset({name}) in left) for name in columns.asked}
    waiting = list(next(iter(left)))
    while waiting:
        name = waiting.pop()
        view.add(name)
        for some in holding[name]:
            if len(some - view) == 1:
                completes[next(iter(some - view))] += 1
        if not waiting and len(view) < size:
            cells = columns.cells(view)
            more = [name for name, values in columns.sizes.items() if name not in view and cells * values <= MOST_CELLS]
            best = max(more, key=lambda name: (completes[name], len(holding[name])), default=None)
            waiting = [best] if best is not None and holding[best] else []
    return view
