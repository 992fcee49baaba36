"""Exact draws digit by digit, what shares add up to, what shuffled shares give away, and a shuffle in which all orders are alike."""

from __future__ import annotations

from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from itertools import permutations, product
from math import comb, exp, sqrt
from threading import Thread

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.central.inversion import PoissonNoise, PolyaNoise
from deniable.contract.source import Source
from deniable.shuffle.mixer import permutation
from deniable.shuffle.shares import LISTED, excess
from deniable.shuffle.sums import reach_of
from deniable.testing import ReplaySource

PRECISE = Context(prec=90)
TOP = (1 << 64) - 1


def poisson_masses(mean, count):
    first = Decimal(mean.numerator) / Decimal(mean.denominator)
    masses = [PRECISE.exp(PRECISE.minus(first))]
    for j in range(1, count):
        masses.append(PRECISE.divide(PRECISE.multiply(masses[-1], first), Decimal(j)))
    return [Fraction(mass) for mass in masses]


def polya_masses(shape, a, count):
    """The law written down from its definition, in ninety digits."""
    rest = PRECISE.divide(Decimal((1 - a).numerator), Decimal((1 - a).denominator))
    power = PRECISE.divide(Decimal(shape.numerator), Decimal(shape.denominator))
    masses = [Fraction(PRECISE.exp(PRECISE.multiply(power, PRECISE.ln(rest))))]
    for j in range(1, count):
        masses.append(masses[-1] * a * (shape + j - 1) / j)
    return masses


