"""A map of a million people: from points to the counts of 256 x 256 cells with errors, and to the count of a region.

Timed: privatize, tally and estimate with the chosen oracle and the default secure source on all cores, after one warm-up call; beside it a
bare NumPy histogram of the same points, which protects nobody. The goal is 3 s on two cores.
"""

import numpy as np

from deniable.tasks.places import Box, Grid, QuadTree, UniformGrid
from printing import compact, markdown
from timing import best, say

PEOPLE = 1_000_000
SIDE = 256
EPSILONS = (1.0, 4.0)
REPEATS = 3
BOX = Box(0, 0, 1, 1, plane=True)
REGION = Box(0.1, 0.2, 0.55, 0.7, plane=True)


def crowd():
    """Towns of different sizes, and people all over."""
    weak = np.random.default_rng(1)
    centers, sizes = weak.uniform(0.1, 0.9, (40, 2)), weak.dirichlet(np.full(40, 0.5))
    towns = centers[weak.choice(40, PEOPLE * 4 // 5, p=sizes)] + weak.normal(0, 0.02, (PEOPLE * 4 // 5, 2))
    return np.clip(np.concatenate([towns, weak.uniform(0, 1, (PEOPLE // 5, 2))]), 0, 1)


def measure():
    """Seconds for each way of asking."""
    points, grid = crowd(), Grid(BOX, SIDE, SIDE)
    bare = best(REPEATS, lambda: np.histogram2d(*points.T, bins=SIDE, range=[[0, 1], [0, 1]]))
    entries = [{"way": "NumPy, nobody protected", "epsilon": "-", "oracle": "-", "seconds": bare, "error": 0.0}]
    for epsilon in EPSILONS:
        asking = UniformGrid(grid=grid, epsilon=epsilon, people=PEOPLE)
        trees = [QuadTree(box=BOX, depth=8, epsilon=epsilon, people=PEOPLE, adaptive=adaptive) for adaptive in (False, True)]
        ways = {
            "grid": lambda asking=asking: asking.run(points),
            "quadtree": lambda tree=trees[0]: tree.run(points),
            "adaptive": lambda tree=trees[1]: tree.run(points),
        }
        for name, run in ways.items():
            say(f"places, {name}, epsilon = {epsilon:g}: {PEOPLE:,} people ...")
            error = run().count(REGION).stderr  # the warm-up
            seconds = best(REPEATS, lambda run=run: run().stderr)
            oracle = asking.spec.mechanism if name == "grid" else "one for each level"
            entries.append({"way": f"{SIDE} x {SIDE}, {name}", "epsilon": epsilon, "oracle": oracle, "seconds": seconds, "error": error})
    return entries


def table(entries):
    """Seconds, people per second, and the standard error of a region that holds a fifth of the box."""
    rows = [
        [
            entry["way"],
            str(entry["epsilon"]),
            entry["oracle"],
            f"{entry['seconds']:.2f} s",
            compact(PEOPLE / entry["seconds"]),
            f"{entry['error']:,.0f}",
        ]
        for entry in entries
    ]
    return markdown(["way", "epsilon", "oracle", "seconds", "people/s", "stderr of a region"], rows)


if __name__ == "__main__":
    print(table(measure()))
