"""Post-processing against its definitions, an independent solver, and the published comparison."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

import deniable as dn
from deniable.core.postprocess import METHODS, norm_sub
from deniable.core.supports import SupportEstimate
from deniable.errors import ParameterError
from deniable.testing import ReplaySource

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
    return held / n, SupportEstimate(SPEC, range(1024), n, supports.astype(np.int64), np.asarray(p), np.asarray(q))


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
    assert cut.to_arrow().column_names == ["value", "base-cut", "raw", "low", "high"]


def test_base_cut_names_what_nobody_holds_in_one_run_of_twenty_at_most():
    """On an empty domain the threshold lets one value through with probability 5 %: 200 runs, 27 or more has probability below 1e-6."""
    n, p, q = 1_000_000, float(SPEC.p), float(SPEC.q)
    false = 0
    for i in range(200):
        _, noise = sampled(f"cut {i}")
        nobody = SupportEstimate(SPEC, range(900), n, noise.supports[124:], np.asarray(p), np.asarray(q))
        held = np.floor(n / np.arange(125, 1025) ** 1.5 / (1 / np.arange(1, 1025) ** 1.5).sum())
        false += bool(np.any((nobody.postprocess("base-cut").counts > 0) & (held < 100)))
    assert false < 27


def test_the_published_comparison():
    """Zipf 1.5, d = 1024, a million people, OUE at epsilon 1: mean squared errors of all frequencies (reference run, 50 repetitions)."""
    published = {"base-cut": 4.459e-07, "norm": 3.687e-06, "norm-sub": 4.963e-07, "norm-mul": 3.197e-05}
    errors = {name: [] for name in published}
    for i in range(20):
        truth, estimate = sampled(f"run {i}")
        for name, found in errors.items():
            found.append(np.mean((estimate.postprocess(name).frequencies - truth) ** 2))
    for name, found in errors.items():
        spread = np.std(found) * np.sqrt(1 / 20 + 1 / 50)
        assert np.mean(found) == pytest.approx(published[name], abs=5 * spread + 0.01 * published[name]), name


def test_only_when_asked_and_only_for_everyone():
    _, estimate = sampled("asked")
    assert estimate.counts.min() < 0
    assert set(METHODS) == {"base-cut", "norm", "norm-sub", "norm-mul"}
    with pytest.raises(ParameterError, match="norm-sub"):
        estimate.postprocess("median")
    with pytest.raises(ParameterError, match="before top"):
        estimate.top(5).postprocess("norm-sub")
