"""What devices work out for models: exact integers, the same in bulk, private behind a mechanism; and a twin that does not clip."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.contract.clusters import ClusterSide, Magnitude
from deniable.contract.features import HALF, Features
from deniable.contract.gradient import LARGEST_GRADIENT, ONE_WEIGHT, Gradient
from deniable.contract.question import Question
from deniable.errors import DomainError, ParameterError
from deniable.lab.audit import joint_audit
from deniable.testing import ReplaySource, law_of

BODY = Features.of({"age": (0, 120), "dose": (-1, 1)})
ILL = dn.Categories("no", "yes")
TINY = [{"age": age, "dose": dose, "ill": ill} for age, dose, ill in product((0, 45, 60, 120), (-1, 0, 0.3, 1), ("no", "yes"))]
CENTERS = ((-1024, 0), (1024, 512), (1024, 512), (0, -2048))


def gradient(weights=(300, -2000, 1500), coordinate=1, clip=1):
    return Gradient(BODY, "ill", ILL, weights, coordinate, clip)


def asked(encoder, spec):
    return Question(name="q", spec=spec, encoder=encoder)


class Unclipped(Question):
    """The evil twin: the mechanism draws its bit for a gradient that lies where it may."""

    def answer(self, value, source=None, seed=()):
        whole = Gradient(BODY, "ill", ILL, self.encoder.weights, self.encoder.coordinate, clip=0).encode(value, source)
        key = (Fraction(whole + self.encoder.limit, 2 * self.encoder.limit) * self.spec.steps).__floor__()
        return self.spec.perturb(key, source)


@pytest.mark.parametrize("weights", [(0, 0, 0), (300, -2000, 1500), (-(1 << 20), 1 << 20, 1 << 20), (0, 20_000, 1)], ids=str)
def test_gradients_are_those_of_the_logistic_loss(weights):
    """Against floats: the table's lines are off by less than 1e-4, features by half a step."""
    for coordinate, record in product(range(3), TINY):
        x = [1, record["age"] / 60 - 1, record["dose"]]
        z = sum(w / ONE_WEIGHT * number for w, number in zip(weights, x, strict=True))
        near = sum(abs(w) / ONE_WEIGHT for w in weights[1:]) / (2 * HALF) / 4
        expected = (1 / (1 + exp(-max(-700, min(700, z)))) - (record["ill"] == "yes")) * x[coordinate]
        found = gradient(weights, coordinate, clip=0).encode(record, None) / LARGEST_GRADIENT
        assert abs(found - expected) <= min(near, 0.6) + 1 / (2 * HALF) + 1e-4


@pytest.mark.parametrize("holder", [dict, pa.table], ids=["mapping", "arrow"])
def test_devices_and_bulk_agree(holder):
    """The same words, the same inputs, in whatever the table is held."""
    draws = np.random.default_rng(1)
    columns = {"age": draws.uniform(0, 120, 400), "dose": draws.integers(-1, 2, 400), "ill": draws.choice(["no", "yes"], 400).tolist()}
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    encoders = [gradient(weights, j, clip) for weights, j, clip in (((0, 0, 0), 0, 0), ((300, -9000, 77), 1, 1), ((1 << 20,) * 3, 2, 5))]
    encoders += [ClusterSide(BODY, CENTERS, j, clip) for j, clip in ((0, 0), (1, 3))] + [Magnitude(BODY)]
    for encoder in encoders:
        one_by_one, at_once = ReplaySource.from_key("draws"), ReplaySource.from_key("draws")
        column = encoder.column(holder(columns))
        everyone = encoder.encode_many(column[np.arange(400)], at_once)
        assert everyone.tolist() == [encoder.encode(record, one_by_one) for record in records]
        assert np.array_equal(np.asarray(column)[7:9], column[np.array([7, 8])])
        assert at_once.consumed == one_by_one.consumed


