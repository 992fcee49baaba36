"""The crowd of the search: strings of 48 bits, 20 of which are held by 60 % of the people. Needs NumPy only."""

import numpy as np

BITS = 48
EPSILON = 3.0
K = 10
SEED = 3


def crowd(n, seed=SEED):
    """The 20 frequent strings, the most frequent first, and n people's."""
    rng = np.random.default_rng(seed)
    heavy = rng.integers(0, 2**BITS, 20, dtype=np.uint64)
    weights = 1 / np.arange(1, 21)
    frequent = rng.random(n) < 0.6
    values = rng.integers(0, 2**BITS, n, dtype=np.uint64)
    values[frequent] = heavy[np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random(int(frequent.sum())), side="right")]
    return heavy, values


def found_of(names, heavy):
    """How many of the true top k were found."""
    return len(set(names) & set(heavy[:K].tolist()))
