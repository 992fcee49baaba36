"""Support counting of hashed reports on a graphics processor: checked against plain integers first, then timed.

    python benchmarks/gpu.py [--reports 10000000] [--candidates 1000000]

Needs CuPy and a CUDA device; for the first table only what needs NumPy alone is used of the package, so that it runs where numba is not
installed. The time is that of the whole call, with the way to the device and back. Where the analysis extra is installed, the second table
has the call that users make, ``gpu.tally``, beside ``spec.tally`` on all cores, once their bytes are equal.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from deniable.contract.hashing import HashFamily
from deniable.engines.cuda import count_supports
from printing import compact, markdown


def made_up(words: int, reports: int, candidates: int, hash_range: int, generator: np.random.Generator):
    """Seeds, symbols and keys without a person behind them: what is counted does not matter for the time."""
    kind = np.uint8 if hash_range <= 256 else np.uint16 if hash_range <= 65_536 else np.uint32
    seeds = generator.integers(0, 2**64, (reports, words), dtype=np.uint64)
    symbols = generator.integers(0, hash_range, reports).astype(kind)
    keys = generator.integers(0, 2**32 if words == 2 else 2**64, candidates, dtype=np.uint64)
    return seeds, symbols, keys


def check(generator: np.random.Generator) -> int:
    """The same integers as the family's own definition, one pair at a time; how many settings were compared."""
    settings = [(2, 3), (2, 4), (2, 7), (2, 300), (2, 70_000), (3, 2), (3, 4), (3, 21), (3, 1000), (3, 2**31)]
    for words, hash_range in settings:
        for reports, candidates in [(1, 1), (257, 9), (700, 60), (0, 3)]:
            seeds, symbols, keys = made_up(words, reports, candidates, hash_range, generator)
            symbols[: reports // 3] = hash_range - 1  # the last symbol's interval ends at 2^64
            if hash_range % 2:
                keys = np.arange(2**32 - candidates, 2**32, dtype=np.uint64)  # in a row: walked, where seeds are short
            else:
                keys[-1:] = 2**32 - 1 if words == 2 else 2**64 - 1
            family = HashFamily(key_bits=32 if words == 2 else 64, range=hash_range)
            pairs = [(tuple(map(int, seed)), int(symbol)) for seed, symbol in zip(seeds, symbols, strict=True)]
            expected = [sum(family.symbol(seed, int(key)) == symbol for seed, symbol in pairs) for key in keys]
            found = count_supports(seeds, symbols, hash_range, keys)
            if found.tolist() != expected:
                raise SystemExit(f"another count than the definition's: {words} words, range {hash_range}, {reports} reports")
    return len(settings)


def seconds(function, repeats: int = 5) -> float:
    best = float("inf")
    for _ in range(repeats + 1):  # the first one compiles
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return best


PUBLIC = (("OLH", 2.0, 200_000, 100_000), ("BLH", 1.0, 100_000, 50_000))
"""So many reports and candidates that a processor counts them in seconds."""


def public(reports: int, candidates: int) -> list[tuple[str, str, str, str]]:
    """Seconds of ``gpu.tally`` and of ``spec.tally``, and last of ``gpu.tally`` alone for as many as in the first table."""
    import deniable as dn
    from deniable.engines import gpu

    rows = []
    everything = dn.Integers(0, 2**32 - 1)
    for name, epsilon, people, words in PUBLIC:
        spec = getattr(dn, name)(domain=everything, epsilon=epsilon)
        told, asked = spec.privatize(np.arange(people) % 1000), np.arange(words)
        if gpu.tally(told, spec, candidates=asked).to_bytes() != spec.tally(told, candidates=asked).to_bytes():
            raise SystemExit(f"another tally than the processor's: {name}")
        device = seconds(lambda: gpu.tally(told, spec, candidates=asked))  # noqa: B023  # called at once
        processor = seconds(lambda: spec.tally(told, candidates=asked), repeats=1)  # noqa: B023
        rows.append(
            (f"{name}, {compact(people)} x {compact(words)}", f"{device:.3f} s", f"{processor:.2f} s", f"{processor / device:.0f}x")
        )
    spec = dn.OLH(domain=everything, epsilon=2.0)
    told = spec.privatize(np.arange(reports) % 1000)
    device = seconds(lambda: gpu.tally(told, spec, candidates=np.arange(candidates)), repeats=2)
    return [*rows, (f"OLH, {compact(reports)} x {compact(candidates)}", f"{device:.2f} s", "-", "-")]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--reports", type=int, default=10_000_000)
    arguments.add_argument("--candidates", type=int, default=1_000_000)
    chosen = arguments.parse_args()
    generator = np.random.default_rng(1)
    print(f"the same integers as the definition in {check(generator)} settings\n")
    rows = []
    for name, words in (("keys in a row", 2), ("other 32-bit keys", 2), ("64-bit keys, and text", 3)):
        seeds, symbols, keys = made_up(words, chosen.reports, chosen.candidates, 4, generator)
        if name == "keys in a row":
            keys = np.arange(chosen.candidates, dtype=np.uint64)
        took = seconds(lambda data=(seeds, symbols, 4, keys): count_supports(*data))
        rows.append((name, f"{took:.2f} s", f"{chosen.reports * chosen.candidates / took:.2e}"))
    print(markdown((f"{compact(chosen.reports)} reports x {compact(chosen.candidates)} candidates", "whole call", "pairs/s"), rows))
    try:
        import numba  # noqa: F401  # part of the analysis extra
    except ModuleNotFoundError:
        print("\nwithout the analysis extra, gpu.tally is not timed")
        return
    cores = len(os.sched_getaffinity(0))
    print()
    print(markdown(("reports x candidates", "gpu.tally", f"spec.tally, {cores} cores", "ratio"), public(chosen.reports, chosen.candidates)))


if __name__ == "__main__":
    main()
