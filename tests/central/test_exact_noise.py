"""The exact samplers: tables against the textbook, shipping code enumerated on short words, scalar against bulk; and twins that fail."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import ceil, log

import numpy as np
import pytest
from scipy import stats

from deniable.central import exact_noise
from deniable.central.enclosure import exp_bounds, exp_digits
from deniable.central.exact_noise import ExactNoise
from deniable.errors import ParameterError, ProtocolError
from deniable.testing import ForkingSource, ReplaySource
from tests.central.laws import OPEN, UNIT, Enumerated, enumerated, law_by_the_book, matches, weights_of

ALPHA = 1e-6
NARROW = [
    ExactNoise(linear=Fraction(1, 2)),
    ExactNoise(linear=Fraction(3, 7)),
    ExactNoise(linear=Fraction(4)),
    ExactNoise(quadratic=Fraction(1, 8)),
    ExactNoise(quadratic=Fraction(5, 3)),
    ExactNoise(linear=Fraction(1, 10), quadratic=Fraction(1, 50)),
]
BUCKET = ExactNoise(linear=Fraction(1098612288668109691396, 10**21))
"""ln 3 and a hair more: the first border has the digits of one half, where the bulk's guide begins a bucket."""
WIDE = [ExactNoise(linear=Fraction(1, 1000)), ExactNoise(quadratic=Fraction(1, 2 * 3001**2)), ExactNoise(linear=Fraction(1, 10**11))]
TOP = 2**64 - 1


class Blocks(ExactNoise):
    """Narrow noise in blocks, as wide noise is drawn; but one try only, and undecided where that is rejected."""

    block = 4

    def _kept(self, near, offset, source):
        if not super()._kept(near, offset, source):
            raise EOFError
        return True


class Uneven(Blocks):
    """A twin that keeps every integer of a block."""

    def _kept(self, near, offset, source):
        return True


class HalfWords(Enumerated):
    word_bits = 4
    depth = 5
    below = ForkingSource.below


# --- tables ---


