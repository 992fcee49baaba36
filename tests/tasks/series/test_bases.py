"""Bases of a series and what one person can change in them: against all persons of short series, and against a search in long ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from deniable.errors import ParameterError
from deniable.lab.audit.linear import worst_person
from deniable.tasks.series.basis import Cosine, Fourier
from deniable.tasks.series.sensitivity import coefficient_sensitivity, sequence_sensitivity
from deniable.testing import ReplaySource

LENGTHS = [1, 2, 3, 7, 8]


@pytest.mark.parametrize("basis", [Fourier, Cosine])
@pytest.mark.parametrize("n", LENGTHS)
def test_a_basis_keeps_lengths_and_can_be_undone(basis, n):
    functions = basis(n)
    rows = functions.coefficients(np.eye(n), n).T  # row k: the k-th coefficient of each point by itself
    assert np.allclose(rows @ rows.T, np.eye(n), atol=1e-12)
    assert np.allclose(rows[0], 1 / np.sqrt(n))
    assert np.allclose(functions.series(np.eye(n)), rows, atol=1e-12)


def test_low_frequencies_come_first():
    n, time = 16, np.arange(16)
    for turns in range(1, 8):
        for wave in (np.cos(2 * np.pi * turns * time / n), np.sin(2 * np.pi * turns * time / n)):
            found = Fourier(n).coefficients(wave, n)
            assert set(np.flatnonzero(np.abs(found) > 1e-9)) <= {2 * turns - 1, 2 * turns}
    assert np.abs(Cosine(n).coefficients(np.cos(np.pi * 3 * (time + 0.5) / n), n)).argmax() == 3


@pytest.mark.parametrize("basis", [Fourier, Cosine])
@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_no_person_changes_more(basis, n):
    """Every corner of what a person can add or change; the largest sum of absolute values over a cube is at one."""
    added = np.array(list(product((0.0, 1.0), repeat=n)))
    replaced = np.array(list(product((-1.0, 1.0), repeat=n)))
    for count in range(1, n + 1):
        for people, neighbors in ((added, "add-remove"), (replaced, "replace")):
            changed = basis(n).coefficients(people, count)
            largest = np.abs(changed).sum(axis=1).max()
            bound = coefficient_sensitivity(n, count, norm=1, neighbors=neighbors)
            assert largest <= bound
            assert np.linalg.norm(changed, axis=1).max() <= coefficient_sensitivity(n, count, norm=2, neighbors=neighbors)
            assert largest >= 0.7 * bound  # and it is not far from the truth
    assert np.abs(added).sum(axis=1).max() == sequence_sensitivity(n, norm=1)


@pytest.mark.parametrize(("k", "found"), [(5, 81.4), (10, 109.1), (20, 142.7), (40, 194.5)])
def test_a_search_finds_nobody_beyond_the_bound(k, found):
    """From 40 random starts it comes within 5 % of the worst person that is known, and the bound within 15 % of both."""
    rows = Fourier(2000).coefficients(np.eye(2000), 2 * k - 1).T
    worst = worst_person(rows, source=ReplaySource.from_key("persons")).change
    assert 0.95 * found <= worst <= coefficient_sensitivity(2000, 2 * k - 1, norm=1) <= 1.15 * found


def test_the_transform_of_the_slides_is_refuted():
    """Noise of scale sqrt(k) sqrt(n) / epsilon, on a transform that is not normalized: for a claim of 1 the truth is 24 or more."""
    n, k = 2000, 20
    found = np.fft.rfft(np.eye(n), axis=-1)[:, :k]
    rows = np.concatenate([found.real.T, found.imag.T[1:]])
    audit = worst_person(rows, source=ReplaySource.from_key("slides"))
    assert audit.epsilon(scale=np.sqrt(k * n)) >= 24
    assert np.abs(rows @ np.ones(n)).sum() / np.sqrt(k * n) == pytest.approx(10, rel=1e-9)  # everybody over 200 lb, all the time


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Fourier(0),
        lambda: Cosine(True),
        lambda: Fourier(4).coefficients(np.ones(5), 2),
        lambda: Fourier(4).coefficients(np.ones(4), 5),
        lambda: Fourier(4).series(np.ones(5)),
        lambda: sequence_sensitivity(0, norm=1),
        lambda: sequence_sensitivity(3, norm=3),
        lambda: sequence_sensitivity(3, norm=1, bound=0.0),
        lambda: coefficient_sensitivity(3, 4, norm=1),
        lambda: coefficient_sensitivity(3, 2, norm=3),
        lambda: sequence_sensitivity(3, norm=1, neighbors="both"),
        lambda: worst_person(np.ones(3)),
    ],
)
def test_mistakes_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()
