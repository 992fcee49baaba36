"""Privacy amplification: the epsilon of n randomized reports once a shuffler has hidden who sent which.

>>> import deniable as dn
>>> round(dn.shuffle.amplify(epsilon0=1.0, delta=1e-6, n=10_000).epsilon, 4)
0.053
>>> round(dn.shuffle.ShuffledBinarySum(epsilon=1.0, delta=1e-6, n=10_000).variance() ** 0.5, 1)   # people, whatever they hold
6.5
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from deniable.shuffle.amplification import amplify as amplify
from deniable.shuffle.amplification import local_epsilon_for as local_epsilon_for
from deniable.shuffle.amplification import people_for as people_for
from deniable.shuffle.event import Shuffled as Shuffled
from deniable.shuffle.event import ShuffledGRR as ShuffledGRR

if TYPE_CHECKING:  # at run time a protocol is loaded when it is asked for: accounting needs none of the compiled kernels
    from deniable.shuffle.binary_sum import ShuffledBinarySum as ShuffledBinarySum
    from deniable.shuffle.histogram import ShuffledHistogram as ShuffledHistogram
    from deniable.shuffle.poisson_histogram import PoissonHistogram as PoissonHistogram
    from deniable.shuffle.real_sum import ShuffledRealSum as ShuffledRealSum
    from deniable.shuffle.split_and_mix import SplitAndMixSum as SplitAndMixSum

_PROTOCOLS = {
    "PoissonHistogram": "poisson_histogram",
    "ShuffledBinarySum": "binary_sum",
    "ShuffledHistogram": "histogram",
    "ShuffledRealSum": "real_sum",
    "SplitAndMixSum": "split_and_mix",
}


def __getattr__(name: str) -> Any:
    if name not in _PROTOCOLS:
        raise AttributeError(f"module 'deniable.shuffle' has no attribute {name!r}")
    return getattr(importlib.import_module(f"deniable.shuffle.{_PROTOCOLS[name]}"), name)


def __dir__() -> list[str]:
    own = (name for name, value in globals().items() if name[0] != "_" and str(getattr(value, "__module__", "")).startswith(__name__))
    return sorted([*own, *_PROTOCOLS])
