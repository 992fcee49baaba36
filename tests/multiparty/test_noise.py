"""Noise in shares: exact laws of their sums, the error factor of the honest fraction, and sums that fit their words."""

from __future__ import annotations

import traceback
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from scipy import special, stats

from deniable.accounting import account
from deniable.central.enclosure import exp_bounds
from deniable.errors import DomainError, ParameterError
from deniable.multiparty.fixed_point import FixedPoint, laplace_reach, skellam_reach
from deniable.multiparty.noise import LaplaceShares, SkellamShares, error_factor
from deniable.multiparty.private_sum import PrivateSum
from deniable.multiparty.roles import run_sum
from deniable.tasks.series import FPA, LPA, Decimation
from deniable.tasks.series.paste import Paste
from deniable.testing import ReplaySource
from tests.multiparty.conftest import MaskedSum

HONEST = 25


def sums(shares, count: int, key: str, parties: int = HONEST) -> np.ndarray:
    """So many sums of the shares of some parties."""
    return shares.draw(count * parties, ReplaySource.from_key(key)).reshape(count, parties).sum(axis=1)


def chi_square(drawn: np.ndarray, probability) -> float:
    """The p-value of "they have this law", over the results that are expected five times or more, and the rest together."""
    values, expected = [], []
    reach = int(np.abs(drawn).max()) + 200
    for value in range(-reach, reach + 1):
        if (mean := probability(value) * drawn.size) >= 5:
            values.append(value)
            expected.append(mean)
    seen = [int((drawn == value).sum()) for value in values]
    seen.append(drawn.size - sum(seen))
    expected.append(drawn.size - sum(expected))
    return float(stats.chisquare(seen, expected).pvalue)


def laplace_law(scale: float):
    ratio = exp(-1 / scale)
    return lambda value: (1 - ratio) / (1 + ratio) * ratio ** abs(value)


def test_laplace_shares_of_the_honest_add_up_to_discrete_laplace():
    """20,000 sums at 1e-6; the noise of a scale 10 % smaller, and of one party less, is found out."""
    shares = LaplaceShares(epsilon=0.5, sensitivity=2, honest=HONEST)
    assert chi_square(sums(shares, 20_000, "laplace"), laplace_law(4.0)) > 1e-6
    assert chi_square(sums(shares, 20_000, "laplace"), laplace_law(3.6)) < 1e-6
    assert chi_square(sums(shares, 20_000, "one less", HONEST - 3), laplace_law(4.0)) < 1e-6


def test_skellam_shares_of_the_honest_add_up_to_skellam():
    shares = SkellamShares(epsilon=1.0, delta=1e-6, sensitivity_1=1, sensitivity_2=1.0, honest=HONEST)
    mean = shares.variance / 2
    assert chi_square(sums(shares, 20_000, "skellam"), lambda value: stats.skellam.pmf(value, mean, mean)) > 1e-6
    smaller = 0.81 * mean
    assert chi_square(sums(shares, 20_000, "skellam"), lambda value: stats.skellam.pmf(value, smaller, smaller)) < 1e-6


def test_the_ratio_of_laplace_shares_is_rounded_toward_privacy():
    for epsilon, sensitivity in ((1.0, 1), (0.1, 7), (3.7, 1000)):
        ratio = LaplaceShares(epsilon=epsilon, sensitivity=sensitivity, honest=3).ratio
        low, high = exp_bounds(Fraction(repr(epsilon)) / sensitivity, 100)
        assert Fraction(low, 1 << 100) <= ratio  # never less noise than epsilon asks for
        assert ratio - Fraction(1, 1 << 64) <= Fraction(high, 1 << 100)  # and the next smaller one would be


@pytest.mark.parametrize(("sensitivity_2", "expected"), [(1000.0, 4.531), (62.4, 4.531)])
def test_skellam_costs_what_a_gaussian_does(sensitivity_2, expected):
    """The reference's example, K = 39: 4.5309 standard deviations for a sensitivity of one, as for a Gaussian by the same conversion."""
    shares = SkellamShares(epsilon=1.0, delta=1e-6, sensitivity_1=39**0.5 * sensitivity_2, sensitivity_2=sensitivity_2, honest=800)
    assert shares.variance**0.5 / sensitivity_2 == pytest.approx(expected, rel=2e-3)
    assert account(shares.event, delta=1e-6).epsilon <= 1.0


