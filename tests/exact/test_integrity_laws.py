"""What the integrity tests take for granted about honest reports, against every report's exact probability."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.core.integrity import DRAWN
from deniable.core.set_bits import _moment, chance_of

SPECS = [
    dn.OUE(domain_size=6, epsilon=1.0),
    dn.SUE(domain_size=5, epsilon=0.7),
    dn.THE(domain_size=5, epsilon=2.0),
    dn.CMS(domain_size=9, epsilon=1.0, hashes=3, width=5),
    dn.DBitFlip(domain_size=6, epsilon=1.0, bits=3),
    dn.DBitFlip(domain_size=6, epsilon=1.0, bits=1),
    dn.BloomRR(domain_size=20, epsilon=1.0, bits=5, hashes=3, cohorts=4),
    dn.SubsetSelection(domain_size=7, epsilon=1.0, size=3),
    dn.SubsetSelection(domain_size=4, epsilon=1.0, size=1),
    dn.GRR(domain_size=5, epsilon=1.0),
    dn.RR(epsilon=1.0),
    dn.HRR(domain_size=5, epsilon=1.0),
    dn.HCMS(domain_size=9, epsilon=1.0, hashes=3, width=8),
    dn.FLH(domain_size=9, epsilon=1.0, hashes=4),
    dn.RWS(domain_size=7, epsilon=1.0),
    dn.PGR(domain_size=7, epsilon=1.0),
    dn.HadamardResponse(domain_size=6, epsilon=1.0),
]


def fields(spec, report):
    """A report's columns by name."""
    return dict(zip([column.name for column in spec.layout], (report,) if len(spec.layout) == 1 else report, strict=True))


def laws(spec):
    """Each value with its exact law, as a list of reports and probabilities."""
    for value in range(spec.domain_size):
        law = spec.law(value)
        yield value, [(report, law[report]) for report in law]


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.popcount_laws], ids=repr)
def test_the_popcount_follows_one_of_its_laws_whatever_people_hold(spec):
    known = spec.popcount_laws
    bits = next(column.count for column in spec.layout if column.name == "bits")
    counts = np.arange(bits + 1)
    exactly, at_most, at_least = ([chance_of(law, counts, kind) for law in known] for kind in ("pmf", "cdf", "sf"))
    used = set()
    for _, law in laws(spec):
        groups = {}  # in a cohort the number of a value's bits is fixed; nothing else depends on what is public
        for report, weight in law:
            told = fields(spec, report)
            groups.setdefault(told.get("cohort"), Counter())[told["bits"].bit_count()] += weight
        for tally in groups.values():
            found = np.array([float(tally[k] / tally.total()) for k in counts])
            [which] = [i for i, law_ in enumerate(exactly) if np.allclose(found, law_, rtol=1e-12, atol=1e-15)]
            np.testing.assert_allclose(at_most[which], np.cumsum(found), rtol=1e-12)
            np.testing.assert_allclose(at_least[which], np.cumsum(found[::-1])[::-1], rtol=1e-12)
            used.add(which)
    assert used == set(range(len(known)))  # none of them is made up


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_what_counts_as_drawn_is_uniform_whatever_people_hold(spec):
    for column in spec.layout:
        if column.name not in DRAWN:
            continue
        for _, law in laws(spec):
            chances = Counter()
            for report, weight in law:
                drawn = fields(spec, report)[column.name]
                for item in drawn if isinstance(drawn, tuple) else (drawn,):
                    chances[item] += weight
            expected = Fraction(column.count, column.limit)
            assert set(chances) == set(range(column.limit))
            assert all(abs(chance - expected) < Fraction(1, 1 << 50) for chance in chances.values())


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.mechanism in ("OUE", "SUE", "THE", "SubsetSelection")], ids=repr)
def test_pairs_of_bits_have_the_laws_that_are_assumed_and_a_mean_of_at_most_zero(spec):
    q = float(spec.q)
    p, pair = float(spec.p), spec.pair_law
    neither, first = (q, q, float(pair.neither)), (p, q, float(pair.one))
    for a, b, both in (neither, first):
        assert both - q * (a + b) + q * q <= 1e-15
    largest = 0.0
    for value, law in laws(spec):
        for i in range(spec.domain_size):
            for j in range(spec.domain_size):
                if j in (i, value):
                    continue
                largest = max(largest, sum(float(weight) * (((bits >> i & 1) - q) * ((bits >> j & 1) - q)) ** 2 for bits, weight in law))
                chances = [float(sum(weight for bits, weight in law if bits & mask == mask)) for mask in (1 << i, 1 << j, 1 << i | 1 << j)]
                assert chances == pytest.approx(first if i == value else neither, rel=1e-12)
    assert _moment(spec, spec.pair_law) == pytest.approx(largest, rel=1e-12)


def test_mechanisms_whose_reports_say_nothing_alone_are_not_tested():
    for spec in (dn.GRR(domain_size=5, epsilon=1.0), dn.RR(epsilon=1.0), dn.PGR(domain_size=7, epsilon=1.0)):
        assert spec.popcount_laws == ()
        assert not {column.name for column in spec.layout} & set(DRAWN)
