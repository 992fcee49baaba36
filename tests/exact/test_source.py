"""The word-level code of the primitives, enumerated at a reduced width: every word, every threshold."""

from __future__ import annotations

import os
import threading
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest

from deniable.contract.source import ONE, SYSTEM, Source, SystemSource
from deniable.errors import ProtocolError
from deniable.testing import ForkingSource, ReplaySource, law_of

BITS = 6


class EveryWord(ForkingSource):
    """Forks on raw words of a reduced width, so that the primitives above them are the shipping ones."""

    word_bits = BITS
    word_values = 1 << BITS
    bernoulli = Source.bernoulli
    bernoulli_ratio = Source.bernoulli_ratio
    pick = Source.pick
    below = Source.below
    bernoulli_bits = Source.bernoulli_bits

    def word(self):
        self.denominator *= self.word_values
        return self.outcome(self.word_values)


class EveryPairOfLanes(EveryWord):
    word_values = 4  # only two lanes are looked at


@pytest.mark.parametrize("threshold", range((1 << BITS) + 1))
def test_bernoulli_has_exactly_its_probability(threshold):
    law = law_of(lambda source: source.bernoulli(threshold), fork=EveryWord)
    assert law[True] == Fraction(threshold, 1 << BITS)
    assert law.total == 1


@pytest.mark.parametrize("denominator", [1, 2, 64, 128, 4096])
def test_bernoulli_ratio_has_exactly_its_probability(denominator):
    """Ratios of up to two words of digits: ties are broken by the next word."""
    for numerator in {*range(0, denominator + 1, 1 + denominator // 40), denominator}:
        law = law_of(lambda source, a=numerator: source.bernoulli_ratio(a, denominator), fork=EveryWord)
        assert law[True] == Fraction(numerator, denominator)
        assert law.total == 1


def test_ratios_without_an_end_are_decided_by_the_first_word_that_differs():
    """1/3 has the digits 21, 21, 21 ... in words of 6 bits."""
    for words, expected in (([20], True), ([22], False), ([21, 0], True), ([21, 21, 63], False), ([21, 21, 20], True)):
        source = ReplaySource(words)
        source.word_bits = BITS
        assert source.bernoulli_ratio(1, 3) is expected
        assert source.consumed == len(words)


@pytest.mark.parametrize("first", range(1, (1 << BITS) - 1))
def test_pick_has_exactly_its_probabilities(first):
    """Every table with three outcomes and this first one; the last may be as rare as one word."""
    for second in range(first + 1, 1 << BITS):
        law = law_of(lambda source, second=second: source.pick((first, second)), fork=EveryWord)
        assert [law[i] * (1 << BITS) for i in range(3)] == [first, second - first, (1 << BITS) - second]


@pytest.mark.parametrize("threshold", range((1 << BITS) + 1))
def test_bernoulli_bits_are_independent_with_exactly_their_probability(threshold):
    p = Fraction(threshold, 1 << BITS)
    law = law_of(lambda source: source.bernoulli_bits(threshold, 2, lanes=2), fork=EveryPairOfLanes)
    assert law.total == 1
    for bits in range(4):
        ones = bits.bit_count()
        assert law[bits] == p**ones * (1 - p) ** (2 - ones)


def test_bernoulli_bits_across_blocks_are_independent():
    """Three bits in blocks of two lanes: the last block has one lane."""
    p = Fraction(5, 1 << BITS)
    law = law_of(lambda source: source.bernoulli_bits(5, 3, lanes=2), fork=EveryPairOfLanes)
    assert all(law[bits] == p ** bits.bit_count() * (1 - p) ** (3 - bits.bit_count()) for bits in range(8))


@pytest.mark.parametrize("count", range(1, 1 << BITS))
def test_below_is_uniform_among_accepted_words(count):
    """Every outcome owns equally many words, and fewer words are rejected than would make one more each."""
    outcomes = Counter()
    for word in range(1 << BITS):
        source = ReplaySource([word])
        source.word_bits = BITS
        try:
            outcomes[source.below(count)] += 1
        except ProtocolError:  # rejected: it asked for another word
            outcomes["rejected"] += 1
    rejected = outcomes.pop("rejected", 0)
    assert sorted(outcomes) == list(range(count))
    assert set(outcomes.values()) == {(1 << BITS) // count}
    assert rejected == (1 << BITS) % count < count


def test_below_draws_again_after_a_rejection():
    source = ReplaySource([0, 2**63])
    assert source.below(3) == 1
    assert source.consumed == 2


@pytest.mark.parametrize("threshold", [0, 1, 2**63, ONE - 1, ONE])
def test_bernoulli_at_the_edges_of_a_full_word(threshold):
    for word in (0, max(threshold - 1, 0), min(threshold, ONE - 1), ONE - 1):
        assert ReplaySource([word]).bernoulli(threshold) == (word < threshold)


def test_certain_bits_consume_nothing_and_fair_bits_one_word_a_block():
    for threshold, bits, consumed in ((0, 0, 0), (ONE, 2**100 - 1, 0)):
        source = ReplaySource([])
        assert source.bernoulli_bits(threshold, 100) == bits
        assert source.consumed == consumed
    source = ReplaySource([2**64 - 2, 0])
    assert source.bernoulli_bits(ONE // 2, 100) == 1 | (2**36 - 1) << 64
    assert source.consumed == 2


def test_words_come_from_the_operating_system(monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda size: bytes(range(256)) * 2 if size == 512 else pytest.fail("another size"))
    drawn = SystemSource().words(64)
    assert sorted(word.to_bytes(8, "little") for word in drawn) == sorted([bytes(range(i, i + 8)) for i in range(0, 256, 8)] * 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_does_not_repeat_its_parents_words():
    SYSTEM.word()  # leaves words in the buffer
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, SYSTEM.word().to_bytes(8, "little"))
        os._exit(0)
    os.waitpid(child, 0)
    assert int.from_bytes(os.read(read, 8), "little") not in SYSTEM.words(64)


def test_threads_never_get_the_same_word():
    source, drawn = SystemSource(), [[] for _ in range(4)]
    threads = [threading.Thread(target=lambda out=out: out.extend(source.words(20_000))) for out in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = sorted(word for out in drawn for word in out)
    assert len(words) == 80_000
    assert all(a != b for a, b in pairwise(words))  # a repeated 64-bit word has probability 2e-10


def test_a_source_that_ends_says_so():
    with pytest.raises(ProtocolError, match="longer stream"):
        ReplaySource([1, 2]).words(3)
