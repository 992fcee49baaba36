"""Mechanisms that answer again and again, from values to estimates, side by side with plain vectorized NumPy and its insecure generator.

Timed: one round of devices that have nothing yet (both steps of noise), privatize + tally + estimate, with the default secure source; and
one more round from what they keep, on all cores. The NumPy code draws doubles from PCG64 and checks nothing; its law is good to double
precision.
"""

import os

import numpy as np

import deniable as dn
from beside import beside, table
from deniable.local.longitudinal.memoized import instantaneous_answers, permanent_answers
from population import people
from timing import say

SIZE = 128
PEOPLE = {"LongitudinalGRR": 2_000_000, "LongitudinalUnary": 200_000, "DBitFlipPM": 200_000, "LOLOHA": 500_000, "RAPPOR": 200_000}
OPTIONS = {"DBitFlipPM": {"bits": 16, "first_epsilon": 1.0}, "RAPPOR": {"bits": 128, "hashes": 2, "cohorts": 8}}


def plain_grr(spec, values, draw):
    """Twice: the value, or another one."""
    n, d = values.size, SIZE
    for keep in (spec.keep / 2**64, spec.keep_again / 2**64):
        other = draw.integers(0, d - 1, n)
        values = np.where(draw.random(n) < keep, values, other + (other >= values))
    return np.bincount(values, minlength=d)


def plain_unary(spec, values, draw):
    """A matrix of doubles for each step."""
    n, d = values.size, SIZE
    (p1, q1), (p2, q2) = ([float(side) for side in step] for step in (spec.first, spec.second))
    bits = draw.random((n, d)) < q1
    bits[np.arange(n), values] = draw.random(n) < p1
    return (draw.random((n, d)) < np.where(bits, p2, q2)).sum(axis=0)


def plain_buckets(spec, values, draw):
    """A set of buckets by sorting random numbers, then bits."""
    n, b = values.size, spec.bits
    buckets = np.argpartition(draw.random((n, SIZE)), b, axis=1)[:, :b]
    keep, flip = float(spec.kept), float(spec.gamma)
    bits = (buckets == values[:, None]) ^ (draw.random((n, b)) >= keep) ^ (draw.random((n, b)) < flip)
    return np.bincount(buckets.ravel(), minlength=SIZE), np.bincount(buckets[bits], minlength=SIZE)


def plain_hash(spec, values, draw):
    """A multiply-shift hash of one's own, twice randomized response, and a comparison with every candidate."""
    n, g = values.size, spec.hash_range
    a, b = draw.integers(0, 2**64, (2, n), dtype=np.uint64)
    shift, count = np.uint64(32), np.uint64(g)
    symbols = ((((a * values.astype(np.uint64) + b) >> shift) * count) >> shift).astype(np.int64)
    for keep in (spec.keep / 2**64, spec.keep_again / 2**64):
        other = draw.integers(0, g - 1, n)
        symbols = np.where(draw.random(n) < keep, symbols, other + (other >= symbols))
    sent = symbols.astype(np.uint64)
    return [np.count_nonzero((((a * np.uint64(v) + b) >> shift) * count) >> shift == sent) for v in range(SIZE)]


def plain_filters(spec, values, draw):
    """Filters from a table, and a matrix of doubles for each step; adds up each cohort's bits, and solves for nothing."""
    known = [[spec.filter(cohort, value).to_bytes(spec.bits // 8, "little") for value in range(SIZE)] for cohort in range(spec.cohorts)]
    table = np.unpackbits(np.frombuffer(b"".join(map(b"".join, known)), np.uint8), bitorder="little").reshape(spec.cohorts, SIZE, spec.bits)
    cohorts = draw.integers(0, spec.cohorts, values.size)
    flip, keep, rise = (side / 2**64 for side in spec.coin)
    bits = table[cohorts, values].astype(bool) ^ (draw.random((values.size, spec.bits)) < flip)
    sent = draw.random(bits.shape) < np.where(bits, keep, rise)
    return [sent[cohorts == cohort].sum(axis=0) for cohort in range(spec.cohorts)]


PLAIN = {
    "LongitudinalGRR": plain_grr,
    "LongitudinalUnary": plain_unary,
    "DBitFlipPM": plain_buckets,
    "LOLOHA": plain_hash,
    "RAPPOR": plain_filters,
}


def measure():
    """One entry for each mechanism."""
    return [_measure(mechanism) for mechanism in PEOPLE]


def _measure(mechanism):
    n = PEOPLE[mechanism]
    say(f"{mechanism}: {n:,} people ...")
    spec = getattr(dn, mechanism)(domain_size=SIZE, epsilon=2.0, **OPTIONS.get(mechanism, {}))
    values = people(n) % SIZE

    kept = permanent_answers(spec, values)
    draw = np.random.default_rng(int.from_bytes(os.urandom(8)))
    jobs = {"a later round": lambda: spec.estimate(spec.tally(instantaneous_answers(spec, kept)))}
    whole, plain = lambda: spec.estimate(spec.tally(spec.privatize(values))), lambda: PLAIN[mechanism](spec, values, draw)
    return beside(mechanism, n, whole, plain, **jobs)


if __name__ == "__main__":
    print(table(measure()))
