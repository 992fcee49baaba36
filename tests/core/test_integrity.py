"""Tests of integrity against counting by hand, and regressions against the textbook's: small batches, every report looked at."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import comb, exp

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.contract.law import PairLaw
from deniable.core import set_bits
from deniable.core.integrity import Finding, IntegrityReport, check_reports, manipulation_budget
from deniable.core.reports import Reports
from deniable.core.set_bits import Coins, popcount_range, popcounts, sift, strongest_pair
from deniable.errors import ParameterError
from deniable.testing import ReplaySource
from tests.estimates import of_regression, of_supports, with_law

OUE = dn.OUE(domain_size=11, epsilon=1.0)
P, Q = float(OUE.p), float(OUE.q)


def batch(sets, spec=OUE):
    """Reports whose set bits are these."""
    bits = np.zeros((len(sets), 8 * (-(-spec.domain_size // 8))), dtype=np.uint8)
    for row, held in enumerate(sets):
        bits[row, list(held)] = 1
    return Reports(spec, len(sets), {"bits": np.packbits(bits, axis=1, bitorder="little")})


def binomials(n, p, q, count):
    """P(exactly k bits) of one coin p and n - 1 coins q, summed term by term."""

    def others(k):
        return comb(n - 1, k) * q**k * (1 - q) ** (n - 1 - k) if 0 <= k < n else 0.0

    return [p * others(k - 1) + (1 - p) * others(k) for k in range(count)]


# --- pairs ---

SETS = [(0, 9), (0, 9), (9, 0, 3), (0,), (1, 2), (9, 10), (4,), (), (0, 9, 10), (8, 10)]


def test_the_strongest_pair_is_that_of_all_pairs_counted_by_hand(monkeypatch):
    excess = {}
    for i, j in combinations(range(11), 2):
        together = sum(i in held and j in held for held in SETS)
        apart = sum(i in held for held in SETS), sum(j in held for held in SETS)
        excess[i, j] = together - Q * sum(apart) + len(SETS) * Q**2
    best = max(excess, key=excess.get)
    moments = []
    for a in (P, Q):  # whoever holds one of the two, and everyone else
        moments.append(sum((a if x else 1 - a) * (Q if y else 1 - Q) * ((x - Q) * (y - Q)) ** 2 for x in (0, 1) for y in (0, 1)))
    t = excess[best]
    chance = exp(-(t**2) / (2 * (len(SETS) * max(moments) + t / 3))) * 55
    for at_once in (1 << 15, 3):
        monkeypatch.setattr(set_bits, "_TOGETHER", at_once)
        found = strongest_pair(batch(SETS))
        assert (found.first, found.second, found.seen) == (*best, 4.0)
        assert found.expected == pytest.approx(4.0 - t)
        assert found.p_value == pytest.approx(min(1.0, chance))
    many = strongest_pair(batch(SETS * 9))
    assert many.p_value == pytest.approx(exp(-((9 * t) ** 2) / (2 * (90 * max(moments) + 3 * t))) * 55, rel=1e-9, abs=0)
    assert many.p_value < 1e-3
    monkeypatch.setattr(set_bits, "LOOKED_AT", 2)
    assert strongest_pair(batch([(4, 5), (4,), (5,), (4, 5), (7, 8)]))[:2] == (4, 5)


def test_pairs_need_three_bits_of_an_oracle_that_sends_them():
    assert strongest_pair(batch([(0,), (1,)], dn.OUE(domain_size=3, epsilon=1.0))) is not None
    assert strongest_pair(batch([(0,), (1,)], dn.OUE(domain_size=2, epsilon=1.0))) is None
    assert strongest_pair(dn.GRR(domain_size=5, epsilon=1.0).privatize([1, 2])) is None
    assert strongest_pair(batch([(0,), (1,)])).p_value == 1.0
    for law in (None, PairLaw(None, Fraction(1, 8))):  # of a mechanism that does not know how two bits come together
        unknown = type("Unpaired", (dn.OUE,), {"pair_law": law})(domain_size=3, epsilon=1.0)
        assert strongest_pair(batch([(0,), (1,)], unknown)) is None


# --- popcounts ---

SMALL = dn.OUE(domain_size=4, epsilon=1.0)


@pytest.mark.parametrize(
    ("sets", "words", "k"),
    [
        ([()] * 30, "at most", 0),
        ([(0, 1, 2, 3)] * 9 + [(0,)] * 9, "at least", 4),
        ([(0, 1)] * 40 + [()] * 3, "exactly", 2),
        ([()] * 37 + [(0, 1)] * 39 + [(0, 1, 2)] * 19 + [(0, 1, 2, 3)] * 4, "exactly", 1),
    ],
)
def test_popcounts_are_judged_by_the_binomial_of_how_many_have_so_many_bits(sets, words, k):
    n, law = len(sets), binomials(4, float(SMALL.p), float(SMALL.q), 5)
    seen = [sum(len(held) == size for held in sets) for size in range(5)]
    tests = {}
    for size in range(5):
        for name, found, chance in (
            ("at most", sum(seen[: size + 1]), sum(law[: size + 1])),
            ("at least", sum(seen[size:]), sum(law[size:])),
        ):
            tests[name, size, found] = stats.binom.sf(found - 1, n, min(chance, 1.0)), n * chance
        more, less = stats.binom.sf(seen[size] - 1, n, law[size]), stats.binom.cdf(seen[size], n, law[size])
        tests["exactly", size, seen[size]] = min(more, less), n * law[size]
    best = min(tests, key=lambda each: tests[each][0])
    assert best[:2] == (words, k)
    finding = check_reports(batch(sets, SMALL)).findings[0]
    assert finding.test == "popcount"
    assert (finding.seen, finding.expected) == pytest.approx((best[2], tests[best][1]))
    assert finding.p_value == pytest.approx(min(1.0, 20 * tests[best][0]), rel=1e-6)
    assert finding.what == f"{best[2]:,} reports have {words} {k} of 4 bits set"


def test_which_popcounts_are_looked_at():
    """Twelve standard deviations around the means, within 0 and all bits."""
    law = [[Coins(1.0, 1, 0.5, 10_000, 0.2)]]
    mean, reach = 0.5 + 2000, 12 * (0.25 + 1600) ** 0.5
    assert popcount_range(law, 10_001) == (int(mean - reach), int(mean + reach) + 1)
    assert popcount_range([*law, [Coins(1.0, 2, 0.5, 9000, 0.2)]], 10_001) == (int(1801 - reach), int(mean + reach) + 1)
    assert popcount_range([[Coins(1.0, 1, 0.5, 3, 0.25)]], 4) == (0, 5)
    assert popcount_range([[Coins(1.0, 400, 0.5, 0, 0.25)]], 400) == (80, 321)
    single = dn.DBitFlip(domain_size=6, epsilon=1.0, bits=1).privatize([1, 2] * 6, source=ReplaySource.from_key("single"))
    assert popcounts(single).tolist() == [single[person][1] for person in range(12)]  # eight people to a byte


def test_sifting_keeps_what_both_tails_allow():
    law = binomials(11, P, Q, 12)
    sets = [range(size) for size in range(12)]
    for lose in (0.02, 2.5 * sum(law[9:]), 1e-4):  # the second: nine bits are lost by less than half, and kept by less than a third
        kept = [size for size in range(12) if sum(law[: size + 1]) > lose / 2 and sum(law[size:]) > lose / 2]
        assert popcounts(sift(batch(sets), lose)).tolist() == kept
    assert 0 < len(kept) < 12
    for wrong in (dn.GRR(domain_size=4, epsilon=1.0), dn.DBitFlip(domain_size=6, epsilon=1.0, bits=1)):
        with pytest.raises(ParameterError, match="check_reports"):
            sift(wrong.privatize([1, 2]))


# --- draws, and what is said ---


def test_draws_are_judged_by_the_binomial_of_the_most_frequent_one():
    shared = dn.FLH(domain_size=9, epsilon=1.0, hashes=8)
    functions = shared.privatize(np.zeros(50, dtype=int), source=ReplaySource.from_key("f"))
    most = max(np.bincount(functions.columns["function"]))
    (finding,) = (each for each in check_reports(functions).findings if each.test == "draws of function")
    assert (finding.seen, finding.expected) == (most, 50 / 8)
    assert finding.p_value == pytest.approx(min(1.0, 8 * stats.binom.sf(most - 1, 50, 1 / 8)))
    functions.columns["function"][:20] = 3
    (finding,) = (each for each in check_reports(functions).findings if each.test == "draws of function")
    assert finding.p_value == pytest.approx(8 * stats.binom.sf(finding.seen - 1, 50, 1 / 8))
    buckets = dn.DBitFlip(domain_size=12, epsilon=1.0, bits=3).privatize(np.zeros(40, dtype=int), source=ReplaySource.from_key("b"))
    most = max(np.bincount(buckets.columns["buckets"].ravel()))
    (finding,) = (each for each in check_reports(buckets).findings if each.test == "draws of buckets")
    assert (finding.seen, finding.expected) == (most, pytest.approx(10.0))
    assert finding.p_value == pytest.approx(min(1.0, 12 * stats.binom.sf(most - 1, 40, 3 / 12)))
    seeds = dn.OLH(domain_size=9, epsilon=1.0).privatize(np.zeros(30, dtype=int), source=ReplaySource.from_key("s"))
    (finding,) = check_reports(seeds).findings
    assert (finding.test, finding.seen, finding.p_value) == ("draws of seed", 1.0, 1.0)
    seeds.columns["seed"][:, 0] = 7  # a seed is both of its words
    assert check_reports(seeds).findings[0].seen == 1.0
    seeds.columns["seed"][:2] = seeds.columns["seed"][5]
    assert check_reports(seeds).suspicious == ["draws of seed"]


def test_a_report_on_integrity_counts_its_tests():
    findings = (Finding("popcount", 9.0, 2.0, 0.004, "x"), Finding("pairs", 3.0, 2.5, 0.6, "y"), Finding("draws", 5.0, 1.0, 0.0005, "z"))
    report = IntegrityReport(OUE, 1234, 0.012, findings)
    assert report.p_values == pytest.approx([0.012, 1.0, 0.0015])
    assert IntegrityReport(OUE, 1234, report.p_values[0], findings).suspicious == ["popcount", "draws"]
    assert IntegrityReport(OUE, 1234, 0.01, findings).suspicious == ["draws"]
    assert report.order().tolist() == [2, 0, 1]
    assert report.rows()["seen"].tolist() == [9, 3, 5]
    assert repr(report).startswith("1,234 reports, OUE: some reports are false; false-positive rate at most 1.2 %")
    empty = check_reports(OUE.privatize([]))
    assert (empty.findings, empty.rows()["value"]) == ((), [])
    assert "nothing to test" in repr(empty)
    for wrong in (0, 1, 5, True):
        with pytest.raises(ParameterError, match="alpha"):
            check_reports(batch(SETS), wrong)
    with pytest.raises(ParameterError, match="reports"):
        check_reports([1, 2])


def test_so_many_liars_move_the_largest_count_by_its_interval():
    spec = dn.GRR(domain_size=4, epsilon=1.0)
    estimate = of_supports(spec, range(4), 10_000, np.array([2000, 4000, 2000, 2000]), np.array(float(spec.p)), np.array(float(spec.q)))
    low, high = estimate.interval(0.9)
    width = float(high[1] - low[1])
    assert manipulation_budget(estimate, 0.9) == -int(-width // spec.influence)
    low, high = estimate.interval(0.95, simultaneous=True)
    assert manipulation_budget(estimate.top(1)) == -int(-float(high[1] - low[1]) // spec.influence)
    assert manipulation_budget(estimate.select([])) == 0


# --- regression ---

DESIGN = np.random.default_rng(8).choice([-0.25, 0.75], (4, 8, 3), p=[0.75, 0.25])
HELD = np.array([5000.0, 3000.0, 1000.0])
BLOOM = dn.BloomRR(domain_size=30, epsilon=1.0, bits=8, hashes=2, cohorts=4)


def regression(seen, complete=True, **options):
    options = {"noise": 0.5, "largest": 2.0, "filled": 0.25, "complete": complete} | options
    return of_regression(BLOOM, ["a", "b", "c"], 9000, DESIGN, seen, **options)


def test_counts_by_regression_are_least_squares():
    """Without noise the counts come back; with any, they are what numpy's solver finds for the stacked equations."""
    flat = DESIGN.reshape(32, 3)
    exact = (flat @ HELD).reshape(4, 8) / 4
    with pytest.raises(TypeError, match="positional"):
        of_regression(BLOOM, ["a", "b", "c"], 9000, DESIGN, exact, 0.5, largest=2.0, filled=0.25, complete=True)
    assert regression(exact).counts == pytest.approx(HELD)
    noisy = exact + np.random.default_rng(9).normal(0, 200, (4, 8))
    assert regression(noisy).counts == pytest.approx(np.linalg.lstsq(flat, 4 * noisy.ravel())[0])


