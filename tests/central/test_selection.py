"""Choices: the code has the law that is stated, the law keeps its promise for all neighbors, and permute-and-flip is never worse."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, nan

import numpy as np
import pytest
from scipy import stats

from deniable.accounting import BoundedRange, Pure, Repeated
from deniable.central.bernoulli_exp import bernoulli_exp, exp_interval
from deniable.central.selection import ExponentialMechanism, PermuteAndFlip
from deniable.contract.probability import exp_above, log_above
from deniable.errors import DomainError, ParameterError
from deniable.testing import ReplaySource
from tests.central.walking import inside, walked

BOTH = (ExponentialMechanism, PermuteAndFlip)
SLACK = 1 + Fraction(1, 10**40)
"""What the width of the intervals may add to a ratio of two of them."""


def exponential(epsilon=1.0, sensitivity=1, monotone=False, kind=ExponentialMechanism):
    return kind(epsilon=epsilon, sensitivity=sensitivity, neighbors="add-remove", monotone=monotone)


# --- code against law ---


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(1), Fraction(5, 3), Fraction(3)], ids=str)
def test_the_coin_shows_heads_with_probability_e_to_the_minus_x(exponent):
    weights, left = walked(lambda source: bernoulli_exp(exponent.numerator, exponent.denominator, source))
    assert left < Fraction(1, 1 << 60)
    assert inside(weights.get(True, Fraction(0)), left, exp_interval(exponent))
    if exponent:
        assert not inside(weights[True], left, exp_interval(exponent * (1 + Fraction(1, 10**15))))  # a relative 1e-15 is seen


def test_a_large_exponent_takes_few_words():
    source = ReplaySource.from_key("large")
    assert not any(bernoulli_exp(10**30, 7, source) for _ in range(100))
    assert source.consumed < 1000


@pytest.mark.parametrize("utilities", [(0, 0), (2, 0, 1), (Fraction(1, 3), Fraction(-1, 2), 0, 0)], ids=str)
@pytest.mark.parametrize(("epsilon", "monotone"), [(1.0, False), (0.3, True)])
def test_the_code_has_the_law_that_is_stated(utilities, epsilon, monotone):
    mechanism = exponential(epsilon, monotone=monotone)
    kept, left = walked(lambda source: mechanism.trial(*mechanism.exponents(utilities), source))
    total = sum(weight for candidate, weight in kept.items() if candidate is not None)
    for candidate, stated in enumerate(mechanism.law(utilities)):  # trials go on until one is kept
        assert inside(kept[candidate] / (total + left), 2 * left / total, stated)
    flip = exponential(epsilon, monotone=monotone, kind=PermuteAndFlip)
    weights, left = walked(lambda source: flip.choose(utilities, source), cut=Fraction(1, 1 << 56))
    assert left < Fraction(1, 1 << 40)
    assert all(inside(weights[candidate], left, stated) for candidate, stated in enumerate(flip.law(utilities)))
    forgotten = exponential(2 * epsilon, monotone=monotone, kind=PermuteAndFlip).law(utilities)  # the evil twin: no 2 in the exponent
    assert len(set(utilities)) == 1 or not all(inside(weights[i], left, stated) for i, stated in enumerate(forgotten))


@pytest.mark.parametrize("kind", BOTH)
def test_choices_through_the_public_name(kind):
    """20,000 draws against the law at 1e-6; the same draws reject an epsilon that is 15 % off (power above 0.999)."""
    utilities, source = (3, 1, 0, 2), ReplaySource.from_key("selection")
    mechanism = exponential(2.0, sensitivity=2, kind=kind)
    counts = np.bincount([mechanism.choose(np.array(utilities), source) for _ in range(20_000)], minlength=4)
    expected, twin = (
        20_000 * np.array([float(p.low) for p in exponential(epsilon, sensitivity=2, kind=kind).law(utilities)]) for epsilon in (2.0, 2.3)
    )
    assert stats.chisquare(counts, expected).pvalue > 1e-6
    assert stats.chisquare(counts, twin * expected.sum() / twin.sum()).pvalue < 1e-6
    assert mechanism.choose([5]) == 0
    assert {mechanism.choose([0, 1000]) for _ in range(50)} == {1}  # without a source: the system's


# --- law against promise ---


def neighbors(utilities, steps):
    return [tuple(u + d for u, d in zip(utilities, moved, strict=True)) for moved in product(steps, repeat=len(utilities))]


def worst(kind, monotone, steps, size=3):
    """The largest ratio of a candidate's probabilities, and of two such ratios, over all small utilities and their neighbors."""
    mechanism, laws = exponential(monotone=monotone, kind=kind), {}

    def law(utilities):
        shifted = tuple(u - max(utilities) for u in utilities)  # only differences count
        if shifted not in laws:
            laws[shifted] = mechanism.law(shifted)
        return laws[shifted]

    ratio = spread = Fraction(0)
    for utilities in product(range(4), repeat=size):
        for other in neighbors(utilities, steps):
            ups = [p.high / q.low for p, q in zip(law(utilities), law(other), strict=True)]
            downs = [p.low / q.high for p, q in zip(law(utilities), law(other), strict=True)]
            ratio, spread = max(ratio, *ups, *(1 / down for down in downs)), max(spread, max(ups) / min(downs))
    return ratio, spread


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("monotone", "steps"), [(False, (-1, 0, 1)), (True, (0, 1))])
def test_no_pair_of_neighbors_is_told_apart_by_more_than_epsilon(kind, monotone, steps):
    ratio, spread = worst(kind, monotone, steps)
    assert ratio <= exp_above(1.0, Fraction(1)) * SLACK
    if kind is ExponentialMechanism:
        assert spread <= exp_above(1.0, Fraction(1)) * SLACK  # bounded range
        assert log_above(spread) > 1 - 1e-9  # and no shorter one
    else:
        assert log_above(ratio) > 1 - 1e-9  # tight


