"""Segments of many people's values at once (``contract.segments``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.contract.codes import code_bits
from deniable.contract.domain import Bytes
from deniable.contract.segments import Segments
from deniable.core.codes import places_among
from deniable.core.values import distinct_strings, keys_of
from deniable.kernels.compiled import Array


def segments(encoder: Segments, values: Any) -> Array:
    """What ``Segments.encode`` gives for each value. Strings are looked at once for each different one.

    >>> from deniable.contract.domain import Integers, Text
    >>> segments(Segments(Integers(0, 255), ((0, 2), (6, 2))), [0x7B, 0xC5]).tolist()
    [7, 13]
    >>> segments(Segments(Text(4), ((8, 8),), (0x65, 0x6F)), ["tea", "", "to"]).tolist()
    [0, 2, 1]
    """
    domain = encoder.domain
    if isinstance(domain, Bytes):
        distinct, indices = distinct_strings(domain, values)
        found = np.array([encoder.encode(value, None) for value in distinct], dtype=np.uint64)  # type: ignore[arg-type]  # draws nothing
        return found[indices] if indices.size else found
    codes = keys_of(domain, values).astype(np.uint64)  # the code is the key
    joined: Array = np.zeros(codes.size, dtype=np.uint64)
    for start, length in encoder.parts:
        cut = codes >> np.uint64(code_bits(domain) - start - length) & np.uint64((1 << length) - 1)
        joined = joined << np.uint64(length) | cut if length < 64 else cut  # a shift by a whole word is not defined
    return places_among(encoder.candidates, joined)
