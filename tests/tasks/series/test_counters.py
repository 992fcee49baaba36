"""A counter that the same devices report period after period: a crowd has their law, and statements about several periods hold."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from deniable.client import GRR, OneBitMeanPM
from deniable.errors import DomainError, ParameterError
from deniable.local.longitudinal.counter_crowd import CounterCrowd
from deniable.tasks.series import repeated
from deniable.testing import ReplaySource

SIGMAS = 4.892  # two-sided alpha = 1e-6
SPECS = [OneBitMeanPM.with_gamma("1/5", low=0, high=4, epsilon=1.0), OneBitMeanPM(low=0, high=4, steps=2, epsilon=2.0)]


def bits(crowd, values):
    reports = crowd.report(values)
    return np.unpackbits(reports.columns["bit"], count=reports.n, bitorder="little")


@pytest.mark.parametrize("spec", SPECS, ids=repr)
@pytest.mark.parametrize("values", [[1, 1, 1], [1, 3, 1], [0, 4, 2]])
def test_a_crowd_has_the_exact_joint_law_of_three_reports(spec, values):
    """Every one of the eight histories; the law of a device that draws its bit anew in each report is rejected."""
    n, crowd = 100_000, CounterCrowd(spec, source=ReplaySource.from_key(f"law {values}"))
    rounds = np.stack([bits(crowd, np.full(n, value)) for value in values])
    observed = np.bincount(rounds[0] * 4 + rounds[1] * 2 + rounds[2], minlength=8)
    law = spec.history_law(values)
    exact = np.array([float(law[k >> 2 & 1, k >> 1 & 1, k & 1]) for k in range(8)])
    alone = [spec.law(value) for value in values]
    fresh = np.array([np.prod([float(alone[i][k >> 2 - i & 1]) for i in range(3)]) for k in range(8)])
    can = exact > 0  # without output perturbation the same grid point never answers otherwise
    z = [np.abs(observed - n * shares)[can] / np.sqrt(n * shares * (1 - shares))[can] for shares in (exact, fresh)]
    assert not observed[~can].any()
    assert z[0].max() < SIGMAS + 0.5  # of eight
    shares_a_bit = not np.allclose(exact, fresh, atol=1e-9)  # three grid points have three bits, and nothing in common
    assert (z[1].max() > SIGMAS + 0.5) == shares_a_bit
    assert shares_a_bit or spec.steps == 2


def test_devices_keep_a_bit_for_each_grid_point():
    crowd = CounterCrowd(SPECS[1], source=ReplaySource.from_key("kept"))
    turns = [bits(crowd, np.full(1000, value)) for value in (0, 4, 0, 4)]
    assert np.array_equal(turns[0], turns[2])  # without output perturbation the same bit again
    assert np.array_equal(turns[1], turns[3])
    assert crowd.permanent_answers == 2000
    assert set(crowd.answers_of.tolist()) == {2}
    with pytest.raises(DomainError, match="1000 devices"):
        crowd.report([0])
    with pytest.raises(ParameterError, match="OneBitMeanPM"):
        CounterCrowd(GRR(domain_size=3, epsilon=1.0))


@pytest.mark.parametrize("moves", [0.0, 0.3, 1.0])
def test_changes_and_averages_are_covered_whoever_moves(moves):
    """400 crowds of 3000 with four periods. A twin that takes periods for independent misses the average of people who stay."""
    spec, n, crowds = OneBitMeanPM.with_gamma("1/5", low=0, high=100, epsilon=1.0), 3000, 400
    draw = np.random.default_rng(7)
    start = draw.integers(0, 101, n)
    days = [np.where(draw.random(n) < moves, draw.integers(0, 101, n), start) for _ in range(4)]
    change, average, independent = [], [], []
    for run in range(crowds):
        crowd = CounterCrowd(spec, source=ReplaySource.from_key(f"{moves} {run}"))
        series = repeated(spec, [spec.tally(crowd.report(day)) for day in days], stay=1 - moves if run % 2 else None)
        low, high = series.change(0, 3).interval()
        change.append(low <= days[3].mean() - days[0].mean() <= high)
        low, high = series.average().interval()
        truth = np.mean(days)
        average.append(low <= truth <= high)
        independent.append(abs(series.average().point - truth) <= 1.96 * sqrt((series.stderr**2).sum()) / 4)
    least = 0.95 - SIGMAS * sqrt(0.05 * 0.95 / crowds)
    assert np.mean(change) > least
    assert np.mean(average) > least
    if moves == 0.0:
        assert np.mean(independent) < least


def test_the_series_is_one_of_the_family():
    spec = SPECS[0]
    crowd = CounterCrowd(spec, source=ReplaySource.from_key("family"))
    series = repeated(spec, [spec.tally(crowd.report([0, 4] * 2000)) for _ in range(3)], stay=0.5)
    assert series.to_polars()["value"].to_list() == [0, 1, 2]
    assert "3 periods, OneBitMeanPM" in repr(series)
    low, high = series.interval(simultaneous=True)
    narrow = series.interval()
    assert np.all((low < narrow[0]) & (narrow[1] < high))
    unknown = repeated(spec, [spec.tally(crowd.report([0, 4] * 2000)) for _ in range(2)])
    assert series.change(0, 1).stderr < unknown.change(0, 1).stderr
    with pytest.raises(ParameterError, match="population"):
        series.average().interval(population=True)
