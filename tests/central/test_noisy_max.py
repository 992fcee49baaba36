"""Report-noisy-max: the code has the law that is stated, and the law keeps its promise on the grid."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from deniable.accounting import Pure
from deniable.central.noisy_max import NoisyMax
from deniable.central.selection import PermuteAndFlip
from deniable.contract.probability import exp_above, log_above
from deniable.errors import ParameterError
from deniable.testing import ReplaySource, law_of
from tests.central.noises import mass

SLACK = 1 + Fraction(1, 10**20)


def noisy_max(epsilon=1.0, **options):
    return NoisyMax(**{"epsilon": epsilon, "sensitivity": 1, "neighbors": "add-remove"} | options)


class Given:
    """One vector of noise."""

    def __init__(self, values):
        self.values = np.array(values)

    def draws(self, count, source):
        return self.values


@pytest.mark.parametrize("utilities", [(0, 0), (1, 0, 2), (2, 2, -1)])
def test_the_code_has_the_law_that_is_stated(utilities):
    """Every vector of noise that matters, through the shipping code; ties included."""
    reach, mechanism = 9 if len(utilities) > 2 else 14, noisy_max(4.0)
    noise, weights, drawn = mechanism.noise, Counter(), noisy_max(4.0)
    for values in product(range(-reach, reach + 1), repeat=len(utilities)):
        drawn.__dict__["noise"] = Given(values)
        weight = prod(float(mass(noise, z)) for z in values)
        for candidate, share in law_of(lambda source: drawn.choose(utilities, source)).items():
            weights[candidate] += weight * float(share)
    for candidate, stated in enumerate(mechanism.law(utilities)):
        assert weights[candidate] == pytest.approx(float(stated.low), abs=1e-7)
        assert stated.high - stated.low < Fraction(1, 10**25)


@pytest.mark.parametrize(("monotone", "steps"), [(False, (-1, 0, 1)), (True, (0, 1))])
def test_no_pair_of_neighbors_is_told_apart_by_more_than_epsilon(monotone, steps):
    mechanism, laws, worst = noisy_max(4.0, monotone=monotone), {}, Fraction(0)
    for utilities in product(range(2), repeat=3):
        for moved in product(steps, repeat=3):
            pair = []
            for vector in (utilities, tuple(u + d for u, d in zip(utilities, moved, strict=True))):
                key = tuple(u - max(vector) for u in vector)
                if key not in laws:
                    laws[key] = mechanism.law(key)
                pair.append(laws[key])
            worst = max(worst, *(p.high / q.low for p, q in zip(*pair, strict=True)), *(q.high / p.low for p, q in zip(*pair, strict=True)))
    assert worst <= exp_above(4.0, Fraction(1)) * SLACK
    assert log_above(worst) > 3.0


def test_the_grid_is_paid_for():
    """Half-way points go up, always, and the sensitivity is rounded up: numbers 0.3 apart may become neighbors on the grid."""
    assert noisy_max(1.0, sensitivity=0.3, grid=0.25).rate == Fraction(1, 4)  # two steps
    assert noisy_max(1.0, sensitivity=0.5, grid=0.25).rate == Fraction(1, 4)
    assert noisy_max(1.0, sensitivity=1, grid=1)._steps([0.5, 1.5, -0.5, 2.4999, Fraction(7, 2)]) == [1, 2, 0, 2, 4]
    assert noisy_max().event == Pure(epsilon=1.0, neighbors="add-remove")
    with pytest.raises(ParameterError, match="grid"):
        noisy_max(grid=0)


@pytest.mark.parametrize("utilities", [(3, 2, 0, 0), (0, 3, 3), (5, 0, 0, 0), (1, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_permute_and_flip_loses_less(utilities, epsilon):
    flip = PermuteAndFlip(epsilon=epsilon, sensitivity=1, neighbors="add-remove")
    gaps = [max(utilities) - u for u in utilities]
    lost = [sum(p.low * gap for p, gap in zip(m.law(utilities), gaps, strict=True)) for m in (flip, noisy_max(epsilon))]
    assert lost[0] < lost[1]


@pytest.mark.parametrize(("size", "level"), [(2, 0.9), (5, 0.99)])
def test_the_shortfall_is_rarely_passed(size, level):
    mechanism = noisy_max(2.0)
    limit = int(mechanism.shortfall(size, level))
    missed, nearer = (sum(p.high for p in mechanism.law([0] + [-gap] * (size - 1))[1:]) for gap in (limit + 1, limit // 4))
    assert missed <= 1 - level < nearer
    assert mechanism.shortfall(1) == 0.0


def test_words_give_the_same_choice_again():
    chosen = [noisy_max().choose([5, 4, 10**30, 10**30 - 3], ReplaySource.from_key("again")) for _ in range(2)]
    assert chosen[0] == chosen[1] >= 2
