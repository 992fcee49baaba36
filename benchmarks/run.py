"""Prints the benchmark's tables: ``make bench``, or ``python benchmarks/run.py --help``."""

import argparse
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

import again
import amplify
import distributions
import graphs
import means
import memory
import noise
import oracles
import places
import raw
import sealing
import search
import sets
import startup
import sums
import support
from deniable.core.stream import cores
from population import DOMAIN_SIZE, EPSILON
from timing import say

BUSY = 0.3
"""A load per core above which someone else's work shows in the figures."""


def machine():
    """Where the figures come from."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return {
        "processor": _processor(),
        "cores": cores(),
        "load_before": load,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("deniable", "numpy", "numba", "cryptography")},
    }


def _processor():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def main():
    parser = argparse.ArgumentParser(description="deniable side by side with other libraries and with plain C")
    parser.add_argument("--quick", action="store_true", help="leave the other libraries out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all results to FILE")
    options = parser.parse_args()

    results = {"machine": machine()}
    here = results["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in here["packages"].items())
    print(f"{here['processor']}, {here['cores']} cores, Python {here['python']}, {packages}", flush=True)
    if here["load_before"] > BUSY * here["cores"]:
        say(f"the machine is busy with something else (load {here['load_before']:.1f}): expect low figures")

    sections = {
        "oracles": (
            f"From values to estimates, d = {DOMAIN_SIZE}, epsilon = {EPSILON:g}",
            lambda: oracles.measure(not options.quick),
            oracles.table,
        ),
        "search": ("Finding strings of 48 bits, epsilon = 3", lambda: search.measure(not options.quick), search.table),
        "sets": ("Frequent items of people who hold sets, epsilon = 1", sets.measure, sets.table),
        "places": ("A map of a million people, 256 x 256 cells", places.measure, places.table),
        "graphs": ("Counts of a graph of 5,000 people", graphs.measure, graphs.table),
        "again": ("Answers given again and again, against plain NumPy, d = 128", again.measure, again.table),
        "means": ("Means against plain NumPy, epsilon = 1", means.measure, means.table),
        "distributions": ("Distributions and vectors against plain NumPy", distributions.measure, distributions.table),
        "amplify": ("What a shuffle is worth", amplify.measure, amplify.table),
        "noise": ("Exact integer noise of a curator", lambda: noise.measure(not options.quick), noise.table),
        "sealing": ("Sealed reports, against bare HPKE", sealing.measure, sealing.table),
        "sums": ("Secure sums", lambda: sums.measure(not options.quick), sums.table),
        "support": (f"OLH support counting, d = {DOMAIN_SIZE}", support.measure, support.table),
        "memory": ("Feeding chunks", memory.measure, memory.table),
        "startup": ("Before the first answer", startup.measure, startup.table),
        "raw": ("The parts", raw.measure, raw.table),
    }
    for name, (title, measure, table) in sections.items():
        results[name] = measure()
        print(f"\n## {title}\n\n{table(results[name])}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
        say(f"wrote {options.json}")


if __name__ == "__main__":
    main()
