"""The square wave's exact law, window and check values; and twins that the enumeration must reject."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import exp

import numpy as np
import pytest

from deniable.client import Piecewise, SquareWave
from deniable.client.square_wave import informative_window
from deniable.contract.probability import exp_below
from deniable.contract.source import ONE
from deniable.errors import ParameterError
from deniable.kernels.deconvolution import expect
from deniable.testing import law_of

GRIDS = [(steps, epsilon) for steps in (1, 2, 3, 5, 8) for epsilon in (0.01, 0.3, 1.0, 2.0, 7.5)]


def worst(laws):
    """The largest ratio of one report's probabilities; None if a report is possible for some values only."""
    if len({frozenset(law) for law in laws}) > 1:
        return None
    return max(a[report] / b[report] for a in laws for b in laws for report in a)


@pytest.mark.parametrize(("steps", "epsilon"), GRIDS)
def test_the_enumerated_law_is_the_stated_one_and_keeps_epsilon(steps, epsilon):
    spec = SquareWave(low=0, high=1, steps=steps, epsilon=epsilon)
    values = [Fraction(i, 2 * steps) for i in range(2 * steps + 1)]  # every grid point, and halfway between them
    laws = [law_of(partial(spec.randomize, value)) for value in values]
    assert all(law.total == 1 and law == spec.law(value) for value, law in zip(values, laws, strict=True))
    assert exp_below(epsilon) * (1 - Fraction(1, 10**9)) < worst(laws) == spec.ratio <= exp_below(epsilon)
    piecewise = spec.piecewise
    assert [piecewise.law(value) for value in values] == laws  # so that the mean of reports is unbiased, exactly
    assert all(sum(p * piecewise.score(y) for y, p in law.items()) == steps * value for value, law in zip(values, laws, strict=True))


class NeighborsRunOver(SquareWave):
    """The window is cut off at the last value, as if there were no cells beyond: private, but the law is another."""

    def perturb(self, key, source):
        return min(super().perturb(key, source), self.steps)


class OutsideMayBeInside(SquareWave):
    """A cell "outside" is drawn from all cells: the window is hit too often."""

    def perturb(self, key, source):
        return key + source.below(self.window) if source.bernoulli(self.keep) else source.below(self.outputs)


class ThresholdOffByOne(SquareWave):
    def perturb(self, key, source):
        if source.bernoulli(self.keep + 1):
            return key + source.below(self.window)
        other = source.below(self.steps)
        return other + self.window * (other >= key)


class OffsetFromValue(SquareWave):
    """The cells outside are counted on from the value, and not skipped over: some come twice, others never."""

    def perturb(self, key, source):
        if source.bernoulli(self.keep):
            return key + source.below(self.window)
        return (key + source.below(self.steps)) % self.outputs


@pytest.mark.parametrize(
    ("twin", "private"), [(NeighborsRunOver, True), (OutsideMayBeInside, False), (ThresholdOffByOne, False), (OffsetFromValue, False)]
)
def test_twins_are_rejected(twin, private):
    spec = twin(low=0, high=1, steps=5, epsilon=1.0)
    laws = [law_of(partial(spec.randomize, Fraction(i, 5))) for i in range(6)]
    assert any(law != spec.law(Fraction(i, 5)) for i, law in enumerate(laws))
    ratio = worst(laws)
    assert (ratio is not None and ratio <= exp_below(1.0)) == private


@pytest.mark.parametrize(
    ("epsilon", "b", "p", "q"),
    [
        (0.5, 0.358155, 0.755948, 0.458506),
        (1.0, 0.256083, 1.136305, 0.418023),
        (2.0, 0.129337, 2.538010, 0.343482),
        (4.0, 0.030428, 12.630880, 0.231343),
    ],
)
def test_check_values(epsilon, b, p, q):
    """The paper's b, p and q, which the finest grid has to half a cell in 65,536."""
    spec = SquareWave(low=0, high=1, steps=1 << 16, epsilon=epsilon)
    assert spec.window / spec.steps / 2 == pytest.approx(b, abs=0.5 / spec.steps + 1e-6)
    assert float(spec.inside) * spec.steps == pytest.approx(p, rel=1e-4)
    assert float(spec.outside) * spec.steps == pytest.approx(q, rel=1e-4)


def test_the_discrete_form_is_the_published_one():
    """With d values and w = 2b + 1 cells: p = E / (w E + d - 1), q = 1 / (w E + d - 1)."""
    spec = SquareWave(low=0, high=1, steps=255, epsilon=1.0)
    whole = spec.window * exp(1) + 255
    assert (float(spec.inside), float(spec.outside)) == pytest.approx((exp(1) / whole, 1 / whole), rel=1e-12)


@pytest.mark.parametrize(("steps", "epsilon"), [(1, 1.0), (2, 0.01), (2, 1.0), (7, 2.0), (64, 0.5), (64, 4.0), (64, 30.0), (100, 1.0)])
def test_the_window_tells_most(steps, epsilon):
    """Compared with every other window, in double precision."""
    e = exp(epsilon)

    def information(window):
        """Of value and report, in nats, if all cells are equally common."""
        inside, outside = e / (window * e + steps), 1 / (window * e + steps)
        return np.log(steps + window) + window * inside * np.log(inside) + steps * outside * np.log(outside)

    best = max(information(window) for window in range(1, steps + 1))
    assert information(informative_window(steps, epsilon)) == pytest.approx(best, rel=1e-12)


def test_expected_cells_are_those_of_the_law():
    spec = SquareWave(low=0, high=1, steps=6, epsilon=1.0)
    shares = np.array([0.1, 0.0, 0.3, 0.2, 0.15, 0.05, 0.2])
    expected = np.empty(spec.outputs)
    expect(shares, spec.window, float(spec.inside), float(spec.outside), np.empty(8), expected)
    laws = [spec.law(Fraction(i, 6)) for i in range(7)]
    assert expected == pytest.approx([sum(s * float(law[y]) for s, law in zip(shares, laws, strict=True)) for y in range(spec.outputs)])


def test_grids_and_bad_parameters():
    assert [SquareWave(low=a, high=b, epsilon=1.0).steps for a, b in ((0, 120), (0, 1), (0.5, 1), (0, 5000), (-512, 512))] == [
        960, 1024, 1024, 1024, 1024,
    ]  # fmt: skip
    for window in (0, 11, 2.0, True):
        with pytest.raises(ParameterError, match="window"):
            SquareWave(low=0, high=1, steps=10, epsilon=1.0, window=window)
    assert SquareWave(low=0, high=1, steps=10, epsilon=1.0, window=10).keep < ONE
    assert isinstance(SquareWave(low=0, high=1, epsilon=1.0).piecewise, Piecewise)
