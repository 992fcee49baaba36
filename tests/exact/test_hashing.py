"""The hash families: strongly universal, shown by enumerating every seed at a reduced width."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import pytest

from deniable.client import OLH
from deniable.contract.hashing import HashFamily
from deniable.errors import ParameterError
from deniable.lab.audit.exact import collisions, reduced


@pytest.mark.parametrize(("word_bits", "key_bits", "keys"), [(6, 3, range(8)), (4, 4, range(16))])
def test_two_keys_get_every_pair_of_values_equally_often(word_bits, key_bits, keys):
    """Two words (a, b) for short keys, three (a, c, b) for long ones; the top half of u is what the family keeps."""
    family = HashFamily(key_bits=key_bits, range=2, word_bits=word_bits)
    assert family.seed_words == (2 if key_bits <= word_bits // 2 else 3)
    seeds = list(product(range(1 << word_bits), repeat=family.seed_words))
    for x, y in combinations(keys, 2):
        pairs = Counter((family.spread(seed, x) >> family.half, family.spread(seed, y) >> family.half) for seed in seeds)
        assert set(pairs.values()) == {len(seeds) // 4**family.half}
        assert len(pairs) == 4**family.half


def test_three_keys_of_a_shared_function_get_every_triple_of_values_equally_often():
    """U = (a x + c) x + b on words of 4 bits: all 4096 seeds, all triples of keys."""
    family = HashFamily(key_bits=2, range=2, shared=True, word_bits=4)
    seeds = list(product(range(16), repeat=3))
    for keys in combinations(range(4), 3):
        triples = Counter(tuple(family.spread(seed, key) >> 2 for key in keys) for seed in seeds)
        assert len(triples) == 4**3
        assert set(triples.values()) == {len(seeds) // 4**3}


def test_a_function_that_only_separates_pairs_is_noticed():
    """U = c x + b: of three keys in a row, the third value follows from the first two up to one carry."""
    family = HashFamily(key_bits=2, range=2, shared=True, word_bits=4)
    seeds = [(0, c, b) for c, b in product(range(16), repeat=2)]
    triples = Counter(tuple(family.spread(seed, key) >> 2 for key in (0, 1, 2)) for seed in seeds)
    assert len(triples) < 4**3


@pytest.mark.parametrize("key_bits", [32, 64])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_collisions_are_exactly_as_stated(key_bits, count):
    tiny = reduced(HashFamily(key_bits=key_bits, range=count))
    assert tiny.seed_words == HashFamily(key_bits=key_bits, range=count).seed_words
    assert collisions(tiny, (0, 1, 6, 15)) == {tiny.collision}


def test_a_hash_without_its_offset_is_noticed():
    """Plain multiply-shift, u = a x, is not uniform: key 0 always hashes to 0."""

    class NoOffset(HashFamily):
        def spread(self, seed, key):
            return super().spread((*seed[:-1], 0), key)

    tiny = NoOffset(key_bits=3, range=3, word_bits=6)
    assert collisions(tiny, (0, 1, 6)) != {tiny.collision}


@pytest.mark.parametrize("count", [2, 3, 7, 56, 1000, 2**31])
def test_symbols_partition_the_words(count):
    """The interval of a symbol holds exactly the words that hash to it, and the stated collision counts them."""
    family = HashFamily(key_bits=32, range=count)
    last = count - 1
    for symbol in {0, 1, last // 2, last}:
        first = family.starts(symbol)
        assert family.symbol((0, first), 0) == symbol
        assert symbol == 0 or family.symbol((0, first - 1), 0) == symbol - 1
    assert family.starts(count) == 2**64
    sizes = [family.starts(symbol + 1) - family.starts(symbol) for symbol in range(min(count, 1000))]
    if count <= 1000:
        assert sum(sizes) == 2**64
        assert sum(Fraction(size, 2**64) ** 2 for size in sizes) == family.collision


@pytest.mark.parametrize("count", [2, 3, 5])
def test_olh_is_unbiased_over_its_whole_family(count):
    """Every seed, every report, in fractions: the expected score is exactly 1 for the holder and 0 for others."""

    class Tiny(OLH):
        @property
        def family(self):
            return HashFamily(key_bits=3, range=self.hash_range, word_bits=6)

    spec = Tiny(domain_size=8, epsilon=1.0, hash_range=count)
    seeds = list(product(range(64), repeat=2))
    for asked in (0, 5):
        total = Counter()
        for seed in seeds:
            for held in (0, 5, 7):
                law = spec.output_law(held, seed)
                total[held] += sum(weight * spec.score(report, asked) for report, weight in law.items())
        assert {held: value / len(seeds) for held, value in total.items()} == {0: asked == 0, 5: asked == 5, 7: 0}


@pytest.mark.parametrize("count", [1, 0, -3, 2**31 + 1, 2.5])
def test_ranges_that_make_no_sense_are_refused(count):
    with pytest.raises(ParameterError, match="hash_range"):
        OLH(domain_size=8, epsilon=1.0, hash_range=count)
