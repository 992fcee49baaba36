"""Frequent items of people who hold sets: one million people, 1,000 items, five each.

Timed: from an Arrow list column to the k = 32 items with their errors, checks and all rounds included, with the default secure source on
all cores. "A bare loop over people" does the first round of SVIM alone, on a hundredth of them, as a script would: a random item of each
set, and randomized response of it, with NumPy's insecure generator.
"""

import numpy as np
import pyarrow as pa

import deniable as dn
from deniable.contract.subsets import Subsets
from deniable.core.sets import ItemSets
from deniable.tasks.itemsets import PSFO, SVIM, SVSM, LDPMiner
from printing import compact, markdown
from timing import best, say, seconds

PEOPLE, ITEMS, EACH, K, EPSILON = 1_000_000, 1000, 5, 32, 1.0
REPEATS = 3
DOMAIN = Subsets(dn.IndexRange(ITEMS))
SEARCHES = {
    "SVIM": SVIM(domain=DOMAIN, k=K, epsilon=EPSILON),
    "SVSM": SVSM(domain=DOMAIN, k=K, epsilon=EPSILON),
    "LDPMiner": LDPMiner(domain=DOMAIN, k=K, epsilon=EPSILON, length=EACH),
    "PSFO": PSFO(domain=DOMAIN, length=EACH, epsilon=EPSILON),
}


def crowd():
    """Five different items each, by Zipf's law: the five smallest of exponential clocks that run as fast as an item is popular."""
    generator, keys = np.random.default_rng(1), np.empty((PEOPLE, EACH), dtype=np.int32)
    popular = np.arange(1.0, ITEMS + 1)
    for start in range(0, PEOPLE, 20_000):
        clocks = generator.standard_exponential((20_000, ITEMS), dtype=np.float32) * popular.astype(np.float32)
        keys[start : start + 20_000] = np.argpartition(clocks, EACH, axis=1)[:, :EACH]
    return pa.FixedSizeListArray.from_arrays(pa.array(keys.ravel()), EACH)


def bare(column, people):
    """The first round of SVIM with a loop over people."""
    generator = np.random.default_rng(2)
    keep = np.exp(EPSILON) / (np.exp(EPSILON) + ITEMS)
    counts = np.zeros(ITEMS + 1)
    for held in column.slice(0, people).to_pylist():
        item = held[generator.integers(len(held))]
        counts[item if generator.random() < keep else generator.integers(ITEMS + 1)] += 1
    return counts


def measure():
    """Seconds for each search, for reading the column, and for a bare loop."""
    say(f"drawing {PEOPLE:,} sets ...")
    column = crowd()
    entries = [{"what": "reading and checking the column", "seconds": best(REPEATS, lambda: ItemSets.of(DOMAIN, column)), "people": PEOPLE}]
    for name, search in SEARCHES.items():
        say(f"{name}, {PEOPLE:,} people ...")
        search.run(column)  # compiles
        entries.append({"what": name, "seconds": best(REPEATS, lambda search=search: search.run(column)), "people": PEOPLE})
    say("a bare loop ...")
    few = PEOPLE // 100
    entries.append({"what": "a bare loop over people, first round only", "seconds": seconds(lambda: bare(column, few)), "people": few})
    return entries


def table(entries):
    """Seconds, and people per second."""
    rows = [[e["what"], f"{e['people']:,}", f"{e['seconds']:.2f} s", compact(e["people"] / e["seconds"])] for e in entries]
    return markdown([f"{ITEMS:,} items, {EACH} each, k = {K}", "people", "time", "people/s"], rows)


if __name__ == "__main__":
    print(table(measure()))