def test_the_variance_of_a_regression_is_that_of_its_scores():
    """Each person is in one of four cohorts by chance, and adds the weights of the set bits there: summed up person by person."""
    flat = DESIGN.reshape(32, 3)
    weights = 4 * np.linalg.pinv(flat).reshape(3, 4, 8)
    estimate = regression((flat @ HELD).reshape(4, 8) / 4)
    bits = 0.5 * (weights**2).sum(axis=2).mean(axis=1)  # the noise of each of eight bits, in a cohort drawn at random
    moved = np.array([[((weights[v, j] @ DESIGN[j, :, x]) ** 2) for x in range(3)] for v in range(3) for j in range(4)]).reshape(3, 4, 3)
    for held in (HELD, np.zeros(3)):
        expected = moved.mean(axis=1) @ HELD + 9000 * bits - held
        assert estimate.law.variance(held) == pytest.approx(expected)
    assert estimate.law.jump == 0
    assert estimate.law.scores.least == pytest.approx(bits)
    assert estimate.law.scores.reach == pytest.approx(np.abs(weights).sum(axis=2).max() * 2.25)
    assert estimate.law.scores.worst == pytest.approx(estimate.law.scores.reach**2)
    assert not np.any(estimate.law.scores.most_shared)
    open_list = regression((flat @ HELD).reshape(4, 8) / 4, complete=False)
    rest = 9000 * 0.25 * 0.75 * np.diag(np.linalg.inv(flat.T @ flat)) * 4
    assert open_list.law.off_list == 0  # all is explained
    assert open_list.law.variance(HELD) - estimate.law.variance(HELD) == pytest.approx(rest)
    assert open_list.law.scores.most_shared == pytest.approx(0.25 * 0.75 * np.diag(np.linalg.inv(flat.T @ flat)) * 9000**2)
    assert estimate.select([2, 0]).counts == pytest.approx(HELD[[2, 0]])


