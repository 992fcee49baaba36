"""Many people's sets at once: a column in two arrays, and what its owners are asked (``contract.sets``).

Nothing here loops over people: lists are flattened by the interpreter's own iterators, sparse matrices and Arrow columns are taken as
they lie in memory, and everything after that is a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import scipy

from deniable.contract.sets import Candidates, HeldCount, Overflow, PadAndSample, SetCode
from deniable.contract.source import Source
from deniable.contract.subsets import Subsets
from deniable.core.stream import serve_everyone
from deniable.core.values import keys_of
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.kernels.sets import FINE, draw_padded, gather_rows, hold_candidates, sort_rows, sum_codes

_ROWS = frozenset({list, tuple, set, frozenset})


@dataclass(frozen=True, eq=False)
class ItemSets:
    """A column of sets, checked: the items' keys row after row, each row in rising order, and where the rows begin.

    >>> from deniable.contract.domain import Categories
    >>> drinks = Subsets(Categories("tea", "coffee", "water"))
    >>> column = ItemSets.of(drinks, [["water", "tea"], [], {"coffee"}])
    >>> len(column), column.items.tolist(), column.offsets.tolist(), column.counts.tolist()
    (3, [0, 2, 1], [0, 2, 2, 3], [1, 1, 1])
    """

    domain: Subsets
    offsets: Array
    items: Array

    @classmethod
    def of(cls, domain: Subsets, values: Any) -> ItemSets:
        """A column from lists of items, a sparse matrix (people x items), or an Arrow list column; DomainError names the first bad row."""
        if isinstance(values, ItemSets):
            if values.domain != domain:
                raise DomainError("values", values.domain.describe(), allowed=domain.describe(), fix="read the column for this domain")
            return values
        if scipy.sparse.issparse(values) or (isinstance(values, np.ndarray) and values.ndim == 2):
            offsets, keys = _of_matrix(domain, values)
        else:
            offsets, flat = _of_arrow(domain, values) if _is_arrow(values) else _of_rows(domain, values)
            keys = _keys(domain, offsets, flat)
        items = keys.astype(np.int32)
        row = sort_rows(offsets, items)
        if row != FINE:
            held = items[offsets[row] : offsets[row + 1]]
            twice = domain.items.value(int(held[np.flatnonzero(np.diff(held) == 0)[0]]))
            raise DomainError(f"values[{row}]", f"{twice!r} twice", allowed=domain.describe(), fix="name each item once")
        return cls(domain, offsets, items)

    def __len__(self) -> int:
        return int(self.offsets.size - 1)

    def __getitem__(self, positions: Any) -> ItemSets:
        """Some rows, by position."""
        rows = np.arange(len(self))[positions] if isinstance(positions, slice) else np.asarray(positions, dtype=np.int64)
        offsets = np.zeros(rows.size + 1, dtype=np.int64)
        np.cumsum(self.sizes[rows], out=offsets[1:])
        items = np.empty(int(offsets[-1]), dtype=np.int32)
        gather_rows(self.offsets, self.items, rows, offsets, items)
        return ItemSets(self.domain, offsets, items)

    @property
    def sizes(self) -> Array:
        """The number of items that each person holds."""
        return np.diff(self.offsets)

    @property
    def counts(self) -> Array:
        """How many people hold each item."""
        return np.bincount(self.items, minlength=self.domain.items.size)

    def held(self, candidates: Candidates | None) -> tuple[Array, Array]:
        """The positions of the candidates that each person holds, row after row, and where the rows begin; without any, the items."""
        if candidates is None:
            return self.offsets, self.items
        first = np.searchsorted(np.array([keys[0] for keys in candidates], dtype=np.int64), np.arange(self.domain.items.size + 1))
        rest_offsets = np.zeros(len(candidates) + 1, dtype=np.int64)
        np.cumsum([len(keys) - 1 for keys in candidates], out=rest_offsets[1:])
        rest = np.fromiter(chain.from_iterable(keys[1:] for keys in candidates), dtype=np.int64)
        offsets, held = np.zeros(len(self) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        for _ in range(2):  # how many there are, and which
            seen = np.full(self.domain.items.size, -1, dtype=np.int64)
            hold_candidates(self.offsets, self.items, first, rest_offsets, rest, seen, offsets, held)
            held = np.empty(int(offsets[-1]), dtype=np.int32) if not held.size else held
        return offsets, held

    def supports(self, candidates: Candidates) -> Array:
        """How many people hold each candidate."""
        return np.bincount(self.held(candidates)[1], minlength=len(candidates))


def padded_samples(encoder: PadAndSample, values: Any, source: Source | None) -> Array:
    """What ``PadAndSample.encode`` gives for each person, from the same words."""
    offsets, held = ItemSets.of(encoder.domain, values).held(encoder.candidates)
    return _drawn(offsets, held, encoder.length, encoder.counted, source)


def overflows(encoder: Overflow, values: Any, source: Source | None) -> Array:
    """What ``Overflow.encode`` gives for each person, from the same words: whether a place beyond the list is drawn."""
    offsets, held = ItemSets.of(encoder.domain, values).held(encoder.candidates)
    places = np.arange(held.size, dtype=np.int32) - np.repeat(offsets[:-1], np.diff(offsets)).astype(np.int32)
    return (_drawn(offsets, places, encoder.length, 0, source) >= encoder.length).astype(np.int64)


def _drawn(offsets: Array, held: Array, length: int, counted: int, source: Source | None) -> Array:
    """One entry of each row of what is held, padded to ``length`` with the numbers from ``counted`` on."""
    inputs = np.empty(offsets.size - 1, dtype=np.int64)

    def serve(part: slice, words: Array) -> tuple[int, int]:
        return draw_padded(offsets[part.start : part.stop + 1], held, length, counted, inputs[part], words)

    serve_everyone(inputs.size, serve, source)
    return inputs


def held_counts(encoder: HeldCount, values: Any) -> Array:
    """What ``HeldCount.encode`` gives for each person."""
    return np.diff(ItemSets.of(encoder.domain, values).held(encoder.candidates)[0])


def set_codes(encoder: SetCode, values: Any) -> Array:
    """What ``SetCode.encode`` gives for each person."""
    column = ItemSets.of(encoder.domain, values)
    codes = np.empty(len(column), dtype=np.int64)
    sum_codes(column.offsets, column.items, codes)
    return codes


def codes_of(domain: Subsets, values: Any) -> Any:
    """The bytes that stand for each set (``Subsets.code``), as an Arrow column."""
    column = ItemSets.of(domain, values)
    offsets, content = pa.py_buffer(4 * column.offsets), pa.py_buffer(column.items.astype(">u4"))
    return pa.Array.from_buffers(pa.large_binary(), len(column), [None, offsets, content])


def _of_matrix(domain: Subsets, values: Any) -> tuple[Array, Array]:
    matrix = scipy.sparse.csr_array(values)
    if matrix.shape[1] != domain.items.size:
        allowed = f"{domain.items.size} columns, one for each item"
        raise DomainError("values", f"a matrix of shape {matrix.shape}", allowed=allowed, fix="pass one row for each person")
    wrong = np.flatnonzero((matrix.data != 0) & (matrix.data != 1))
    if wrong.size:
        row = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
        raise DomainError(f"values[{row}]", matrix.data[wrong[0]].item(), allowed="0 or 1 for each item", fix="write matrix != 0")
    if not matrix.data.all():  # a zero that is written out says the same as one that is not
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix.indptr.astype(np.int64), matrix.indices


def _is_arrow(values: Any) -> bool:
    return isinstance(values, pa.Array | pa.ChunkedArray) or hasattr(values, "to_arrow")  # Polars


def _of_arrow(domain: Subsets, values: Any) -> tuple[Array, Any]:
    column = values.to_arrow() if hasattr(values, "to_arrow") else values
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(test(column.type) for test in lists):
        raise DomainError("values", f"a column of {column.type}", allowed="a column of lists", fix="pass one list of items for each person")
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DomainError(
            f"values[{row}]", None, allowed=domain.describe(), fix="leave out people who did not answer; an empty list is an empty set"
        )
    return _offsets(column.value_lengths().to_numpy()), column.flatten()


def _of_rows(domain: Subsets, values: Any) -> tuple[Array, list[Any]]:
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        allowed = "a list of sets, a sparse matrix or an Arrow list column"
        raise DomainError("values", type(values).__name__, allowed=allowed, fix="pass one set of items for each person")
    if not set(map(type, values)) <= _ROWS:
        row, value = next((row, value) for row, value in enumerate(values) if type(value) not in _ROWS)
        raise DomainError(f"values[{row}]", value, allowed=domain.describe(), fix="put a single item in a list")
    return _offsets(np.fromiter(map(len, values), dtype=np.int64, count=len(values))), list(chain.from_iterable(values))


def _offsets(sizes: Array) -> Array:
    offsets = np.zeros(sizes.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _keys(domain: Subsets, offsets: Array, flat: Any) -> Array:
    """The items' keys; an error names the person, not the place in the flat list."""
    try:
        return keys_of(domain.items, flat)
    except DomainError as error:
        found = re.fullmatch(r"values\[(\d+)\]", error.parameter)
        if not found:
            raise
        row = int(np.searchsorted(offsets, int(found[1]), side="right")) - 1
        raise DomainError(f"values[{row}]", error.received, allowed=domain.describe(), fix=error.fix) from error
