"""Post-processing against its definitions, an independent solver, and the published comparison."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

import deniable as dn
from deniable.core.postprocess import METHODS, norm_sub
from deniable.errors import ParameterError
from deniable.testing import ReplaySource
from tests.estimates import of_scores, of_supports

SPEC = dn.OUE(domain_size=1024, epsilon=1.0)


def sampled(key, n=1_000_000):
    """OUE's tally by its exact law, bit by bit binomial, so that a million people need no reports; Zipf 1.5 as in the reference run."""
    weights = 1.0 / np.arange(1, 1025) ** 1.5
    held = np.floor(n * weights / weights.sum())
    held[0] += n - held.sum()
    words = np.array(ReplaySource.from_key(key).words(2048), dtype=np.uint64)
    uniform = ((words >> np.uint64(11)) + np.uint64(1)) / 2.0**53
    normal = np.sqrt(-2 * np.log(uniform[:1024])) * np.cos(
        2 * np.pi * uniform[1024:]
    )  # n p (1 - p) > 1e5: normal to the last digit that matters
    p, q = float(SPEC.p), float(SPEC.q)
    supports = np.rint(held * p + (n - held) * q + normal * np.sqrt(held * p * (1 - p) + (n - held) * q * (1 - q)))
    return held / n, of_supports(SPEC, range(1024), n, supports.astype(np.int64), np.asarray(p), np.asarray(q))


@given(st.lists(st.integers(-50, 100), min_size=1, max_size=30), st.integers(1, 200))
def test_norm_sub_is_the_projection(counts, total):
    """The shift solves sum max(c - shift, 0) = total, found by a root finder instead of by sorting."""
    counts = np.array(counts, dtype=float)
    shift = brentq(lambda s: np.maximum(counts - s, 0).sum() - total, counts.min() - total - 1, counts.max())
    result = norm_sub(counts, float(total))
    assert result.sum() == pytest.approx(total)
    assert result == pytest.approx(np.maximum(counts - shift, 0), abs=1e-6)


def test_each_method_does_what_it_says():
    _, estimate = sampled("methods")
    norm, mul, cut = (estimate.postprocess(name) for name in ("norm", "norm-mul", "base-cut"))
    assert norm.counts.sum() == pytest.approx(estimate.n)
    assert np.ptp(norm.counts - estimate.counts) == pytest.approx(0, abs=1e-6)
    assert mul.counts.min() == 0
    assert mul.counts.sum() == pytest.approx(estimate.n)
    kept = cut.counts > 0
    assert np.array_equal(cut.counts[kept], estimate.counts[kept])
    assert kept.sum() < 200
    assert "biases single counts" in repr(cut)
    assert cut.to_arrow().column_names == ["value", "base-cut", "frequency", "raw", "low", "high"]


def test_base_cut_names_what_nobody_holds_in_one_run_of_twenty_at_most():
    """On an empty domain the threshold lets one value through with probability 5 %: 200 runs, 27 or more has probability below 1e-6."""
    n, p, q = 1_000_000, float(SPEC.p), float(SPEC.q)
    false = 0
    for i in range(200):
        _, noise = sampled(f"cut {i}")
        nobody = of_supports(SPEC, range(900), n, noise.law.supports[124:], np.asarray(p), np.asarray(q))
        held = np.floor(n / np.arange(125, 1025) ** 1.5 / (1 / np.arange(1, 1025) ** 1.5).sum())
        false += bool(np.any((nobody.postprocess("base-cut").counts > 0) & (held < 100)))
    assert false < 27


def test_the_published_comparison():
    """Zipf 1.5, d = 1024, a million people, OUE at epsilon 1: mean squared errors of all frequencies (reference run, 50 repetitions)."""
    published = {"base-cut": 4.459e-07, "norm": 3.687e-06, "norm-sub": 4.963e-07, "norm-mul": 3.197e-05, "mle": 4.981e-07}
    errors = {name: [] for name in published}
    for i in range(20):
        truth, estimate = sampled(f"run {i}")
        for name, found in errors.items():
            found.append(np.mean((estimate.postprocess(name).frequencies - truth) ** 2))
    for name, found in errors.items():
        spread = np.std(found) * np.sqrt(1 / 20 + 1 / 50)
        assert np.mean(found) == pytest.approx(published[name], abs=5 * spread + 0.01 * published[name]), name


@given(st.lists(st.integers(0, 300), min_size=2, max_size=12).filter(any), st.sampled_from([0.1, 1.0, 4.0]))
def test_mle_is_where_iterative_bayes_ends(supports, epsilon):
    """Expectation maximization on the law of GRR, from the flat guess: no step left."""
    spec = dn.GRR(domain_size=len(supports), epsilon=epsilon)
    observed, law = np.array(supports), np.array([[float(spec.law(v)[y]) for v in range(len(supports))] for y in range(len(supports))])
    estimate = of_supports(spec, range(len(supports)), observed.sum(), observed, np.asarray(float(spec.p)), np.asarray(float(spec.q)))
    found = estimate.postprocess("mle").frequencies
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    again = found * (law.T @ (observed / (law @ found))) / observed.sum()
    assert again == pytest.approx(found, abs=1e-9)
    guess = np.full(len(supports), 1 / len(supports))
    for _ in range(2000):
        guess = guess * (law.T @ (observed / (law @ guess))) / observed.sum()
    likelihood = [observed @ np.log(law @ shares) for shares in (found, guess)]
    assert likelihood[0] >= likelihood[1] - 1e-9
    if epsilon == 4.0:  # where little noise is left, 2,000 steps are enough to arrive
        assert guess == pytest.approx(found, abs=1e-3)


