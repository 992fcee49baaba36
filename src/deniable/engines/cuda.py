"""Launching the kernels of ``supports.cu`` on a graphics processor. Needs CuPy and NumPy only.

Reports go through shared memory in tiles, and each thread keeps twelve keys in registers: what was read once is used so many times.
Hashing is in integers, and counts are integers or floats that are too small to be rounded: the same as on any other processor, whatever
the order.
"""

from __future__ import annotations

import threading
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from deniable.errors import MissingExtra, ParameterError

THREADS, KEYS, TILE = 256, 12, 256
"""Threads of a block, keys of a thread, reports in shared memory at a time."""
REPORTS = 1 << 24
"""Reports on the device at a time; no more than a float counts exactly."""
_ONE_AT_A_TIME = threading.Lock()


def count_supports(seeds: Any, symbols: Any, hash_range: int, keys: Any) -> Any:
    """How many reports support each key: a NumPy array of int64. The device's memory holds the keys and some of the reports at a time."""
    cupy = device()
    keys = np.ascontiguousarray(keys, dtype=np.uint64)
    walk = seeds.shape[1] == 2 and bool(np.all(keys[1:] - keys[:-1] == 1))  # one after the other: an addition each
    with _ONE_AT_A_TIME:
        supports = cupy.zeros(keys.size, dtype=cupy.uint64)
        asked = keys[0] if walk else cupy.asarray(keys)
        for start in range(0, len(symbols), REPORTS):
            part = slice(start, start + REPORTS)
            _count(cupy.asarray(seeds[part]), cupy.asarray(symbols[part]).astype(cupy.uint32), hash_range, asked, supports)
        return supports.get().astype(np.int64)


def _count(seeds: Any, symbols: Any, hash_range: int, asked: Any, supports: Any) -> None:
    """Add the supports of some reports; ``asked`` is the keys on the device, or the first of keys in a row."""
    cupy = device()
    n, words = seeds.shape
    ready, widths = cupy.empty((n, words), dtype=cupy.uint64), cupy.empty(n, dtype=cupy.uint32)
    module = _compiled(cupy)
    arguments = (seeds, np.int32(words), symbols, np.uint64(hash_range), np.int64(n), ready, widths)
    module.get_function("prepare")((-(-n // THREADS),), (THREADS,), arguments)
    across = -(-supports.size // (THREADS * KEYS))
    # Blocks enough for every multiprocessor to be busy to the end, and each with as many tiles as that leaves.
    wanted = 16 * cupy.cuda.Device().attributes["MultiProcessorCount"]
    share = TILE * max(1, -(-n // (TILE * min(-(-wanted // across), 65_535))))
    name = "count_long" if words == 3 else "count_range" if isinstance(asked, np.uint64) else "count_short"
    counted = (ready, widths, np.int64(n), np.int64(share), asked, np.int64(supports.size), supports)
    module.get_function(name)((across, -(-n // share)), (THREADS,), counted)


def device() -> Any:
    """CuPy, on a machine where it finds a device."""
    try:
        import cupy
    except ImportError as error:
        raise MissingExtra("deniable.engines.gpu", "gpu", error.name) from error
    try:
        found = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise _no_device(str(error)) from error
    if not found:
        raise _no_device("none")
    return cupy


def _no_device(received: str) -> ParameterError:
    fix = "count on the CPU with spec.tally(reports, candidates=...), which gives the same integers"
    return ParameterError("device", received, allowed="a machine with a CUDA device and its driver", fix=fix)


@cache
def _compiled(cupy: Any) -> Any:
    options = ("--std=c++17", f"-DTHREADS={THREADS}", f"-DKEYS={KEYS}", f"-DTILE={TILE}")
    return cupy.RawModule(code=(files("deniable.engines") / "supports.cu").read_text(), options=options)