@pytest.mark.parametrize("weights", [(0, 0, 0), (300, -9000, 7000)], ids=["first round", "later"])
@pytest.mark.parametrize("mechanism", ["OneBitMean", "Hybrid"])
def test_a_gradient_behind_its_mechanism_is_private(weights, mechanism):
    """Every branch of both, for records at the corners, in the middle and between: epsilon is kept, and used up."""
    encoder = gradient(weights, coordinate=2, clip=2)
    spec = getattr(dn, mechanism)(domain=dn.Numbers(-encoder.limit, encoder.limit, steps=6), epsilon=1.0)
    audit = joint_audit(asked(encoder, spec), TINY)
    assert audit.passed, audit
    assert 1 - 1e-9 <= audit.epsilon <= 1.0


def test_an_unclipped_gradient_is_rejected():
    """By the mechanism, which refuses what is out of range; and by the audit, where the mechanism does not look."""
    encoder = gradient((300, -9000, 7000), coordinate=2, clip=1)
    spec = dn.OneBitMean(domain=dn.Numbers(-encoder.limit, encoder.limit, steps=6), epsilon=1.0)
    assert joint_audit(asked(encoder, spec), TINY).passed
    audit = joint_audit(Unclipped(name="q", spec=spec, encoder=encoder), TINY)
    assert "privacy" in audit.failures or "support" in audit.failures
    with pytest.raises(DomainError, match="finite numbers"):
        spec.randomize(encoder.limit + 1)


@pytest.mark.parametrize("coordinate", [0, 1])
def test_a_side_behind_its_oracle_is_private_and_unbiased(coordinate):
    """Ones less zeros are exactly the clipped coordinate over the limit, and all of them are of the nearest center, the first of two."""
    encoder = ClusterSide(BODY, CENTERS, coordinate, clip=8)
    people = [{"age": age, "dose": dose} for age, dose in product((0, 59.9, 60, 60.1, 100, 120), (-1, -0.001, 0, 0.003, 1))]
    audit = joint_audit(asked(encoder, dn.GRR(domain_size=encoder.inputs, epsilon=2.0)), people)
    assert audit.passed, audit
    for person in people:
        law = law_of(lambda source, person=person: encoder.encode(person, source))
        point = BODY.point(person)
        near = min(range(4), key=lambda c: sum((a - b) ** 2 for a, b in zip(point, CENTERS[c], strict=True)))
        assert {report // 2 for report in law} == {near} != {2}
        clipped = max(-encoder.limit, min(encoder.limit, point[coordinate]))
        assert law[2 * near + 1] - law[2 * near] == Fraction(clipped, encoder.limit)


def test_the_largest_numbers_there_are_count_as_the_ends():
    """Of a range that clips: without a warning, and as on a device."""
    wide = Features.of({"age": dn.Numbers(0, 120, clip=True), "dose": dn.Numbers(-1e-9, 1, clip=True)})
    encoder = Gradient(wide, "ill", ILL, (1 << 20, 1 << 20, -(1 << 20)), coordinate=1)
    columns = {"age": [1e308, -1e308, 5e-324, 60.0], "dose": [-1e308, 1e308, 0.5, 2.0], "ill": ["no", "yes", "no", "yes"]}
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert np.asarray(encoder.column(columns)).tolist() == [encoder.encode(record, None) for record in records]
    assert [wide.point(record) for record in records[:2]] == [[HALF, -HALF], [-HALF, HALF]]


def test_records_that_are_not_declared_are_refused():
    good = {"age": [1, 2], "dose": [0, 0], "ill": ["no", "yes"]}
    for change, where in (({"age": [1, 121]}, "column 'age'"), ({"dose": [0, float("nan")]}, "dose"), ({"ill": ["no", "x"]}, "ill")):
        with pytest.raises(DomainError, match=where):
            gradient().column(good | change)
    with pytest.raises(DomainError, match="one length"):
        gradient().column(good | {"dose": [0]})
    for bad in ({}, {"age": 7}, {"age": (1, 0)}, ["age"], {7: (0, 1)}):
        with pytest.raises(ParameterError):
            Features.of(bad)
