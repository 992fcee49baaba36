"""The averaging attack: 300 reports of one device at a lifetime epsilon of 1 must not tell its value beyond the bound.

The observer knows the mechanism and every value is equally likely. No epsilon-local answer lets a guess be right more often than
e^epsilon / (e^epsilon + d - 1), however many reports are drawn from it. Two observers guess: one weighs the permanent answers that the
reports may come from (the best there is), the other trusts in fresh noise and multiplies the chances of the reports. **Power**: devices
that keep no state must be caught by the same test, and the second observer then names nearly every value.
"""

from __future__ import annotations

from functools import cache
from math import exp

import numpy as np
import pytest

from deniable.client import LOLOHA, RAPPOR, DBitFlipPM, LongitudinalGRR, LongitudinalUnary
from deniable.client.diary import history
from deniable.testing import ReplaySource

SIGMAS = 4.892  # two-sided alpha = 1e-6
REPORTS, DEVICES, VALUES = 300, 160, 4
SPECS = [
    LongitudinalGRR(domain_size=VALUES, epsilon=1.0, first_epsilon=0.8),
    LongitudinalUnary(domain_size=VALUES, epsilon=1.0, first_epsilon=0.8),
    LongitudinalUnary(domain_size=VALUES, epsilon=1.0, first_epsilon=0.6, optimized=2),
    LOLOHA(domain_size=VALUES, epsilon=1.0, first_epsilon=0.8),
    DBitFlipPM(domain_size=VALUES, epsilon=1.0, bits=3),
    DBitFlipPM(domain_size=VALUES, epsilon=1.0, bits=3, first_epsilon=0.8),
    RAPPOR(domain_size=VALUES, epsilon=1.0, first_epsilon=0.8, bits=5, hashes=1, cohorts=2),
]


def logs(law, outcomes):
    with np.errstate(divide="ignore"):
        return np.log([float(law[outcome]) for outcome in outcomes])


@cache
def answers_of(spec):
    """Every answer, and the logarithm of its chance given each permanent answer."""
    possible = list(spec.permanent_law(0, None))
    table = np.array([logs(spec.instantaneous_law(memo), possible) for memo in possible])
    table[np.isneginf(table)] = -1e9
    return possible, table


@cache
def chances_of(spec, group):
    law = spec.permanent_law(group, None)
    return np.array([float(law[memo]) for memo in answers_of(spec)[0]])


def scores(spec, personal, answers):
    """The logarithm of the chance of all answers for each value: through permanent answers, and as if noise were fresh."""
    possible, table = answers_of(spec)
    seen = np.array([answers.count(answer) for answer in possible])
    through = table @ seen
    through -= through.max()
    kept, fresh = [], []
    for value in range(VALUES):
        chances = chances_of(spec, spec.class_of(value, personal))
        kept.append(np.log(chances @ np.exp(through)))
        fresh.append(np.log(chances @ np.exp(table)) @ seen)
    return np.array(kept), np.array(fresh)


def guess(weights):
    """How often a random choice among the best values is the first, the second ..."""
    best = weights >= weights.max() - 1e-9
    return best / best.sum()


def identified(spec, answering):
    """The share of devices whose value each observer names."""
    right = np.zeros(2)
    for device in range(DEVICES):
        value, source = device % VALUES, ReplaySource.from_key(f"device {device}")
        reports = answering(spec, value, source)
        split = [report if spec.personal_layout else ((), report) for report in reports]
        totals = np.zeros((2, VALUES))
        for personal in {personal for personal, _ in split}:
            totals += scores(spec, personal, [answer for drawn, answer in split if drawn == personal])
        right += [guess(total)[value] for total in totals]
    return right / DEVICES


def with_a_diary(spec, value, source):
    return history(spec, [value] * REPORTS, source)


def without_a_memory(spec, value, source):
    return [spec.randomize(value, source) for _ in range(REPORTS)]


def limit(spec):
    bound = exp(spec.epsilon) / (exp(spec.epsilon) + VALUES - 1)
    return bound + SIGMAS * (bound * (1 - bound) / DEVICES) ** 0.5


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_three_hundred_reports_tell_no_more_than_epsilon(spec):
    assert max(identified(spec, with_a_diary)) < limit(spec) < 0.75


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_the_twin_that_keeps_no_state_is_caught(spec):
    assert max(identified(spec, without_a_memory)) > 0.95 > limit(spec)


@pytest.mark.parametrize("spec", [SPECS[0], SPECS[1]], ids=repr)
def test_the_mean_of_the_reports_converges_to_the_permanent_answer_and_not_to_the_value(spec):
    """Over devices the permanent answer varies; within one, the reports settle on it. The value is not what they settle on."""
    followed = told = 0
    for device in range(DEVICES):
        source = ReplaySource.from_key(f"mean {device}")
        memo = spec.permanent(0, source)
        answers = [spec.instantaneous(memo, source) for _ in range(REPORTS)]
        supports = np.array([[spec.supports(answer, value) for value in range(VALUES)] for answer in answers]).mean(axis=0)
        expected = [float(sum(w for r, w in spec.instantaneous_law(memo).items() if spec.supports(r, v))) for v in range(VALUES)]
        followed += np.max(np.abs(supports - expected)) < SIGMAS * 0.5 / REPORTS**0.5
        told += bool(spec.supports(memo, 0))
    assert followed == DEVICES
    chance = float(sum(w for memo, w in spec.permanent_law(0, ()).items() if spec.supports(memo, 0)))
    assert abs(told / DEVICES - chance) < SIGMAS * (chance * (1 - chance) / DEVICES) ** 0.5
