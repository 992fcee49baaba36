"""The cells that many people's values or records fall into at once, and the parities of such cells: of a line and of a table.

A table is looked up once (``KeyedTable``), however many questions it answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from deniable.contract.cells import Cell
from deniable.contract.domain import Domain
from deniable.contract.encoder import Attribute
from deniable.contract.lines import Interval, Parity
from deniable.core.values import keys_of
from deniable.errors import DomainError
from deniable.kernels.compiled import Array


class KeyedTable(Mapping[str, Array]):
    """A table whose values were checked, and replaced by their keys; what is asked about it takes no second look at a label."""

    def __init__(self, values: Any, columns: Mapping[str, Domain]) -> None:
        self.domains = dict(columns)
        self._keys = {name: _keys(name, domain, values) for name, domain in columns.items()}
        sizes = {name: keys.size for name, keys in self._keys.items()}
        if len(set(sizes.values())) > 1:
            raise DomainError("values", sizes, allowed="columns of one length", fix="give one value per person in every column")

    @staticmethod
    def column(name: str, values: Any) -> Any:
        """One column of whatever holds a table; DomainError if it has none of that name."""
        return Attribute(name).column(values)

    def __getitem__(self, name: str) -> Array:
        return self._keys[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def cells(encoder: Cell, values: Any) -> Array:
    """What ``Cell.encode`` gives for each row of a table: a mapping of columns, or an Arrow, Polars or pandas table.

    >>> from deniable.contract.domain import Categories, Integers
    >>> columns = (("place", Categories("bar", "inn", "spa")), ("stars", Integers(1, 4)))
    >>> rows = {"place": ["inn", "bar", "spa"], "stars": [4, 1, 3]}
    >>> cells(Cell(columns), rows).tolist(), cells(Cell(columns, (1, 3)), rows).tolist()
    ([7, 0, 10], [1, 0, 1])
    """
    keys = [_keys(name, domain, values) for name, domain in encoder.columns]
    if encoder.masks is not None:
        odd: Array = np.zeros(keys[0].size, dtype=np.uint8)
        for column, mask in zip(keys, encoder.masks, strict=True):
            odd ^= np.bitwise_count(column & np.uint64(mask)) & np.uint8(1)
        return odd.astype(np.uint64)
    found: Array = np.zeros(keys[0].size, dtype=np.uint64)
    for column, (_, domain) in zip(keys, encoder.columns, strict=True):
        found = found * np.uint64(domain.size) + column
    return found


def _keys(name: str, domain: Domain, values: Any) -> Array:
    if isinstance(values, KeyedTable):
        if values.domains.get(name) != domain:  # its keys are no values of this domain: they would be read as such
            raise DomainError(f"column {name!r}", "keys of another domain", allowed=domain.describe(), fix="pass the table itself")
        return values[name]
    column = Attribute(name).column(values)
    try:
        return keys_of(domain, column).astype(np.uint64)
    except DomainError as error:
        where = f"column {name!r}, {error.parameter}"
        raise DomainError(where, error.received, allowed=error.allowed, fix=error.fix) from error


def intervals(encoder: Interval, values: Any) -> Array:
    """What ``Interval.encode`` gives for each value.

    >>> from deniable.contract.domain import Integers
    >>> intervals(Interval(Integers(1, 12), (0, 3, 9)), [1, 3, 4, 9, 12]).tolist()
    [0, 0, 1, 1, 2]
    """
    keys = keys_of(encoder.domain, values).astype(np.uint64)
    return np.searchsorted(np.array(encoder.starts, dtype=np.uint64), keys, side="right") - 1


def parities(encoder: Parity, values: Any) -> Array:
    """What ``Parity.encode`` gives for each value.

    >>> from deniable.contract.domain import Integers
    >>> parities(Parity(Integers(0, 7), 0b110), list(range(8))).tolist()
    [0, 0, 1, 1, 1, 1, 0, 0]
    """
    keys = keys_of(encoder.domain, values).astype(np.uint64)
    return np.asarray(np.bitwise_count(keys & np.uint64(encoder.mask)) & np.uint8(1))
