"""SHE and DBitFlip: the tables of the noise at every size, the kernels at every edge, what is refused, what samples show."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable.client import SHE, DBitFlip
from deniable.contract.probability import exp_below
from deniable.contract.source import ONE
from deniable.errors import ParameterError, WireError
from deniable.lab.audit import empirical_audit
from deniable.testing import ReplaySource

TABLES = [(epsilon, None) for epsilon in (1e-8, 1e-4, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 24.0, 30.0)]
TABLES += [(epsilon, steps) for epsilon in (1e-8, 1.0, 30.0) for steps in (2, 4, 62, 1 << 13)]


@pytest.mark.parametrize(("epsilon", "steps"), TABLES)
def test_every_point_of_every_table_keeps_half_of_epsilon(epsilon, steps):
    spec = SHE(domain_size=2, epsilon=epsilon, steps=steps)
    half = exp_below(epsilon, Fraction(1, 2))
    assert len(spec.weights) == spec.points <= 1 << 16
    assert sum(spec.weights) == ONE
    assert min(spec.weights) > 0
    assert all(
        weight * half.denominator <= half.numerator * mirrored for weight, mirrored in zip(spec.weights, spec.weights[::-1], strict=True)
    )
    assert spec.effective_epsilon >= epsilon - 1e-9


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 4.0, 20.0])
def test_tables_follow_two_sided_geometric_noise(epsilon):
    """Against floats, point by point: what rounding and the middle's share change is far below a float's last digit."""
    spec = SHE(domain_size=2, epsilon=epsilon)
    r = np.exp(-epsilon / (2 * spec.steps))
    law = (1 - r) / (1 + r) * r ** abs(np.arange(spec.points) - spec.reach)
    law[[0, -1]] /= 1 - r
    assert np.allclose(np.array(spec.weights) / 2.0**64, law, rtol=1e-6)


@pytest.mark.parametrize("spec", [SHE(domain_size=2, epsilon=1.0), SHE(domain_size=2, epsilon=20.0, steps=2)], ids=repr)
def test_picks_agree_on_and_beside_every_entry_of_the_table(spec):
    edges = {0, ONE - 1, *spec.cumulative, *(entry - 1 for entry in spec.cumulative)}
    edges |= {(cell << 52) - offset for cell in range(1, 1 << 12) for offset in (0, 1)}
    words = sorted(edges | {ONE // 2})
    words = words[: len(words) // 2 * 2]
    source = ReplaySource(words)
    one_by_one = [spec.randomize(1, source) for _ in range(len(words) // 2)]
    assert [
        tuple(row) for row in spec.privatize([1] * (len(words) // 2), source=ReplaySource(words)).columns["noisy"].tolist()
    ] == one_by_one


def test_a_person_who_needs_more_words_than_a_buffer_is_served():
    spec = SHE(domain_size=1 << 16, epsilon=1.0)
    bulk = spec.privatize([9], source=ReplaySource.from_key("wide"))
    assert bulk[0] == spec.randomize(9, ReplaySource.from_key("wide"))


@pytest.mark.parametrize("steps", [0, 1, 3, -2, (1 << 13) + 2])
def test_grids_that_cannot_be_are_refused(steps):
    with pytest.raises(ParameterError, match=r"steps.*even integer from 2 to 8192"):
        SHE(domain_size=4, epsilon=1.0, steps=steps)


@pytest.mark.parametrize("bits", [0, 5, -1])
def test_bits_that_cannot_be_are_refused(bits):
    with pytest.raises(ParameterError, match=r"bits.*integer from 1 to 4"):
        DBitFlip(domain_size=4, epsilon=1.0, bits=bits)


@pytest.mark.parametrize("number", [2.0, True, "2"])
def test_settings_of_another_type_are_refused(number):
    with pytest.raises(ParameterError, match=r"steps: .*allowed: an integer"):
        SHE(domain_size=4, epsilon=1.0, steps=number)
    with pytest.raises(ParameterError, match=r"bits: .*allowed: an integer"):
        DBitFlip(domain_size=4, epsilon=1.0, bits=number)


@pytest.mark.parametrize("chosen", [(1, 0), (1, 1), (0, 4), (0,), (0, 1, 2), 1])
def test_buckets_are_sent_in_increasing_order(chosen):
    spec = DBitFlip(domain_size=4, epsilon=1.0, bits=2)
    with pytest.raises(WireError, match="buckets"):
        spec.encode((chosen, 0))
    assert spec.decode(spec.encode(((0, 3), 0b10))) == ((0, 3), 0b10)


def test_a_single_bucket_is_a_number():
    spec = DBitFlip(domain_size=4, epsilon=1.0, bits=1)
    assert spec.decode(spec.encode((3, 1))) == (3, 1)
    assert [spec.evidence((3, 1), key) for key in range(4)] == [0, 0, 0, 2]
    tally = spec.tally(spec.privatize([0, 1, 2, 3] * 5))
    assert tally.counters[4:].sum() == 20
    assert np.all(tally.counters[:4] <= tally.counters[4:])


@pytest.mark.parametrize(
    "spec",
    [SHE(domain_size=3, epsilon=1.0), DBitFlip(domain_size=3, epsilon=1.0, bits=2), DBitFlip(domain_size=3, epsilon=1.0, bits=1)],
)
def test_samples_come_close_to_epsilon_and_stay_below(spec):
    audit = empirical_audit(spec, 0, 2, trials=40_000, source=ReplaySource.from_key("scores"))
    assert 0.8 < audit.epsilon < 1.0