def test_what_the_list_leaves_unexplained_is_counted_as_collisions():
    flat = DESIGN.reshape(32, 3)
    outside = np.random.default_rng(10).normal(0, 4000, 32)
    seen = flat @ HELD + outside
    left = seen - flat @ np.linalg.lstsq(flat, seen)[0]
    excess = left @ left / 29 - 4 * 9000 * (0.5 + 0.1875)
    estimate = regression(seen.reshape(4, 8) / 4, complete=False)
    assert estimate.law.off_list == pytest.approx(excess / 0.1875)
    weights = 4 * np.linalg.pinv(flat)
    marked = int((DESIGN > 0).sum(axis=1).max())
    assert estimate.law.jump == pytest.approx(estimate.law.off_list**0.5 * marked * np.abs(weights).max() / 4)
    assert estimate.law.scores.shared == pytest.approx(0.1875 * np.diag(np.linalg.inv(flat.T @ flat)) * estimate.law.off_list)
    assert regression(100 * seen.reshape(4, 8) / 4, complete=False).law.off_list == 9000.0**2  # nobody is more than all
    assert regression(seen.reshape(4, 8) / 4, complete=True).law.off_list == 0
    assert estimate.law.enough == estimate.law.scores.enough
    assert [limit.tolist() for limit in estimate.bound()] == [
        limit.tolist() for limit in replace(estimate, law=estimate.law.scores).bound()
    ]


