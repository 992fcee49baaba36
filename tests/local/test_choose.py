"""The choice between oracles follows predicted errors, limits, and nothing else."""

from __future__ import annotations

from math import e, exp, inf

import pytest

import deniable as dn
from deniable.client.frequency import FrequencySpec
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from deniable.local.oracle_choice import frequency_oracle, predicted_error, preferred, server_work
from deniable.testing import ReplaySource

ORACLES = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("size", [2, 3, 5, 10, 24, 100, 400, 1000])
def test_nothing_considered_is_clearly_better(epsilon, size):
    choice = frequency_oracle(domain_size=size, epsilon=epsilon, n=1000)
    assert {spec.mechanism for spec in choice.considered} == set(preferred())
    assert all(predicted_error(choice.spec, 1000) <= 1.03 * predicted_error(spec, 1000) for spec in choice.considered)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_subset_selection_takes_over_from_grr(epsilon):
    """Below 1.5 (e^epsilon + 1) values subset selection has one member and is GRR, which is simpler."""
    turn = 1.5 * (exp(epsilon) + 1)
    assert frequency_oracle(domain_size=max(2, int(turn)), epsilon=epsilon).spec.mechanism == "GRR"
    assert frequency_oracle(domain_size=int(2 * turn) + 1, epsilon=epsilon).spec.mechanism == "SubsetSelection"


def test_the_reference_outcomes():
    """At epsilon 1: GRR for a few values, sets from there on, and a geometry where a set would take hundreds of thousands of draws."""
    chosen = {size: frequency_oracle(domain_size=size, epsilon=1.0) for size in (4, 10, 1000, 10_000, 10**6)}
    names = [choice.spec.mechanism for choice in chosen.values()]
    assert names == ["GRR", "SubsetSelection", "SubsetSelection", "RWS", "PGR"]
    assert "SubsetSelection needs 1,000,000 bits" in chosen[10**6].why
    assert "RWS needs 2.7e+10 server steps" in chosen[10**6].why
    for n in (1, 1000, 10**8):
        assert frequency_oracle(domain_size=10**6, epsilon=1.0, n=n).spec == dn.PGR(domain_size=10**6, epsilon=1.0)


def test_limits_are_kept_and_named():
    short = frequency_oracle(domain_size=1000, epsilon=1.0, max_bits=200)
    assert short.spec == dn.RWS(domain_size=1000, epsilon=1.0)
    assert "SubsetSelection needs 1,000 bits" in short.why
    assert frequency_oracle(domain_size=1000, epsilon=1.0, max_bits=19).spec.mechanism == "PGR"
    assert frequency_oracle(domain_size=1000, epsilon=1.0, max_bits=10).spec.mechanism == "HadamardResponse"
    weak = frequency_oracle(domain_size=1000, epsilon=1.0, device=10)
    assert weak.spec.mechanism == "RWS"
    assert "OUE needs 115 random words" in weak.why
    lifted = frequency_oracle(domain_size=10**6, epsilon=1.0, max_bits=10**7)
    assert lifted.spec.mechanism == "PGR"
    assert "SubsetSelection needs 114,063 random words" in lifted.why
    quick = frequency_oracle(domain_size=1000, epsilon=4.0, n=10**6, server=10**7)
    assert "OLH needs 1.3e+08 server steps" in quick.why
    assert frequency_oracle(domain_size=1000, epsilon=4.0, n=10**6, server=10**12).refused == ()
    with pytest.raises(ParameterError, match="max_bits"):
        frequency_oracle(domain_size=1000, epsilon=1.0, max_bits=1)


def test_open_and_huge_domains_get_a_hashed_oracle():
    assert frequency_oracle(domain=dn.Text(32), epsilon=e).spec.mechanism == "OLH"
    assert frequency_oracle(domain=dn.Text(400), epsilon=1.0, max_bits=100).spec.mechanism == "HCMS"  # more values than a float can count
    assert frequency_oracle(domain=dn.Integers(0, 2**64 - 1), epsilon=1.0).spec.mechanism == "OLH"
    assert frequency_oracle(domain_size=2**40, epsilon=1.0).spec == dn.OLH(domain_size=2**40, epsilon=1.0)
    huge = frequency_oracle(domain_size=2**27, epsilon=1.0)
    assert {spec.mechanism for spec in huge.considered} == {"OLH", "HCMS"}
    assert frequency_oracle(domain_size=2**26, epsilon=1.0).spec.mechanism == "PGR"


