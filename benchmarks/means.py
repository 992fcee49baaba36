"""Mechanisms for a mean from values to estimates, side by side with plain vectorized NumPy and its insecure generator.

Timed: privatize + tally + estimate, with the default secure source on all cores. The NumPy code draws doubles from PCG64, keeps a report as
one number a person, rounds no value to a grid and checks nothing; its law is the textbook's, good to double precision. One core is timed
too, since NumPy uses one.
"""

import os

import numpy as np

import deniable as dn
from deniable.core import stream
from printing import compact, markdown
from timing import best, say

PEOPLE = 4_000_000
REPEATS = 3
EPSILON = 1.0
MECHANISMS = ("OneBitMean", "SignRR", "Piecewise", "Hybrid", "DiscreteLaplace")


def values_for(mechanism):
    """Numbers between -1 and 1, or signs."""
    draw = np.random.default_rng(1)
    return np.sign(draw.uniform(-0.7, 1, PEOPLE)) if mechanism == "SignRR" else 2 * draw.beta(2, 5, PEOPLE) - 1


def plain_bit(values, draw):
    """OneBitMean, Duchi, SignRR."""
    e = np.exp(EPSILON)
    plus = draw.random(values.size) < 0.5 + values * (e - 1) / (2 * (e + 1))
    return (2 * np.count_nonzero(plus) / values.size - 1) * (e + 1) / (e - 1)


def plain_piecewise(values, draw):
    """The paper's algorithm, in arrays."""
    s = np.exp(EPSILON / 2)
    c = (s + 1) / (s - 1)
    left = (c + 1) / 2 * values - (c - 1) / 2
    inside = draw.random(values.size) < s / (s + 1)
    place = draw.random(values.size)
    outside = place * (c + 1) - c
    noisy = np.where(inside, left + place * (c - 1), np.where(outside < left, outside, outside + c - 1))
    return noisy.mean(), (noisy**2).mean()


def plain_hybrid(values, draw):
    """Both, and a coin between them."""
    s, e = np.exp(EPSILON / 2), np.exp(EPSILON)
    c, height = (s + 1) / (s - 1), (e + 1) / (e - 1)
    cells = draw.random(values.size) < 1 - 1 / s
    left = (c + 1) / 2 * values - (c - 1) / 2
    inside = draw.random(values.size) < s / (s + 1)
    place = draw.random(values.size)
    outside = place * (c + 1) - c
    noisy = np.where(inside, left + place * (c - 1), np.where(outside < left, outside, outside + c - 1))
    signs = np.where(place < 0.5 + values / (2 * height), height, -height)
    noisy = np.where(cells, noisy, signs)
    return noisy.mean(), (noisy**2).mean()


def plain_laplace(values, draw):
    """Floating-point noise, which gives its senders away."""
    noisy = values + draw.laplace(0.0, 2 / EPSILON, values.size)
    return noisy.mean(), (noisy**2).mean()


PLAIN = {
    "OneBitMean": plain_bit,
    "SignRR": plain_bit,
    "Piecewise": plain_piecewise,
    "Hybrid": plain_hybrid,
    "DiscreteLaplace": plain_laplace,
}


def measure():
    """One entry for each mechanism."""
    return [_measure(mechanism) for mechanism in MECHANISMS]


def _measure(mechanism):
    say(f"{mechanism}: {PEOPLE:,} people ...")
    oracle, values = getattr(dn, mechanism)(low=-1, high=1, epsilon=EPSILON), values_for(mechanism)

    def whole():
        return oracle.estimate(oracle.tally(oracle.privatize(values)))

    whole()  # compiles or loads the kernels: not timed
    ours = PEOPLE / best(REPEATS, whole)
    cores, stream.cores = stream.cores, lambda: 1
    try:
        alone = PEOPLE / best(REPEATS, whole)
    finally:
        stream.cores = cores
    draw = np.random.default_rng(int.from_bytes(os.urandom(8)))
    plain = PEOPLE / best(REPEATS, lambda: PLAIN[mechanism](values, draw))
    return {"mechanism": mechanism, "people_per_second": ours, "on_one_core": alone, "numpy": plain}


def table(results):
    """People per second, and how many times NumPy's."""
    header = ("mechanism", "deniable, people/s", "one core", "NumPy, people/s", "ratio", "one core")
    rows = [
        (
            r["mechanism"],
            compact(r["people_per_second"]),
            compact(r["on_one_core"]),
            compact(r["numpy"]),
            f"{r['people_per_second'] / r['numpy']:.1f}",
            f"{r['on_one_core'] / r['numpy']:.1f}",
        )
        for r in results
    ]
    return markdown(header, rows)


if __name__ == "__main__":
    print(table(measure()))
