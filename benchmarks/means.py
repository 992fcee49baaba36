"""Mechanisms for a mean from values to estimates, side by side with plain vectorized NumPy and its insecure generator.

Timed: privatize + tally + estimate, with the default secure source. The NumPy code draws doubles from PCG64, keeps a report as one number
or one byte a person, rounds no value to a grid (but counters, whose rounding is the mechanism) and checks nothing; its law is the
textbook's, good to double precision. It does less.
"""

import os

import numpy as np

import deniable as dn
from beside import beside, table
from timing import say

PEOPLE = 4_000_000
EPSILON = 1.0
SECONDS = 6 * 60 * 60
GAMMA = 0.2
MECHANISMS = ("OneBitMean", "SignRR", "OneBitMeanPM", "Piecewise", "Hybrid", "DiscreteLaplace")


def oracle_for(mechanism):
    """Of numbers between -1 and 1, or of counters."""
    if mechanism == "OneBitMeanPM":
        return dn.OneBitMeanPM.with_gamma(str(GAMMA), low=0, high=SECONDS, epsilon=EPSILON)
    return getattr(dn, mechanism)(low=-1, high=1, epsilon=EPSILON)


def values_for(mechanism):
    """Numbers between -1 and 1, signs, or counters."""
    draw = np.random.default_rng(1)
    if mechanism == "SignRR":
        return np.sign(draw.uniform(-0.7, 1, PEOPLE))
    shares = draw.beta(2, 5, PEOPLE)
    return (shares * SECONDS).astype(np.int64) if mechanism == "OneBitMeanPM" else 2 * shares - 1


def plain_bit(values, draw):
    """OneBitMean, Duchi, SignRR."""
    e = np.exp(EPSILON)
    plus = draw.random(values.size) < 0.5 + values * (e - 1) / (2 * (e + 1))
    return (2 * np.count_nonzero(plus) / values.size - 1) * (e + 1) / (e - 1)


def plain_counter(values, draw):
    """Alpha, the rounded counter, its bit, and a flip."""
    e = np.exp(EPSILON)
    points = (values + draw.integers(0, SECONDS, values.size)) // SECONDS
    bits = draw.random(values.size) < (1 + points * (e - 1)) / (e + 1)
    bits ^= draw.random(values.size) < GAMMA
    return SECONDS * ((np.count_nonzero(bits) / values.size - GAMMA) / (1 - 2 * GAMMA) * (e + 1) - 1) / (e - 1)


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
    "OneBitMeanPM": plain_counter,
    "Piecewise": plain_piecewise,
    "Hybrid": plain_hybrid,
    "DiscreteLaplace": plain_laplace,
}


def measure():
    """One entry for each mechanism."""
    return [_measure(mechanism) for mechanism in MECHANISMS]


def _measure(mechanism):
    say(f"{mechanism}: {PEOPLE:,} people ...")
    oracle, values = oracle_for(mechanism), values_for(mechanism)
    draw = np.random.default_rng(int.from_bytes(os.urandom(8)))
    return beside(
        mechanism, PEOPLE, lambda: oracle.estimate(oracle.tally(oracle.privatize(values))), lambda: PLAIN[mechanism](values, draw)
    )


if __name__ == "__main__":
    print(table(measure()))
