"""Hash functions: what choosing one's own is worth, exactly, and what is left where seeds are assigned."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.errors import WireError
from deniable.lab.attacks import Attack, craft
from deniable.lab.populations import Zipf
from deniable.lab.releases import SeriesSetup
from deniable.lab.seeds import expected_fullest, fullest_bound, fullest_law, seed_gain
from deniable.lab.texts import Sentences, WritingSetup
from deniable.testing import ReplaySource

Z = float(stats.norm.isf(5e-7))
TARGETS = 10
WIDE = dn.OLH(domain=dn.Integers(0, (1 << 32) - 1), epsilon=1.0)
SCATTERED = np.array([word & 0xFFFFFFFF for word in ReplaySource.from_key("targets").words(TARGETS)])


def supported(spec, made_up, targets):
    """How many targets each of the reports supports, on average, as the collector counts them."""
    return float(spec.tally(made_up, candidates=targets.tolist()).counters.sum()) / made_up.n


@pytest.mark.parametrize(("targets", "symbols"), [(1, 2), (3, 2), (4, 3), (5, 4), (2, 5)])
def test_the_law_of_the_fullest_symbol_is_that_of_all_ways_to_hash(targets, symbols):
    ways = [max(Counter(way).values()) for way in product(range(symbols), repeat=targets)]
    law = [Fraction(sum(load <= most for load in ways), len(ways)) for most in range(targets + 1)]
    assert list(fullest_law(targets, symbols)) == law
    assert expected_fullest(targets, symbols) == pytest.approx(sum(ways) / len(ways))
    best = [max(pair) for pair in product(ways, repeat=2)]
    assert expected_fullest(targets, symbols, 2) == pytest.approx(sum(best) / len(best))


@pytest.mark.parametrize(("tries", "reports"), [(1, 200_000), (16, 20_000), (1024, 600)])
def test_a_search_gains_the_closed_form(tries, reports):
    """Liars who draw so many seeds. One is what assigned seeds leave; the evil twin with a second try is rejected."""
    made_up = craft(WIDE, "searched", SCATTERED, reports, ReplaySource.from_key(f"search {tries}"), tries=tries)
    found = supported(WIDE, made_up, SCATTERED)
    error = Z * 0.95 / reports**0.5  # the fullest symbol's load scatters by less, whatever the number of tries
    assert abs(found - expected_fullest(TARGETS, 4, tries)) < error + 0.01  # the family is not quite independent
    assert abs(found - expected_fullest(TARGETS, 4, 2 * tries)) > error + 0.01


def test_assigned_seeds_leave_a_quarter_of_the_gain_and_chosen_ones_all():
    """Ten targets, epsilon 1: the figures of the docs. What fails without assignment is the bound, which holds for any targets."""
    spec = dn.OLH(domain_size=1024, epsilon=1.0)
    neighbors, source = np.arange(1014, 1024), ReplaySource.from_key("leverage")
    scattered = np.array([3, 141, 59, 265, 358, 979, 323, 846, 264, 338])
    chosen = supported(spec, craft(spec, "crafted", neighbors, 2_000, source), neighbors)
    assert chosen == TARGETS > 1.5 * fullest_bound(spec, TARGETS)
    for targets in (neighbors, scattered):
        assigned = supported(spec, craft(spec, "searched", targets, 100_000, source), targets)
        assert assigned < expected_fullest(TARGETS, spec.hash_range) + 0.02 < fullest_bound(spec, TARGETS) < 5.71
    gains = [seed_gain(spec, targets=TARGETS, liars=0.05, supported=k) for k in (10, expected_fullest(10, 4), fullest_bound(spec, 10))]
    assert gains == pytest.approx([1.664, 0.377, 0.710], abs=1e-3)
    assert gains[1] / gains[0] < 0.25
    single = [seed_gain(spec, targets=1, liars=0.05, supported=expected_fullest(1, 4, tries)) for tries in (1, 1 << 20)]
    assert single[0] == single[1], "one value alone is lifted as far either way"


def test_few_public_functions_are_searched_as_well():
    """FLH: whoever picks among k functions finds nearly what a chosen seed finds. The functions of the spec, all looked at."""
    for hashes, least in ((64, 6), (1024, 7), (65536, 8)):
        spec = dn.FLH(domain_size=1024, epsilon=1.0, hashes=hashes)
        loads = [max(Counter(spec.symbol(function, key) for key in range(1014, 1024)).values()) for function in range(min(hashes, 4096))]
        assert max(loads) >= least
        assert expected_fullest(TARGETS, 4, hashes) == pytest.approx({64: 6.70, 1024: 7.94, 65536: 9.22}[hashes], abs=0.01)


def test_the_experiment_under_assigned_seeds():
    """In the whole pipeline, honest people included: what is measured is what the load of the made-up reports says."""
    crowd, spec, n = Zipf(1.5, 102), dn.OLH(domain_size=102, epsilon=1.0), 200_000
    source = ReplaySource.from_key("assigned")
    outcome = Attack("OLH", "searched").run(spec, crowd.draw(n, source), source)
    assert outcome.predicted == {}
    held = float(outcome.truth[-TARGETS:].sum() / n)
    error = Z * (TARGETS * spec.variance(n=n) * (1 + TARGETS / 4)) ** 0.5 / n  # neighbors share symbols, so errors add up a little
    least = seed_gain(spec, targets=TARGETS, liars=0.05, supported=3.82, held=held)  # neighbors: less than scattered ones
    assert abs(outcome.gain - least) < error
    assert outcome.gain + error < 0.05 * (TARGETS * (exp(1.0) + 3) / (exp(1.0) - 1)) / 2


def test_setups_keep_the_bytes_that_identify_them():
    """The replay keys of shipped results depend on them."""
    series = SeriesSetup("FPA", 10, 0.5, (("k", 3), ("x", 0.25)))
    assert series.canonical == b'{"epsilon":"0.5","parameters":{"k":"3","x":"0.25"},"points":10,"way":"FPA"}'
    crowd = Sentences(words=10, length=4)
    assert json.loads(WritingSetup("one", crowd, 1.0, 1000).canonical) == {
        "epsilon": "1.0",
        "people": 1000,
        "population": crowd.identity(),
        "way": "one",
    }
    assert "wordfreq" in crowd.identity(), "another edition of the words may have other shares"
    with pytest.raises(WireError, match="never read"):
        SeriesSetup.from_json(series.canonical)
