"""Fan-in: the tallies of many collectors, as bytes, become one.

Simulated are 10, 100 and 1,000 collectors of one task with 1,000 reports each. Each sends its tally's image; timed is what the machine in
the middle does (``engines.partition.merge``): read every image, check it, add it up. CPU time, the best of some runs after a warm-up. The
sum must be that of all counters added by NumPy. Sixteen images differ; the rest are these again, since a thousand large ones would not fit.
"""

import resource
from functools import partial
from itertools import cycle, islice

import numpy as np

import deniable as dn
from deniable.engines.partition import merge
from population import people
from printing import compact, markdown
from timing import cpu, say

COLLECTORS = (10, 100, 1_000)
REPORTS = 1_000
DIFFERENT = 16
REPEATS = 3
SPECS = (
    dn.GRR(domain_size=1024, epsilon=1.0),
    dn.OUE(domain_size=1024, epsilon=1.0),
    dn.HCMS(domain_size=1 << 20, epsilon=4.0, hashes=1024, width=1024),
)


def merge_so_many(collectors, images):
    """One tally of so many, which come round and round."""
    return merge(islice(cycle(images), collectors))


def measure():
    """One entry for each mechanism and number of collectors."""
    entries = []
    for spec in SPECS:
        tallies = [spec.tally(spec.privatize(values)) for values in people(DIFFERENT * REPORTS).reshape(DIFFERENT, -1)]
        images = [tally.to_bytes() for tally in tallies]
        merge_so_many(DIFFERENT, images)
        for collectors in COLLECTORS:
            say(f"fan-in, {spec.mechanism}, {collectors:,} collectors ...")
            seconds = cpu(REPEATS, partial(merge_so_many, collectors, images))
            found = merge_so_many(collectors, images)
            assert found.n == collectors * REPORTS
            assert np.array_equal(found.counters, sum(islice(cycle([tally.counters for tally in tallies]), collectors)))
            entries.append({"spec": spec, "collectors": collectors, "bytes": len(images[0]), "seconds": seconds})
    return entries


def table(entries):
    """Bytes in all, CPU seconds in all, and for one tally."""
    rows = [
        [
            f"{entry['spec'].mechanism}, {entry['collectors']:,} collectors",
            f"{entry['bytes']:,}",
            f"{compact(entry['collectors'] * entry['bytes'])}B",
            f"{entry['seconds']:.3f} s",
            f"{entry['seconds'] / entry['collectors'] * 1e3:.2f} ms",
        ]
        for entry in entries
    ]
    return markdown(["fan-in", "bytes a tally", "in all", "CPU", "CPU a tally"], rows)


if __name__ == "__main__":
    print(table(measure()))
    print(f"\nlargest resident size: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
