"""Counting hashed reports on a GPU: the one job that needs it (extra ``gpu``).

A report of OLH, BLH or LOLOHA has to be hashed once for each candidate: 10^7 reports and 10^6 candidates are 10^13 pairs, twenty minutes on
two cores. All other mechanisms are counted faster than a device can be fed. ``cuda`` has the kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.contract.spec import Spec
from deniable.core.reports import Reports
from deniable.core.tally import Candidates, Tally
from deniable.engines.cuda import count_supports, device
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.frequency.named_sets import BulkOLH


def tally(reports: Reports, spec: Spec, *, candidates: Any = None) -> Tally:
    """Return the tally of hashed reports, byte for byte the same as from ``spec.tally``, with the same ``candidates``."""
    half = type(spec._bulk)
    if not issubclass(half, BulkOLH):
        allowed = "a mechanism whose reports are hashed for each candidate: OLH, BLH, LOLOHA"
        raise ParameterError("spec", spec, allowed=allowed, fix="use spec.tally(reports), which is faster for this mechanism")
    device()  # before anything else is done
    counted: Tally = type(half.__name__, (_OnDevice, half), {})(spec).tally(reports, candidates)
    return counted


class _OnDevice(BulkOLH):
    """The vectorized half of a hashed mechanism, but for where it counts."""

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        keys = np.arange(self.spec.domain_size, dtype=np.uint64) if candidates is None else candidates.keys
        return np.asarray(count_supports(reports.columns["seed"][part], reports.columns["symbol"][part], self.spec.hash_range, keys))
