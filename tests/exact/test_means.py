"""The exact audit of the mechanisms for means on small grids, the evil twins that it must reject, and closed forms of the reference."""

from __future__ import annotations

import json
from fractions import Fraction
from math import exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.client.mean import MeanSpec
from deniable.client.piecewise import worst_at
from deniable.contract.probability import exp_below
from deniable.contract.source import ONE
from deniable.core.tally import Tally
from deniable.errors import ParameterError, WireError
from deniable.lab.audit import empirical_audit, exact_audit
from deniable.testing import ReplaySource
from tests.conftest import mean_specs

CHECKS = json.loads((Path(__file__).parent.parent / "data" / "local_checks.json").read_text())
EPSILONS = (0.01, 0.3, 1.0, 2.0, 7.5)
STEPS = (1, 2, 5, 8)
close = lambda value: pytest.approx(value, rel=1e-5)  # noqa: E731  # the tolerance that the values state

GRID = (
    [
        mechanism(low=-1, high=1, steps=steps, epsilon=epsilon)
        for mechanism in (dn.OneBitMean, dn.Duchi, dn.Piecewise, dn.Hybrid)
        for steps in STEPS
        for epsilon in EPSILONS
    ]
    + [dn.SignRR(epsilon=epsilon) for epsilon in EPSILONS]
    + [kind(low=0, high=10, steps=6, window=w, epsilon=1.0) for kind in (dn.Piecewise, dn.Hybrid) for w in (1, 2, 5, 6)]
    + [
        dn.DiscreteLaplace(low=-1, high=1, steps=steps, epsilon=epsilon)
        for steps, epsilon in ((1, 1.0), (1, 0.3), (2, 2.0), (3, 7.5), (8, 20.0))
    ]
)
SMALL = [spec for spec in mean_specs() if spec.outputs * spec.domain.size <= 2000]


@pytest.mark.parametrize("spec", GRID + SMALL, ids=repr)
def test_shipping_code_passes(spec):
    audit = exact_audit(spec)
    assert audit.passed, audit.failures
    assert {"unbiased", "variance"} < {check.name for check in audit.checks}
    assert spec.effective_epsilon - 1e-9 <= audit.epsilon <= spec.effective_epsilon <= spec.epsilon


class OneStepTooSteep(dn.OneBitMean):
    """A slope that is one threshold too large: beyond epsilon by 1e-19."""

    def perturb(self, key, source):
        return int(source.bernoulli(self.first - self.steps + key * (self.step + 2)))


class NotDebiased(dn.SignRR):
    """The lecture notes' estimate: the mean of the noisy signs themselves."""

    def score(self, report):
        return Fraction(report)


class RoundsDown(dn.Duchi):
    """Cuts a number to the grid point below."""

    def randomize(self, value, source=None):
        return self.perturb(int(self.position(value)), source)


class RoundsHalfway(dn.Piecewise):
    """Rounds to the nearest grid point, always."""

    def randomize(self, value, source=None):
        return self.perturb(self.domain.key(value), source)


class OutsideMayBeInside(dn.Piecewise):
    """Draws "outside" among all cells."""

    def perturb(self, key, source):
        return key + source.below(self.window) if source.bernoulli(self.keep) else source.below(self.points)


class WindowCentered(dn.Piecewise):
    """The window of a continuous mechanism, cut off at the ends of the lattice instead of moved."""

    def perturb(self, key, source):
        if source.bernoulli(self.keep):
            return min(max(key + source.below(self.window) - 1, 0), self.points - 1)
        other = source.below(self.steps)
        return other + self.window * (other >= key)


class CoinDependsOnValue(dn.Hybrid):
    """Uses the cells in the middle and the bit at the ends, where each is better."""

    def perturb(self, key, source):
        return super().perturb(key, source) if 0 < key < self.steps else self.cells + int(source.bernoulli(self.first + key * self.step))


class NoFloor(dn.DiscreteLaplace):
    """Folds the rest of the noise onto the value, so that far points betray who cannot have them."""

    def perturb(self, key, source):
        noise = source.pick(self.cumulative)
        return key + (noise if noise <= 2 * self.reach else self.reach)


