"""What a shuffle is worth: a call of ``amplify`` against the algorithm of the authors' public code.

That code is not on the package index, and its licence does not let it be copied: its algorithm is written down here anew. It walks over
the number of clones outward from the mean in blocks of 100, takes the worse end of each block in each direction, by binomial distribution
functions, stops when the rest weighs less than delta so far, and bisects ten times from the closed form. Its result has two or three
digits; ours has nine. For n up to 100 it returns nonsense, so smaller crowds are left out.
"""

import math

from scipy.stats import binom

from deniable.shuffle import amplify
from deniable.shuffle.clone import closed_form
from printing import markdown
from timing import cpu, say

DELTA = 1e-6
CELLS = [(n, epsilon0) for n in (1_000, 10_000, 100_000, 1_000_000) for epsilon0 in (0.5, 1.0, 2.0, 4.0, 8.0)]
STEP, ITERATIONS = 100, 10


def measure():
    """Seconds of both, and both results, for each cell."""
    entries = []
    for n, epsilon0 in CELLS:
        say(f"clone bound, n = {n:,}, epsilon0 = {epsilon0:g} ...")
        ours = cpu(5, lambda: amplify(epsilon0=epsilon0, n=n, delta=DELTA))  # noqa: B023  # called at once
        theirs = cpu(5, lambda: stepwise(n, epsilon0))  # noqa: B023
        epsilons = amplify(epsilon0=epsilon0, n=n, delta=DELTA).epsilon, stepwise(n, epsilon0)
        entries.append(
            {"n": n, "epsilon0": epsilon0, "seconds": ours, "stepwise": theirs, "epsilon": epsilons[0], "stepwise_epsilon": epsilons[1]}
        )
    return entries


def table(entries):
    """Both times, the ratio, and how far the stepwise bound is above the exact one."""
    ratios = [entry["stepwise"] / entry["seconds"] for entry in entries]
    rows = [
        [
            f"n = {entry['n']:,}, epsilon0 = {entry['epsilon0']:g}",
            f"{1e3 * entry['seconds']:.1f} ms",
            f"{1e3 * entry['stepwise']:.0f} ms",
            f"{ratio:.0f}x",
            f"{entry['epsilon']:.9g}",
            f"{entry['stepwise_epsilon']:.4g}",
        ]
        for entry, ratio in zip(entries, ratios, strict=True)
    ]
    mean, but_one = (math.exp(sum(map(math.log, some)) / len(some)) for some in (ratios, sorted(ratios)[:-1]))
    head = ["clone bound, delta = 1e-6", "deniable", "stepwise", "times", "epsilon", "stepwise epsilon"]
    return markdown(head, rows) + f"\n\nGeometric mean {mean:.0f}x, without the luckiest cell {but_one:.0f}x, smallest {min(ratios):.1f}x."


def stepwise(n, epsilon0):
    """Epsilon by bisection on the stepwise upper bound, from the closed form where that holds."""
    low, high = 0.0, closed_form(epsilon0, n, DELTA) or epsilon0
    for _ in range(ITERATIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if stepwise_delta(n, epsilon0, middle) < DELTA else (middle, high)
    return high


def stepwise_delta(n, epsilon0, epsilon):
    """Delta at epsilon, outward from the mean in blocks; gives up once it is too large, or once the rest weighs less than the sum."""
    chance = math.exp(-epsilon0)
    sums, seen, middle = [0.0, 0.0], 0.0, math.ceil((n - 1) * chance)
    for offset in range(0, n, STEP):
        for first in (middle + offset, middle - offset - STEP):
            last = min(first + STEP - 1, n - 1)
            first = max(first, 0)  # noqa: PLW2901  # cut to what there is
            if first > last:
                continue
            if max(sums) > DELTA:
                return DELTA
            if 1 - seen < min(sums):
                return max(sums) + 1 - seen
            mass = binom.cdf(last, n - 1, chance) - binom.cdf(first, n - 1, chance) + binom.pmf(first, n - 1, chance)
            ends = [[directed(c, epsilon, epsilon0, way) for c in (first, last)] for way in (0, 1)]
            sums = [total + mass * max(both) for total, both in zip(sums, ends, strict=True)]
            seen += mass
    return max(sums)


def directed(clones, epsilon, epsilon0, way):
    """The divergence given the number of clones, in one of the two directions, by distribution functions."""
    alpha, power = math.exp(epsilon0) / (1 + math.exp(epsilon0)), math.exp(epsilon)
    ratio = ((power + 1) * alpha - 1) / ((power + 1) * alpha - power)
    cut = (clones + 1) / (ratio + 1 if way == 0 else 1 / ratio + 1)
    here, before = binom.cdf(cut, clones, 0.5), binom.cdf(cut - 1, clones, 0.5)
    one, other = alpha * here + (1 - alpha) * before, (1 - alpha) * here + alpha * before
    return one - power * other if way == 0 else (1 - other) - power * (1 - one)


if __name__ == "__main__":
    print(table(measure()))
