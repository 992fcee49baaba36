"""Parts of the codes of many people's values at once (``contract.codes``): prefixes, segments and fragments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.contract.codes import code_bits
from deniable.contract.domain import Bytes
from deniable.contract.encoder import Prefix
from deniable.contract.fragment import Fragment
from deniable.contract.segments import Segments
from deniable.core.values import distinct_strings, keys_of
from deniable.kernels.compiled import Array
from deniable.kernels.sketches import cell


def prefixes(encoder: Prefix, values: Any) -> Any:
    """What ``Prefix.encode`` gives for each value. Strings are looked at once for each different one.

    >>> from deniable.contract.domain import Integers, Text
    >>> prefixes(Prefix(Integers(0, 255), 4), [0x7B, 0x05]).tolist(), prefixes(Prefix(Text(4), 8, (0x61, 0x74)), ["tea", "", "to"]).tolist()
    ([7, 0], [1, 2, 1])
    """
    domain = encoder.domain
    if isinstance(domain, Bytes):
        distinct, indices = distinct_strings(domain, values)
        found = [encoder.encode(value, None) for value in distinct]  # type: ignore[arg-type]  # a prefix draws nothing
        if encoder.candidates is None and encoder.length > 64:
            return [found[i] for i in indices]
        return np.array(found, dtype=np.uint64)[indices] if found else np.zeros(0, dtype=np.uint64)
    codes = keys_of(domain, values).astype(np.uint64) >> np.uint64(code_bits(domain) - encoder.length)
    return places_among(encoder.candidates, codes)


def places_among(candidates: Sequence[int] | None, codes: Array) -> Array:
    """Where each code stands among the candidates, which are sorted, or behind them; the codes themselves if there are none."""
    if candidates is None:
        return codes
    listed: Array = np.array(candidates, dtype=np.uint64)
    places = np.searchsorted(listed, codes)
    inside = places < listed.size
    inside[inside] = listed[places[inside]] == codes[inside]
    return np.where(inside, places, listed.size)


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