def test_filters_that_are_not_independent_are_refused():
    seen = np.zeros((4, 8))
    for design in (np.repeat(DESIGN[:, :, :1], 3, axis=2), np.random.default_rng(1).normal(size=(4, 8, 32))):
        estimate = replace(regression(seen), values=list(range(design.shape[2])), law=replace(regression(seen).law, design=design))
        with pytest.raises(ParameterError, match="well below 32 candidates"):
            _ = estimate.counts
    full = np.random.default_rng(1).normal(size=(4, 8, 31))
    few = replace(regression(seen), values=list(range(31)), law=replace(regression(seen).law, design=full))
    assert few.counts.tolist() == [0.0] * 31


def alone_limit(estimate, position, alpha):
    """The count of one candidate alone whose limit, for one of three candidates and on one side, is zero."""
    low, high = 1.0, 9000.0
    for _ in range(60):
        middle = (low + high) / 2
        alone = replace(estimate.law, design=DESIGN[:, :, [position]], seen=middle * DESIGN[:, :, position] / 4)
        positive = alone.limits(2 * alpha / 3, family=3)[0][0] > 0
        low, high = (low, middle) if positive else (middle, high)
    return high


def test_decoding_finds_who_is_there_and_nobody_else():
    flat = DESIGN.reshape(32, 3)
    estimate = regression((flat @ np.array([6000.0, 0.0, 3000.0])).reshape(4, 8) / 4, complete=False)
    found = estimate.decode(0.05)
    assert found.values == ["a", "c"]
    least = alone_limit(estimate, 2, 0.05)
    for share, names in ((1.02, ["c"]), (0.98, [])):  # just above zero at 5 % among three candidates, on one side; and just not
        weak = with_law(estimate, seen=share * least * (DESIGN[:, :, 2] / 4))
        assert weak.decode(0.05).values == names
    weak = with_law(estimate, seen=1.02 * least * (DESIGN[:, :, 2] / 4))
    noise = replace(weak.law, design=DESIGN[:, :, [2]]).variance(np.zeros(1))
    assert weak.decode(0.05).details["p"] == pytest.approx(stats.norm.sf(1.02 * least / np.sqrt(noise)), rel=1e-9, abs=0)
    alone = replace(estimate, values=["a", "c"], law=replace(estimate.law, design=DESIGN[:, :, [0, 2]]), family_size=3)
    assert found.counts == pytest.approx(alone.counts)
    assert found.stderr == pytest.approx(alone.stderr)
    assert (found.family_size, found.n, found.order().tolist()) == (3, 9000, [0, 1])
    assert repr(found).startswith("2 of 3 candidates found in 9,000 reports")
    nobody = with_law(estimate, seen=np.zeros((4, 8)))
    assert [column.size for column in (nobody.decode().counts, nobody.decode().stderr, nobody.decode().details["p"])] == [0, 0, 0]
    assert nobody.decode().values == with_law(estimate, n=0, seen=np.zeros((4, 8))).decode().values == []
    with pytest.raises(ParameterError, match="alpha"):
        estimate.decode(0)
