"""From a column of people's values to the keys that mechanisms work on, checked as a whole before anything is drawn."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.contract.domain import Bytes, Categories, Domain, IndexRange, Integers, Text
from deniable.contract.hashing import string_key
from deniable.contract.numbers import Numbers
from deniable.contract.subsets import Subsets
from deniable.core.number_column import nearest_points
from deniable.errors import DomainError
from deniable.kernels.compiled import Array


def keys_of(domain: Domain, values: Any) -> Array:
    """The keys of many values, or a DomainError that names the first bad value and its position.

    >>> keys_of(Categories("red", "green"), ["green", "red", "green"])
    array([1, 0, 1], dtype=int32)
    >>> keys_of(Integers(-1, 8), np.array([-1, 8]))
    array([0, 9], dtype=uint64)
    """
    if isinstance(values, str | bytes | Mapping):
        raise DomainError("values", type(values).__name__, allowed="a column with one value per person", fix="pass a list or an array")
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise domain.refuse(None, int(np.ma.getmaskarray(values).argmax()))
    if isinstance(domain, Categories):
        return _indices_of_labels(domain, values)
    if isinstance(domain, Subsets):
        return _keys_of_sets(domain, values)
    if isinstance(domain, Bytes):
        return _keys_of_strings(domain, values)
    if isinstance(domain, Numbers):
        return nearest_points(domain, values)
    return _keys_of_integers(domain, values)


def _keys_of_integers(domain: Domain, values: Any) -> Array:
    try:
        column = np.asarray(values)
    except (ValueError, TypeError):  # lists of lists, scalars of other libraries
        return _keys_one_by_one(domain, values)
    if column.ndim != 1:
        raise DomainError("values", f"an array of shape {column.shape}", allowed="one value per person", fix="pass one column")
    if column.size == 0:
        return np.zeros(0, dtype=np.uint64)
    allowed = "biu" if isinstance(domain, IndexRange) and domain.size == 2 else "iu"
    mixed = isinstance(values, list | tuple) and "b" not in allowed and any(isinstance(value, bool | np.bool_) for value in values)
    if (column.dtype.kind not in allowed or mixed) and isinstance(values, list | tuple):
        return _keys_one_by_one(domain, values)  # a list may mix what no array type holds: -1 and 2^63
    if column.dtype.kind not in allowed:
        raise DomainError(
            "values", f"dtype {column.dtype}", allowed=domain.describe(), fix="convert to integers first, or pass domain= for labels"
        )
    low, high = (domain.low, domain.high) if isinstance(domain, Integers) else (0, domain.size - 1)
    if int(column.min()) < low or int(column.max()) > high:
        position = int(np.argmax(_outside(column, low, high)))
        raise domain.refuse(column[position].item(), position)
    if column.dtype.kind == "b":
        return column.astype(np.uint8)
    column = np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("="))  # one kernel for every layout and byte order
    # A difference of 64-bit integers is right modulo 2^64, whatever the sign of low.
    return column if low == 0 else column.astype(np.uint64) - np.uint64(low % 2**64)


def _keys_one_by_one(domain: Domain, values: Any) -> Array:
    keys = []
    for position, value in enumerate(values):
        if not _allowed(domain, value):
            raise domain.refuse(value, position)
        keys.append(domain.key(value))
    return np.array(keys, dtype=np.uint64)


def _outside(column: Array, low: int, high: int) -> Array:
    limits = np.iinfo(column.dtype)
    outside: Array = np.zeros(column.size, dtype=bool)
    if low > limits.min:
        outside |= column < low
    if high < limits.max:
        outside |= column > high
    return outside


def _indices_of_labels(domain: Categories, values: Any) -> Array:
    column = _strings(domain, values, pa.string())
    indices = pc.index_in(column, value_set=pa.array(domain.labels, pa.string()))
    if indices.null_count:
        position = pc.index(pc.is_null(indices), True).as_py()
        raise domain.refuse(column[position].as_py(), position)
    result: Array = indices.to_numpy()
    return result


def _keys_of_strings(domain: Bytes, values: Any) -> Array:
    distinct, indices = distinct_strings(domain, values)
    keys = np.array([domain.key(value) for value in distinct], dtype=np.uint64)  # one hash per distinct string, not per person
    return keys[indices] if indices.size else keys


def _keys_of_sets(domain: Subsets, values: Any) -> Array:
    """One hash for each different set, of the bytes that stand for it."""
    encoded = importlib.import_module("deniable.core.sets").codes_of(domain, values).dictionary_encode()  # it builds on this file
    keys = np.array([string_key(code) for code in encoded.dictionary.to_pylist()], dtype=np.uint64)
    return keys[encoded.indices.to_numpy()] if len(encoded) else keys


def distinct_strings(domain: Bytes, values: Any) -> tuple[list[Any], Array]:
    """The different strings of a column, all of them allowed, and for each person which one it is."""
    column = _strings(domain, values, pa.string() if isinstance(domain, Text) else pa.binary())
    encoded = column.dictionary_encode()
    try:
        distinct = encoded.dictionary.to_pylist()
        indices: Array = encoded.indices.to_numpy(zero_copy_only=True)
        right = all(_allowed(domain, value) for value in distinct)
    except pa.ArrowInvalid:  # a null
        right = False
    if not right:
        position, value = next((i, v.as_py()) for i, v in enumerate(column) if not _allowed(domain, v.as_py()))
        raise domain.refuse(value, position)
    return distinct, indices


def _strings(domain: Domain, values: Any, kind: Any) -> Any:
    """One Arrow array of strings, or bytes, and nothing that merely could be turned into them."""
    if hasattr(values, "to_arrow"):  # polars
        values = values.to_arrow()
    try:
        if not isinstance(values, pa.ChunkedArray | pa.Array):
            if getattr(values, "ndim", 1) != 1:
                raise DomainError("values", f"an array of shape {values.shape}", allowed="one value per person", fix="pass one column")
            values = values.tolist() if isinstance(values, np.ndarray) else list(values)
            if not all(issubclass(each, str if kind == pa.string() else bytes) for each in set(map(type, values))):
                raise TypeError  # Arrow would make text among bytes bytes, and bytes of a bytearray
            values = pa.array(values)
        column = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        found = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        right = (
            (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
            if kind == pa.string()
            else (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
        )
        if len(column) == 0 or any(test(found) for test in right):
            return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, UnicodeEncodeError):
        pass  # reported below: the first value that is not allowed
    items = (
        values.to_pylist() if isinstance(values, pa.ChunkedArray | pa.Array) else list(values) if hasattr(values, "__iter__") else [values]
    )
    position, value = next(((i, v) for i, v in enumerate(items) if not _allowed(domain, v)), (0, f"a column of {type(values).__name__}"))
    raise domain.refuse(value, position)


def _allowed(domain: Domain, value: object) -> bool:
    try:
        domain.key(value)
    except DomainError:
        return False
    return True
