"""Places with names, each inside a larger one: country, state, city, block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.domain import Categories
from deniable.contract.record import Plain
from deniable.core.values import keys_of
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array

EVERYWHERE = "everywhere"
"""The name of the region that holds all places."""


@typed
@dataclass(frozen=True, init=False, repr=False)
class Taxonomy(Plain):
    """A tree of named places. Its leaves are where people can be; every node is a region that a person may declare.

    A leaf is given by its path from the largest region on. Leaves are kept in the order of their names, so that a region is a range.

    >>> town = Taxonomy(["north/hill", "north/mill", "south/lake", "south/port", "south/dunes"])
    >>> town.leaves, town.span("south"), town.nodes[:3]
    (('north/hill', 'north/mill', 'south/dunes', 'south/lake', 'south/port'), (2, 5), ('everywhere', 'north', 'south'))
    """

    noun = "taxonomy"
    leaves: tuple[str, ...]

    def __init__(self, leaves: Sequence[str]) -> None:
        good = not isinstance(leaves, str) and all(isinstance(leaf, str) and all(leaf.split("/")) for leaf in leaves)
        if not good or not len(leaves) or len(set(leaves)) < len(leaves):
            allowed = "different paths such as 'US/Illinois/Chicago/Loop', no part of them empty"
            raise ParameterError("leaves", leaves, allowed=allowed, fix="name each place once")
        paths = sorted(tuple(leaf.split("/")) for leaf in leaves)
        object.__setattr__(self, "leaves", tuple("/".join(path) for path in paths))
        inner = {path[:depth] for path in paths for depth in range(1, len(path))}
        both = sorted("/".join(path) for path in inner & set(paths))
        if both or any(path == (EVERYWHERE,) for path in inner | set(paths)):
            name = both[0] if both else EVERYWHERE
            raise ParameterError(
                "leaves", name, allowed="places that hold no other place", fix=f"rename it, for example to {name + '/center'!r}"
            )

    def __repr__(self) -> str:
        return f"Taxonomy({len(self.leaves)} places in {len(self.nodes)} regions)"

    @cached_property
    def _spans(self) -> dict[str, tuple[int, int]]:
        """The range of leaves of each region, larger regions first."""
        found = {EVERYWHERE: (0, len(self.leaves))}
        paths = [leaf.split("/") for leaf in self.leaves]
        for depth in range(1, max(map(len, paths)) + 1):
            for place, path in enumerate(paths):
                if len(path) >= depth:
                    name = "/".join(path[:depth])
                    found[name] = (found.get(name, (place, 0))[0], place + 1)
        return found

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Every region, larger ones first; the leaves among them."""
        return tuple(self._spans)

    def span(self, region: str) -> tuple[int, int]:
        """Return where the leaves of a region start and end; ParameterError if there is no such region."""
        if region not in self._spans:
            raise ParameterError(
                "region", region, allowed=f"one of {len(self.nodes)} regions, for example {self.nodes[-1]!r}", fix="see nodes"
            )
        return self._spans[region]

    def common(self, one: str, other: str) -> str:
        """Return the smallest region that contains the region ``one`` and an ``other``.

        >>> town = Taxonomy(["north/hill/top", "north/mill", "south/lake"])
        >>> town.common("north/hill/top", "north/mill"), town.common("north", "south/lake"), town.common("north", "north/mill")
        ('north', 'everywhere', 'north')
        """
        if EVERYWHERE in (one, other):
            return EVERYWHERE
        shared = []
        for left, right in zip(one.split("/"), other.split("/"), strict=False):  # as far as both go
            if left != right:
                break
            shared.append(left)
        return "/".join(shared) or EVERYWHERE

    def places(self, leaves: Any) -> Array:
        """The position of each person's leaf, from a column of names or of positions."""
        return self._positions("leaves", leaves, self.leaves)

    def regions(self, regions: Any) -> Array:
        """The position among ``nodes`` of each person's region, from a column of names or of positions."""
        return self._positions("regions", regions, self.nodes)

    def _positions(self, name: str, column: Any, labels: tuple[str, ...]) -> Array:
        found = column if isinstance(column, np.ndarray) and column.dtype.kind in "iu" else None
        if found is not None:
            if found.ndim != 1 or (found.size and not 0 <= int(found.min()) <= int(found.max()) < len(labels)):
                raise DomainError(name, found[:5], allowed=f"integers from 0 to {len(labels) - 1}", fix="pass positions in the taxonomy")
            return found.astype(np.int64)
        known = (
            Categories(*labels) if len(labels) > 1 else Categories(*labels, f"{labels[0]}/")
        )  # a domain has two labels, and no path ends in /
        return keys_of(known, column).astype(np.int64)
