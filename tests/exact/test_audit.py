"""The exact audit of every mechanism, and the evil twins that it must reject.

Each twin is a bug that shipped somewhere. It overrides the randomizer only, so it still claims the honest law.
"""

from __future__ import annotations

from fractions import Fraction
from math import e, log

import pytest

from deniable.client import BLH, GRR, HRR, OLH, OUE, PGR, RR, RWS, SHE, SUE, THE, DBitFlip, SubsetSelection
from deniable.client.frequency import FrequencySpec
from deniable.client.longitudinal import LongitudinalSpec
from deniable.client.unary import perturb_bits
from deniable.contract.domain import Categories, Integers, Text
from deniable.contract.probability import exp_below, floor_threshold
from deniable.contract.source import ONE
from deniable.errors import ParameterError
from deniable.lab.audit import exact_audit
from tests.conftest import frequency_specs

EPSILONS = (0.01, 0.3, 1.0, 2.0, 7.5)
GRID = (
    [RR(epsilon=epsilon) for epsilon in EPSILONS]
    + [RR.from_probabilities(*coin) for coin in (("3/4", "1/4"), ("1/2", "1/100"), (0.99, 0.98))]
    + [GRR(domain_size=size, epsilon=epsilon) for size in (2, 3, 4, 9) for epsilon in EPSILONS]
    + [OUE(domain_size=size, epsilon=epsilon) for size in (2, 3, 4, 7) for epsilon in EPSILONS]
    + [OLH(domain_size=size, epsilon=epsilon) for size in (2, 3, 8) for epsilon in (0.01, 0.3, 1.0, 2.0)]
    + [OLH(domain_size=5, epsilon=1.0, hash_range=count) for count in (2, 3, 5, 16)]
    + [oracle(domain_size=size, epsilon=epsilon) for oracle in (SUE, THE, HRR) for size in (2, 3, 6) for epsilon in EPSILONS]
    + [BLH(domain_size=size, epsilon=epsilon) for size in (2, 5) for epsilon in (0.01, 2.0)]
    + [SubsetSelection(domain_size=size, epsilon=epsilon) for size in (2, 3, 6, 7) for epsilon in EPSILONS]
    + [SubsetSelection(domain_size=6, epsilon=1.0, size=size) for size in (1, 3, 5)]
    + [RWS(domain_size=size, epsilon=epsilon) for size in (2, 3, 6, 8) for epsilon in EPSILONS]
    + [RWS(domain_size=7, epsilon=1.0, size=size) for size in (1, 3, 6)]
    + [PGR(domain_size=size, epsilon=epsilon) for size in (2, 3, 6, 14) for epsilon in EPSILONS]
    + [PGR(domain_size=5, epsilon=1.0, order=order, dimension=t) for order, t in ((2, 3), (2, 5), (3, 3), (3, 4), (5, 2), (5, 3), (7, 3))]
    + [SHE(domain_size=2, epsilon=epsilon, steps=steps) for epsilon, steps in ((1.0, 2), (2.0, 2), (2.0, 4), (7.5, 2), (20.0, 16))]
    + [SHE(domain_size=3, epsilon=epsilon, steps=2) for epsilon in (7.5, 20.0)]
    + [DBitFlip(domain_size=size, epsilon=epsilon, bits=b) for size, b in ((2, 1), (2, 2), (5, 1), (5, 2)) for epsilon in EPSILONS]
    + [DBitFlip(domain_size=size, epsilon=1.0, bits=b) for size, b in ((3, 1), (3, 3), (4, 2), (4, 3), (5, 3))]
    + [OLH(domain=Integers(0, 2**64 - 1), epsilon=1.0), OLH(domain=Text(16), epsilon=0.5)]
)
SMALL = [spec for spec in frequency_specs() if spec.outputs <= (32 if isinstance(spec, LongitudinalSpec) else 256)]


@pytest.mark.parametrize("spec", GRID + SMALL, ids=repr)
def test_shipping_code_passes(spec):
    audit = exact_audit(spec)
    assert audit.passed, audit.failures
    assert spec.report_epsilon - 1e-9 <= audit.epsilon <= spec.report_epsilon <= spec.epsilon


def test_large_output_spaces_are_refused():
    with pytest.raises(ParameterError, match="enumerate"):
        exact_audit(OUE(domain_size=40, epsilon=1.0))


class LastBitUntouched(OUE):
    """opendp#2708: the loop over the bits ended one early."""

    def perturb(self, key, source):
        noisy = super().perturb(key, source) & ~(1 << self.domain_size - 1)
        return noisy | (key == self.domain_size - 1) << self.domain_size - 1


