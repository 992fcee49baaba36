"""Distributions: reports against plain NumPy, estimates against a plain matrix, and what the intervals of biased estimates cover.

``python benchmarks/distributions.py --coverage`` prints the coverage, which takes some minutes; the rest is part of ``run.py``.
"""

import argparse

import numpy as np

from deniable.client import SquareWave
from deniable.core.resampling import resample
from deniable.core.tally import Tally
from deniable.local.vector.priv_unit import PrivUnit
from printing import compact, markdown
from timing import best, say

PEOPLE = 1_000_000
EPSILONS = (0.5, 1.0, 2.0, 4.0)
VECTORS, DIMENSION = 20_000, 1000
REPEATS = 3
DENSE = 2.0
"""Where the whole matrix is multiplied too: at smaller epsilons that takes minutes."""


def measure():
    """Seconds and rates."""
    say("distributions ...")
    weak = np.random.default_rng(1)
    values = weak.beta(5, 2, PEOPLE)
    oracle = SquareWave(low=0, high=1, epsilon=1.0)
    oracle.tally(oracle.privatize(values))
    vectors = weak.normal(size=(VECTORS, DIMENSION))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    private = PrivUnit(dimension=DIMENSION, epsilon=4.0)
    ours = best(REPEATS, lambda: oracle.tally(oracle.privatize(values)))
    theirs = best(REPEATS, lambda: numpy_cells(weak, values, oracle))
    mine = best(REPEATS, lambda: private.tally(private.privatize(vectors)))
    plain = best(REPEATS, lambda: numpy_vectors(weak, vectors, private))
    return {
        "SquareWave": {"deniable": PEOPLE / ours, "NumPy": PEOPLE / theirs},
        "PrivUnit": {"deniable": VECTORS * DIMENSION / mine, "NumPy": VECTORS * DIMENSION / plain},
        "estimates": [_estimates(epsilon, values) for epsilon in EPSILONS],
    }


def numpy_cells(weak, values, oracle):
    """The same reports and counts, vectorized, with doubles and a predictable generator."""
    points = np.floor(values * oracle.steps + weak.random(values.size)).astype(np.int64)
    kept = weak.random(values.size) < oracle.keep / 2**64
    near = points + weak.integers(0, oracle.window, values.size)
    far = weak.integers(0, oracle.steps, values.size)
    cells = np.where(kept, near, far + oracle.window * (far >= points))
    return np.bincount(cells, minlength=oracle.outputs)


def numpy_vectors(weak, vectors, private):
    """The same noise on directions, by rejection as it is usually done, and added up."""
    cap, n = private.cap, len(vectors)
    along = weak.normal(size=n)
    above = weak.random(n) < cap.p
    while np.any(wrong := (along > cap.gamma) != above):
        along[wrong] = weak.normal(size=int(wrong.sum()))
    noise = weak.normal(size=vectors.shape)
    noise += (along - np.einsum("ij,ij->i", noise, vectors))[:, None] * vectors
    return noise.sum(axis=0), (noise * noise).sum(axis=0)


def _estimates(epsilon, values):
    """One estimate by the library and by a plain loop with the whole matrix; the same steps until the same end."""
    oracle = SquareWave(low=0, high=1, epsilon=epsilon)
    tally = oracle.tally(oracle.privatize(values))
    row = {"epsilon": epsilon}
    for method in ("ems", "em"):
        estimate = oracle.estimate(tally).using(method)
        row[method] = best(REPEATS, lambda e=estimate, m=method: e.using(m).frequencies)
        if method == "ems":
            row["resampled"] = best(1, estimate.resampled)
    if epsilon == DENSE:
        say(f"a plain matrix at epsilon {epsilon:g} ...")
        row["dense"] = best(1, lambda: dense(oracle, tally.counters))
    return row


