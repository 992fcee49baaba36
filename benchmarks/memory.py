"""Memory: chunks keep it flat, and a crowd served at once needs its packed reports and one chunk.

As a script, ``memory.py feed PEOPLE`` or ``memory.py whole MECHANISM`` prints one JSON line.
"""

import json
import resource
import sys
from pathlib import Path

from printing import markdown

CHUNK = 262_144
CROWDS = (1_000_000, 2_000_000, 4_000_000)
PEOPLE = 1_000_000
MECHANISMS = ("GRR", "OUE", "THE", "SubsetSelection", "HadamardResponse", "PGR", "RWS", "CMS", "HCMS", "FLH", "BloomRR", "OLH")


def measure():
    """One entry for each crowd and for each mechanism, each in a process of its own."""
    from timing import json_line, say

    entries = {"fed": [], "whole": []}
    for n in CROWDS:
        say(f"peak memory, OUE, {n:,} people in chunks ...")
        entries["fed"].append(json_line([sys.executable, __file__, "feed", n]))
    for name in MECHANISMS:
        say(f"peak memory, {name}, {PEOPLE:,} people at once ...")
        entries["whole"].append(json_line([sys.executable, __file__, "whole", name]))
    return entries


def table(entries):
    """Peaks in megabytes."""
    fed = [[f"{e['people']:,}", f"{e['before_mb']:.0f} MB", f"{e['peak_mb']:.0f} MB"] for e in entries["fed"]]
    whole = [[e["mechanism"], f"{e['reports_mb']:.0f} MB", f"{e['above_mb']:.0f} MB"] for e in entries["whole"]]
    first = markdown(["people, OUE, chunks of 262,144", "before", "peak"], fed)
    return first + "\n\n" + markdown([f"{PEOPLE:,} people at once", "packed reports", "peak above the start"], whole)


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


def whole(name):
    """Privatize and tally everyone at once; the values are there before, and every kernel has run."""
    from oracles import oracle_of
    from population import values_for

    oracle, values = oracle_of(name), values_for(name, PEOPLE)
    oracle.tally(oracle.privatize(values[:1000]))
    before = peak()
    reports = oracle.privatize(values)
    oracle.tally(reports)
    return {"mechanism": name, "reports_mb": reports.nbytes / 2**20, "above_mb": peak() - before}


if __name__ == "__main__":
    print(json.dumps(feed(int(sys.argv[2])) if sys.argv[1] == "feed" else whole(sys.argv[2])))
