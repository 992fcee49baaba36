"""The exact audit of sketches, Hadamard response and Bloom filters, with the bugs that such code shipped with."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from deniable.client import CMS, FLH, GRR, HCMS, OLH, OUE, SHE, BloomRR, HadamardResponse
from deniable.client.frequency import FrequencySpec
from deniable.contract.domain import Text
from deniable.contract.probability import ceil_threshold, exp_below, floor_threshold
from deniable.errors import ProtocolError
from deniable.lab.audit import exact_audit
from deniable.testing import ReplaySource

EPSILONS = (0.01, 0.3, 1.0, 2.0, 7.5)
GRID = (
    [FLH(domain_size=5, epsilon=epsilon, hashes=3) for epsilon in (0.01, 1.0, 3.0)]
    + [FLH(domain=Text(9), epsilon=1.0, hashes=4)]
    + [CMS(domain_size=4, epsilon=epsilon, hashes=2, width=width) for width in (3, 4, 6) for epsilon in EPSILONS]
    + [HCMS(domain_size=4, epsilon=epsilon, hashes=3, width=width) for width in (4, 16) for epsilon in EPSILONS]
    + [HadamardResponse(domain_size=size, epsilon=epsilon) for size in (2, 3, 7, 16) for epsilon in EPSILONS]
    + [HadamardResponse(domain_size=5, epsilon=1.0, blocks=blocks) for blocks in (1, 2, 4, 8)]
    + [BloomRR(domain_size=4, epsilon=epsilon, bits=7, hashes=hashes, cohorts=2) for hashes in (1, 2) for epsilon in EPSILONS]
    + [BloomRR(domain=Text(9), epsilon=1.0, bits=8, hashes=2, cohorts=2)]
)


@pytest.mark.parametrize("spec", GRID, ids=repr)
def test_shipping_code_passes(spec):
    audit = exact_audit(spec)
    assert audit.passed, audit.failures


class SketchBitOnlySet(CMS):
    """pure-ldp up to 1.1.2 in unary encoding: noise first, then the true bit is only ever set."""

    def perturb(self, key, source):
        function = source.below(self.hashes)
        return function, source.bernoulli_bits(self.raise_other, self.width) | source.bernoulli(self.keep) << self.symbol(function, key)


class SketchEpsilonPerBit(CMS):
    """minilek's symmetric RAPPOR: every bit spends epsilon, and two bits differ."""

    @property
    def keep(self):
        e = exp_below(self.epsilon)
        return floor_threshold(e / (e + 1))

    ratio = property(lambda self: exp_below(self.epsilon))


class FunctionChosenByValue(FLH):
    """The sender takes a function that hashes the value to symbol 0: whoever knows the functions sees it."""

    def perturb(self, key, source):
        fitting = [j for j in range(self.hashes) if self.symbol(j, key) == 0] or [0]
        return fitting[source.below(len(fitting))], super().perturb(key, source)[1]


class CoordinateNotUniform(HCMS):
    """Row 0 is left out because it "says nothing": then two cells no longer agree in half of the rows."""

    def perturb(self, key, source):
        function, row = source.below(self.hashes), 1 + source.below(self.width - 1)
        sign = (row & self.symbol(function, key)).bit_count() & 1
        return function, row, sign if source.bernoulli(self.keep) else 1 - sign


class RowZero(HadamardResponse):
    """Rows counted from 0: the first value marks its whole block."""

    def place(self, key):
        return key % self.blocks, key // self.blocks


class ScoreCutToInteger(HadamardResponse):
    """minilek's recursive Hadamard response: the factor is a fraction, the counters are integers."""

    def score(self, report, key):
        return int(super().score(report, key))


class FilterBitNeverCleared(BloomRR):
    """pure-ldp's RAPPOR client: a set bit is always reported, so a zero excludes every value that has it."""

    def perturb(self, key, source):
        cohort = source.below(self.cohorts)
        return cohort, self.filter(cohort, key) | source.bernoulli_bits(self.flip, self.bits)


class HashesNotCounted(BloomRR):
    """pure-ldp's convert_eps_to_f: the flips of a single hash, whatever their number."""

    @property
    def flip(self):
        return ceil_threshold(1 / (exp_below(self.epsilon / 2) + 1))

    ratio = property(lambda self: exp_below(self.epsilon))


class IndicesFromOne(GRR):
    """pure-ldp's default index_mapper, x - 1, on values that count from 0: the first value gets a report of its own."""

    def perturb(self, key, source):
        return super().perturb(key, source) if key or not source.bernoulli(self.keep) else -1


class LengthShows(OUE):
    """opendp#2930: the report is as long as the value's bits need."""

    def perturb(self, key, source):
        return super().perturb(key, source) | 1 << self.domain_size + key // 2