LAWS = {
    "a few dummies": (PoissonNoise(Fraction(43, 100)), poisson_masses(Fraction(43, 100), 40)),
    "many dummies": (PoissonNoise(Fraction(29, 2)), poisson_masses(Fraction(29, 2), 120)),
    "a third of the noise": (PolyaNoise(Fraction(1, 3), Fraction(3, 5)), polya_masses(Fraction(1, 3), Fraction(3, 5), 200)),
    "a small share": (PolyaNoise(Fraction(1, 10**5), Fraction(9, 10)), polya_masses(Fraction(1, 10**5), Fraction(9, 10), 700)),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("bits", [6, 64, 128])
def test_digits_of_the_distribution_function(name, bits):
    law, masses = LAWS[name]
    table, total = law.table(bits, (1 << bits) - 1), Fraction(0)
    for floor, mass in zip(table, masses, strict=False):
        total += mass
        assert floor == (total * (1 << bits)).__floor__()
    assert table[-1] == (1 << bits) - 1
    assert len(table) <= len(masses)


class Narrow(Source):
    """Words of six bits from a script."""

    word_bits = 6

    def __init__(self, words):
        self._words = iter(words)

    def word(self):
        return next(self._words)


@pytest.mark.parametrize("name", LAWS)
def test_every_pair_of_narrow_words(name):
    """A draw is what the digits leave no doubt about, and only then; what is undecided after two words is one case for each border."""
    law, masses = LAWS[name]
    decided, undecided = Counter(), 0
    for words in product(range(64), repeat=2):
        try:
            decided[law.draw(Narrow(words))] += 1
        except StopIteration:
            undecided += 1
    low = Fraction(0)
    for j, mass in enumerate(masses):
        inside = max(0, ((low + mass) * 4096).__floor__() - (low * 4096).__floor__() - (1 if low else 0))
        assert decided[j] == inside
        low += mass
    assert undecided == 4096 - decided.total()


def test_bulk_draws_are_the_scalar_ones_ties_included():
    law = PoissonNoise(Fraction(1, 2))
    border = law.table(64, 0)[0]
    words = [5, border, border - 1, (1 << 64) - 1, 1 << 63]
    scalar = [law.draw(ReplaySource([word, 0])) for word in words]
    assert law.draws(5, ReplaySource([*words, 0, 0])).tolist() == scalar
    assert law.draw(ReplaySource([border, (1 << 64) - 1])) == 1  # more digits put it above the border
    assert scalar[1] == 0


def test_two_threads_may_draw_from_a_table_that_grows():
    """A second thread comes while the first is inside: it waits, and both find the same table."""
    drawn, errors = [], []

    class Visited(PoissonNoise):
        def ratio(self, j):
            if j == 3 and not visitor.ident:
                visitor.start()
                visitor.join(0.2)  # it either fails at once, or waits until this thread is done
            return super().ratio(j)

    def draw():
        try:
            drawn.append(law.draw(ReplaySource([TOP - 1])))
        except Exception as error:  # told to the test, which runs in another thread
            errors.append(error)

    law, visitor = Visited(Fraction(43, 100)), Thread(target=draw)
    draw()
    visitor.join()
    assert not errors
    assert drawn == [PoissonNoise(Fraction(43, 100)).draw(ReplaySource([TOP - 1]))] * 2


@pytest.mark.parametrize("people", [1, 2, 5])
def test_shares_of_noise_add_up_to_discrete_laplace_noise(people):
    """The law itself, convolved: n shares of shape 1/n on either side; and a mutant whose shares were made for more people."""
    a, size = Fraction(3, 5), 200

    def total(shape):
        one = np.array([float(mass) for mass in polya_masses(shape, a, size)])
        side = np.array([1.0])
        for _ in range(people):
            side = np.convolve(side, one)[:size]
        return np.array([float((side[: size - z] * side[z:]).sum()) for z in range(12)])

    laplace = float((1 - a) / (1 + a)) * float(a) ** np.arange(12)
    assert total(Fraction(1, people)) == pytest.approx(laplace, rel=1e-12)
    assert abs(total(Fraction(1, 2 * people)) - laplace).max() > 0.1  # half of the noise is not there


# --- what shuffled shares give away ---


def views(numbers, shares, modulus):
    """The law of the multiset of all shares."""
    law = {(): Fraction(1)}
    for number in numbers:
        grown = Counter()
        for parts in product(range(modulus), repeat=shares - 1):
            whole = (*parts, (number - sum(parts)) % modulus)
            for seen, weight in law.items():
                grown[tuple(sorted(seen + whole))] += weight / modulus ** (shares - 1)
        law = grown
    return law


def distance(one, other):
    return sum((abs(one.get(key, Fraction(0)) - other.get(key, Fraction(0))) for key in {*one, *other}), Fraction(0)) / 2


@pytest.mark.parametrize(("people", "shares", "modulus"), [(2, 2, 3), (2, 3, 3), (2, 3, 4), (2, 4, 2), (3, 3, 2), (2, 4, 3)])
def test_shuffled_shares_are_as_close_as_was_proved(people, shares, modulus):
    """All numbers of a few people: any two with one sum are at most twice as far apart as either is from the simulated view."""
    proved = sqrt(excess(people, shares - 1, modulus)) / 2 if shares > 2 else 1.0
    laws = {numbers: views(numbers, shares, modulus) for numbers in product(range(modulus), repeat=people)}
    worst = max(distance(laws[a], laws[b]) for a, b in product(laws, laws) if sum(a) % modulus == sum(b) % modulus)
    assert 0 < worst <= 2 * proved
    apart = [distance(laws[a], laws[b]) for a, b in product(laws, laws) if sum(a) % modulus != sum(b) % modulus]
    assert set(apart) == {1}  # the sum itself is seen


@pytest.mark.parametrize(("people", "k", "modulus"), [(2, 2, 3), (2, 3, 5), (3, 2, 2), (4, 2, 7), (2, 4, 2)])
def test_the_collision_bound_is_the_enumerated_one(people, k, modulus):
    """Every way to match shares: E[q^(C - 1)] over the components C; the bound is at most a little above it, never below."""
    total, count = Fraction(0), 0
    for order in permutations(range(people * k)):
        group = list(range(people))

        def root(i, group=group):
            while group[i] != i:
                i = group[i]
            return i

        for share, other in enumerate(order):
            group[root(share // k)] = root(other // k)
        total += modulus ** (len({root(i) for i in range(people)}) - 1)
        count += 1
    truth = total / count - 1
    assert truth <= Fraction(excess(people, k, modulus))
    assert excess(people, k, modulus) <= float(truth) * (modulus / (modulus - 1)) ** (people - 1) * 1.01  # q stands for q - 1 there


def test_the_bound_beyond_the_list_joins_the_list():
    here, next_one, far = (excess(n, 6, 1 << 30) for n in (LISTED, LISTED + 1, 100 * LISTED))
    assert here > next_one > 0.99 * here
    leading = (1 << 30) * 100 * LISTED / comb(600 * LISTED, 6)
    assert leading * 0.99 < far < leading * 1.01


def test_noise_reaches():
    """Discrete Laplace noise has a closed form; the inequality for tiny chances is above it."""
    for a in (0.5, 0.9, 0.999):
        for alpha in (0.5, 0.05, 1e-4, 1e-8):
            found = reach_of(a, 1.0, 0.0, alpha)
            assert 2 * a ** (found + 1) / (1 + a) <= alpha * (1 + 1e-6)
            assert found == 0 or 2 * a**found / (1 + a) > alpha * 0.98
        assert 2 * a ** (reach_of(a, 1.0, 0.0, 1e-12) + 1) / (1 + a) <= 1e-12
    assert reach_of(0.9, 1.0, 400.0, 0.05) > reach_of(0.9, 1.0, 0.0, 0.05)
    assert reach_of(0.9, 2.0, 0.0, 0.05) > reach_of(0.9, 1.0, 0.0, 0.05)


# --- the shuffle ---

ROUNDS, NARROW = 3000, ReplaySource.from_key("narrow")


def order_p_value(shuffled):
    """All 24 orders of four, by chi-squared. Power: an order that is twice as likely as the others is found with probability 0.99."""
    seen = Counter(tuple(shuffled(i)) for i in range(ROUNDS))
    return stats.chisquare([seen[order] for order in permutations(range(4))]).pvalue


def test_every_order_is_equally_likely():
    source = ReplaySource.from_key("orders")
    assert order_p_value(lambda i: permutation(4, source).tolist()) > 1e-6


@pytest.mark.parametrize(
    "mutant",
    {
        "identity": lambda i: range(4),
        "fixed key": lambda i: permutation(4, ReplaySource([30, 10, 40, 20])).tolist(),
        "rotation": lambda i: np.roll(np.arange(4), i).tolist(),
        "two bits": lambda i: np.argsort([word >> 62 for word in NARROW.words(4)], kind="stable").tolist(),
    }.items(),
    ids=lambda mutant: mutant[0],
)
def test_shufflers_that_do_not_shuffle_are_caught(mutant):
    assert order_p_value(mutant[1]) < 1e-6


def test_secure_orders_differ_and_lose_nobody():
    one, other = permutation(2000), permutation(2000)
    assert sorted(one.tolist()) == sorted(other.tolist()) == list(range(2000))
    assert abs(stats.spearmanr(one, other).statistic) < 4.892 / sqrt(1999)
    assert abs(stats.spearmanr(one, np.arange(2000)).statistic) < 4.892 / sqrt(1999)
    assert permutation(0).size == 0
    assert permutation(1).tolist() == [0]


def test_messages_of_one_person_add_up():
    protocol = dn.shuffle.SplitAndMixSum(low=0, high=1, epsilon=1.0, delta=1e-6, n=10**6)
    source = ReplaySource.from_key("shares")
    sent = [protocol.messages(0.25, source) for _ in range(200)]
    points = [sum(messages) % protocol.modulus for messages in sent]
    assert {len(messages) for messages in sent} == {protocol.shares}
    assert sum(point in (1000, 1001) for point in points) >= 195  # a millionth of the noise each: nearly always none
    assert len({messages[:-1] for messages in sent}) == 200
    assert exp(-1.0) < float(protocol.ratio) ** protocol.steps * (1 + 1e-9)
