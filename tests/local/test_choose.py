"""The choice between oracles follows predicted errors, limits, and nothing else."""

from __future__ import annotations

from math import e, exp

import pytest

import deniable as dn
from deniable.errors import ParameterError
from deniable.local.choose import PREFERENCE, frequency_oracle, predicted_error


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("size", [2, 3, 5, 10, 24, 100, 400, 1000])
def test_nothing_considered_is_clearly_better(epsilon, size):
    choice = frequency_oracle(domain_size=size, epsilon=epsilon, n=1000)
    assert {spec.mechanism for spec in choice.considered} == set(PREFERENCE)
    assert all(predicted_error(choice.spec, 1000) <= 1.03 * predicted_error(spec, 1000) for spec in choice.considered)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_subset_selection_takes_over_from_grr(epsilon):
    """Below 1.5 (e^epsilon + 1) values subset selection has one member and is GRR, which is simpler."""
    turn = 1.5 * (exp(epsilon) + 1)
    assert frequency_oracle(domain_size=max(2, int(turn)), epsilon=epsilon).spec.mechanism == "GRR"
    assert frequency_oracle(domain_size=int(2 * turn) + 1, epsilon=epsilon).spec.mechanism == "SubsetSelection"


def test_limits_are_kept_and_named():
    small = frequency_oracle(domain_size=1000, epsilon=1.0, max_bits=200)
    assert small.spec.mechanism == "OLH"
    assert "SubsetSelection needs 1,000 bits" in small.why
    tiny = frequency_oracle(domain_size=1000, epsilon=0.5, max_bits=16)
    assert tiny.spec.mechanism == "HRR"
    quick = frequency_oracle(domain_size=1000, epsilon=4.0, n=10**6, max_server_work=10**7)
    assert "OLH needs 1e+09 server steps" in quick.why
    with pytest.raises(ParameterError, match="relax a limit"):
        frequency_oracle(domain_size=1000, epsilon=1.0, max_bits=1)


def test_open_and_huge_domains_get_olh():
    assert frequency_oracle(domain=dn.Text(32), epsilon=e).spec.mechanism == "OLH"
    assert frequency_oracle(domain=dn.Integers(0, 2**64 - 1), epsilon=1.0).spec.mechanism == "OLH"
    assert frequency_oracle(domain_size=2**40, epsilon=1.0).spec == dn.OLH(domain_size=2**40, epsilon=1.0)


def test_it_explains_itself():
    choice = dn.frequency_oracle(domain=dn.Categories("a", "b", "c"), epsilon=1.0, n=10_000)
    assert choice.spec == dn.GRR(domain=dn.Categories("a", "b", "c"), epsilon=1.0)
    text = repr(choice)
    assert text.startswith("GRR: the smallest predicted error")
    assert all(name in text for name in PREFERENCE)
    assert choice.to_polars().columns == ["value", "error", "bits", "server", "influence"]
    for bad in (0, 1.5, "many"):
        with pytest.raises(ParameterError, match="n: got"):
            frequency_oracle(domain_size=4, epsilon=1.0, n=bad)