def test_the_event_of_skellam_noise_is_not_below_the_divergence_of_its_law():
    """Renyi divergences of the law itself, for one number that moves by 1, at a small variance."""
    shares = SkellamShares(epsilon=3.0, delta=1e-3, sensitivity_1=1, sensitivity_2=1.0, honest=4)
    places = np.arange(-120, 121)
    log_law = stats.skellam.logpmf(places, shares.variance / 2, shares.variance / 2)
    for order, claimed in zip(shares.event.orders[:12], shares.event.epsilons[:12], strict=True):
        real = special.logsumexp(order * log_law[1:] + (1 - order) * log_law[:-1]) / (order - 1)
        assert real <= claimed


@pytest.mark.parametrize(("honest", "factor"), [(900, 1.05), (670, 1.22), (500, 1.41), (330, 1.74)])
def test_the_price_of_the_dishonest(honest, factor):
    assert error_factor(honest, 1000) == pytest.approx(factor, abs=0.006)


def test_all_parties_together_have_the_variance_that_is_stated():
    """Of 40 parties 20 are honest: twice the variance, to 5 standard errors of an excess kurtosis of 1.5."""
    codec = FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0, bits=0, whole=True)
    plan = PrivateSum(parties=40, honest="1/2", codec=codec, epsilon=1.0)
    drawn = sums(plan.shares, 5000, "all", parties=40)
    assert drawn.var() == pytest.approx(plan.stderr()[0] ** 2, rel=5 * sqrt(3.5 / 5000))
    assert plan.stderr()[0] == pytest.approx(plan.shares.variance**0.5 * sqrt(2))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 1.5, 2.5, 5.0])
@pytest.mark.parametrize(("parties", "honest"), [(10, "1"), (10, "1/2"), (3, "1/3")])
def test_intervals_cover_at_least_the_level_by_the_exact_law(epsilon, parties, honest):
    """The law of all parties' noise is a difference of two negative binomials of shape parties / honest: summed, not drawn."""
    codec = FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0, bits=0, whole=True)
    plan = PrivateSum(parties=parties, honest=honest, codec=codec, epsilon=epsilon)
    side = stats.nbinom.pmf(np.arange(4000), parties / plan.honest_parties, 1 - float(plan.shares.ratio))
    law = np.convolve(side, side[::-1])
    low, high = plan.estimate(np.zeros(1)).interval(0.95)
    noise = np.arange(law.size) - law.size // 2
    assert law[(noise >= low[0]) & (noise <= high[0])].sum() >= 0.95


def test_honest_parties_are_whole_and_never_rounded_up():
    codec = FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0, bits=0, whole=True)
    assert PrivateSum(parties=7, honest="1/2", codec=codec, epsilon=1.0).honest_parties == 3


def test_few_parties_draw_large_shares_in_pieces():
    """Twenty parties and a variance of millions: exact all the same, by pieces that add up."""
    shares = SkellamShares(epsilon=1.0, delta=1e-6, sensitivity_1=3000, sensitivity_2=700.0, honest=20)
    drawn = shares.draw(3000, ReplaySource.from_key("pieces"))
    assert drawn.var() == pytest.approx(shares.variance / 20, rel=5 * sqrt(2 / 3000))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_fits_the_word_that_is_chosen(delta):
    """The bounds hold for 200,000 draws of all parties' noise at a beta of 1e-3, in all but what that allows."""
    codec = FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0, bits=2)
    plan = PrivateSum(parties=10, honest="1/2", codec=codec, epsilon=0.5, delta=delta)
    drawn = np.abs(sums(plan.shares, 20_000, f"fits {delta}", parties=10))
    if delta:
        reach = skellam_reach((2 * plan.shares.variance) ** 0.5, 1, beta=1e-3)
    else:
        reach = laplace_reach((plan.shares.variance / 2) ** 0.5 + 1, 1, 0.5, beta=1e-3)
    assert (drawn > reach).mean() <= 1e-3 + 5 * sqrt(1e-3 / 20_000)
    assert plan.word_bits == 32


