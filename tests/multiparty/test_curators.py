"""A few curators: exact sums under pairwise masks, all of the noise from each, and nothing without everybody."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import deniable as dn
from deniable.errors import DomainError, ParameterError, ProtocolError, WireError
from deniable.multiparty.curators import Curators
from deniable.multiparty.message import Message
from deniable.multiparty.pairwise import PairwiseAggregator, PairwiseParty
from deniable.multiparty.roles import run_sum
from deniable.multiparty.terms import SumTerms
from deniable.sealing.identity import new_identity, public_key
from deniable.testing import ReplaySource


class Joint:
    """All roles of a sum of a few."""

    def __init__(self, count: int = 3, *, key: str = "joint") -> None:
        self.identities = [new_identity() for _ in range(count)]
        share = {"corrupt": str(Fraction(count - 1, count)), "lost": "0", "honest": str(Fraction(1, count))}
        self.terms = SumTerms(label=key, parties=tuple(map(public_key, self.identities)), length=4, **share)
        self.vectors = np.random.default_rng(count).integers(-1000, 1000, (count, 4))
        self.parties = {
            number: PairwiseParty(self.terms, number, identity, vector)
            for number, (identity, vector) in enumerate(zip(self.identities, self.vectors, strict=True))
        }
        self.aggregator = PairwiseAggregator(self.terms)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_sums_are_exact(count):
    joint = Joint(count)
    assert run_sum(joint.parties, joint.aggregator).tolist() == joint.vectors.sum(axis=0).tolist()


@pytest.mark.parametrize("sends", [0, 1])
def test_without_everybody_nothing_is_opened(sends):
    joint = Joint()
    with pytest.raises(ProtocolError, match="nothing was opened"):
        run_sum(joint.parties, joint.aggregator, lost={1: sends})


def test_a_party_masks_once_and_only_with_keys_that_their_owners_signed():
    joint = Joint()
    for party in joint.parties.values():
        joint.aggregator.receive(party.first())
    messages = joint.aggregator.close()
    message = Message.open(messages[0])
    forged = bytearray(message.body)
    forged[100 + 4] ^= 1  # a bit of the second party's key
    for body in (bytes(forged), message.body[:100], message.body + message.body[-100:], b""):
        with pytest.raises((ProtocolError, WireError)):
            joint.parties[0].answer(message._replace(body=body).pack())
    masked = Message.open(joint.parties[0].answer(messages[0]))
    assert not np.array_equal(np.frombuffer(masked.body, dtype="<i4"), joint.vectors[0])
    with pytest.raises(ProtocolError, match="in its turn"):
        joint.parties[0].answer(messages[0])
    with pytest.raises(ProtocolError, match="forged"):
        joint.aggregator.receive(masked._replace(body=bytes(16)).pack())
    other = Joint(key="another")
    with pytest.raises(ProtocolError, match="two sums"):
        joint.aggregator.receive(other.parties[0].first())


def test_a_joint_histogram_has_the_noise_of_all_curators():
    """400 sums of three curators: variance k times that of one, to 5 standard errors of an excess kurtosis of 1; intervals cover."""
    curators, source = Curators(3), ReplaySource.from_key("joint histogram")
    data = [["a"] * 5 + ["b"] * 7, ["b"] * 20, []]
    found = [curators.histogram(data, values=["a", "b"], epsilon=0.5, source=source) for _ in range(400)]
    errors = np.array([estimate.point for estimate in found]) - [5, 27]
    one = dn.central.Laplace(epsilon=0.5, sensitivity=1, neighbors="add-remove").variance
    assert found[0].law.noise.tolist() == pytest.approx([3 * one] * 2)
    assert errors.var() == pytest.approx(3 * one, rel=5 * sqrt((2 + 1) / 800))
    assert abs(errors.mean()) < 5 * sqrt(3 * one / 800)
    low, high = (np.array(limits) for limits in zip(*(estimate.interval() for estimate in found), strict=True))
    covered = ((low <= [5, 27]) & (high >= [5, 27])).mean()
    assert 0.95 - 5 * sqrt(0.95 * 0.05 / 800) < covered < 0.97 + 5 * sqrt(0.03 * 0.97 / 800)


def test_replacing_a_person_costs_what_that_can_move():
    curators, data = Curators(2), [["a"], ["b"]]
    scale = {
        neighbors: curators.histogram(data, values=["a", "b"], epsilon=1.0, neighbors=neighbors).stderr[0]
        for neighbors in ("add-remove", "replace")
    }
    assert scale["replace"] > 1.9 * scale["add-remove"]
    total = curators.total([[20.0], [200.0]], low=20, high=200, epsilon=1.0, neighbors="replace")
    assert total.stderr[0] == pytest.approx(sqrt(2 * 2) * 180, rel=0.02)  # a number moves from end to end, and not by 200


def test_a_joint_sum_is_right_within_its_interval():
    drawn = np.random.default_rng(8)
    data = [drawn.uniform(20, 200, size) for size in (300, 50, 700)]
    truth = sum(column.sum() for column in data)
    source = ReplaySource.from_key("joint sum")
    misses = 0
    for _ in range(100):
        found = Curators(3).total(data, low=20, high=200, epsilon=1.0, source=source)
        low, high = found.interval(0.99)
        misses += not low[0] <= truth <= high[0]
        assert found.stderr[0] == pytest.approx(sqrt(3 * 2) * 200, rel=0.02)
    assert misses <= 7  # of 100 at 1 %, more is one case in a million


def test_a_joint_mean_is_right_within_its_interval():
    """Of 1,050 people, and of nobody, whose mean is anything in the range; 100 times at 99 %."""
    drawn = np.random.default_rng(9)
    data = [drawn.uniform(20, 200, size) for size in (300, 50, 700)]
    truth = np.concatenate(data).mean()
    source = ReplaySource.from_key("joint mean")
    found = [Curators(3).mean(data, low=20, high=200, epsilon=2.0, source=source) for _ in range(100)]
    assert sum(not low <= truth <= high for low, high in (estimate.interval(0.99) for estimate in found)) <= 7
    spread = np.std([estimate.value for estimate in found])
    assert spread == pytest.approx(found[0].stderr, rel=0.5)
    assert Curators(3).mean([[], [], []], low=0, high=1, epsilon=1.0).interval() == (0, 1)


def test_one_person_moves_no_sum_further_than_is_paid_for():
    """Whole steps of each, added up as integers: where floats were added, one person among large numbers moved 128 steps."""
    people = np.full(1000, 2.0**36)
    for column, steps in ((people, 1), (people, 3)):
        curators, before = Curators(2), [column, []]
        spared = [column[:-1], []]
        sums = [
            curators.total(data, low=2.0**36 - 1, high=2.0**36, epsilon=20.0, steps=steps, source=ReplaySource.from_key("same")).point[0]
            for data in (before, spared)
        ]
        assert sums[0] - sums[1] == pytest.approx(2.0**36, abs=1.0 / steps)


def test_what_cannot_be_counted_is_refused():
    curators = Curators(2)
    with pytest.raises(DomainError, match="cocoa"):
        curators.histogram([["tea"], ["cocoa"]], values=["tea", "coffee"], epsilon=1.0)
    with pytest.raises(DomainError, match="out of range"):
        curators.total([[1.0], [7.0]], low=0, high=5, epsilon=1.0)
    for wrong in (
        lambda: Curators(1),
        lambda: curators.histogram([["tea"]], values=["tea", "coffee"], epsilon=1.0),
        lambda: curators.total([[1.0], []], low=5, high=5, epsilon=1.0),
        lambda: curators.total([[1.0], []], low=0, high=float("inf"), epsilon=1.0),
        lambda: curators.total([[1.0], []], low="a", high=5, epsilon=1.0),
        lambda: curators.total([[1e15], []], low=1e15 - 1, high=1e15, epsilon=1.0, steps=1 << 20),
        lambda: curators.guarantee(1.0, neighbors="either"),
    ):
        with pytest.raises(ParameterError):
            wrong()


def test_the_promise_names_who_must_be_honest():
    promise = Curators(3).guarantee(0.5)
    assert promise.model == "multiparty"
    assert "own curator" in promise.honest
    assert "other 2" in promise.honest
