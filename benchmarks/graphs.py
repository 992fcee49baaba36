"""Counts of a graph of 5,000 people: from everybody's list to an estimate with its error.

Timed: randomizing (12.5 million bits), counting and the standard error, with the default secure source on all cores. "Plain NumPy" draws
the bits with its insecure generator and counts triangles by a product of matrices, without an error.

    .venv/bin/python benchmarks/graphs.py
"""

import numpy as np

from deniable.lab.graphs import Friends
from deniable.tasks.graphs import ClippedTriangles, Degrees, LDPGen, Triangles
from deniable.testing import ReplaySource
from printing import compact, markdown
from timing import best, say

PEOPLE, EPSILON = 5000, 2.0
REPEATS = 3
WAYS = {
    "triangles, one round": Triangles(nodes=PEOPLE, epsilon=EPSILON).run,
    "triangles, two rounds": ClippedTriangles(nodes=PEOPLE, epsilon=EPSILON).run,
    "degrees, edges and 2-stars": lambda graph: [(found := Degrees(nodes=PEOPLE, epsilon=EPSILON).run(graph)).stderr, found.stars(2)],
    "synthetic graph": LDPGen(nodes=PEOPLE, epsilon=EPSILON).run,
}


def plain(graph):
    """One round as a script would: a matrix of random bits, and the trace of its cube."""
    generator, p = np.random.default_rng(1), np.exp(EPSILON) / (np.exp(EPSILON) + 1)
    low = np.tril_indices(PEOPLE, -1)
    noisy = np.zeros((PEOPLE, PEOPLE), dtype=np.float32)
    noisy[low] = graph.to_sparse().toarray()[low] ^ (generator.random(low[0].size) > p)
    noisy += noisy.T
    three = np.sum((noisy @ noisy) * noisy, dtype=float) / 6
    degrees = noisy.sum(axis=1, dtype=float)
    two = (degrees * (degrees - 1) / 2).sum() - 3 * three
    one = degrees.sum() / 2 * (PEOPLE - 2) - 2 * two - 3 * three
    none = PEOPLE * (PEOPLE - 1) * (PEOPLE - 2) / 6 - one - two - three
    e = np.exp(EPSILON)
    return (e**3 * three - e**2 * two + e * one - none) / (e - 1) ** 3


def measure():
    """Seconds for each way, and for plain NumPy."""
    say(f"growing a graph of {PEOPLE:,} people ...")
    graph = Friends().draw(PEOPLE, ReplaySource.from_key("benchmark"))
    entries = []
    for name, run in WAYS.items():
        say(f"{name} ...")
        run(graph)  # compiles
        entries.append({"what": name, "seconds": best(REPEATS, lambda run=run: run(graph))})
    say("plain NumPy ...")
    return [*entries, {"what": "one round in plain NumPy, no error", "seconds": best(1, lambda: plain(graph))}]


def table(entries):
    """Markdown."""
    rows = [[entry["what"], f"{entry['seconds']:.2f} s", compact(PEOPLE / entry["seconds"])] for entry in entries]
    return markdown([f"{PEOPLE:,} people, epsilon = {EPSILON:g}", "time", "people/s"], rows)


if __name__ == "__main__":
    print(table(measure()))
