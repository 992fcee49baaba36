"""Observers of repeated reports: what the best guess can and cannot know, and grids that they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.errors import ParameterError
from deniable.lab.experiment import Experiment
from deniable.lab.filter_observer import FilterObserver
from deniable.lab.observers import DEVICES, Observer
from deniable.lab.populations import Uniform
from deniable.testing import ReplaySource

CROWD, SIGMAS = Uniform(0, 3), 4.892  # two-sided alpha = 1e-6


def rate(observer, reports, epsilon=1.0, population=CROWD, repetitions=4):
    """How often the observer is right, and how far that strays by chance at most."""
    found = []
    for i in range(repetitions):
        setup = observer.setup(population, epsilon, reports, i)
        found.append(observer.run(setup, np.zeros(reports), ReplaySource.from_key(f"observer {i}")).rate)
    return np.mean(found), SIGMAS * 0.5 / (repetitions * DEVICES) ** 0.5


@pytest.mark.parametrize("mechanism", ["LongitudinalGRR", "LongitudinalUnary"])
def test_an_observer_stays_below_the_bound_unless_devices_forget(mechanism):
    keeps, forgets = (Observer("value", mechanism, first=0.8, forgetful=forgetful) for forgetful in (False, True))
    bound = keeps.expected("observed", None, CROWD, 1.0, 100)
    right, stray = rate(keeps, 100)
    assert 0.25 < right < bound + stray
    assert rate(forgets, 100)[0] > 0.9 > bound + stray
    assert forgets.expected("observed", None, CROWD, 1.0, 100) is None


def test_a_permanent_answer_of_randomized_response_is_named_exactly_as_often_as_epsilon_allows():
    """GRR's own bound is tight: with the permanent answer known, the best guess is right with probability p1."""
    observer = Observer("value", "LongitudinalGRR", first=0.8)
    right, stray = rate(observer, 300)
    assert abs(right - observer.expected("observed", None, CROWD, 1.0, 300)) < stray


def test_a_change_shows_at_once_in_bits_that_are_sent_as_kept_and_later_in_noisy_ones():
    sure, _ = rate(Observer("change", "DBitFlipPM", {"bits": 4}, first=None), 1)
    early, stray = rate(Observer("change", "DBitFlipPM", {"bits": 4}, first=0.25), 1)
    late, _ = rate(Observer("change", "DBitFlipPM", {"bits": 4}, first=0.25), 100)
    assert sure > 0.9
    assert early < 0.5 + stray
    assert late > 0.9


def test_expected_steps_add_up_and_fingerprints_link():
    still, moving = (rate(Observer("expected", "LongitudinalGRR", moves=moves), 30, 2.0, Uniform(0, 15)) for moves in (0, 7))
    assert moving[0] > still[0] + still[1]
    one, many = (rate(Observer("link", "LongitudinalUnary"), reports, 2.0) for reports in (1, 30))
    assert many[0] > 0.85 > one[0]


def test_chrome_is_named_by_few_reports_only_if_it_forgets():
    crowd = Uniform(0, 99)
    keeps, forgets = FilterObserver("keeps"), FilterObserver("forgets", forgetful=True)
    assert rate(keeps, 30, population=crowd, repetitions=2)[0] < keeps.expected("observed", None, crowd, 1.0, 30) == pytest.approx(0.45)
    assert rate(forgets, 60, population=crowd, repetitions=2)[0] > 0.9


def test_what_cannot_be_watched_is_refused():
    for bad in (("value", "GRR"), ("guess", "LongitudinalGRR")):
        with pytest.raises(ParameterError):
            Observer(*bad)
    for mechanism, population in (("LOLOHA", CROWD), ("LongitudinalUnary", Uniform(0, 9)), ("DBitFlipPM", Uniform(0, 30))):
        with pytest.raises(ParameterError, match="nothing personal"):
            Observer("value", mechanism).setup(population, 2.0, 1)
    with pytest.raises(ParameterError, match="counts"):
        Experiment(
            name="wrong", title="wrong", populations=[CROWD], mechanisms=[Observer("value", "LongitudinalGRR")], epsilons=[1.0], people=[1],
            repetitions=1, metrics=["mse"],
        )  # fmt: skip
