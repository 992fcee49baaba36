"""Fragments of many people's values at once (``contract.fragment``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.contract.codes import code_bits
from deniable.contract.domain import Bytes
from deniable.contract.fragment import Fragment
from deniable.core.values import distinct_strings, keys_of
from deniable.kernels.compiled import Array
from deniable.kernels.sketches import cell


def fragments(encoder: Fragment, values: Any) -> Array:
    """What ``Fragment.encode`` gives for each value. Strings are looked at once for each different one.

    >>> from deniable.contract.domain import Integers, Text
    >>> fragments(Fragment(Integers(0, 255), 4, 4), [0x7B, 0x05]).tolist()
    [11, 5]
    >>> [f"{piece:x}" for piece in fragments(Fragment(Text(6), 8, 8, hash_bits=8), ["tea", "", "tea"]).tolist()]
    ['7165', 'caff', '7165']
    """
    domain = encoder.domain
    if isinstance(domain, Bytes):
        distinct, indices = distinct_strings(domain, values)
        found = np.array([encoder.encode(value, None) for value in distinct], dtype=np.uint64)  # type: ignore[arg-type]  # draws nothing
        return found[indices] if indices.size else found
    keys = keys_of(domain, values).astype(np.uint64)  # the code is the key
    after = code_bits(domain) - encoder.start - encoder.length
    cut = keys >> np.uint64(after) & np.uint64((1 << encoder.length) - 1)
    return cut | symbols(encoder, keys) << np.uint64(encoder.length) if encoder.hash_bits else cut


def symbols(encoder: Fragment, keys: Array) -> Array:
    """The public hash of each key: ``HashFamily.symbol`` for a shared function."""
    long = encoder.family.key_bits > encoder.family.half
    seeds = np.array([encoder.seed], dtype=np.uint64)
    on_columns = getattr(cell, "py_func", cell)  # what the kernels do, on a whole column
    found: Array = on_columns(seeds, 0, keys, long, np.uint64(encoder.family.range))
    return found
