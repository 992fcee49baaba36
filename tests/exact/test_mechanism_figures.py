"""What every mechanism says about itself, held against its exact law: discovered, so that a new one is held to it, too."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from deniable.client.frequency import FrequencySpec, LinearProtocol
from deniable.client.pure import PureProtocol
from deniable.contract.spec import MECHANISMS
from deniable.local.oracle_choice import frequency_oracle, preferred
from deniable.shuffle.channel import _from_laws, merged
from deniable.tasks.plan import most_gain

SIZES = (2, 3, 5)
MOST_OUTPUTS = 1 << 12


def small(name: str, size: int) -> FrequencySpec | None:
    """A spec whose reports can be listed; None where there is none of this size."""
    cls = MECHANISMS[name]
    if cls.default_size not in (None, size) or size > cls.largest_domain or (size > cls.small_size and cls.small_size == 2):
        return None
    settings = {key: min(value, size) if key == "bits" and name.startswith("DBit") else value for key, value in cls.small.items()}
    spec = cls(epsilon=cls.small_epsilon, domain_size=size, **settings)
    return spec if not spec.seed_words and spec.outputs <= MOST_OUTPUTS else None


ORACLES = [name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec)]
SPECS = [spec for name, size in product(ORACLES, SIZES) if (spec := small(name, size)) is not None]
LINEAR = [spec for spec in SPECS if isinstance(spec, LinearProtocol)]


def scores(spec: LinearProtocol) -> tuple[list[list[Fraction]], list[dict[int, Fraction]]]:
    """Each report's score of every value, and each value's law of reports by their places."""
    laws = [spec.law(spec.domain.value(key)) for key in range(spec.domain_size)]
    reports = list({report: None for law in laws for report in law})
    table = [[spec.score(report, key) for key in range(spec.domain_size)] for report in reports]
    return table, [{place: law[report] for place, report in enumerate(reports)} for law in laws]


def test_nearly_all_mechanisms_are_among_them():
    """Those with seeds have no finite list of reports; the others' sizes must fit."""
    assert set(ORACLES) - {spec.mechanism for spec in SPECS} <= {"OLH", "BLH", "LOLOHA", "PGR"}


@pytest.mark.parametrize("spec", LINEAR, ids=repr)
def test_no_report_adds_more_to_some_values_than_it_can(spec):
    table, _ = scores(spec)
    for count in range(1, spec.domain_size + 1):
        most = max(sum(sorted(row)[-count:]) for row in table)
        assert float(most) <= spec.most_score(count) * (1 + 1e-12) + 1e-12
        if isinstance(spec, PureProtocol) and spec.default_size is None:  # a coin with unequal sides has two laws
            assert float(most) == pytest.approx(spec.most_score(count), rel=1e-12, abs=1e-12)
        assert most_gain(spec, targets=count, liars=0.1) == pytest.approx(0.1 * spec.most_score(count))


@pytest.mark.parametrize("spec", LINEAR, ids=repr)
def test_scores_of_two_values_vary_together_as_the_mechanism_says(spec):
    """Exactly where it knows the law of two supports; elsewhere it is not above the mean over all pairs, on which sums of values rest."""
    table, laws = scores(spec)
    neither, one = [], []
    for held, (i, j) in product(range(spec.domain_size), combinations(range(spec.domain_size), 2)):
        law = laws[held]
        means = [sum(weight * table[place][key] for place, weight in law.items()) for key in (i, j)]
        both = sum(weight * table[place][i] * table[place][j] for place, weight in law.items())
        (one if held in (i, j) else neither).append(float(both - means[0] * means[1]))
    known = (spec.pair_law if isinstance(spec, PureProtocol) else None) or (None, None)
    for found, claimed, law in zip((neither, one), spec.pair_covariances, known, strict=True):
        if law is not None and found:
            assert found == pytest.approx([claimed] * len(found), rel=1e-9, abs=1e-12)
        elif found:
            assert np.mean(found) >= claimed - 1e-9


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.channel is not None], ids=repr)
def test_the_channel_is_that_of_the_laws(spec):
    """Up to the blanket of unary encoding, which may be smaller; and in both orders of the two inputs."""
    listed = _from_laws(spec)
    assert listed is not None
    own = sorted((a, b) for a, b, _ in merged(list(spec.channel)))
    assert all(sorted((a, b) for a, b, _ in merged(pair)) == own for pair in listed)
    assert sum(a for a, _, _ in spec.channel) == 1


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.channel is not None], ids=repr)
def test_the_blanket_is_what_a_report_has_in_common_whatever_its_sender_holds(spec):
    laws = [spec.law(spec.domain.value(key)) for key in range(spec.domain_size)]
    common = sum(min(law[report] for law in laws) for report in laws[0])
    assert sum(blanket for _, _, blanket in spec.channel) == common


@pytest.mark.parametrize("spec", [spec for name in ORACLES if (spec := MECHANISMS[name].example()).channel is not None], ids=repr)
def test_a_channel_is_two_laws_and_what_they_have_in_common(spec):
    """Of those with seeds, too, whose reports nobody lists."""
    ones, others, blanket = (sum(side) for side in zip(*spec.channel, strict=True))
    assert ones == others == 1
    assert 0 < blanket < 1
    assert all(common <= min(one, other) for one, other, common in spec.channel)


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.third is not None], ids=repr)
def test_the_holder_of_a_third_value_sends_what_is_likelier_under_a_first_one_as_often_as_it_says(spec):
    laws = [spec.law(spec.domain.value(key)) for key in range(3)]
    found = sum(weight for report, weight in laws[2].items() if laws[0][report] > laws[1][report])
    assert float(found) == pytest.approx(spec.third, rel=1e-12)


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_plans_are_no_better_than_the_noise(spec):
    for n in (10, 1000):
        assert spec.planned_variance(n, 0.0, spec.domain_size) >= spec.variance(n, 0.0)
        assert spec.worst_variance(n, spec.domain_size) >= spec.planned_variance(n, 0.0, spec.domain_size) * (1 - 1e-9)


def test_what_auto_may_choose_is_said_by_each_mechanism_and_no_place_is_taken_twice():
    places = [MECHANISMS[name].preference for name in preferred()]
    assert places == sorted(set(places))
    considered = {spec.mechanism for spec in frequency_oracle(domain_size=64, epsilon=1.0).considered}
    assert considered <= set(preferred())
    assert {"GRR", "OUE", "OLH"} <= considered
