"""Searches name what is significant, say what they dropped, and explain an empty result."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.contract.subsets import Subsets
from deniable.core.screening import Screening
from deniable.errors import ParameterError
from deniable.tasks.heavy_hitters import PEM, SFP, Bitstogram, IndependentSegments, MultipleChannels, SegmentPairs, TreeHist
from deniable.tasks.itemsets import SVIM, SVSM, LDPMiner, WholeSets, frequent_items
from deniable.testing import ReplaySource

NUMBERS = dn.Integers(0, 2**32 - 1)
HEAVY = 0xCAFE_F00D
SHOP = Subsets(dn.IndexRange(30))


def uniform(n, key=0):
    return np.random.default_rng(key).integers(0, 2**32, n, dtype=np.uint64)


def named(search, values, key):
    return search.run(values, source=ReplaySource.from_key(key))


def test_uniform_noise_is_not_named():
    """Every person has a value of their own. Each run names any value with probability 5 % at most, so more than 6 of 20 once in 10^4;
    before, all 20 named ten of them."""
    crowd = uniform(1000)
    runs = [dn.heavy_hitters(crowd, domain=NUMBERS, k=10, epsilon=2.0, source=ReplaySource.from_key(f"noise/{i}")) for i in range(20)]
    assert stats.binom.sf(6, 20, 0.05) < 1e-4
    assert sum(bool(run.values) for run in runs) <= 6
    assert all(len(run.ranked.values) == 10 for run in runs)  # the list that papers measure


def test_true_values_stay():
    crowd = uniform(20_000)
    crowd[:4000], crowd[4000:6000] = HEAVY, 7
    found = dn.heavy_hitters(crowd, domain=NUMBERS, k=10, epsilon=3.0, source=ReplaySource.from_key("power"))
    assert found.values == [HEAVY, 7]
    tested = found.screening
    assert tested.candidates == tested.dropped + 2
    assert f"{tested.candidates:,} candidates were tested; {tested.dropped:,} are not significant and dropped" in repr(found)
    low, _ = found.interval(0.95, simultaneous=True)
    assert (low > 0).all()
    assert "significant" not in found.rows()  # all of them are


SEARCHES = {
    "PEM": PEM(domain=NUMBERS, k=5, epsilon=1.0, people=300),
    "PEM with a holdout": PEM(domain=NUMBERS, k=5, epsilon=1.0, people=300, holdout=0.25),
    "PEM in two rounds": PEM(domain=NUMBERS, k=5, epsilon=1.0, people=300, rounds=2),
    "TreeHist": TreeHist(domain=dn.Integers(0, 2**16 - 1), k=5, epsilon=1.0, people=300),
    "Bitstogram": Bitstogram(domain=NUMBERS, k=5, epsilon=1.0, people=300),
    "IndependentSegments": IndependentSegments(domain=NUMBERS, k=5, epsilon=1.0, people=300),
    "SegmentPairs": SegmentPairs(domain=NUMBERS, k=5, epsilon=1.0, people=300),
    "MultipleChannels": MultipleChannels(domain=dn.Integers(0, 2**16 - 1), k=3, epsilon=1.0, people=300),
    "SFP": SFP(domain=dn.Text(3), k=5, epsilon=1.0, people=300, alphabet="abcd"),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_explains_what_it_did_not_find(name):
    """Everybody has a value of their own, 300 people: nothing can be found, and the result says what it would take."""
    search = SEARCHES[name]
    text = isinstance(search.domain, dn.Text)
    values = [f"{chr(97 + i % 4)}{i % 90:02}" for i in range(300)] if text else uniform(300) % np.uint64(search.domain.size)
    found = named(search, values, f"empty/{name}")
    assert found.values == []
    [note] = found.notes()
    assert note.startswith("nothing was found: ")
    assert "one that 10 % hold takes about" in note
    assert "people in all" in note
    assert note in repr(found)
    assert note in found._repr_html_()
    assert found.screening.dropped == found.screening.candidates
    least = min(search.shares if isinstance(search, PEM) else [question.share for question in search.open().questions])
    assert found.screening.share == min(least, getattr(search, "holdout", 0) or least)


SETS = {
    "SVIM": SVIM(domain=SHOP, k=4, epsilon=1.0),
    "SVSM": SVSM(domain=SHOP, k=4, epsilon=1.0),
    "LDPMiner": LDPMiner(domain=SHOP, k=4, epsilon=1.0, length=2),
    "WholeSets": WholeSets(domain=Subsets(dn.IndexRange(4)), k=4, epsilon=1.0),
}


@pytest.mark.parametrize("name", SETS)
def test_items_that_nobody_holds_are_not_named(name):
    """A crowd of empty sets: any name is wrong. Of 12 runs at 5 % each, more than 4 are so once in 5,000."""
    assert stats.binom.sf(4, 12, 0.05) < 2e-4
    wrong = 0
    for run in range(12):
        result = SETS[name].run([[]] * 200, source=ReplaySource.from_key(f"{name}/{run}"))
        parts = [result, *(result.parts[part] for part in ("items",) if part in result.parts)]
        wrong += any(part.values for part in parts)
        assert all(part.ranked.values for part in parts)
        assert all(part.notes()[0].startswith("nothing was found") for part in parts if not part.values)
    assert wrong <= 4


def test_few_reports_name_no_set_by_skewness():
    """100 people with nothing, epsilon 8: supports by chance are few and skewed, so the normal law alone named sets in 31 % of the runs.
    Of 50 runs at 5 % each, more than 9 name any once in 2,000."""
    assert stats.binom.sf(9, 50, 0.05) < 5e-4
    search = WholeSets(domain=Subsets(dn.IndexRange(5)), k=31, epsilon=8.0)
    spec = search.open().questions[0].spec
    law = np.array([float(spec.p), *[float(spec.q)] * 31])
    draws = np.random.default_rng(8).multinomial(100, law, size=50)
    wrong = 0
    for draw in draws:
        found = search.close({"sets": spec.tally(np.repeat(np.arange(32), draw).tolist())})
        wrong += bool(found.values)
        low, _ = found.parts["counted"].interval(0.95, simultaneous=True)
        assert bool(found.values) == bool((low > 0).any())  # intervals and names agree
    assert wrong <= 9


def test_a_search_for_items_drops_those_of_nobody():
    baskets = [[0, 1]] * 3000 + [[]] * 3000
    found = frequent_items(baskets, items=dn.IndexRange(30), k=8, epsilon=3.0, source=ReplaySource.from_key("items"))
    assert sorted(found.values) == [0, 1]
    assert "14 are not significant and dropped" in repr(found)


def test_how_many_people_it_takes_is_about_right():
    """What an empty result of 100 people says about 10 % is enough, and a tenth of it is not. If three of four runs found the value, less
    than 4 of 10 would once in 200."""
    empty = dn.heavy_hitters(uniform(100), domain=NUMBERS, k=5, epsilon=2.0, source=ReplaySource.from_key("few"))
    assert empty.values == []
    assert "are too few to show any value" in repr(empty) or "would show a value that" in repr(empty)
    people = empty.screening.needed(0.1)
    assert f"{people:,} people" in repr(empty)
    assert 1000 < people < 100_000
    crowd = uniform(people)
    crowd[: people // 10] = HEAVY
    runs = [dn.heavy_hitters(crowd, domain=NUMBERS, k=5, epsilon=2.0, source=ReplaySource.from_key(f"needed/{i}")) for i in range(10)]
    assert stats.binom.cdf(3, 10, 3 / 4) < 5e-3
    assert sum(HEAVY in run.values for run in runs) >= 4
    few = np.concatenate([crowd[: people // 100], crowd[people // 10 : people // 10 + people * 9 // 100]])
    assert HEAVY not in dn.heavy_hitters(few, domain=NUMBERS, k=5, epsilon=2.0, source=ReplaySource.from_key("tenth")).values
    assert people < empty.screening.needed(0.05) < 5 * people


def test_nobody_is_told_as_such():
    nobody = dn.heavy_hitters(np.zeros(0, dtype=np.uint64), domain=NUMBERS, k=5, epsilon=2.0)
    assert nobody.values == []
    assert "nobody reported in the final count" in repr(nobody)


def test_shares_and_people_are_written_for_readers():
    seen = Screening(None, 1000, 1000, 400, Fraction(1, 4), 0.25)
    assert seen.visible == pytest.approx(seen.reach * 0.5 / 20)
    assert seen.reach == pytest.approx(4.0556 + 0.8416, abs=1e-3)  # normal quantiles of 1 - 0.05 / 2000 and 0.8
    assert seen.needed(0.1) == 2400  # (4.897 / 0.1)^2 = 2,398, times a quarter, over a quarter, rounded up to two digits
    assert replace(seen, noise=0.0043).needed(0.1) == 42  # 41.2: two digits are whole people
    assert replace(seen, candidates=1).reach == pytest.approx(1.96 + 0.8416, abs=1e-3)
    told = seen.told(0)
    assert "The 400 reports of the final count would show a value that 12.2 % hold" in told
    assert "one that 10 % hold takes about 2,400 people in all, one that 1 % hold takes about 240,000" in told
    assert "are too few to show any value" in replace(seen, noise=400.0).told(0)


# --- marks of a list that was known before ---


def listed(n=4000):
    spec = dn.GRR(domain_size=40, epsilon=1.0)
    return spec.estimate(spec.tally(spec.privatize([0] * (n // 2) + [1] * (n // 2), source=ReplaySource.from_key("listed"))))


def test_the_top_of_a_listed_domain_is_marked_and_not_cut():
    top = listed().top(5)
    assert len(top.values) == 5
    assert top.rows()["significant"].tolist() == [True, True, False, False, False]
    assert repr(top).splitlines()[1].split()[-1] == "significant"
    assert [line.split()[-1] for line in repr(top).splitlines()[2:]] == ["yes", "yes", "no", "no", "no"]
    assert "significant" not in listed().rows()
    assert top.to_arrow().column("significant").to_pylist() == [True, True, False, False, False]


def test_familywise_is_what_simultaneous_intervals_exclude():
    estimate = listed()
    low, _ = estimate.interval(0.9, simultaneous=True)
    assert estimate.significant(0.1).tolist() == (low > 0).tolist()
    assert estimate.top(3).significant(0.1).tolist() == (low > 0)[[*estimate.order()[:3]]].tolist()


def test_false_discoveries_are_bounded_under_dependence():
    """Benjamini and Yekutieli by hand, on p-values found by bisection: the largest number of values below r alpha / (m H_m)."""
    spec = dn.GRR(domain_size=40, epsilon=1.0)
    crowd = np.repeat(np.arange(40), np.r_[np.full(12, 3500), np.full(28, 1000)])  # enough for the normal law
    estimate = spec.estimate(spec.tally(spec.privatize(crowd, source=ReplaySource.from_key("fdr"))))
    p = np.ones(40)
    for i in range(40):
        below, above = 0.0, 1.0
        for _ in range(40):
            middle = (below + above) / 2
            low, _ = estimate.law.limits(middle, family=estimate.family_size)
            below, above = (below, middle) if low[i] > 0 else (middle, above)
        p[i] = above
    levels = 0.05 * np.arange(1, 41) / (40 * np.sum(1 / np.arange(1, 41)))
    most = max([r for r in range(1, 41) if np.sort(p)[r - 1] <= levels[r - 1]], default=0)
    marked = estimate.significant(method="benjamini-yekutieli")
    assert marked.sum() == most
    assert sorted(np.flatnonzero(marked)) == sorted(np.argsort(p)[:most])
    assert estimate.significant().sum() < most  # or this test would not tell the two apart
    with pytest.raises(ParameterError, match="benjamini-yekutieli"):
        estimate.significant(method="benjamini-hochberg")
    with pytest.raises(ParameterError, match="alpha"):
        estimate.significant(5)