def test_mle_of_an_unequal_coin():
    """The likelihood of 90 times yes among 100 rises up to everyone: p = 0.8 explains it best. 60 times is the unbiased 2/3."""
    spec = dn.RR.from_probabilities("4/5", "1/5")
    for yes, share in ((90, 1.0), (60, 2 / 3), (10, 0.0)):
        tally = spec.tally([1] * yes + [0] * (100 - yes))
        assert spec.estimate(tally).postprocess("mle").frequencies.tolist() == pytest.approx([1 - share, share])


@pytest.mark.parametrize(
    "spec", [dn.OUE(domain_size=5, epsilon=1.0), dn.SUE(domain_size=5, epsilon=3.0), dn.OLH(domain_size=5, epsilon=2.0)]
)
def test_mle_of_other_supports_is_the_published_iteration(spec):
    """Wang et al.: fit the positive set, drop what comes out negative, repeat; here in a loop, over many tallies."""
    p, q = float(spec.p), float(spec.q)
    words = np.array(ReplaySource.from_key(f"mle {spec}").words(500), dtype=np.uint64).reshape(100, 5)
    for supports in (words % np.uint64(1000)).astype(np.int64):
        estimate = of_supports(spec, range(5), 1000, supports, np.asarray(p), np.asarray(q))
        positive = np.full(5, True)
        while True:
            observed, size = supports[positive] / 1000, positive.sum()
            x = (observed.sum() - p - (size - 1) * q) / (p * (1 - p) + (size - 1) * q * (1 - q))
            shares = np.zeros(5)
            shares[positive] = (observed - q - q * (1 - q) * x) / (p - q + (p * (1 - p) - q * (1 - q)) * x)
            if shares.min() >= 0:
                break
            positive &= shares > 0
        assert estimate.postprocess("mle").frequencies == pytest.approx(shares, abs=1e-12)


def test_mle_of_other_supports_against_a_general_optimizer():
    """The normal likelihood, the variances by the shares themselves, maximized step by step; norm-sub is close, but not there."""
    spec = dn.OUE(domain_size=4, epsilon=1.0)
    p, q, n = float(spec.p), float(spec.q), 1000
    supports = np.array([480, 280, 270, 240])

    def misfit(shares):
        mean, variance = q + shares * (p - q), (q * (1 - q) + shares * (p * (1 - p) - q * (1 - q))) / n
        return float(((supports / n - mean) ** 2 / variance).sum())

    add_up = {"type": "eq", "fun": lambda shares: shares.sum() - 1}
    best = minimize(misfit, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints=[add_up], method="SLSQP", tol=1e-12)
    estimate = of_supports(spec, range(4), n, supports, np.asarray(p), np.asarray(q))
    assert estimate.postprocess("mle").frequencies == pytest.approx(best.x, abs=1e-6)
    assert misfit(estimate.postprocess("norm-sub").frequencies) > best.fun + 1e-4


def test_a_set_of_one_is_a_symbol_and_nobody_is_nobody():
    """Exactness is decided by what reports support, not by the mechanism's name."""
    supports = np.array([50, 30, 15, 5])
    shares = [
        of_supports(spec, range(4), 100, supports, np.asarray(float(spec.p)), np.asarray(float(spec.q))).postprocess("mle").frequencies
        for spec in (dn.GRR(domain_size=4, epsilon=1.0), dn.SubsetSelection(domain_size=4, epsilon=1.0, size=1))
    ]
    assert shares[0] == pytest.approx(shares[1])
    spec = dn.GRR(domain_size=4, epsilon=1.0)
    for method in METHODS:
        assert spec.estimate(spec.tally(spec.privatize([]))).postprocess(method).counts.tolist() == [0.0] * 4


def test_mle_needs_supports():
    sums = of_scores(SPEC, range(1024), 10, np.zeros(1024), np.ones(1024), slope=0.0, reach=1.0, worst=1.0)
    with pytest.raises(ParameterError, match=r"method: got 'mle'; allowed: one of \['base-cut', 'norm', 'norm-mul', 'norm-sub'\]"):
        sums.postprocess("mle")
    assert sums.postprocess("norm-sub").counts.sum() == pytest.approx(10)


def test_only_when_asked_and_only_for_everyone():
    _, estimate = sampled("asked")
    assert estimate.counts.min() < 0
    assert set(METHODS) == {"base-cut", "norm", "norm-sub", "norm-mul", "mle"}
    with pytest.raises(ParameterError, match="norm-sub"):
        estimate.postprocess("median")
    with pytest.raises(ParameterError, match="before top"):
        estimate.top(5).postprocess("norm-sub")


def test_some_values_are_not_made_to_add_up_to_everybody():
    """Others may hold values that were not asked about: only base-cut makes sense."""
    spec = dn.CMS(domain=dn.Text(20), epsilon=4.0)
    tally = spec.tally(spec.privatize(["tea"] * 1000 + ["other"] * 9000))
    named = [spec.estimate(tally, candidates=["tea", "absent"])]
    grr = dn.GRR(domain_size=100, epsilon=4.0)
    named.append(grr.estimate(grr.tally(grr.privatize([0] * 50 + [7] * 50)), candidates=[0, 1]))
    for estimate in named:
        for method in ("norm", "norm-sub", "norm-mul", "mle"):
            with pytest.raises(ParameterError, match="add up to n"):
                estimate.postprocess(method)
        assert estimate.postprocess("base-cut").counts.shape == (2,)
