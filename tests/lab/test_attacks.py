"""Attacks: what liars gain is what the closed forms say, and the made-up reports are ones that a collector would take."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core.integrity import check_reports
from deniable.core.postprocess import norm_sub
from deniable.core.reports import Reports
from deniable.core.set_bits import chance_of, sift
from deniable.core.tally import Tally
from deniable.errors import ParameterError
from deniable.lab.attacks import Attack, craft
from deniable.lab.populations import Zipf
from deniable.testing import ReplaySource

LIARS, TARGETS, N = 0.05, 10, 1_000_000
TABLE = {
    (102, 1.0): {"GRR": 2.727, "OUE": 1.582, "clip": 0.70},
    (1024, 1.0): {"GRR": 29.56, "OUE": 1.582, "clip": 0.59},
    (1024, 4.0): {"GRR": 0.996, "OUE": 1.019, "clip": 0.55},
}
"""Published figures: five in a hundred lie, ten rare values of a Zipf crowd with exponent 1.5, a million people."""


def closed_form(mechanism, d, epsilon, held, hash_range=None):
    e = exp(epsilon)
    if mechanism == "GRR":
        return LIARS * (1 - held) + LIARS * (d - TARGETS) / (e - 1)
    if mechanism == "OUE":
        return LIARS * (2 * TARGETS - held) + 2 * LIARS * TARGETS / (e - 1)
    return LIARS * (TARGETS * (e + hash_range - 1) / (e - 1) - held)


def counted(spec, crowd, kind):
    """OUE's tally with liars, drawn as sums: every support of an honest crowd is two binomials."""
    generator = np.random.default_rng(20_210_811)
    held = crowd.counts(round((1 - LIARS) * N))
    p, q = float(spec.p), float(spec.q)
    supports = generator.binomial(held, p) + generator.binomial(held.sum() - held, q)
    targets = np.arange(spec.domain_size - TARGETS, spec.domain_size)
    some = spec.tally(craft(spec, kind, targets, 5_000, ReplaySource.from_key(kind)))
    return Tally(spec, N, supports + some.counters * (round(LIARS * N) // 5_000)), targets


@pytest.mark.parametrize(("d", "epsilon"), TABLE)
def test_the_published_table_is_reproduced(d, epsilon):
    """To two percent, and to 0.02 after clipping and scaling, of which two digits are published."""
    crowd, told = Zipf(1.5, d), TABLE[d, epsilon]
    held = float(crowd.probabilities[-TARGETS:].sum())
    assert closed_form("GRR", d, epsilon, held) == pytest.approx(told["GRR"], rel=5e-4)
    assert closed_form("OUE", d, epsilon, held) == pytest.approx(told["OUE"], rel=5e-4)
    source = ReplaySource.from_key(f"table {d} {epsilon}")
    outcome = Attack("GRR").run(dn.GRR(domain_size=d, epsilon=epsilon), crowd.draw(N, source), source)
    assert outcome.gain == pytest.approx(told["GRR"], rel=0.02)
    assert outcome.predicted["gain"] == pytest.approx(told["GRR"], rel=1e-3)
    spec = dn.OUE(domain_size=d, epsilon=epsilon)
    for kind in ("crafted", "hidden"):
        tally, targets = counted(spec, crowd, kind)
        estimate = spec.estimate(tally)
        assert estimate.frequencies[targets].sum() - held == pytest.approx(told["OUE"], rel=0.02)
    assert estimate.postprocess("norm-mul").frequencies[targets].sum() - held == pytest.approx(told["clip"], abs=0.02)


def without_noise(spec, crowd, hidden):
    """The counts of a crowd without end, liars and all: (1 - b) f for everybody, and what a made-up report adds to each value."""
    p, q, d = float(spec.p), float(spec.q), spec.domain_size
    set_bits = np.full(d, 0.0)
    if hidden:  # as many bits as an honest report has: what is left for the others is spread evenly
        set_bits[:-TARGETS] = (p + (d - 1) * q - TARGETS) / (d - TARGETS)
    set_bits[-TARGETS:] = 1.0
    return (1 - LIARS) * crowd.probabilities + LIARS * (set_bits - q) / (p - q)


@pytest.mark.parametrize(("d", "epsilon"), TABLE)
def test_norm_sub_leaves_more_than_two_fifths_of_the_gain(d, epsilon):
    """The reference aims at a quarter or less. At its own setting that does not hold: without any noise 42 to 57 % is left, measured
    as well, and its own column for clipping and scaling has 37 to 54 %. Only where the raw gain is above 4 would a quarter be reached,
    since what is left is below 1: GRR over 1,024 values, 3 %.
    """
    crowd, spec = Zipf(1.5, d), dn.OUE(domain_size=d, epsilon=epsilon)
    held = float(crowd.probabilities[-TARGETS:].sum())
    assert min(told["clip"] / told["OUE"] for told in TABLE.values()) > 0.37
    for kind in ("crafted", "hidden"):
        limit = norm_sub(without_noise(spec, crowd, kind == "hidden"), 1.0)[-TARGETS:].sum() - held
        raw = without_noise(spec, crowd, kind == "hidden")[-TARGETS:].sum() - held
        assert raw == pytest.approx(TABLE[d, epsilon]["OUE"], rel=2e-3)
        assert 0.42 < limit / raw < 0.57
        tally, targets = counted(spec, crowd, kind)
        found = spec.estimate(tally).postprocess("norm-sub").frequencies[targets].sum() - held
        assert found == pytest.approx(limit, abs=0.06)  # noise takes a little from everybody
        assert found / raw > 0.4


def test_what_was_made_up_naively_can_be_sifted_out_and_nothing_else():
    """A mitigation that leaves less than a quarter, where honest reports never have so few bits: not at epsilon 4, nor if liars hide."""
    source = ReplaySource.from_key("sift")
    for (d, epsilon), kind, left in (
        ((102, 1.0), "crafted", 0),
        ((1024, 1.0), "crafted", 0),
        ((1024, 4.0), "crafted", 1),
        ((1024, 1.0), "hidden", 1),
    ):
        spec, targets = dn.OUE(domain_size=d, epsilon=epsilon), np.arange(d - TARGETS, d)
        made_up = craft(spec, kind, targets, 500, source)
        honest = spec.privatize(np.zeros(20_000, dtype=int), source=source)
        assert sift(made_up).n == pytest.approx(500 * left, abs=3)
        assert sift(honest).n >= 20_000 - stats.binom.isf(1e-6, 20_000, 1e-4)
    with pytest.raises(ParameterError, match="law"):
        sift(dn.GRR(domain_size=9, epsilon=1.0).privatize([1]))


@pytest.mark.parametrize(("d", "epsilon"), TABLE)
def test_sifting_honest_reports_costs_next_to_nothing(d, epsilon):
    """The reference allows 5 % more error on clean data. Exactly: what a bit's probability becomes among the reports that are kept."""
    spec = dn.OUE(domain_size=d, epsilon=epsilon)
    p, q = float(spec.p), float(spec.q)
    [law] = spec.popcount_laws
    counts = np.arange(d + 1)
    kept = (chance_of(law, counts, "cdf") > 5e-5) & (chance_of(law, counts, "sf") > 5e-5)
    whole = chance_of(law, counts, "pmf")[kept].sum()
    assert 0 < 1 - whole < 1e-4
    others = (1 - p) * stats.binom.pmf(counts - 1, d - 2, q) + p * stats.binom.pmf(counts - 2, d - 2, q)  # the bits but one that is set
    own = stats.binom.pmf(counts - 1, d - 1, q)
    for chance, rest in ((q, others), (p, own)):
        shift = chance * rest[kept].sum() / whole - chance
        bias = N * abs(shift) / (p - q)
        assert (1 + bias**2 / spec.variance(n=N)) ** 0.5 < 1.05


@pytest.mark.parametrize(("d", "epsilon"), TABLE)
def test_the_closed_form_of_local_hashing_is_reached(d, epsilon):
    """Devices choose their hash functions: liars find one that puts all targets, and about one other value in g, on one symbol."""
    crowd, spec = Zipf(1.5, d), dn.OLH(domain_size=d, epsilon=epsilon)
    source = ReplaySource.from_key(f"olh {d} {epsilon}")
    outcome = Attack("OLH").run(spec, crowd.draw(N, source), source)
    held = float(outcome.truth[-TARGETS:].sum() / N)
    assert outcome.gain == pytest.approx(closed_form("OLH", d, epsilon, held, spec.hash_range), rel=0.02)
    assert closed_form("OLH", d, epsilon, held, exp(epsilon) + 1) == pytest.approx(closed_form("OUE", d, epsilon, held))
    made_up = craft(spec, "crafted", np.arange(d - TARGETS, d), 1_000, source)
    assert np.unique(made_up.columns["seed"], axis=0).shape == (1_000, 2)
    assert check_reports(made_up).suspicious == []  # no two seeds alike: nothing to be seen
    supports = spec.tally(made_up).counters
    assert supports[-TARGETS:].tolist() == [1_000] * TARGETS
    assert supports.sum() / 1_000 < 3 * d / spec.hash_range + TARGETS


def test_who_randomizes_honestly_gains_a_share_and_no_more():
    crowd, spec = Zipf(1.5, 102), dn.OUE(domain_size=102, epsilon=1.0)
    source = ReplaySource.from_key("lying")
    outcome = Attack("OUE", "lying").run(spec, crowd.draw(N, source), source)
    error = (TARGETS * spec.variance(n=N)) ** 0.5 / N
    assert abs(outcome.gain - LIARS * (1 - outcome.truth[-TARGETS:].sum() / N)) < 4.9 * error < 0.6 * LIARS


@pytest.mark.parametrize("kind", ["crafted", "hidden", "lying"])
def test_made_up_reports_are_ones_that_a_collector_takes(kind):
    targets, source = np.array([3, 5, 8]), ReplaySource.from_key("taken")
    spec = dn.OUE(domain_size=50, epsilon=1.0)
    made_up = craft(spec, kind, targets, 5_000, source)
    assert Reports.from_bytes(made_up.to_bytes()) == made_up
    supports = spec.tally(made_up).counters
    if kind == "lying":
        assert np.all(supports[targets] < 5_000)
    else:
        assert supports[targets].tolist() == [5_000] * 3
        assert check_reports(made_up).suspicious == (["popcount", "pairs"] if kind == "crafted" else ["pairs"])
    if kind == "hidden":  # what was cleared for them is spread over all other values
        others = np.delete(supports, targets)
        assert np.abs(others - others.mean()).max() < 4.9 * np.sqrt(others.mean())


def test_what_cannot_be_attacked_so_is_refused():
    for spec, kind in ((dn.GRR(domain_size=9, epsilon=1.0), "hidden"), (dn.HRR(domain_size=9, epsilon=1.0), "crafted")):
        with pytest.raises(ParameterError, match="attack on"):
            craft(spec, kind, np.array([1]), 5, ReplaySource.from_key("x"))
    with pytest.raises(ParameterError, match="32 bits"):
        craft(dn.OLH(domain=dn.Integers(0, 1 << 40), epsilon=1.0), "crafted", np.array([1]), 5, ReplaySource.from_key("x"))
    for wrong in ({"kind": "loud"}, {"liars": 1.0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            Attack("OUE", **wrong)
    with pytest.raises(ParameterError, match="targets"):
        Attack("OUE", targets=9).setup(Zipf(1.5, 9), 1.0, 100)
