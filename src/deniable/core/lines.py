"""Intervals and parities of many people's values at once (``contract.lines``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.contract.lines import Interval, Parity
from deniable.core.values import keys_of
from deniable.kernels.compiled import Array


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
