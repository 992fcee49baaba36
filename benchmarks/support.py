"""OLH's support counting against the same loop in C, one thread each, on the same reports."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np

from deniable.kernels.hashing import support_of_range
from environments import BUILD
from oracles import oracle_of
from population import DOMAIN_SIZE, people
from printing import compact, markdown
from timing import best, say

REPORTS = 1 << 16
REPEATS = 7
TARGET = 1.5
COMPILER = ("cc", "-O3", "-march=native", "-shared", "-fPIC")


def compiled():
    """The function of ``support.c``."""
    source, library = Path(__file__).with_name("support.c"), BUILD / "support.so"
    BUILD.mkdir(exist_ok=True)
    done = subprocess.run([*COMPILER, source, "-o", library], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(COMPILER)} fails: {done.stderr.strip().splitlines()[-1]}")
    function = ctypes.CDLL(str(library)).support_of_range
    words, size, word = np.ctypeslib.ndpointer(np.uint64, flags="C"), ctypes.c_size_t, ctypes.c_uint64
    symbols, counters = np.ctypeslib.ndpointer(np.uint8, flags="C"), np.ctypeslib.ndpointer(np.uint32, flags="C")
    function.argtypes, function.restype = [words, symbols, size, word, word, counters, size], None
    return function


def measure():
    """Pairs of report and candidate per second, and how many times as long the kernel takes as the C loop."""
    say("OLH support counting against C ...")
    oracle = oracle_of("OLH")
    reports = oracle.privatize(people(REPORTS))
    seeds, symbols, count = reports.columns["seed"], reports.columns["symbol"], oracle.hash_range
    ours, theirs = np.zeros(DOMAIN_SIZE, np.uint32), np.zeros(DOMAIN_SIZE, np.uint32)

    def kernel():
        support_of_range(seeds, symbols, np.uint64(count), np.uint64(0), ours)

    pairs = REPORTS * DOMAIN_SIZE
    try:
        function = compiled()
    except (RuntimeError, OSError) as error:
        kernel()  # compiles or loads it
        return {"kernel_pairs_per_second": pairs / best(REPEATS, kernel), "error": str(error)}

    def in_c():
        function(seeds, symbols, REPORTS, count, 0, theirs, DOMAIN_SIZE)

    kernel()
    in_c()
    if not np.array_equal(ours, theirs):
        raise AssertionError("the kernel and the C loop count differently")
    kernel_seconds, c_seconds = best(REPEATS, kernel), best(REPEATS, in_c)
    return {
        "kernel_pairs_per_second": pairs / kernel_seconds,
        "c_pairs_per_second": pairs / c_seconds,
        "ratio": kernel_seconds / c_seconds,
        "target": TARGET,
    }


def table(result):
    """Both rates and the ratio of times."""
    rows = [["kernel", compact(result["kernel_pairs_per_second"]), "", ""]]
    if "error" in result:
        rows.append(["C", result["error"], "", ""])
    else:
        rows[0][2:] = [f"{result['ratio']:.2f}x", f"at most {TARGET}x"]
        rows.append(["C", compact(result["c_pairs_per_second"]), "1.00x", ""])
    return markdown(["one thread", "pairs/s", "time", "target"], rows)