def test_an_epsilon_beyond_some_oracles_leaves_the_others():
    choice = frequency_oracle(domain_size=4, epsilon=22.0)
    assert choice.spec.mechanism == "GRR"
    assert "OLH allows epsilon: at most about 21" in choice.why
    with pytest.raises(ParameterError, match="epsilon: got 0"):
        frequency_oracle(domain_size=4, epsilon=0)


@pytest.mark.parametrize("mechanism", ORACLES)
def test_device_work_is_what_a_device_draws(mechanism):
    """Random words drawn for 50 reports against the estimate: within a factor of two, and a few words for what is drawn besides."""
    size = 2 if mechanism == "RR" else 500
    spec = MECHANISMS[mechanism](domain_size=size, epsilon=1.0)
    source = ReplaySource.from_key(f"work {mechanism}")
    for i in range(50):
        spec.randomize(i % size, source)
    assert spec.device_words / 2 <= source.consumed / 50 <= 2 * spec.device_words + 3


@pytest.mark.parametrize("mechanism", ORACLES)
def test_server_work_grows_with_reports_and_values(mechanism):
    sizes = [2] if mechanism == "RR" else [16, 4096, 2**16]
    work = [[server_work(MECHANISMS[mechanism](domain_size=size, epsilon=1.0), n) for size in sizes] for n in (1000, 10**6)]
    assert all(few < many for few, many in zip(*work, strict=True))
    assert all(row == sorted(row) for row in work)


def test_collisions_and_overlaps_count():
    """A sketch's collisions do not average out; filters that overlap cannot be told apart beyond one unknown for each bit."""
    spec = dn.HCMS(domain_size=1000, epsilon=1.0)
    for n in (10**4, 10**8):
        assert predicted_error(spec, n) ** 2 == pytest.approx(spec.variance(n, 0.001) + n**2 / (1024 * 1023), rel=1e-6)
    bloom = [dn.BloomRR(domain_size=size, epsilon=1.0) for size in (1000, 8192)]
    assert 1 < predicted_error(bloom[0], 10**5) / bloom[0].variance(10**5) ** 0.5 < 1.1
    assert predicted_error(bloom[1], 10**5) == inf


def test_it_explains_itself():
    choice = dn.frequency_oracle(domain=dn.Categories("a", "b", "c"), epsilon=1.0, n=10_000)
    assert choice.spec == dn.GRR(domain=dn.Categories("a", "b", "c"), epsilon=1.0)
    text = repr(choice)
    assert text.startswith("GRR: the smallest predicted error")
    assert all(name in text for name in preferred())
    assert choice.to_polars().columns == ["value", "error", "bits", "device", "server", "influence", "guess"]
    close = dn.frequency_oracle(domain_size=10**6, epsilon=1.0, server=2 * 10**10)  # OLH is a little better, and far more work
    assert close.why.startswith("PGR: within 3 % of the smallest predicted error, 614 people of 100,000")
    assert "OLH" in [spec.mechanism for spec in close.considered]
    for bad in (0, 1.5, True, "many"):
        with pytest.raises(ParameterError, match="n: got"):
            frequency_oracle(domain_size=4, epsilon=1.0, n=bad)


@pytest.mark.parametrize("epsilon", [quarter / 4 for quarter in range(1, 25)])
def test_subset_selection_is_never_worse_on_average(epsilon):
    """How-to/choose says so; for a value that nobody holds it can lose to GRR."""
    for d in (2, 3, 4, 5, 6, 8, 10, 13, 20, 50, 100, 200, 399):
        best, *others = (
            make(domain_size=d, epsilon=epsilon).variance(n=1, f=1 / d) for make in (dn.SubsetSelection, dn.GRR, dn.OUE, dn.OLH)
        )
        assert best <= min(others) * (1 + 1e-9)


def test_subset_selection_loses_to_grr_by_17_percent_at_most_for_a_value_that_nobody_holds():
    subset, grr = dn.SubsetSelection(domain_size=203, epsilon=4.9), dn.GRR(domain_size=203, epsilon=4.9)
    assert subset.size == 2
    assert round(subset.variance(n=1) / grr.variance(n=1), 3) == 1.166
    assert subset.variance(n=1, f=1 / 203) < grr.variance(n=1, f=1 / 203)
