"""Marginals: the check values, exact expectations, exact covariances, and errors that are what they claim to be."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.errors import ParameterError
from deniable.tasks.marginals import Marginals, marginals
from deniable.tasks.marginals.choice import design_for, predicted_error
from deniable.tasks.marginals.columns import Columns
from deniable.tasks.marginals.components import positions
from deniable.tasks.marginals.designs import METHODS, groups_of, wanted
from deniable.tasks.marginals.groups import Moments
from deniable.testing import ReplaySource
from tests.tasks.marginals.tables import BITS, MIXED, margin, rows_of, shares_of, told

ALPHA = 1e-6


def noise(spec, rows):
    """The variance of a linear form of one person's scores, for someone who is in none of the cells."""
    return float(Moments.of(spec).covariance(np.atleast_2d(rows), np.zeros(spec.domain_size))[0, 0])


def test_check_values_of_the_reference():
    """Eight columns of two values, all pairs, epsilon 1: n times the variance of a cell. Then five columns of ten values."""
    columns = Columns.of(BITS)
    pairs = wanted(columns, 2, None)
    parities = groups_of("fourier", columns, pairs)
    assert (len(pairs), len(parities)) == (28, 36)
    assert predicted_error(columns, pairs, parities, epsilon=1.0, people=1) ** 2 == pytest.approx(31.6082, rel=1e-5)
    cell = np.eye(4)[0]
    assert 28 * noise(dn.GRR(domain_size=4, epsilon=1.0), cell) == pytest.approx(44.7459, rel=1e-5)
    assert 28 * noise(dn.OUE(domain_size=4, epsilon=1.0), cell) == pytest.approx(103.115, rel=1e-5)
    quarter = positions(tuple(BITS), ("a", "b"), columns.sizes) == 0
    assert noise(dn.OUE(domain_size=256, epsilon=1.0), quarter.astype(float)) == pytest.approx(235.692, rel=1e-5)
    ten = np.eye(10)[0]
    found = [noise(dn.OUE(domain_size=10, epsilon=0.2), ten), 5 * noise(dn.OUE(domain_size=10, epsilon=1.0), ten)]
    found.append(5 * noise(dn.GRR(domain_size=10, epsilon=1.0), ten))
    assert found == pytest.approx([99.67, 18.41, 18.15], abs=0.005)  # a fifth of the budget for each column; one column each


@pytest.mark.parametrize("spec", [dn.GRR(domain_size=4, epsilon=1.0), dn.SubsetSelection(domain_size=5, epsilon=1.0, size=2),
                                  dn.OUE(domain_size=3, epsilon=0.5), dn.GRR(domain_size=2, epsilon=2.0)], ids=repr)  # fmt: skip