def test_a_private_sum_through_masks_with_two_lost():
    """Twenty parties, numbers with two places after the point; the sum of survivors within the noise, at 1e-6 by Chernoff."""
    codec = FixedPoint(length=3, largest=5.0, norm_1=10.0, norm_2=8.0, bits=6)
    plan = PrivateSum(parties=20, honest="4/5", codec=codec, epsilon=1.0)
    whole, drawn = MaskedSum(20, 3, word_bits=plan.word_bits), np.random.default_rng(3)
    numbers = drawn.uniform(-3, 3, (20, 3)).round(2)
    source = ReplaySource.from_key("private sum")
    for number, party in whole.parties.items():
        party.vector = plan.contribution(numbers[number], source).astype(f"<i{plan.word_bits // 8}").view(f"<u{plan.word_bits // 8}")
    found = plan.estimate(run_sum(whole.parties, whole.aggregator, lost={3: 2, 7: 1}), survivors=18, labels="abc")
    truth = numbers[[number for number in range(20) if number not in (3, 7)]].sum(axis=0)
    assert found.stderr == pytest.approx(plan.stderr(18))
    reach = laplace_reach((plan.shares.variance / 2) ** 0.5 + 1, 3, 0.8, beta=1e-6) / 2**6 + 18 / 2**7
    assert np.abs(found.point - truth).max() < reach
    assert found.values == ("a", "b", "c")


PARTS = {"length": 2, "largest": 9000.0, "norm_1": 11000.0, "norm_2": 8300.0}
CODECS = {
    "fractions": FixedPoint(**PARTS, bits=3),
    "whole": FixedPoint(**PARTS, bits=0, whole=True),
    "people": FixedPoint(length=2, largest=9000.0, norm_1=1.0, norm_2=1.0, bits=0, whole=True, of_people=True),
}


@pytest.mark.parametrize(
    ("codecs", "numbers", "named"),
    [
        ("fractions whole people", [1.0, 7351.0, 2.0], r"^numbers: got 'float64 \(3,\)'; allowed: 2 real numbers"),
        ("fractions whole people", [[7351], [1, 2]], "^numbers: .*2 real numbers"),
        ("fractions whole people", ["7351x", 1], "^numbers: .*2 real numbers"),
        ("fractions whole people", [7351 * 10**400, 1], "^numbers: .*2 real numbers"),
        ("fractions whole people", [None, 7351], "^numbers: .*2 real numbers|^numbers.0.: .*finite"),
        ("fractions whole people", np.array([7351, 1 + 7351j]), "^numbers: .*2 real numbers"),
        ("fractions whole people", [7351.0, float("inf")], "^numbers.1.: got 'not finite'"),
        ("fractions whole people", [float("nan"), 7351.0], "^numbers.0.: got 'not finite'"),
        ("fractions whole people", [1.0, -17351.0], "^numbers.1.: got 'too large'; allowed: at most 9000"),
        ("whole people", [7351.5, 1.0], "^numbers.0.: got 'between two steps'; allowed: whole numbers"),
        ("fractions whole", [8351.0, -1.0], "^numbers: got 'too much together'; allowed: 11000 .* 8300 in the Euclidean"),
        ("fractions whole", [7351.0, 3690.0], "^numbers: got 'too much together'"),
    ],
    ids=["length", "ragged", "text", "huge", "none", "complex", "infinite", "nan", "large", "between", "euclid", "added"],
)
def test_numbers_beyond_what_was_agreed_on_are_not_sent_and_not_shown(codecs, numbers, named):
    """Errors end up in logs: neither they nor what is printed with them has a digit of a party's numbers."""
    for codec in codecs.split():
        with pytest.raises(DomainError, match=named) as caught:
            CODECS[codec].encode(numbers)
        assert "351" not in "".join(traceback.format_exception(caught.value))


def test_norms_of_people_bound_what_one_changes_and_not_what_a_party_has():
    people = CODECS["people"]
    assert people.encode([9000, -9000]).tolist() == [9000, -9000]
    assert (people.steps_1, people.largest_step, people.steps_2) == (1, 9000, pytest.approx(1.0))
    assert CODECS["whole"].steps_1 == 11000 < FixedPoint(**PARTS, bits=0).steps_1 == 11001  # rounding two numbers costs a step
    assert FixedPoint(**PARTS | {"largest": 3.7}, bits=0, whole=True).largest_step == 3
    hides = {name: PrivateSum(parties=5, honest="1", codec=codec, epsilon=1.0) for name, codec in CODECS.items()}
    assert "person" in hides["people"].guarantee.unit
    assert "party's whole" in hides["whole"].guarantee.unit
    assert float(hides["whole"].stderr()[0]) > 1000 * float(hides["people"].stderr()[0])


def people(norm_1: float, norm_2: float) -> FixedPoint:
    return FixedPoint(length=4, largest=1000.0, norm_1=norm_1, norm_2=norm_2, bits=0, whole=True, of_people=True)