class BitNeverCleared(OUE):
    """pure-ldp's RAPPOR: a set bit is always reported."""

    def perturb(self, key, source):
        return source.bernoulli_bits(self.raise_other, self.domain_size) | 1 << key


class WriteOver(OUE):
    """pure-ldp up to 1.1.2: noise first, then the true bit is only ever set."""

    def perturb(self, key, source):
        return source.bernoulli_bits(self.raise_other, self.domain_size) | source.bernoulli(ONE // 2) << key


class TrueValueFirst(GRR):
    """multi-freq-ldpy's subset selection: the report is a list, and the true value comes first when it is in."""

    def perturb(self, key, source):
        other = source.below(self.domain_size - 1)
        other += other >= key
        return (key, other) if source.bernoulli(self.keep) else (other, key)


class MissingElement(GRR):
    """sok-ldp's subset selection: one other value can never be reported."""

    def perturb(self, key, source):
        if source.bernoulli(self.keep):
            return key
        return (key + 1 + source.below(self.domain_size - 2)) % self.domain_size


class OtherMayBeTrue(GRR):
    """The other value is drawn from all values: the truth is told too often."""

    def perturb(self, key, source):
        return key if source.bernoulli(self.keep) else source.below(self.domain_size)


class ThresholdOffByOne(GRR):
    """One part in 2^64 more than allowed."""

    def perturb(self, key, source):
        if source.bernoulli(self.keep + 1):
            return key
        other = source.below(self.domain_size - 1)
        return other + (other >= key)


class ThresholdOffByOneDown(OUE):
    """The noise bit one part in 2^64 too rare."""

    def perturb(self, key, source):
        others = source.bernoulli_bits(self.raise_other - 1, self.domain_size) & ~(1 << key)
        return others | source.bernoulli(ONE // 2) << key


class FloatProbability(RR):
    """p in double precision, its 53 bits compared with a uniform double."""

    def perturb(self, key, source):
        keep = round(e**self.epsilon / (e**self.epsilon + 1) * 2**53) << 11
        return key if source.bernoulli(keep) else 1 - key


class NoiseTimesNineTenths(OUE):
    def perturb(self, key, source):
        others = source.bernoulli_bits(self.raise_other * 9 // 10, self.domain_size) & ~(1 << key)
        return others | source.bernoulli(ONE // 2) << key


class UnhashedSeed(OLH):
    """The seed depends on the value: whoever knows the hash sees it."""

    def perturb(self, key, source):
        (a, b), symbol = super().perturb(key, source)
        return (a, b + key & ONE - 1), symbol


class SymbolNotPerturbed(OLH):
    def perturb(self, key, source):
        seed = source.words(self.seed_words)
        return seed, self.family.symbol(seed, key)


class UniformOther(OLH):
    """The other symbol may be the true one: keep is no longer the probability of the truth."""

    def perturb(self, key, source):
        seed = source.words(self.seed_words)
        return seed, self.family.symbol(seed, key) if source.bernoulli(self.keep) else source.below(self.hash_range)


class SlidesEstimator(OLH):
    """The PEM slides: q of the randomized response instead of 1/g in the estimator."""

    @property
    def q(self):
        return self.apart


class SubsetTrueValueFirst(SubsetSelection):
    """multi-freq-ldpy: the members are sent as a list, and the true value, where it is one, comes first."""

    def perturb(self, key, source):
        members = super().perturb(key, source)
        rest = tuple(value for value in range(self.domain_size) if members >> value & 1 and value != key)
        return (key, *rest) if members >> key & 1 else rest

    def supports(self, report, key):
        return key in report


class SubsetDrawsAgain(SubsetSelection):
    """minilek's subset_selection.cc: when the coin says "without", the true value may come in all the same."""

    def perturb(self, key, source):
        included = source.bernoulli(self.keep)
        pool = [value for value in range(self.domain_size) if not (included and value == key)]
        members = 1 << key if included else 0
        for _ in range(self.size - included):
            members |= 1 << pool.pop(source.below(len(pool)))
        return members


class SubsetMissingElement(SubsetSelection):
    """sok-ldp's k-subset: the value before the true one is never in the set."""

    def perturb(self, key, source):
        members = super().perturb(key, source)
        return members & ~(1 << (key - 1) % self.domain_size)


class WholeEpsilonPerBit(SUE):
    """minilek's symmetric RAPPOR: every bit spends epsilon, and two bits differ."""

    def perturb(self, key, source):
        keep = floor_threshold(exp_below(self.epsilon) / (exp_below(self.epsilon) + 1))
        return source.bernoulli_bits(ONE - keep, self.domain_size) & ~(1 << key) | source.bernoulli(keep) << key


class RowDependsOnValue(HRR):
    """The row is drawn among those where the value's sign is +: it gives the value away."""

    def perturb(self, key, source):
        row, sign = super().perturb(key, source)
        return (row if (row & key).bit_count() % 2 == 0 else 0), sign


class OneStepForAll(RWS):
    """Everybody goes in steps of one: private, but neighbors are counted together."""

    def perturb(self, key, source):
        place = source.below(self.size) if source.bernoulli(self.keep) else self.size + source.below(self.modulus - self.size)
        return 0, (key - place) % self.modulus


class PlaceCountedFromOne(RWS):
    """The place is off by one: the last member is one too far."""

    def perturb(self, key, source):
        step, shift = super().perturb(key, source)
        return step, (shift - step - 1) % self.modulus


class PointDrawnAgain(PGR):
    """When the coin says "not orthogonal", the point may be orthogonal all the same."""

    def perturb(self, key, source):
        if source.bernoulli(self.keep):
            return [point for point in range(self.points) if self.supports(point, key)][source.below(self.orthogonal)]
        return source.below(self.points)


class PointNotScaled(PGR):
    """The new coordinate is written, and the point is sent with its old scale: some points come twice, others never."""

    def index(self, coordinates):
        first = next(i for i, x in enumerate(coordinates) if x)
        index = 0
        for x in coordinates[first + 1 :]:
            index = self.order * index + 1 + x
        return index


class WholeEpsilonPerEntry(SHE):
    """Noise scaled for one entry that changes by one; two of them do."""

    def perturb(self, key, source):
        bold = SHE(domain_size=self.domain_size, epsilon=2 * self.epsilon, steps=self.steps)
        return tuple(point - bold.reach + self.reach for point in bold.perturb(key, source))


class NoiseFoldedInsteadOfPoints(SHE):
    """The noise is cut off 16 scales from the true entry: the last points of the grid show what it was."""

    def perturb(self, key, source):
        noisy = super().perturb(key, source)
        return tuple(max(x, self.steps) if entry == key else min(x, 2 * self.reach) for entry, x in enumerate(noisy))


class WholeEpsilonPerBucket(DBitFlip):
    """Every bit spends epsilon, and two bits differ."""

    def perturb(self, key, source):
        return DBitFlip(domain_size=self.domain_size, epsilon=2 * self.epsilon, bits=self.bits).perturb(key, source)


class OwnBucketAlwaysDrawn(DBitFlip):
    """The true value is made sure to be among the buckets, "so that no report is wasted"."""

    def perturb(self, key, source):
        chosen = self._draw(source)
        chosen = chosen if key in chosen else tuple(sorted((*chosen[1:], key)))
        return chosen, perturb_bits(chosen.index(key), self.bits, self.raise_other, self.keep, source)


class PForcedToHalf(OLH):
    """vvv214's PEM code: p = 1/2 whatever g is, which wastes privacy; with g = 2 nothing at all is learned."""

    def perturb(self, key, source):
        seed = source.words(self.seed_words)
        symbol = self.family.symbol(seed, key)
        if source.bernoulli(ONE // 2):
            return seed, symbol
        other = source.below(self.hash_range - 1)
        return seed, other + (other >= symbol)


SIZED = {"domain_size": 5, "epsilon": 1.0}
TWINS = [
    (LastBitUntouched(**SIZED), {"support", "privacy", "law", "unbiased", "variance"}, None),
    (BitNeverCleared(**SIZED), {"support", "privacy", "law", "unbiased", "variance"}, None),
    (WriteOver(**SIZED), {"privacy", "law", "unbiased", "variance"}, log(e + 2)),
    (TrueValueFirst(**SIZED), {"support", "privacy", "law", "unbiased", "variance"}, None),
    (MissingElement(**SIZED), {"support", "privacy", "law", "unbiased", "variance"}, None),
    (OtherMayBeTrue(**SIZED), {"privacy", "law", "unbiased", "variance"}, log(1 + 5 * (e / (e + 4)) / (4 / (e + 4)))),
    (ThresholdOffByOne(**SIZED), {"privacy", "law", "unbiased"}, 1.0),
    (ThresholdOffByOneDown(**SIZED), {"privacy", "law", "unbiased"}, 1.0),
    (FloatProbability(epsilon=1.0), {"privacy", "law", "unbiased"}, 1.0),
    (NoiseTimesNineTenths(**SIZED), {"privacy", "law", "unbiased", "variance"}, log((1 - 0.9 / (e + 1)) / (0.9 / (e + 1)))),
    (UnhashedSeed(**SIZED), {"support", "privacy", "law", "unbiased"}, None),
    (SymbolNotPerturbed(**SIZED), {"support", "privacy", "law", "unbiased"}, None),
    (UniformOther(**SIZED), {"privacy", "law", "unbiased"}, log(1 + 4 * (e / (e + 3)) / (3 / (e + 3)))),
    (SlidesEstimator(**SIZED), {"unbiased"}, 1.0),
    (SubsetTrueValueFirst(**SIZED, size=2), {"support", "privacy", "law"}, None),
    (SubsetDrawsAgain(**SIZED, size=2), {"privacy", "law", "unbiased", "variance"}, log(1 + 5 * e / 3)),
    (SubsetMissingElement(**SIZED, size=2), {"support", "privacy", "law", "unbiased", "variance"}, None),
    (WholeEpsilonPerBit(**SIZED), {"privacy", "law", "unbiased", "variance"}, 2.0),
    (RowDependsOnValue(**SIZED), {"support", "privacy", "law", "unbiased", "variance"}, None),
    (OneStepForAll(**SIZED, size=2), {"law", "unbiased", "variance"}, 1.0),
    (PlaceCountedFromOne(**SIZED, size=2), {"law", "unbiased", "variance"}, 1.0),
    (PointDrawnAgain(domain_size=5, epsilon=1.0, order=3), {"privacy", "law", "unbiased", "variance"}, log(1 + 13 * e / 9)),
    (PointNotScaled(domain_size=5, epsilon=1.0, order=3), {"support", "privacy", "law", "unbiased"}, None),
    (WholeEpsilonPerEntry(domain_size=2, epsilon=1.0, steps=2), {"privacy", "law", "unbiased", "variance"}, 2.0),
    (NoiseFoldedInsteadOfPoints(domain_size=2, epsilon=7.5, steps=2), {"support", "privacy", "law", "unbiased", "variance"}, None),
    (WholeEpsilonPerBucket(**SIZED, bits=2), {"privacy", "law", "unbiased", "variance"}, 2.0),
    (OwnBucketAlwaysDrawn(**SIZED, bits=2), {"support", "privacy", "law", "unbiased", "variance"}, None),
    (PForcedToHalf(domain_size=5, epsilon=1.0, hash_range=3), {"tight", "law", "unbiased"}, log(2)),
    (PForcedToHalf(domain_size=5, epsilon=0.5, hash_range=2), {"tight", "law", "unbiased"}, 0.0),
]


@pytest.mark.parametrize(("twin", "failures", "epsilon"), TWINS, ids=lambda x: type(x).__name__ if isinstance(x, FrequencySpec) else "")
def test_evil_twins_are_rejected_for_the_right_reason(twin, failures, epsilon):
    audit = exact_audit(twin)
    assert set(audit.failures) == failures
    if epsilon is None:
        assert audit.epsilon is None
    else:
        assert audit.epsilon == pytest.approx(epsilon, abs=1e-12)
        if "privacy" in failures:
            assert audit.epsilon > twin.effective_epsilon


def test_the_float_twin_exceeds_epsilon_by_less_than_any_sample_could_show():
    """The audit sees an excess of 1e-16: that is the point of doing it in fractions."""
    audit = exact_audit(FloatProbability(epsilon=1.0))
    assert 0 < audit.epsilon - 1.0 < 1e-15


def test_categories_are_audited_under_their_labels():
    assert exact_audit(GRR(domain=Categories("a", "b", "c"), epsilon=1.0)).passed


def test_a_law_that_does_not_sum_to_one_is_noticed():
    class Leaky(GRR):
        def output_law(self, key, seed):
            law = super().output_law(key, seed)
            return type(law)({report: weight / 2 for report, weight in law.items()})

    assert exact_audit(Leaky(**SIZED)).failures == ["law"]
    assert Leaky(**SIZED).law(0).total == Fraction(1, 2)


def test_every_coin_states_an_epsilon_that_it_keeps():
    """Computed epsilons are decimals on the wire and floats in memory; both readings must be above the law's."""
    for a in range(2, 100):
        for b in range(1, a, 7):
            coin = RR.from_probabilities(Fraction(a, 100), Fraction(b, 100))
            assert coin.ratio <= exp_below(coin.epsilon)
    assert exact_audit(RR.from_probabilities("0.11", "0.09")).passed


def test_an_audit_looks_at_every_input_or_refuses():
    with pytest.raises(ParameterError, match="all of them audited"):
        exact_audit(GRR(domain_size=257, epsilon=1.0))
    assert exact_audit(OLH(domain=Text(1), epsilon=1.0)).passed
    assert "4 inputs" in str(exact_audit(GRR(domain_size=4, epsilon=1.0)))
