"""The crowd that every library is asked about: values 0..1023 by Zipf's law with exponent 1.1, at epsilon 1.

Drawn by inverting the distribution function, so that the first thousand of a million people are the same as a thousand people, and
every version of NumPy draws the same crowd. Needs NumPy only: the peers' environments read this file too.
"""

import hashlib

import numpy as np

DOMAIN_SIZE = 1024
EPSILON = 1.0
EXPONENT = 1.1
SEED = 7


def people(n):
    """The values of the first n people."""
    return next(chunks(n, n))


def chunks(n, size):
    """The values of the first n people, at most ``size`` at a time; only one chunk is in memory."""
    rng = np.random.default_rng(SEED)
    weights = 1 / np.arange(1, DOMAIN_SIZE + 1) ** EXPONENT
    ends = np.cumsum(weights / weights.sum())
    ends[-1] = 1
    for start in range(0, n, size):
        yield np.searchsorted(ends, rng.random(min(size, n - start)), side="right")


def values_for(mechanism, n):
    """What a mechanism is asked: which value a person holds or, for randomized response, whether it is the most common one."""
    return people(n) == 0 if mechanism == "RR" else people(n)


def digest(values):
    """A name for a crowd, by which two processes can tell that they asked the same people."""
    return hashlib.sha256(values.astype("<i8").tobytes()).hexdigest()[:16]