@pytest.mark.parametrize("noise", [*NARROW, ExactNoise(linear=Fraction(1, 90))], ids=repr)
@pytest.mark.parametrize("bits", [6, 64, 128])
def test_thresholds_are_the_digits_of_the_cumulative_law(noise, bits):
    """Against sums of 80-digit decimals, which know nothing of bounds and recurrences."""
    reach = ceil(190 / (noise.linear or noise.quadratic)) if noise.linear else ceil((200 / noise.quadratic) ** 0.5)
    weights = weights_of(noise.linear, noise.quadratic, reach + noise.block)
    places = [weights[q * noise.block + side] for q in range(reach // noise.block) for side in (0, 1)]
    table, whole = noise.thresholds(bits), sum(places)
    assert list(table) == [(border << bits) // whole for border in accumulate(places)][: len(table)]
    assert table[-1] == 2**bits - 1
    assert table[-2] < 2**bits - 1


def test_exponentials_are_bounded_and_their_digits_certain():
    for x in (Fraction(1, 10**30), Fraction(1, 3), Fraction(10), Fraction(300), Fraction(10**9)):
        low, high = exp_bounds(x, 200)
        weight = weights_of(x, 0, 1)[1]
        assert low * UNIT <= (weight + 1) << 200
        assert high * UNIT >= weight << 200
        assert high - low <= 2
        assert exp_digits(x, 64) == (weight << 64) // UNIT


def test_probabilities_are_bounded_tightly():
    for noise in NARROW:
        for z, exact in law_by_the_book(noise, 400).items():
            if abs(z) <= 30:
                low, high = noise.probability(z)
                assert low - Fraction(1, 10**60) <= exact <= high + Fraction(1, 10**60)
                assert high - low < Fraction(1, 2**120)


# --- the shipping code, enumerated ---


@pytest.mark.parametrize("noise", NARROW, ids=repr)
def test_every_short_word_leads_where_the_law_says(noise):
    assert matches(enumerated(noise.draw), law_by_the_book(noise, 400))


@pytest.mark.parametrize("noise", [Blocks(linear=Fraction(1, 2)), Blocks(quadratic=Fraction(1, 10))], ids=repr)
def test_blocks_with_coins_have_the_same_law(noise, monkeypatch):
    """A first try keeps z with probability P(z) A, A being how often a try is kept: proportional, so the tries together are exact."""
    monkeypatch.setattr(exact_noise, "exp_digits", cache(exp_digits))  # the walk asks for the same few again and again
    law = law_by_the_book(noise, 1000)
    weights = weights_of(noise.linear, noise.quadratic, 1000)
    proposed = 4 * sum(weights[q * 4 + side] for q in range(249) for side in (0, 1))
    kept = Fraction(weights[0], proposed) / law[0]
    assert Fraction(1, 3) < kept < 1
    assert matches(enumerated(noise.draw, fork=HalfWords), law, kept)
    assert not matches(enumerated(Uneven(noise.linear, noise.quadratic).draw, fork=HalfWords), law, kept)


def hasty(noise, search):
    """A twin that never looks further: a word equal to a border's first digits is taken for one side of it."""

    def draw(source):
        place = search(noise.thresholds(source.word_bits), source.word())
        return place >> 1 ^ -(place & 1)

    return draw


def rounded(noise, source):
    """A twin with borders rounded up: the first outcome gets more than its share."""
    place = bisect_right([t + 1 for t in noise.thresholds(source.word_bits)], source.word())
    return place >> 1 ^ -(place & 1)


def test_twins_that_resolve_ties_wrongly_are_found():
    for noise in NARROW:
        law = law_by_the_book(noise, 400)
        assert not matches(enumerated(hasty(noise, bisect_right)), law)  # <= for <
        assert not matches(enumerated(hasty(noise, bisect_left)), law)
        assert not matches(enumerated(lambda source, noise=noise: rounded(noise, source)), law)


def test_other_noise_and_lost_tails_are_found():
    noise = ExactNoise(linear=Fraction(1, 2))
    law = law_by_the_book(noise, 400)
    assert not matches(enumerated(ExactNoise(linear=Fraction(101, 200)).draw), law)
    assert not matches(enumerated(lambda source: max(-3, min(3, noise.draw(source)))), law)
    assert not matches(enumerated(lambda source: abs(noise.draw(source))), law)


# --- 64-bit words ---


def test_a_tie_is_decided_by_the_next_digits_and_the_tail_has_no_end():
    noise = ExactNoise(linear=Fraction(1, 10))
    table, longer = noise.thresholds(64), noise.thresholds(128)
    digits = longer[7] & TOP
    assert longer[7] >> 64 == table[7]
    for words, place in (
        ([table[7], digits - 1], 7),
        ([table[7], digits + 1], 8),
        ([table[7], digits, 0], 7),
        ([table[7], digits, TOP], 8),
    ):
        source = ReplaySource(words)
        assert noise.draw(source) == place >> 1 ^ -(place & 1)
        assert source.consumed == len(words)
    far = ReplaySource([TOP, TOP, TOP, 5])
    assert abs(noise.draw(far)) == pytest.approx(10 * (192 * log(2)), rel=0.02)  # P(|z| > h) = e^(-h / 10), 192 ones
    assert far.consumed == 4


@pytest.mark.parametrize("noise", [NARROW[0], NARROW[3], BUCKET, *WIDE], ids=repr)
def test_bulk_and_scalar_turn_the_same_words_into_the_same_noise(noise):
    """Among ordinary words: borders themselves, the largest word, and coins at their edge; also where the bulk's buffer ends."""
    plain = ReplaySource.from_key("noise")
    words = list(plain.words(70_000))
    per_draw = 1 if noise.block == 1 else 3
    for i, at in enumerate([*range(30, 3000, 300), 32766, 32767, 32768, 65535]):
        at -= at % per_draw  # noqa: PLW2901  # the first word of a draw, as long as none was drawn again
        words[at] = TOP if i % 3 == 0 else int(noise.table[i - 1])
    if noise.block > 1:
        words[1], words[4] = TOP, TOP
        offset, near = noise.block - 1, noise.block * (bisect_left(noise.thresholds(64), words[0]) >> 1)
        near += bisect_left(noise.thresholds(64), words[0]) & 1
        x = offset * (noise.linear + noise.quadratic * (2 * near + offset))
        words[2:3] = [exp_digits(x, 64), exp_digits(x, 128) & TOP, 0]  # a coin that takes three words
    count = 11_200 if per_draw == 3 else 65_600
    bulk, one_by_one = ReplaySource(words), ReplaySource(words)
    found = noise.draws(count, bulk)
    assert found.tolist() == [noise.draw(one_by_one) for _ in range(count)]
    assert bulk.word() == one_by_one.word()  # and the same words are left


def test_a_stream_that_ends_says_so():
    with pytest.raises(ProtocolError, match="longer stream"):
        NARROW[0].draws(10, ReplaySource([1, 2, 3]))


@pytest.mark.parametrize(
    "noise", [ExactNoise(linear=Fraction(1, 10)), ExactNoise(quadratic=Fraction(1, 72)), ExactNoise(linear=Fraction(1, 300))], ids=repr
)
def test_samples_of_the_default_source_have_the_law(noise):
    """Chi-square over quantile cells at alpha = 1e-6. Against a width that is off by 2 % the power is above 1 - 1e-9."""
    n, reach = 2_000_000, 30 * noise.width
    scale = [weight / UNIT for weight in weights_of(noise.linear, noise.quadratic, reach)]
    edges = np.unique(np.round(np.linspace(-3, 3, 61) * noise.width)).astype(int)

    def cells(weights):
        law = np.array([*weights[:0:-1], *weights]) / (2 * sum(weights) - weights[0])
        total = np.concatenate([[0.0], np.cumsum(law)])
        return np.diff(np.concatenate([[0.0], total[edges + reach + 1], [1.0]]))

    def p_value(drawn):
        seen = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=edges.size + 1)
        return stats.chisquare(seen, n * cells(scale)).pvalue

    twin = ExactNoise(linear=noise.linear * Fraction(50, 49), quadratic=noise.quadratic * Fraction(2500, 2401))
    other = cells([weight / UNIT for weight in weights_of(twin.linear, twin.quadratic, reach)])
    shift = n * float(((other - cells(scale)) ** 2 / cells(scale)).sum())
    assert stats.ncx2.cdf(stats.chi2.isf(ALPHA, edges.size), edges.size, shift) < 1e-9
    assert p_value(noise.draws(n)) > ALPHA
    assert p_value(twin.draws(n)) < ALPHA


@pytest.mark.parametrize("rates", [{"linear": Fraction(0)}, {"linear": Fraction(-1)}, {"linear": Fraction(1, 10**13)}])
def test_noise_that_is_none_or_too_wide_is_refused(rates):
    with pytest.raises(ParameterError):
        ExactNoise(**rates)


def test_an_open_walk_is_not_taken_for_a_law():
    """The judge itself: what decides too little does not pass."""
    law = law_by_the_book(NARROW[0], 400)
    assert not matches(enumerated(lambda source: (source.words(9), 0)[1]), law)
    assert OPEN in enumerated(NARROW[0].draw)