class NoiseTimesNineTenths(dn.OneBitMean):
    def perturb(self, key, source):
        less = 9 * self.first // 10
        return int(source.bernoulli(less + key * ((ONE - 2 * less) // self.steps)))


RANGE = {"low": -1, "high": 1, "epsilon": 1.0}
TWINS = [
    (OneStepTooSteep(**RANGE, steps=4), {"privacy", "law", "unbiased", "variance"}),
    (NotDebiased(epsilon=1.0), {"unbiased", "variance"}),
    (RoundsDown(**RANGE, steps=4), {"law", "unbiased", "variance"}),
    (RoundsHalfway(**RANGE, steps=4), {"law", "unbiased", "variance"}),
    (OutsideMayBeInside(**RANGE, steps=5), {"privacy", "law", "unbiased", "variance"}),
    (WindowCentered(**RANGE, steps=5), {"support", "privacy", "law", "unbiased", "variance"}),
    (CoinDependsOnValue(**RANGE, steps=4), {"support", "privacy", "law", "variance"}),
    (NoFloor(**RANGE, steps=1), {"support", "privacy", "law", "unbiased", "variance"}),
    (NoiseTimesNineTenths(**RANGE, steps=4), {"privacy", "law", "unbiased", "variance"}),
]


@pytest.mark.parametrize("spec", GRID + SMALL, ids=repr)
def test_no_report_that_can_be_sent_says_more_than_the_influence(spec):
    """Whatever decodes is counted, so a liar's best report is among these; both ends are reached."""
    scores = [spec.score(report) for report in range(spec.outputs)]
    assert (min(scores), max(scores)) == spec.score_range
    with pytest.raises(WireError):
        spec.decode(spec.outputs.to_bytes(len(spec.encode(0)), "little"))


@pytest.mark.parametrize(("twin", "failures"), TWINS, ids=lambda x: type(x).__name__ if isinstance(x, MeanSpec) else "")
def test_evil_twins_are_rejected_for_the_right_reason(twin, failures):
    assert set(exact_audit(twin).failures) == failures


def test_large_grids_are_refused():
    with pytest.raises(ParameterError, match="enumerate"):
        exact_audit(dn.Piecewise(low=0, high=1, epsilon=1.0))


@pytest.mark.parametrize("mechanism", [dn.OneBitMean, dn.Piecewise, dn.Hybrid, dn.DiscreteLaplace])
def test_samples_find_no_more_epsilon_than_there_is(mechanism):
    spec = mechanism(**RANGE)
    audit = empirical_audit(spec, -1, 1, trials=100_000, source=ReplaySource.from_key("audit"))
    assert 0.5 < audit.epsilon <= spec.epsilon


# --- the best window ---


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 20, 101])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 5.0, 10.0])
def test_no_window_is_better(steps, epsilon):
    """By trying them all, exactly."""
    e = exp_below(epsilon)
    costs = [worst_at(steps, window, e) for window in range(1, steps + 1)]
    assert costs[dn.Piecewise(low=0, high=1, steps=steps, epsilon=epsilon).window - 1] == min(costs)
    hybrid = dn.Hybrid(low=0, high=1, steps=steps, epsilon=epsilon)
    worst = [max_variance(dn.Hybrid(low=0, high=1, steps=steps, epsilon=epsilon, window=window)) for window in range(1, steps + 1)]
    assert max_variance(hybrid) <= min(worst) * (1 + 1e-12)


def max_variance(spec):
    a, b, c = (float(number) for number in spec.moments)
    points = np.linspace(0, spec.steps, 2 * spec.steps + 1)
    return (a + b * points + (c - 1) * points**2).max()


