"""Feeding chunks keeps memory flat: the peak of a fresh process that adds up ever more people.

As a script, ``memory.py PEOPLE`` feeds that many and prints one JSON line.
"""

import json
import resource
import sys
from pathlib import Path

from printing import markdown

CHUNK = 262_144
CROWDS = (1_000_000, 2_000_000, 4_000_000)


def measure():
    """One entry for each crowd, each in a process of its own."""
    from timing import json_line, say

    entries = []
    for n in CROWDS:
        say(f"peak memory, OUE, {n:,} people ...")
        entries.append(json_line([sys.executable, __file__, n]))
    return entries


def table(entries):
    """Peaks in megabytes."""
    rows = [[f"{e['people']:,}", f"{e['before_mb']:.0f} MB", f"{e['peak_mb']:.0f} MB"] for e in entries]
    return markdown(["people, OUE, chunks of 262,144", "before", "peak"], rows)


def peak():
    """The largest resident size of this process so far, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says on Linux includes the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def feed(n):
    """Add up the tallies of n people's reports, chunk by chunk."""
    from oracles import oracle_of
    from population import chunks

    oracle = oracle_of("OUE")
    tally = oracle.tally(oracle.privatize([0]))  # loads the kernels
    before = peak()
    for chunk in chunks(n, CHUNK):
        tally += oracle.tally(oracle.privatize(chunk))
    return {"people": n, "before_mb": before, "peak_mb": peak(), "counted": tally.n - 1}


if __name__ == "__main__":
    print(json.dumps(feed(int(sys.argv[1]))))
