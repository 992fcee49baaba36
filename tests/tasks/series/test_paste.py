"""Mechanisms at the edge of what a person can be: nobody within the bounds is turned away, and whole numbers cost what they must."""

from __future__ import annotations

from math import isqrt

import numpy as np
import pytest

from deniable.errors import DomainError
from deniable.tasks.series import FPA, LPA, Decimation, TreeChanges
from deniable.tasks.series.paste import Paste
from deniable.testing import ReplaySource


@pytest.mark.parametrize("basis", ["fourier", "cosine"])
def test_who_holds_1_at_all_times_takes_part(basis):
    """The constant's coefficient is then the root of n, and a little more in floating point for many n; one party more is turned away."""
    beyond = 0
    for n in [*range(1, 120), 2000, 2003]:
        mechanism = FPA(points=n, k=1, epsilon=1.0, basis=basis)
        codec = Paste(mechanism=mechanism, parties=4, honest="1/2").sum.codec
        answer = mechanism.ask(np.ones(n))
        assert codec.encode(answer).tolist() == [round(16 * n**0.5)]
        beyond += answer[0] > n**0.5
        with pytest.raises(DomainError):
            codec.encode(answer + 1 / 16)
    assert beyond > 0


def test_changes_are_summed_without_a_server():
    """Four people, 300 sums: standard errors as stated, to 5 of their own (excess kurtosis 3)."""
    tree = TreeChanges(points=16, changes=1, epsilon=1.0)
    plan = Paste(mechanism=tree, parties=4, honest="1", bits=0)
    source, people = ReplaySource.from_key("paste"), np.triu(np.ones((4, 16)))
    repeated = [plan.estimate(sum(plan.contribution(person, source) for person in people)) for _ in range(300)]
    errors = np.array([estimate.point for estimate in repeated]) - people.sum(axis=0)
    assert errors.std(axis=0) == pytest.approx(repeated[0].stderr, rel=5 * (5 / 4 / 300) ** 0.5)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9, 16, 2000, 2025])
def test_gaussian_noise_on_points_is_for_the_root_of_their_number(n):
    for mechanism in (LPA(points=n, epsilon=1.0, delta=1e-6), Decimation(points=n, every=1, epsilon=1.0, delta=1e-6)):
        assert (mechanism.steps - 1) ** 2 < n <= mechanism.steps**2
        assert mechanism.steps == isqrt(n) + (isqrt(n) ** 2 < n)


def test_a_number_outside_is_named_by_its_place_only():
    """Messages end in logs, where a party's numbers do not belong."""
    plan = Paste(mechanism=FPA(points=4, k=1, epsilon=1.0), parties=4, honest="1/2")
    with pytest.raises(DomainError, match=r"series\[2\].*numbers from 0 to 1") as told:
        plan.contribution(np.array([0.25, 0.5, 37.125, -8.5]))
    assert not any(number in str(told.value) for number in ("37.1", "8.5"))