def dense(oracle, counters):
    """EM with smoothing as public code has it: two products with the whole matrix in each step."""
    points = oracle.steps + 1
    matrix = np.full((oracle.outputs, points), float(oracle.outside))
    for i in range(points):
        matrix[i : i + oracle.window, i] = float(oracle.inside)
    shares, before = np.full(points, 1 / points), -np.inf
    while True:
        shares = shares * (matrix.T @ (counters / (matrix @ shares)))
        padded = np.concatenate([shares[:1], shares, shares[-1:]])
        weights = np.concatenate([[0.0], np.ones(points), [0.0]])
        total, weight = (0.25 * a[:-2] + 0.5 * a[1:-1] + 0.25 * a[2:] for a in (padded * weights, weights))
        shares = total / weight
        shares /= shares.sum()
        likelihood = counters @ np.log(matrix @ shares)
        if abs(likelihood - before) < 1e-3:
            return shares
        before = likelihood


def table(results):
    """Rates, then seconds."""
    rates = [
        [name, f"{compact(row['deniable'])}", f"{compact(row['NumPy'])}", f"{row['deniable'] / row['NumPy']:.1f}x"]
        for name, row in ((name, results[name]) for name in ("SquareWave", "PrivUnit"))
    ]
    seconds = [
        [
            f"{row['epsilon']:g}",
            *(f"{row[name]:.3f} s" if name in row else "-" for name in ("ems", "em", "dense", "resampled")),
            f"{row['dense'] / row['ems']:.0f}x" if "dense" in row else "-",
        ]
        for row in results["estimates"]
    ]
    return "\n\n".join(
        [
            markdown(["from values to a tally, per second", "deniable", "vectorized NumPy, insecure", "ratio"], rates),
            markdown(
                ["epsilon; 1025 points, 1,000,000 people", "EMS", "EM", "EMS, plain matrix", "200 replicates of EMS", "matrix / EMS"],
                seconds,
            ),
        ]
    )


# --- coverage ---

CROWDS = {
    "Beta(5, 2)": lambda x: x**4 * (1 - x),
    "two groups": lambda x: 0.4 / 0.06 * np.exp(-(((x - 0.25) / 0.06) ** 2) / 2) + 0.6 / 0.1 * np.exp(-(((x - 0.7) / 0.1) ** 2) / 2),
    "exponential": lambda x: np.exp(-6 * x),
    "a spike": lambda x: 0.7 / x.size + 0.3 * (np.abs(x - 0.25) < 0.5 / x.size),
}
WHERE = (0.1, 0.25, 0.5, 0.75, 0.9)


def coverage(crowds=40, people=100_000, steps=255, replicates=100):
    """How often the 95 % interval of the cumulative share holds the truth, at five places, over so many crowds drawn at random."""
    rows = []
    for name, density in CROWDS.items():
        for epsilon in (0.5, 1.0, 2.0):
            oracle = SquareWave(low=0, high=1, steps=steps, epsilon=epsilon)
            shares = density(np.arange(steps + 1) / steps)
            shares /= shares.sum()
            matrix = np.full((oracle.outputs, steps + 1), float(oracle.outside))
            for i in range(steps + 1):
                matrix[i : i + oracle.window, i] = float(oracle.inside)
            tallies, truth = resample(matrix @ shares, people, crowds), np.cumsum(shares)[[int(x * steps) for x in WHERE]]
            hits = {"ems": 0, "em": 0}
            for counters in tallies:
                for method in hits:
                    found = oracle.estimate(Tally(oracle, people, counters)).using(method).resampled(replicates)
                    low, high = found.cdf_interval(list(WHERE))
                    hits[method] += np.sum((low <= truth) & (truth <= high))
            rows.append([name, f"{epsilon:g}", *(f"{100 * hit / crowds / len(WHERE):.0f} %" for hit in hits.values())])
            say(str(rows[-1]))
    return markdown(["crowd of 100,000, 256 points", "epsilon", "EMS", "EM"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--coverage", action="store_true", help="print what 95 % intervals cover instead")
    print(coverage() if parser.parse_args().coverage else table(measure()))
