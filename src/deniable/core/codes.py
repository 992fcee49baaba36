"""Prefixes of many people's values at once (``contract.codes``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.contract.codes import code_bits
from deniable.contract.domain import Bytes
from deniable.contract.encoder import Prefix
from deniable.core.values import distinct_strings, keys_of
from deniable.kernels.compiled import Array


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
