"""Cells of a table: where a record falls among the combinations of some of its columns, and the parities of such cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from deniable.contract.domain import Domain
from deniable.contract.encoder import Attribute, Encoder, bulk_half
from deniable.contract.record import wire
from deniable.contract.records import COLUMNS
from deniable.contract.source import Source
from deniable.errors import ParameterError

MOST_CELLS = 1 << 31


@dataclass(frozen=True)
class Cell(Encoder):
    """The cell that a record falls into: its values' keys as one number, the last column changing fastest. Other columns are not read.

    With ``masks``, one for each column, the input is a parity instead: whether the keys have an odd number of ones under their masks. That
    is a coefficient of the table's Hadamard transform, as 0 for +1 and 1 for -1.

    >>> from deniable.contract.domain import Categories, Integers
    >>> columns = (("place", Categories("bar", "inn", "spa")), ("stars", Integers(1, 4)))
    >>> Cell(columns).encode({"place": "inn", "stars": 4, "name": "Ann"}, source=None)
    7
    >>> Cell(columns, masks=(1, 3)).encode({"place": "inn", "stars": 4}, source=None)  # 01 & 01, 11 & 11: three ones
    1
    """

    columns: tuple[tuple[str, Domain], ...] = field(metadata=wire(form=COLUMNS))
    masks: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        names = [name for name, _ in self.columns]
        if not names or len(set(names)) < len(names) or not all(isinstance(name, str) and name for name in names):
            raise ParameterError("columns", names, allowed="one or more names, each once", fix="name the columns of the table")
        for name, domain in self.columns:
            if not isinstance(domain, Domain) or not domain.listed:
                allowed = "Categories, IndexRange, Integers, or Numbers with few steps"
                raise ParameterError(f"column {name!r}", domain, allowed=allowed, fix="list the labels: text has too many cells")
        cells = prod(domain.size for _, domain in self.columns)
        if cells > MOST_CELLS:
            raise ParameterError("columns", f"{cells:,} cells", allowed=f"at most {MOST_CELLS:,}", fix="ask about fewer columns at once")
        if self.masks is not None:
            limits = [1 << domain.key_bits for _, domain in self.columns]
            right = len(self.masks) == len(limits) and all(
                type(m) is int and 0 < m < end for m, end in zip(self.masks, limits, strict=False)
            )
            if not right:
                allowed = f"one for each column, from 1 to {[end - 1 for end in limits]}"
                raise ParameterError("masks", self.masks, allowed=allowed, fix="leave a column out that the parity does not depend on")

    @property
    def inputs(self) -> int:
        return 2 if self.masks is not None else prod(domain.size for _, domain in self.columns)

    def reads(self, domain: Domain) -> bool:
        return all(domain.holds(*column) for column in self.columns)

    def encode(self, value: Any, source: Source) -> int:
        keys = [domain.key(Attribute(name).encode(value, source)) for name, domain in self.columns]
        if self.masks is not None:
            return sum((key & mask).bit_count() for key, mask in zip(keys, self.masks, strict=True)) & 1
        cell = 0
        for key, (_, domain) in zip(keys, self.columns, strict=True):
            cell = cell * domain.size + key
        return cell

    def column(self, values: Any) -> Any:
        return bulk_half("cells", "Cell.column").cells(self, values)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return values  # ``column`` has encoded everybody's record: a table is read column by column