def test_the_covariance_of_scores_is_that_of_the_exact_law(spec):
    size = spec.domain_size
    shares = np.arange(1, size + 1) / (size * (size + 1) / 2)
    rows = np.sin(np.arange(3 * size)).reshape(3, size)
    scores, weights, second = [], [], []
    for held in range(size):
        law = spec.law(held)
        found = np.array([[float(spec.score(report, key)) for key in range(size)] for report in law])
        chances = np.array([float(weight) for weight in law.values()])
        scores.append(found)
        weights.append(shares[held] * chances)
        second.append(chances @ (found @ rows.T) ** 2)
    exact = np.cov(np.vstack(scores).T, aweights=np.concatenate(weights), ddof=0)
    moments = Moments.of(spec)
    assert moments.covariance(rows, shares) == pytest.approx(rows @ exact @ rows.T, rel=1e-9)
    assert moments.worst(rows) == pytest.approx(np.max(second, axis=0), rel=1e-9)
    farthest = max(float(np.abs(found @ rows.T).max()) for found in scores)
    assert farthest <= moments.reach(rows) * (1 + 1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_expectation_is_exactly_the_truth_and_marginals_agree(method, k):
    survey = Marginals(columns=MIXED, k=k, epsilon=1.0, method=method)
    assert survey.method == method
    whole = shares_of(MIXED, "truth")
    found = told(survey, MIXED, whole, 10**6)
    for size in range(1, k + 1):
        for names in combinations(MIXED, size):
            assert found[names].frequencies == pytest.approx(margin(MIXED, whole, names), abs=1e-12)
    backwards = found["stars", "place"].table.T if k > 1 else None
    if k > 1:
        assert backwards == pytest.approx(found["place", "stars"].table, abs=1e-12)


@pytest.mark.parametrize("method", ["split", "views", "fourier", "direct"])
def test_noisy_marginals_agree_where_they_share_columns(method):
    table = rows_of(MIXED, shares_of(MIXED, "crowd"), 3000)
    found = marginals(table, columns=MIXED, epsilon=1.0, k=3, method=method, source=ReplaySource.from_key("agree"))
    once = found["place", "mood", "stars"].table
    again = found["place", "mood", "age"].table
    if method == "fourier":  # keys without a value have a share of noise, which no value's share contains
        assert once.sum() == pytest.approx(1, abs=0.5)
        return
    assert once.sum(axis=2) == pytest.approx(again.sum(axis=2), abs=1e-12)
    assert once.sum() == pytest.approx(1, abs=1e-12)
    assert once.sum(axis=2).ravel() == pytest.approx(found["place", "mood"].frequencies, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_prediction_is_the_variance_where_all_cells_are_alike(method):
    columns = {"a": ["x", "y", "z", "w"], "b": ["x", "y"], "c": ["x", "y"]}
    survey = Marginals(columns=columns, epsilon=1.5, method=method)
    groups = len(survey.asked)
    found = told(survey, columns, np.full(16, 1 / 16), 10_000 * groups)
    squares = np.concatenate([np.diag(found[names].law.drawn) for names in survey.wanted])
    expected = predicted_error(survey.columns, survey.wanted, survey.asked, epsilon=1.5, people=10_000 * groups)
    assert np.sqrt(squares.mean()) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_errors_are_what_they_claim_and_leaving_out_who_was_asked_is_rejected(method):
    """Sixty times the same 1,500 people, epsilon 5: the squares of standardized errors are chi-square.

    The twin counts the mechanism's noise and forgets that a group is a sample; with one group there is nothing to forget.
    """
    columns = {"a": ["x", "y", "z"], "b": ["x", "y"], "c": ["x", "y"]}
    n, runs, cell = 1500, 60, 2
    table = rows_of(columns, shares_of(columns, "crowd"), n)
    survey = Marginals(columns=columns, epsilon=5.0, method=method, people=n)
    truth = sum(pair == ("y", "x") for pair in zip(table["a"], table["b"], strict=True)) / n
    honest = forgetful = 0.0
    source = ReplaySource.from_key(f"claims {method}")
    for _ in range(runs):
        whole = survey.run(table, source=source)
        found = whole["a", "b"]
        square = (found.frequencies[cell] - truth) ** 2
        honest += square / found.law.covariance[cell, cell]
        forgetful += square / sum(noise_alone(group, rows)[cell, cell] for group, rows in whole.shares.forms(("a", "b"))[1])
    low, high = stats.chi2.ppf(ALPHA / 2, runs), stats.chi2.isf(ALPHA / 2, runs)
    assert low < honest < high
    assert forgetful == pytest.approx(honest, rel=0.01) if method == "direct" else forgetful > high


def noise_alone(group, rows):
    sampled = np.diag(group.shares) - np.outer(group.shares, group.shares)
    return (group.moments.covariance(rows, group.shares) - rows @ sampled @ rows.T) / group.n


def test_one_group_is_the_plain_estimate_with_its_error():
    columns = {"place": ["bar", "inn", "spa"], "mood": ["good", "bad"]}
    survey = Marginals(columns=columns, epsilon=1.0)
    [question] = survey.open().questions
    table = rows_of(columns, np.array([0.2, 0.15, 0.15, 0.15, 0.15, 0.2]), 4000)
    source = ReplaySource.from_key("plain")
    found = survey.run(table, source=source)["place", "mood"]
    inputs = question.encoder.column(table)
    plain = question.spec.estimate(question.spec.tally(question.spec.privatize(inputs, source=ReplaySource.from_key("plain"))))
    assert (question.spec.mechanism, plain.n) == ("SubsetSelection", 4000)
    assert found.counts == pytest.approx(plain.counts, abs=1e-6)
    assert found.stderr == pytest.approx(plain.stderr, rel=1e-6)
    assert found.law.variance(found.counts, population=True) == pytest.approx(plain.law.variance(plain.counts, population=True), rel=1e-6)


def test_the_choice_says_why():
    columns = Columns.of(BITS)
    pairs = wanted(columns, 2, None)
    low, high = (design_for(columns, pairs, epsilon=epsilon, people=10_000) for epsilon in (0.5, 6.0))
    assert low.chosen.label == "views of 3"
    assert high.chosen.label == "views of 6"  # little noise: more columns for each person
    assert high.why.startswith(f"{high.chosen.label}: ")
    assert all(design.error >= min(d.error for d in high.considered) for design in high.considered)
    assert "as you asked" in design_for(columns, pairs, epsilon=1.0, people=10_000, method="fourier").why
    wide = Columns.of({name: [str(i) for i in range(64)] for name in "abc"})
    choice = design_for(wide, wanted(wide, 2, None), epsilon=1.0, people=10_000)
    assert choice.chosen.method == "split"
    assert "direct allows at most 8,192 cells" in choice.why
    with pytest.raises(ParameterError):
        design_for(wide, wanted(wide, 2, None), epsilon=1.0, people=10_000, method="direct")