def test_norms_that_people_can_have():
    """Each of these is attained: by one number, by 1 in each of two, by 2 in each of four. (Any below it is refused, further down.)"""
    found = [people(*norms).steps_2 for norms in ((1.0, 1.0), (2.0, 2**0.5), (8.0, 4.0))]
    assert found == pytest.approx([1, 2**0.5, 4])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: FixedPoint(length=0, largest=1.0, norm_1=1.0, norm_2=1.0),
        lambda: FixedPoint(length=1, largest=0.0, norm_1=1.0, norm_2=1.0),
        lambda: FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0, bits=33),
        lambda: FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0, bits=0, of_people=True),
        lambda: FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0, bits=1, whole=True, of_people=True),
        lambda: FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0, bits=0, whole=True, of_people=1),
        *(lambda norms=norms: people(*norms) for norms in ((0.5, 1.0), (1.0, 0.999), (2.0, 1.414), (9.0, 4.49))),
        lambda: FixedPoint(length=1, largest=2.0**39, norm_1=2.0**39, norm_2=2.0**39, bits=12).word_bits(1 << 14, 0.0),
        lambda: LaplaceShares(epsilon=1.0, sensitivity=0, honest=3),
        lambda: LaplaceShares(epsilon=1.0, sensitivity=1, honest=0),
        lambda: SkellamShares(epsilon=1.0, delta=0.0, sensitivity_1=1, sensitivity_2=1.0, honest=3),
        lambda: SkellamShares(epsilon=1.0, delta=1e-6, sensitivity_1=1, sensitivity_2=2.0, honest=3),
        lambda: FixedPoint(length=1, largest=2.0**35, norm_1=2.0**35, norm_2=2.0**35, bits=32),
        lambda: PrivateSum(parties=5, honest="1", codec=5, epsilon=1.0),
        lambda: PrivateSum(parties=5, honest="1", codec=FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0), epsilon=1.0, delta="x"),
        lambda: PrivateSum(parties=1, honest="1", codec=FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0), epsilon=1.0),
        lambda: PrivateSum(parties=5, honest="1/10", codec=FixedPoint(length=1, largest=1.0, norm_1=1.0, norm_2=1.0), epsilon=1.0),
        lambda: Paste(mechanism=FPA(points=5, k=2, epsilon=1.0, neighbors="replace"), parties=5, honest="1"),
    ],
)
def test_mistakes_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()


# --- series ---


@pytest.mark.parametrize(
    "mechanism",
    [
        LPA(points=24, epsilon=2.0),
        Decimation(points=24, every=8, epsilon=2.0),
        FPA(points=24, k=3, epsilon=2.0),
        FPA(points=24, k=3, epsilon=2.0, delta=1e-6),
    ],
)
def test_paste_has_the_noise_of_the_central_mechanism(mechanism):
    """30 parties of whom 15 are honest: measured over 400 releases, to 5 standard errors; the bias of each party's rounding included."""
    plan = Paste(mechanism=mechanism, parties=30, honest="1/2", bits=6)
    drawn, source = np.random.default_rng(30), ReplaySource.from_key("paste")
    people = (drawn.random((30, 24)) < 0.5).astype(float)
    kept = mechanism.reconstruct(mechanism.ask(people.sum(axis=0)))
    exact = np.sum([plan.sum.codec.encode(mechanism.ask(person)) for person in people], axis=0)
    errors = []
    for _ in range(400):
        noise = plan.sum.shares.draw(30 * plan.sum.codec.length, source).reshape(30, -1).sum(axis=0)
        found = plan.estimate(exact + noise)
        errors.append(found.point - kept)
    errors = np.array(errors)
    assert errors.var(axis=0) == pytest.approx(found.stderr**2, rel=5 * sqrt(3.5 / 400) + 0.02)
    central = mechanism.stderr * sqrt(2)
    assert found.stderr == pytest.approx(central, rel=0.08)  # but for the roundings, which both pay for in their own way
    assert np.abs(errors.mean(axis=0)).max() < 5 * found.stderr.max() / 20 + 30 / 2**6


def test_a_person_beyond_the_bounds_takes_no_part():
    plan = Paste(mechanism=FPA(points=8, k=2, epsilon=1.0), parties=5, honest="4/5")
    for series in (np.full(8, 1.5), np.full(8, -0.1), np.ones(7)):
        with pytest.raises(DomainError):
            plan.contribution(series)
    assert plan.contribution(np.ones(8), ReplaySource.from_key("one")).shape == (3,)