@pytest.mark.parametrize("epsilon", [0.7, 1.0, 2.0, 4.0])
def test_no_share_of_cells_is_better(epsilon):
    """Hybrid's coin levels the variance; any other coin has a larger worst case."""
    spec = dn.Hybrid(low=-1, high=1, epsilon=epsilon)
    cell, bit = (np.array([float(kind.score_variance(Fraction(i))) for i in (0, spec.steps // 2)]) for kind in (
        dn.Piecewise(low=-1, high=1, epsilon=epsilon, window=spec.window), dn.Duchi(low=-1, high=1, epsilon=epsilon)))  # fmt: skip
    worst = [(share * cell + (1 - share) * bit).max() for share in np.linspace(0, 1, 2001)]
    assert max_variance(spec) <= min(worst) * (1 + 1e-9)
    assert np.linspace(0, 1, 2001)[np.argmin(worst)] == pytest.approx(spec.mix / ONE, abs=1e-3)


# --- the reference's values ---


def paper_steps(epsilon):
    """A grid on which the paper's window, steps e^(-epsilon / 2), is nearly a whole number of cells."""
    windows = {steps: steps * exp(-epsilon / 2) for steps in range(60_000, 65_537, 2)}
    return min(windows, key=lambda steps: abs(windows[steps] - round(windows[steps])))


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_variances_of_the_reference(epsilon):
    expected = CHECKS["mean_per_user_variance_on_minus1_1"][f"eps_{epsilon}"]
    steps = paper_steps(epsilon)
    paper = {"low": -1, "high": 1, "epsilon": epsilon, "steps": steps, "window": round(steps * exp(-epsilon / 2))}
    piecewise, hybrid, duchi = dn.Piecewise(**paper), dn.Hybrid(**paper), dn.Duchi(low=-1, high=1, epsilon=epsilon)
    assert piecewise.variance(1, 0) == close(expected["PM_t0"])
    assert piecewise.variance(1, 1) == close(expected["PM_t1"])
    assert duchi.variance(1, 0) == close(expected["duchi_t0"])
    assert duchi.variance(1, 1) == close(expected["duchi_t1"])
    assert hybrid.mix / ONE == close(expected["HM_alpha"])
    assert hybrid.variance(1, 0) == close(expected["HM_t0"])
    assert dn.DiscreteLaplace(low=-1, high=1, epsilon=epsilon).variance(1, 0) == close(expected["laplace"])
    low, high = (float(score / steps * 2 - 1) for score in piecewise.score_range)
    assert (high - low) / 2 == pytest.approx(expected["PM_C"], rel=1e-4)  # the outermost cells, not their outer edges
    if hybrid.mix:
        assert hybrid.variance(1, 0) == close(hybrid.variance(1, 1))


def test_where_one_mechanism_overtakes_another():
    """The paper's windows: cells beat the bit in the worst case above 1.28978, and are mixed in above 0.60935."""
    for key, worst in (("PM_beats_Duchi_worst_case_above_eps", True), ("HM_switch_eps_star", False)):
        for side in (-1e-3, 1e-3):
            epsilon = CHECKS[key] + side
            window = round(65_536 * exp(-epsilon / 2))
            cells = dn.Piecewise(low=-1, high=1, steps=65_536, epsilon=epsilon, window=window)
            bit = dn.Duchi(low=-1, high=1, epsilon=epsilon)
            if worst:
                assert (cells.variance(1, 1) < bit.variance(1, 0)) == (side > 0)
            else:
                mixed = dn.Hybrid(low=-1, high=1, steps=65_536, epsilon=epsilon, window=window)
                assert bool(mixed.mix) == (side > 0)


def test_one_bit_mean_of_the_reference():
    expected = CHECKS["one_bit_mean_per_user_variance_on_0_1_eps1"]
    spec = dn.OneBitMean(low=0, high=1, epsilon=1.0)
    assert spec.variance(1, 0.5) == close(expected["x_0_5"])
    assert spec.variance(1, 0) == close(expected["x_0"])
    estimate = spec.estimate(Tally(spec, 10_000, np.array([5_000])))
    low, high = estimate.bound(0.95, "hoeffding")
    assert (high - low) / 2 == close(CHECKS["one_bit_mean_error_bound_m1_n1e4_eps1_delta0.05"])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_one_bit_by_three_names_is_one_law(epsilon):
    """Rounding to -1 and 1 and then randomized response is Duchi's law, and Duchi's is the one-bit mean."""
    duchi, bit = (kind(low=-1, high=1, steps=4, epsilon=epsilon) for kind in (dn.Duchi, dn.OneBitMean))
    sign = dn.OneBitMean(low=-1, high=1, steps=1, epsilon=epsilon)
    for value in (-1, Fraction(-1, 3), 0, 1):
        assert duchi.law(value) == bit.law(value)
        assert abs(duchi.law(value)[1] - sign.law(value)[1]) < Fraction(8, ONE)


def test_the_lecture_notes_factor():
    """Signs are pulled toward 0 by (e^epsilon - 1) / (e^epsilon + 1), which the score undoes."""
    spec = dn.SignRR(epsilon=log(3))
    noisy = sum(weight * (2 * report - 1) for report, weight in spec.law(1).items())
    assert float(noisy) == pytest.approx(1 / 2)
    assert float(sum(weight * spec.score(report) for report, weight in spec.law(1).items())) == 1
    assert float(spec.score(1) * 2 - 1) == pytest.approx(2)
    assert sqrt(dn.SignRR(low=0, high=1, epsilon=1.0).variance(10**6, 1)) * 2 * 10**6 == close(CHECKS["two_sigma_of_RR_N1e6_eps1"])
