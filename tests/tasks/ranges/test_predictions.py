"""Predicted errors of ranges are the reference's, and the choice follows them."""

from __future__ import annotations

from math import e, log, log2

import numpy as np
import pytest

import deniable as dn
from deniable.client import GRR, OUE, SubsetSelection
from deniable.errors import ParameterError
from deniable.lab.distances import range_error
from deniable.tasks.ranges.ahead import AHEAD, AHEADState
from deniable.tasks.ranges.choice import (
    average,
    best_branching,
    haar_variances,
    predicted_haar,
    predicted_tree,
    range_method,
    tree_variances,
)
from deniable.tasks.ranges.haar import HaarHRR
from deniable.tasks.ranges.hierarchy import Hierarchy
from deniable.tasks.ranges.levels import tree_widths
from deniable.testing import law_of

REFERENCE = {
    256: {"flat": (316.71, 942.8), 2: (45.66, 71.11), 4: (43.45, 67.8), 16: (54.24, 83.19), "Haar": (44.82, 67.65)},
    64: {"flat": (81.02, 235.7), 2: (26.75, 43.42), 4: (24.25, 38.72), 8: (24.99, 39.28), "Haar": (24.41, 38.28)},
}
"""N times the variance at epsilon = 1: on average over all ranges, and of the worst one; computed independently of this code."""
OUE_VARIANCE = 4 * e / (e - 1) ** 2
HRR_VARIANCE = ((e + 1) / (e - 1)) ** 2


@pytest.mark.parametrize(("size", "branching"), [(256, 2), (256, 4), (256, 16), (64, 2), (64, 4), (64, 8)])
def test_trees_err_as_the_reference_says(size, branching):
    widths = tree_widths(size, branching)
    found = tree_variances(size, widths, [OUE_VARIANCE] * len(widths))
    assert [average(found), found.max()] == pytest.approx(REFERENCE[size][branching], abs=0.0051)


@pytest.mark.parametrize("size", [256, 64])
def test_haar_and_flat_err_as_the_reference_says(size):
    haar = haar_variances(size, HRR_VARIANCE)
    assert [average(haar), haar.max()] == pytest.approx(REFERENCE[size]["Haar"], abs=0.0051)
    lengths = np.abs(np.subtract.outer(np.arange(size + 1), np.arange(size + 1)))
    assert [average(OUE_VARIANCE * lengths), OUE_VARIANCE * size] == pytest.approx(REFERENCE[size]["flat"], abs=0.051)
    # Knowing the total, a range errs like the smaller of it and its complement, and less: r (D - r) / D instead of r.
    flat = tree_variances(size, (1,), [OUE_VARIANCE])
    assert flat == pytest.approx(OUE_VARIANCE * lengths * (size - lengths) / size, abs=1e-8)


def test_the_bounds_of_the_literature_hold():
    """(B + 1) / 2 log_B(D)^2 for a consistent tree of B branches, D for a flat one, log_2(D)^2 / 2 for Haar."""
    for size in (16, 64, 256):
        for branching in (2, 4, 8, 16):
            widths = tree_widths(size, branching)
            bound = (branching + 1) / 2 * (log(size) / log(branching)) ** 2 if branching < size else size
            assert tree_variances(size, widths, [OUE_VARIANCE] * len(widths)).max() <= OUE_VARIANCE * bound
        assert haar_variances(size, HRR_VARIANCE).max() <= HRR_VARIANCE * log2(size) ** 2 / 2


@pytest.mark.parametrize(
    "spec", [GRR(domain_size=2, epsilon=1.0), GRR(domain_size=5, epsilon=1.0), SubsetSelection(domain_size=6, epsilon=1.0)], ids=repr
)
def test_scores_of_two_values_vary_together_as_the_law_says(spec):
    """By enumerating the shipping randomizer, exactly."""

    def covariance(holder, u, v):
        law = law_of(lambda source: spec.randomize(holder, source))
        joint = sum(weight * spec.score(report, u) * spec.score(report, v) for report, weight in law.items())
        return float(joint - (holder == u) * (holder == v))

    neither, one = spec.pair_covariances
    assert covariance(0, 0, 1) == pytest.approx(one, abs=1e-12)
    if spec.domain_size > 2:
        assert covariance(2, 0, 1) == pytest.approx(neither, abs=1e-12)
    assert OUE(domain_size=5, epsilon=1.0).pair_covariances == (0.0, 0.0)


def test_the_choice_is_the_smallest_prediction_and_says_why():
    small = range_method(domain=dn.IndexRange(4), epsilon=1.0, n=1000)
    assert small.why.startswith("flat: ")
    assert small.chosen.widths == (1,)
    large = range_method(domain=dn.Integers(1, 256), epsilon=1.0, n=100_000)
    assert isinstance(large.chosen, Hierarchy)
    errors = dict(zip(large.rows()["value"], large.rows()["error"], strict=True))
    best = min(errors, key=errors.get)
    assert large.considered == tuple(errors)
    assert large.why.startswith(f"{best}: the smallest predicted error")
    assert all(told in large.why for told in ("AHEAD", "counting every value"))
    assert errors["flat"] ** 2 > 3 * errors[best] ** 2
    assert large.to_arrow().column_names == ["value", "error", "worst"]
    assert Hierarchy(domain=dn.IndexRange(256), epsilon=1.0).widths == tree_widths(256, best_branching(256, epsilon=1.0))
    assert predicted_tree(64, 4, epsilon=1.0, oracle="OUE")[0] == pytest.approx(24.25, rel=0.05)
    assert predicted_haar(64, epsilon=1.0)[0] == pytest.approx(24.41 - 1 / 6, abs=0.02)


def test_the_error_of_all_ranges_is_that_of_each():
    estimated, truth = np.array([3.0, -1.0, 4.0, 1.0]), np.array([2.0, 7.0, 1.0, 8.0])
    off = [float((estimated - truth)[i:j].sum()) for i in range(4) for j in range(i + 1, 5)]
    assert range_error(estimated, truth) == pytest.approx(np.sqrt(np.mean(np.square(off))))


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: Hierarchy(domain=dn.Text(9), epsilon=1.0), "domain"),
        (lambda: Hierarchy(domain=dn.Numbers(0, 1), epsilon=1.0), "domain"),
        (lambda: Hierarchy(domain=dn.IndexRange(9), epsilon=1.0, branching=1), "branching"),
        (lambda: Hierarchy(domain=dn.IndexRange(9), epsilon=1.0, oracle="CMS"), "oracle"),
        (lambda: Hierarchy(domain=dn.IndexRange(9), epsilon=1.0, widths=(4, 3, 1)), "widths"),
        (lambda: Hierarchy(domain=dn.IndexRange(9), epsilon=1.0, people=-1), "people"),
        (lambda: Hierarchy(domain=dn.IndexRange(9), epsilon=0.0, branching=2), "epsilon"),
        (lambda: HaarHRR(domain=dn.IndexRange(1025), epsilon=1.0), "domain"),
        (lambda: AHEAD(domain=dn.IndexRange(9), epsilon=1.0, branching=2.0), "branching"),
        (lambda: AHEAD(domain=dn.IndexRange(9), epsilon=1.0, state=AHEADState(cells=(0, 4, 4))), "starts"),
        (lambda: range_method(domain=dn.IndexRange(9), epsilon=1.0, n=0), "n"),
    ],
)
def test_what_cannot_be_asked_is_refused(make, parameter):
    with pytest.raises(ParameterError) as refused:
        make()
    assert refused.value.parameter == parameter
    assert refused.value.allowed
    assert refused.value.fix