UNBOUNDED = {"support", "privacy", "law", "unbiased"}
TWINS = [
    (SketchBitOnlySet(domain_size=4, epsilon=1.0, hashes=2, width=4), {"privacy", "law", "unbiased"}, 1.68026967),
    (SketchEpsilonPerBit(domain_size=4, epsilon=1.0, hashes=2, width=4), {"privacy"}, 2.0),
    (FunctionChosenByValue(domain_size=5, epsilon=1.0, hashes=6), UNBOUNDED, None),
    (CoordinateNotUniform(domain_size=4, epsilon=1.0, hashes=2, width=4), {"law", "unbiased"}, 1.0),
    (RowZero(domain_size=3, epsilon=1.0, blocks=1), UNBOUNDED | {"variance"}, None),
    (ScoreCutToInteger(domain_size=3, epsilon=1.0), {"unbiased", "variance"}, 1.0),
    (FilterBitNeverCleared(domain_size=4, epsilon=1.0, bits=6, hashes=2, cohorts=2), UNBOUNDED - {"unbiased"}, None),
    (HashesNotCounted(domain_size=4, epsilon=1.0, bits=7, hashes=2, cohorts=2), {"privacy"}, 2.0),
    (IndicesFromOne(domain_size=5, epsilon=1.0), UNBOUNDED | {"variance"}, None),
    (LengthShows(domain_size=5, epsilon=1.0), {"support", "privacy", "law"}, None),
]


@pytest.mark.parametrize(("twin", "failures", "epsilon"), TWINS, ids=lambda x: type(x).__name__ if isinstance(x, FrequencySpec) else "")
def test_evil_twins_are_rejected_for_the_right_reason(twin, failures, epsilon):
    """The write-over in a symmetric sketch costs what it costs in SUE, 1.680 at epsilon 1 (check value 44)."""
    audit = exact_audit(twin)
    assert set(audit.failures) == failures
    assert audit.epsilon == (None if epsilon is None else pytest.approx(epsilon, abs=1e-8))


def test_noise_from_floating_point_is_refused():
    """Laplace noise by inverting a double (he_client.py, HE.py): it draws raw words, whose law no audit can walk."""

    class FloatLaplace(SHE):
        def perturb(self, key, source):
            uniform = (source.word() + 0.5) / 2**64 - 0.5
            noise = -2 / self.epsilon * np.sign(uniform) * np.log1p(-2 * abs(uniform))
            return (round(noise), 0)

    with pytest.raises(ProtocolError, match="raw word"):
        exact_audit(FloatLaplace(domain_size=2, epsilon=7.5, steps=2))


def test_a_heavy_item_in_the_same_block_is_paid_for_in_the_interval():
    """Half of the people hold value 0. Value 16 shares its block, value 1 does not: both intervals cover, an average one would not."""
    spec = HadamardResponse(domain_size=64, epsilon=3.0)
    assert [spec.place(value)[0] for value in (0, 16, 1)] == [0, 0, 1]
    n, repetitions = 4000, 400
    source = ReplaySource.from_key("blocks")
    estimates = [spec.estimate(spec.tally(spec.privatize(np.repeat([0, 3], n // 2), source=source))) for _ in range(repetitions)]
    counts = np.array([estimate.counts[[16, 1]] for estimate in estimates])
    covered = np.array([(low <= 0) & (high >= 0) for low, high in (estimate.interval(0.95) for estimate in estimates)])[:, [16, 1]]
    slack = 4.892 * np.sqrt(0.05 * 0.95 / repetitions)
    assert np.all(np.abs(covered.mean(axis=0) - 0.95) < 0.01 + slack)
    average = 1.96 * spec.variance(n) ** 0.5  # for people spread evenly
    assert np.mean(np.abs(counts[:, 0]) < average) < 0.95 - 0.01 - slack


@pytest.mark.parametrize(
    ("epsilon", "sketch", "hadamard_sketch", "response", "blocks"),
    [
        (0.5, 159_490.373, 167_033.993, 166_707.924, 1),
        (1.0, 39_263.3858, 46_918.5272, 55_243.7993, 2),
        (2.0, 9_234.51939, 17_274.3295, 12_547.3488, 4),
        (4.0, 1_823.46997, 10_781.2556, 1_336.99599, 32),
    ],
)
def test_check_values(epsilon, sketch, hadamard_sketch, response, blocks):
    """Rows 9, 12 and 13 of the reference, n = 10,000, d = 128, m = 1024; FLH has OLH's law."""
    options = {"domain_size": 128, "epsilon": epsilon}
    close = {"rel": 1e-5}
    assert CMS(**options).variance(n=10_000) == pytest.approx(sketch, **close)
    assert HCMS(**options).variance(n=10_000) == pytest.approx(hadamard_sketch, **close)
    assert HadamardResponse(**options).variance(n=10_000) == pytest.approx(response, **close)
    assert HadamardResponse(**options).blocks == blocks
    fast, slow = FLH(**options), OLH(**options)
    assert (fast.p, fast.q, fast.ratio) == (slow.p, slow.q, slow.ratio)
    one_bit = ((np.exp(epsilon) + 1) / (np.exp(epsilon) - 1)) ** 2
    assert HadamardResponse(**options, blocks=1).variance(n=1) == pytest.approx(one_bit, **close)


def test_bloom_filters_have_rappors_epsilon():
    """Check values 17 and 19, RAPPOR's memoized bits with f = 1/2: every bit is flipped with probability 1/4."""
    for hashes, epsilon in ((2, 4.39445), (1, 2.19722)):
        spec = BloomRR(domain_size=4, epsilon=epsilon, hashes=hashes)
        assert float(spec.q) == pytest.approx(0.25, abs=1e-5)
        assert float(spec.ratio) == pytest.approx(3 ** (2 * hashes), rel=1e-4)
        assert log(float(spec.ratio)) <= epsilon
