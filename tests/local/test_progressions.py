"""RWS: three ways of counting agree, with each other and with the definition."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.errors import ParameterError
from deniable.kernels.progressions import support_by_steps, support_by_walking
from deniable.testing import ReplaySource

SIZES = [2, 3, 4, 5, 8, 24, 90, 128, 257, 1000]


def reports_of(spec, n, key="progressions"):
    return spec.privatize(np.arange(n) % spec.domain_size, source=ReplaySource.from_key(key))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_all_ways_of_counting_agree(size, epsilon):
    spec = dn.RWS(domain_size=size, epsilon=epsilon)
    reports = reports_of(spec, 2000)
    columns = reports.columns["step"], reports.columns["shift"], np.uint64(spec.modulus), spec.size
    walked, around = (np.zeros(spec.modulus, dtype=np.int64) for _ in range(2))
    support_by_walking(*columns, walked)
    support_by_steps(*columns, around)
    members = np.zeros(spec.modulus, dtype=np.int64)
    for step, shift in zip(columns[0].tolist(), columns[1].tolist(), strict=True):
        members[[(shift + i * (step + 1)) % spec.modulus for i in range(spec.size)]] += 1
    assert walked.tolist() == around.tolist() == members.tolist()
    assert members.sum() == 2000 * spec.size
    assert spec.tally(reports).counters.tolist() == members[:size].tolist()
    assert spec.tally(reports, candidates=list(range(size))).counters.tolist() == members[:size].tolist()


@pytest.mark.parametrize("size", [4_294_967_291, 4_294_967_290, 2**31, 2**20 + 7])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
def test_candidates_are_matched_exactly_up_to_the_largest_prime(size, epsilon):
    """One comparison replaces a division; it is tested where it could fail, at both ends of the progressions."""
    spec = dn.RWS(domain_size=size, epsilon=epsilon)
    reports = reports_of(spec, 40)
    ends = set()
    for step, shift in (reports[i] for i in range(40)):
        ends |= {(shift + i * (step + 1)) % spec.modulus for i in (-1, 0, spec.size - 1, spec.size)}
    asked = sorted(end for end in ends if end < size)
    expected = [sum(spec.supports(reports[i], key) for i in range(40)) for key in asked]
    assert spec.tally(reports, candidates=asked).counters.tolist() == expected


def test_more_candidates_than_a_block():
    spec = dn.RWS(domain_size=10_000, epsilon=3.0)
    reports = reports_of(spec, 300)
    assert spec.tally(reports, candidates=list(range(10_000))).counters.tolist() == spec.tally(reports).counters.tolist()


@pytest.mark.parametrize(("size", "members"), [(2, 1), (4, 2), (8, 1), (8, 2), (8, 3), (24, 2), (24, 3), (24, 4), (24, 5), (24, 6)])
def test_the_best_guess_is_right_as_often_as_the_law_says(size, members):
    spec = dn.RWS(domain_size=size, epsilon=1.0, size=members)
    laws = [spec.law(key) for key in range(size)]
    expected = sum(max(law[report] for law in laws) for report in laws[0]) / size
    assert spec.best_guess == pytest.approx(float(expected), rel=1e-12)


def test_a_step_of_zero_cannot_be_sent():
    """Steps travel less one: the smallest report has step 1, and there is no room for one step more than P - 1."""
    spec = dn.RWS(domain_size=5, epsilon=1.0, size=2)
    assert [key for key in range(5) if spec.supports((0, 3), key)] == [3, 4]
    assert [column.limit for column in spec.layout] == [4, 5]
    with pytest.raises(dn.errors.WireError):
        spec.decode(bytes([4, 0]))


@pytest.mark.parametrize("members", [0, 11, 2.0, "3"])
def test_bad_sizes_are_refused(members):
    with pytest.raises(ParameterError, match="size"):
        dn.RWS(domain_size=10, epsilon=1.0, size=members)