@pytest.mark.parametrize("kind", BOTH)
def test_claiming_monotone_utilities_that_are_not_is_caught(kind):
    ratio, _ = worst(kind, True, (-1, 0, 1))
    assert log_above(ratio) > 1.3


def test_permute_and_flip_has_no_bounded_range():
    """Why its event is Pure: the ln-ratios of two neighbors spread by more than epsilon."""
    _, spread = worst(PermuteAndFlip, False, (-1, 0, 1))
    assert log_above(spread) > 1.02


def test_permute_and_flip_is_never_worse():
    gains = []
    for size in (2, 3, 4):
        for utilities in product(range(4), repeat=size):
            for epsilon in (0.3, 2.0):
                loss = [
                    sum(
                        p.high * (max(utilities) - u)
                        for p, u in zip(exponential(epsilon, kind=kind).law(utilities), utilities, strict=True)
                    )
                    for kind in BOTH
                ]
                assert loss[1] <= loss[0] * SLACK
                gains.append(float(loss[0] / loss[1]) if loss[1] else 1.0)
    assert max(gains) > 1.6
    assert max(gains) <= 2 + 1e-9


@pytest.mark.parametrize("kind", BOTH)
def test_the_shortfall_is_rarely_passed(kind):
    mechanism = exponential(0.5, kind=kind)
    for size, level in ((2, 0.9), (5, 0.95), (12, 0.99)):
        limit = mechanism.shortfall(size, level)
        utilities = [0] + [Fraction(-limit) - Fraction(1, 1000)] * (size - 1)  # all others just beyond it: the worst crowd of candidates
        missed = sum(p.high for p in mechanism.law(utilities)[1:])
        assert (1 - level) / (2 * size) < missed <= 1 - level
    assert mechanism.shortfall(1) == 0.0


# --- several choices ---


def test_the_best_k_are_k_choices_among_those_left():
    utilities, mechanism = (1, 0, 2), exponential(kind=PermuteAndFlip)
    weights, left = walked(lambda source: tuple(mechanism.top(utilities, 2, source)), cut=Fraction(1, 1 << 40))
    assert left < Fraction(1, 1 << 24)
    first = mechanism.law(utilities)
    for (a, b), weight in weights.items():
        rest = [i for i in range(3) if i != a]
        then = mechanism.law([utilities[i] for i in rest])[rest.index(b)]
        assert abs(float(weight) - float(first[a].low * then.low)) <= float(left) + 1e-15
    assert sorted(mechanism.top(utilities, 3)) == [0, 1, 2]
    assert exponential().top_event(3) == Repeated(event=BoundedRange(epsilon=1.0, neighbors="add-remove"), times=3)
    assert mechanism.top_event(1) == mechanism.event == Pure(epsilon=1.0, neighbors="add-remove")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"sensitivity": True}, "sensitivity"),
        ({"sensitivity": inf}, "sensitivity"),
        ({"neighbors": "replaced"}, "neighbors"),
        ({"monotone": 1}, "monotone"),
        ({"neighbors": "replace", "monotone": True}, "raises some utilities and lowers others"),
    ],
)
@pytest.mark.parametrize("kind", BOTH)
def test_bad_parameters_are_refused(kind, change, words):
    with pytest.raises(ParameterError, match=words):
        kind(**{"epsilon": 1.0, "sensitivity": 1, "neighbors": "add-remove"} | change)


def test_bad_utilities_are_refused():
    mechanism = exponential()
    for bad in ([0, nan], [0, inf], [0, True], [0, "1"], [0, None]):
        with pytest.raises(DomainError, match="at 1"):
            mechanism.choose(bad)
    for call in (lambda: mechanism.choose([]), lambda: mechanism.top([1, 2], 3), lambda: mechanism.top([1], 0)):
        with pytest.raises(ParameterError):
            call()


def test_floats_are_read_toward_privacy():
    """0.3 is stored as less than three tenths, 0.1 as more: an epsilon is the smaller reading, a sensitivity the larger."""
    assert exponential(0.3, monotone=True).rate == Fraction(0.3) < Fraction(3, 10)
    assert exponential(0.1, monotone=True).rate == Fraction(1, 10) < Fraction(0.1)
    assert exponential(1.0, sensitivity=0.3, monotone=True).rate == Fraction(10, 3)
    assert exponential(1.0, sensitivity=Fraction(2, 3)).rate == Fraction(3, 4)
    assert exponential().guarantee.model == "central"
